#include "compiler/ir/eval/gradient_call.h"

#include "compiler/ir/from_ast.h"
#include "compiler/ir/grad/gradient.h"

namespace tg::eval {

namespace {

class GradientCall {
public:
  GradientCall(Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e)
      : nodes_(nodes), report_(report), frame_(frame), e_(e) {}

  Val result(llvm::ArrayRef<Val> args) {
    NodeId loss = loss_of(args[0]);
    std::vector<NodeId> wrt, constant;
    if (!loss.valid() || !tensors(args[1], "wrt", wrt)) return {};
    if (!args[2].is(Val::Kind::Unit) && !tensors(args[2], "constant", constant)) return {};
    if (nodes_.run()) { // the rules of gradients read numbers
      SizeSite site(nodes_.run(), e_.span, "`grad`");
      nodes_.run()->fix_all();
    }
    Graph& graph = nodes_.graph();
    size_t before = graph.size();
    NoGradient why;
    auto made = gradients(graph, loss, wrt, constant, why);
    report_.spend(graph.size() - before);
    if (!made) return refused(why);
    if (graph.size() > kMaxGraphNodes)
      return report_.limit(frame_, e_.span,
                           llvm::formatv("the model has more than {0} nodes", kMaxGraphNodes));
    if (args[1].is(Val::Kind::Tensor)) return Val::of((*made)[0]);
    std::vector<Val> items;
    for (NodeId node : *made) items.push_back(Val::of(node));
    return Val::list(std::move(items), args[1].kind);
  }

private:
  NodeId loss_of(const Val& val) {
    NodeId loss;
    if (!nodes_.tensor(frame_, val, e_.span, loss)) return {};
    const OpenType type = nodes_.type(loss);
    SizeSite site(nodes_.run(), e_.span);
    if (is_float(type.dtype) && type.elements() == 1) return loss;
    report_.fail(frame_, error(Code::wrong_kind, e_.span,
                               "`grad` requires a loss of one float, got {0}", type.text())
                             .suggest(is_float(type.dtype) ? sum_of(type.rank()) : ""));
    return {};
  }

  static std::string sum_of(int64_t rank) {
    std::string axes;
    for (int64_t axis = 0; axis < rank; ++axis) axes += (axis ? ", " : "") + std::to_string(axis);
    return "take the mean or sum of its elements: reduce_mean(loss, axes = [" + axes + "])";
  }

  /// Collects one tensor, or a list or tuple of them. Literals are not variables.
  bool tensors(const Val& val, llvm::StringRef what, std::vector<NodeId>& out) {
    llvm::ArrayRef<Val> items = val;
    if (val.is(Val::Kind::List) || val.is(Val::Kind::Tuple)) items = val.items;
    for (const Val& item : items) {
      bool fits = item.is(Val::Kind::Tensor) && !item.weak &&
                  (what == "constant" || is_float(nodes_.dtype(item.node)));
      if (!fits) {
        report_.fail(frame_,
                     error(Code::wrong_kind, e_.span,
                           "`{0}` of `grad` must be a tensor of floats or a list of them, got {1}",
                           what, report_.describe(item)));
        return false;
      }
      out.push_back(item.node);
    }
    return true;
  }

  /// Describes an operator, with the name of its value in this scope if it has one.
  std::string step_text(NodeId node) const {
    const Graph& graph = nodes_.graph();
    OpKind op = graph.node(node).op;
    std::string text(op_info(op).name);
    if (op == OpKind::Extern) text += " " + graph.attr(node, 0).text;
    const Binding* binding = binding_of(node);
    return binding ? text + " (`" + binding->name.str() + "`)" : text;
  }

  /// Returns the binding of a value in this function or in one of its callers.
  const Binding* binding_of(NodeId node) const {
    for (const Frame* frame = &frame_; frame; frame = frame->caller)
      for (const Binding& binding : frame->bindings)
        if (binding.val.is(Val::Kind::Tensor) && binding.val.node == node) return &binding;
    return nullptr;
  }

  Val refused(const NoGradient& why) {
    constexpr size_t kShown = 12; // steps from each end
    std::string way;
    for (size_t i = 0; i < why.way.size(); ++i) {
      bool skipped = why.way.size() > 2 * kShown && i >= kShown && i < why.way.size() - kShown;
      if (skipped && i == kShown)
        way += llvm::formatv(", … ({0} more)", why.way.size() - 2 * kShown).str();
      if (!skipped) way += (i ? ", " : "") + step_text(why.way[i]);
    }
    Diagnostic d = error(Code::no_gradient, e_.span, "{0} has no gradient: {1}",
                         step_text(why.way.back()), why.why)
                       .note("path from the loss: " + way)
                       .suggest("name a value to treat as a constant: constant = …");
    const Binding* nearest = nullptr; // to the operator
    for (auto at = why.way.rbegin(); at != why.way.rend() && !nearest; ++at)
      nearest = binding_of(*at);
    if (nearest) d.labels.push_back({nearest->span, "the path goes through this value"});
    return report_.fail(frame_, std::move(d));
  }

  Nodes& nodes_;
  Report& report_;
  const Frame& frame_;
  const ast::Expr& e_;
};

} // namespace

Val gradient_call(Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e,
                  llvm::ArrayRef<Val> args) {
  return GradientCall(nodes, report, frame, e).result(args);
}

} // namespace tg::eval
