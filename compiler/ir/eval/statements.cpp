#include "compiler/ir/eval/statements.h"

#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::eval {

using ast::ExprKind;
using ast::StmtKind;

Val Statements::run(Frame& frame, ast::BlockId id) {
  Val last = Val::unit();
  if (!id) return last;
  for (ast::StmtId stmt : frame.ast[frame.ast[id].stmts]) {
    if (report_.stopped()) return {};
    last = statement(frame, frame.ast[stmt]);
  }
  return last;
}

Val Statements::block(Frame& frame, ast::BlockId id) {
  size_t mark = frame.bindings.size();
  Val val = run(frame, id);
  frame.unwind(mark);
  return val;
}

Val Statements::statement(Frame& frame, const ast::Stmt& s) {
  switch (s.kind) {
  case StmtKind::Error: break;
  case StmtKind::Expr: return expressions_.expression(frame, s.value);
  case StmtKind::Let:
  case StmtKind::Var:
  case StmtKind::Assign: {
    Val value = expressions_.expression(frame, s.value);
    if (value.is(Val::Kind::Unit))
      value = report_.fail(frame,
                           error(Code::wrong_kind, frame.ast[s.value].span, "this has no value"));
    destructure(frame, s, std::move(value));
    break;
  }
  case StmtKind::Param: weight(frame, s); break;
  case StmtKind::For: loop(frame, s); break;
  }
  return Val::unit();
}

void Statements::destructure(Frame& frame, const ast::Stmt& s, Val value) {
  llvm::ArrayRef<ast::Name> targets = frame.ast[s.targets];
  bool takes_apart = s.destructures || targets.size() != 1;
  if (takes_apart && !value.poison()) {
    bool fits = (value.is(Val::Kind::Tuple) || value.is(Val::Kind::List)) &&
                value.items.size() == targets.size();
    if (!fits) {
      Span span = s.value ? frame.ast[s.value].span : s.span;
      value = report_.fail(frame, error(Code::wrong_kind, span, "got {0} names for {1}",
                                        targets.size(), report_.describe(value)));
    }
  }
  bool poison = value.poison();
  std::vector<Val> parts;
  if (takes_apart)
    parts = std::move(value.items);
  else
    parts.push_back(std::move(value));
  for (size_t i = 0; i < targets.size(); ++i) {
    Val part = poison ? Val{} : std::move(parts[i]);
    if (s.kind == StmtKind::Assign)
      assign(frame, targets[i], std::move(part));
    else
      frame.bind(targets[i].text, std::move(part),
                 s.kind == StmtKind::Var   ? Bound::Var
                 : s.kind == StmtKind::For ? Bound::Loop
                                           : Bound::Let,
                 targets[i].span);
  }
}

void Statements::assign(Frame& frame, const ast::Name& target, Val value) {
  if (Binding* binding = frame.find(target.text)) {
    binding->val = std::move(value);
    binding->span = target.span;
  }
}

void Statements::loop(Frame& frame, const ast::Stmt& s) {
  const ast::Expr& over = frame.ast[s.value];
  if (over.kind == ExprKind::Range) { // not expanded: it may be long, and a limit ends it
    int64_t first = 0, last = 0;
    bool good = expressions_.integer(frame, over.a, "the start of a range", first);
    good &= expressions_.integer(frame, over.b, "the end of a range", last);
    if (!good) return;
    for (int64_t i = first; i < last && report_.step(frame, s.span); ++i)
      loop_round(frame, s, Val::of(Value::of_int(i)), i - first);
    return;
  }
  Val list = expressions_.expression(frame, s.value);
  if (list.poison()) return;
  if (!list.is(Val::Kind::List) && !list.is(Val::Kind::Tuple)) {
    report_.fail(frame, error(Code::wrong_kind, over.span,
                              "`for` requires a range or a list, not {0}", report_.describe(list)));
    return;
  }
  for (size_t i = 0; i < list.items.size() && report_.step(frame, s.span); ++i)
    loop_round(frame, s, std::move(list.items[i]), static_cast<int64_t>(i));
}

void Statements::loop_round(Frame& frame, const ast::Stmt& s, Val item, int64_t round) {
  size_t mark = frame.bindings.size();
  frame.rounds.push_back(round);
  destructure(frame, s, std::move(item));
  (void)run(frame, s.body);
  frame.rounds.pop_back();
  frame.unwind(mark);
}

/// Returns `init = …` from the parentheses behind the type or from those of `weight(…)`, or null.
const ast::Arg* Statements::init_of(Frame& frame, const ast::Stmt& s) {
  const ast::Arg* arg = frame.ast.find_arg(s.args, "init");
  return arg || !s.value ? arg : frame.ast.find_arg(frame.ast[s.value].args, "init");
}

