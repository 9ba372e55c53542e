#include "compiler/ir/eval/weight_call.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::eval {

namespace {

class WeightCall {
public:
  WeightCall(Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e)
      : nodes_(nodes), report_(report), frame_(frame), e_(e) {}

  /// Returns the float weights below a value in the order of their declarations, except those that
  /// are not trained.
  Val params(const Val& of) {
    NodeId top;
    if (!nodes_.tensor(frame_, of, e_.span, top)) return {};
    const Graph& graph = nodes_.graph();
    std::vector<bool> below(top.index + 1);
    below[top.index] = true;
    for (uint32_t i = top.index + 1; i-- > 0;) // users come after operands
      if (below[i])
        for (NodeId operand : graph.operands({i})) below[operand.index] = true;
    report_.spend(below.size());
    std::vector<Val> found;
    for (uint32_t i = 0; i <= top.index; ++i)
      if (below[i] && graph.node({i}).op == OpKind::Weight && is_float(graph.type({i}).dtype) &&
          !nodes_.untrained().contains(i))
        found.push_back(Val::of(NodeId{i}));
    return Val::list(std::move(found));
  }

  Val path(const Val& of) {
    return is_weight(of) ? Val::of(Value::of_string(nodes_.graph().attr(of.node, 0).text)) : Val{};
  }

  Val update(const Val& of, const Val& to) {
    NodeId value;
    if (!is_weight(of)) return {};
    SizeSite site(nodes_.run(), e_.span);
    const OpenType type = nodes_.type(of.node);
    if (!nodes_.tensor(frame_, to, e_.span, value, type.dtype)) return {};
    const std::string& path = nodes_.graph().attr(of.node, 0).text;
    if (!(nodes_.type(value) == type))
      return report_.fail(frame_, error(Code::result_mismatch, e_.span,
                                        "the next value of the weight `{0}` is {1}, not {2}", path,
                                        nodes_.type(value).text(), type.text()));
    if (llvm::any_of(nodes_.updates(),
                     [&](const Nodes::Update& known) { return known.weight == of.node; }))
      return report_.fail(frame_, error(Code::duplicate_weight, e_.span,
                                        "the weight `{0}` is updated twice", path));
    nodes_.updates().push_back({of.node, value});
    return Val::of(value);
  }

private:
  bool is_weight(const Val& val) {
    if (val.is(Val::Kind::Tensor) && nodes_.graph().node(val.node).op == OpKind::Weight)
      return true;
    report_.fail(frame_, error(Code::wrong_kind, e_.span, "`{0}` requires a weight, got {1}",
                               e_.callee.text, report_.describe(val))
                             .suggest("declare a weight with param w: f32[4, 3]"));
    return false;
  }

  Nodes& nodes_;
  Report& report_;
  const Frame& frame_;
  const ast::Expr& e_;
};

} // namespace

Val weight_call(Builtin kind, Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e,
                llvm::ArrayRef<Val> args) {
  WeightCall call(nodes, report, frame, e);
  if (kind == Builtin::Params) return call.params(args[0]);
  return kind == Builtin::Path ? call.path(args[0]) : call.update(args[0], args[1]);
}

} // namespace tg::eval
