#include "compiler/ir/eval/types.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::eval {

using ast::ExprKind;

/// Returns true if the parameter's values are tensors, known only at run time.
bool is_tensor(const Ast& ast, const ast::Param& param) {
  return param.type && param_kind(ast, ast[param.type]).run_time();
}

/// Returns, for each written dimension, the axis of a value of this rank; -1 for `S...`, which
/// takes all remaining axes.
llvm::SmallVector<int64_t, 6> axes_of(const Ast& ast, llvm::ArrayRef<ast::ExprId> dims,
                                      int64_t rank) {
  llvm::SmallVector<int64_t, 6> axes;
  auto count = static_cast<int64_t>(dims.size());
  bool behind = false;
  for (int64_t i = 0; i < count; ++i) {
    bool spread = ast[dims[static_cast<size_t>(i)]].kind == ExprKind::Spread;
    axes.push_back(spread ? -1 : behind ? rank - count + i : i);
    behind |= spread;
  }
  return axes;
}

/// Returns the dtype of a written type, direct or through a variable; nullopt if not bound yet.
std::optional<DType> dtype_of(const Frame& frame, const ast::Type& written) {
  if (std::optional<DType> dtype = parse_dtype(written.name.text)) return dtype;
  const Binding* bound = frame.find(written.name.text);
  if (!bound || !bound->val.is(Val::Kind::Const)) return std::nullopt;
  return parse_dtype(bound->val.value.text);
}

/// Returns the span of the body's value: its last expression.
Span value_span(const Frame& frame) {
  if (frame.decl.value) return frame.ast[frame.decl.value].span;
  if (!frame.decl.body) return frame.decl.span;
  llvm::ArrayRef<ast::StmtId> stmts = frame.ast[frame.ast[frame.decl.body].stmts];
  return stmts.empty() ? frame.decl.name.span : frame.ast[stmts.back()].span;
}

bool Types::dimension(Frame& frame, ast::ExprId id, Size& out) {
  if (!expressions_.size(frame, id, "a dimension", out)) return false;
  SizeSite site(nodes_.run(), frame.ast[id].span);
  if (out >= 0) return true;
  report_.fail(frame, error(Code::dimension_mismatch, frame.ast[id].span,
                            "a dimension must not be negative, got {0}", out.sample()));
  return false;
}

/// Evaluates the sizes of a written type; for `_`, takes the size from `got`, if any.
bool Types::declared_shape(Frame& frame, const ast::Type& written, const OpenType& got,
                           OpenShape& out) {
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[written.dims];
  llvm::SmallVector<int64_t, 6> axes = axes_of(frame.ast, dims, got.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    const ast::Expr& e = frame.ast[dims[i]];
    Size size = 1;
    if (e.kind == ExprKind::Name && e.text == "_") {
      bool known = axes[i] >= 0 && axes[i] < got.rank();
      out.push_back(known ? got[static_cast<size_t>(axes[i])] : Size(1));
    } else if (e.kind == ExprKind::Spread) {
      const Binding* bound = frame.find(e.text);
      for (const Val& item : bound ? llvm::ArrayRef<Val>(bound->val.items) : llvm::ArrayRef<Val>())
        if (item.integer()) out.push_back(item.as_size());
    } else if (dimension(frame, dims[i], size)) {
      out.push_back(size);
    } else {
      return false;
    }
  }
  return true;
}

bool Types::tensor_type(Frame& frame, ast::TypeRef ref, OpenType& out) {
  if (!ref) return false;
  const ast::Type& written = frame.ast[ref];
  if (written.kind != ast::TypeKind::Named) return false;
  std::optional<DType> dtype = dtype_of(frame, written);
  out = {dtype.value_or(DType::F32), {}};
  if (!dtype) {
    report_.fail(frame, error(Code::wrong_kind, written.name.span, "`{0}` is not a dtype here",
                              written.name.text));
    return false;
  }
  if (!declared_shape(frame, written, {}, out.shape)) return false;
  SizeSite site(nodes_.run(), written.span);
  bool large = false;
  Size elements = 1;
  for (const Size& size : out.shape) {
    large |= product_exceeds(elements, size, kMaxElements);
    if (!large && size != 0) elements *= size;
  }
  if (!large && out.rank() <= kMaxRank) return true;
  if (large)
    report_.fail(frame,
                 error(Code::overflow, written.span, "{0} has too many elements", out.text()));
  else
    report_.fail(frame, error(Code::shape_mismatch, written.span,
                              "a rank of {0} exceeds the limit of {1}", out.rank(), kMaxRank));
  return false;
}

Val Types::result(Frame& frame, Val val) {
  llvm::ArrayRef<ast::ResultType> wanted = frame.ast[frame.decl.results];
  if (val.poison()) return {};
  Span at = value_span(frame);
  if (val.is(Val::Kind::Unit))
    return report_.fail(frame,
                        error(Code::result_mismatch, at, "`{0}` has no value", frame.decl.name.text)
                            .suggest("its last line must be an expression, its value"));
  if (wanted.empty()) return val;
  if (wanted.size() == 1)
    return result_matches(frame, wanted[0], wanted[0].type, val, at) ? std::move(val) : Val{};
  bool fits = val.is(Val::Kind::Tuple) && val.items.size() == wanted.size();
  if (!fits)
    return report_.fail(frame,
                        error(Code::result_mismatch, at, "`{0}` declares {1} results, got {2}",
                              frame.decl.name.text, wanted.size(), report_.describe(val))
                            .at(frame.decl.results_span, "declared here"));
  bool good = true;
  for (size_t i = 0; i < wanted.size(); ++i)
    good &= result_matches(frame, wanted[i], wanted[i].type, val.items[i], at);
  return good ? std::move(val) : Val{};
}

bool Types::result_matches(Frame& frame, const ast::ResultType& want, ast::TypeRef part, Val& val,
                           Span at) {
  const ast::Type& written = frame.ast[part];
  std::string which = want.name.present() ? llvm::formatv("`{0}` ", want.name.text).str() : "";
  if (written.kind == ast::TypeKind::Tuple) {
    llvm::ArrayRef<ast::TypeRef> parts = frame.ast[written.parts];
    bool fits = val.is(Val::Kind::Tuple) && val.items.size() == parts.size();
    if (!fits)
      report_.fail(frame,
                   error(Code::result_mismatch, at,
                         "the result {0}of `{1}` is {2}, declared as {3}", which,
                         frame.decl.name.text, report_.describe(val), report_.text(written.span))
                       .at(written.span, "declared here"));
    for (size_t i = 0; fits && i < parts.size(); ++i) // as deep as brackets nest
      fits = result_matches(frame, want, parts[i], val.items[i], at);
    return fits;
  }
  NodeId node;
  std::optional<DType> dtype = dtype_of(frame, written);
  if (!nodes_.tensor(frame, val, at, node, dtype.value_or(DType::None))) return false;
  val = Val::of(node);
  const OpenType got = nodes_.type(node);
  OpenType declared(dtype.value_or(got.dtype), {});
  if (!declared_shape(frame, written, got, declared.shape)) return false;
  SizeSite site(nodes_.run(), at);
  if (declared == got) return true;
  llvm::StringRef text = report_.text(written.span);
  std::string also =
      declared.text() == text ? "" : llvm::formatv(", as {0}", declared.text()).str();
  report_.fail(frame,
               error(Code::result_mismatch, at, "the result {0}of `{1}` is {2}, declared as {3}",
                     which, frame.decl.name.text, got.text(), declared.text())
                   .mark("this is " + got.text())
                   .at(written.span, "declared here" + also));
  return false;
}

} // namespace tg::eval