std::string Statements::weight_init(Frame& frame, const ast::Stmt& s) {
  const ast::Arg* arg = init_of(frame, s);
  if (!arg) return {};
  const ast::Expr& init = frame.ast[arg->value];
  if (init.kind == ExprKind::Name) return init.text.str();
  std::string text = init.callee.text.str() + "(";
  for (const ast::Arg& number : frame.ast[init.args]) {
    Val v = settled(expressions_.expression(frame, number.value));
    if (v.poison()) return {};
    if (!v.is(Val::Kind::Const) || !is_number(v.value)) {
      report_.fail(frame, error(Code::wrong_kind, number.span, "`{0}` requires numbers, got {1}",
                                init.callee.text, report_.describe(v)));
      return {};
    }
    if (text.back() != '(') text += ", ";
    text += v.value.text_form();
  }
  return text + ")";
}

/// Returns true if the initialisation suits the type; for example, vectors cannot be orthogonal.
bool Statements::fits_init(Frame& frame, const ast::Stmt& s, const TensorType& type,
                           llvm::StringRef init) {
  if (!init.startswith("orthogonal(") || type.shape.size() >= 2) return true;
  report_.fail(frame,
               error(Code::bad_attribute, frame.ast[init_of(frame, s)->value].span,
                     "`orthogonal` requires a weight with two or more axes, got {0}", type.text())
                   .suggest("use `normal(s)`, `uniform(a, b)`, `zeros` or `ones`"));
  return false;
}

/// Returns true if `params` includes the weight.
bool Statements::weight_trained(Frame& frame, const ast::Stmt& s) {
  const ast::Arg* arg = frame.ast.find_arg(s.args, "trained");
  if (!arg && s.value) arg = frame.ast.find_arg(frame.ast[s.value].args, "trained");
  if (!arg) return true;
  Val trained = expressions_.expression(frame, arg->value);
  if (!trained.constant(Value::Kind::Bool) && !trained.poison())
    report_.fail(frame,
                 error(Code::wrong_kind, arg->span, "`trained` must be true or false, got {0}",
                       report_.describe(trained)));
  return !trained.constant(Value::Kind::Bool) || trained.value.number != 0;
}

/// Evaluates `weight("layers." + i + ".w")`; without a path, uses the name. Returns nullopt after
/// an error.
std::optional<std::string> Statements::weight_path(Frame& frame, const ast::Stmt& s) {
  llvm::ArrayRef<ast::Arg> args;
  if (s.value && frame.ast[s.value].kind == ExprKind::Call)
    args = frame.ast[frame.ast[s.value].args];
  if (args.empty()) return WeightPaths::of_weight(frame, s);
  Val path = expressions_.expression(frame, args[0].value);
  if (path.poison()) return std::nullopt;
  if (path.is(Val::Kind::Const) && path.value.is(Value::Kind::String)) return path.value.text;
  report_.fail(frame,
               error(Code::wrong_kind, args[0].span,
                     "the path of a weight must be a string, not {0}", report_.describe(path)));
  return std::nullopt;
}

void Statements::weight(Frame& frame, const ast::Stmt& s) {
  const ast::Name& name = frame.ast[s.targets][0];
  std::optional<std::string> given = weight_path(frame, s);
  if (!given) return frame.bind(name.text, {}, Bound::Weight, name.span);
  const std::string& path = *given;
  std::string init = weight_init(frame, s);
  std::string chain = frame.caller ? report_.call_text(frame, name.span.file) : "";
  OpenType open;
  Val val;
  if (const WeightPaths::Declared* first = paths_.declare(path, {name.span, std::move(chain)})) {
    Diagnostic d =
        error(Code::duplicate_weight, name.span, "two weights have the path `{0}`", path);
    bool same_place = first->span == name.span;
    d.label = same_place ? "both are declared here" : "one is declared here";
    if (!same_place) d.labels.push_back({first->span, "the other is declared here"});
    if (!first->chain.empty()) d.notes.push_back("the first " + first->chain);
    d.help = "give each call a name: f(…) as name";
    report_.fail(frame, std::move(d));
  } else if (types_.tensor_type(frame, s.type, open)) {
    SizeSite site(nodes_.run(), frame.ast[s.type].span, "the type of a weight");
    for (const Size& size : open.shape) (void)size.fixed();
    TensorType type = open.sample();
    if (llvm::is_contained(type.shape, 0))
      report_.fail(frame, error(Code::dimension_mismatch, frame.ast[s.type].span,
                                "a weight must have elements, got {0}", type.text()));
    else if (fits_init(frame, s, type, init))
      val = Val::of(nodes_.graph().weight(path, type, init));
    if (val.is(Val::Kind::Tensor) && !weight_trained(frame, s))
      nodes_.untrained().insert(val.node.index);
  }
  frame.bind(name.text, std::move(val), Bound::Weight, name.span);
}

} // namespace tg::eval
