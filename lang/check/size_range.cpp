#include "lang/check/size_range.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

namespace tg {

namespace {

std::optional<int64_t> integer_of(const Ast& ast, ast::ExprId id) {
  std::optional<Value> value =
      fold_expr(ast, id, [](const ast::Expr&) { return std::optional<Value>(); });
  if (!value || !value->is(Value::Kind::Int)) return std::nullopt;
  return value->number;
}

} // namespace

std::string SizeRange::text() const {
  return std::to_string(least) + ".." + (most ? std::to_string(*most) : "");
}

std::optional<SizeRange> size_range(const Ast& ast, const ast::Param& param) {
  if (!param.range) return std::nullopt;
  const ast::Expr& written = ast[param.range];
  std::optional<int64_t> least = integer_of(ast, written.a);
  std::optional<int64_t> most = written.b ? integer_of(ast, written.b) : std::nullopt;
  if (!least || *least < 0 || (written.b && (!most || *most < *least))) return std::nullopt;
  return SizeRange{*least, most};
}

std::string ranges_text(const Ast& ast, const ast::Decl& model) {
  std::string text;
  for (const ast::Param& param : ast[model.params])
    if (std::optional<SizeRange> range = size_range(ast, param))
      text += (text.empty() ? "" : ", ") + param.name.text.str() + " in " + range->text();
  return text;
}

Diagnostic outside_range(const ast::Param& param, const SizeRange& range, int64_t size) {
  return error(Code::dimension_mismatch, param.span, "`{0}` must be in {1}, got {2}",
               param.name.text, range.text(), size);
}

void check_size_range(const Ast& ast, const ast::Decl& fn, const ast::Param& param,
                      DiagnosticSink& sink) {
  if (!param.range) return;
  llvm::StringRef name = param.name.text;
  const ast::Expr& written = ast[param.range];
  if (fn.kind != ast::DeclKind::Model)
    return sink.report(
        error(Code::wrong_kind, written.span,
              "only the parameters of a model can have a range, and `{0}` is not a model",
              fn.name.text)
            .suggest("state the condition after the parameters: where " + name.str() + " >= 1"));
  const ast::Type& type = ast[param.type];
  ParamKind kind = param_kind(ast, type);
  if (kind.base != ParamKind::Base::Int || kind.lists > 0)
    return sink.report(error(Code::wrong_kind, written.span,
                             "a range requires a parameter of kind int, but `{0}` is of kind {1}",
                             name, kind_name(kind)));
  std::optional<SizeRange> range = size_range(ast, param);
  std::optional<int64_t> least = integer_of(ast, written.a);
  if (!least || (written.b && !integer_of(ast, written.b)))
    return sink.report(error(Code::wrong_kind, written.span,
                             "the ends of the range of `{0}` must be integers that do not depend "
                             "on other parameters",
                             name));
  if (*least < 0)
    return sink.report(error(Code::dimension_mismatch, ast[written.a].span,
                             "a size must not be negative, but the range of `{0}` starts at {1}",
                             name, *least));
  if (!range)
    return sink.report(error(Code::dimension_mismatch, written.span,
                             "the range {0}..{1} of `{2}` is empty", *least,
                             *integer_of(ast, written.b), name)
                           .suggest("both ends belong to a range: write the smaller size first"));
  if (!param.default_value)
    return sink.report(
        error(Code::missing_argument, param.span,
              "`{0}` has a range and requires a default, the size of a plain run", name)
            .suggest(llvm::formatv("write {0}: int in {1} = {2}", name, range->text(), *least)));
  std::optional<int64_t> size = integer_of(ast, param.default_value);
  if (!size || range->contains(*size)) return;
  Diagnostic d = outside_range(param, *range, *size);
  d.span = ast[param.default_value].span;
  sink.report(std::move(d).at(written.span, "the range includes both ends"));
}

} // namespace tg
