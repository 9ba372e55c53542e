// Classification losses: the elements of x[N, C, ..] that the target selects along the channels,
// negated, weighted and summed. A target out of range, as an ignored one may be, selects 0.
#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {
namespace {

struct Loss {
  NodeId target;                 // [N, 1, ..]
  NodeId weight;                 // [C]; may be absent
  std::optional<int64_t> ignore; // the target that is ignored
  std::string reduction;
};

/// Reads the operands and attributes that both losses share; fails if they do not fit x.
Loss read_loss(Call& call, NodeId x) {
  Emitter& e = call.emit();
  Loss loss;
  NodeId target = call.input(1);
  loss.weight = call.optional(2);
  loss.reduction = call.text("reduction", "mean");
  if (call.attribute("ignore_index")) loss.ignore = call.whole("ignore_index");
  if (call.failed()) return loss;
  Shape fits(e.shape(x).begin(), e.shape(x).end());
  if (fits.size() >= 2) fits.erase(fits.begin() + 1);
  if (e.rank(x) < 2 || e.shape(target) != Ints(fits) || !is_integer(e.dtype(target)))
    call.fail("it takes x[N, C, ..] and a target[N, ..] of integers, got " + e.type(x).text() +
              " and " + e.type(target).text());
  else if (loss.weight.valid() && e.shape(loss.weight) != e.shape(x).slice(1, 1))
    call.fail("its weights are " + e.type(loss.weight).text() + " for " + e.type(x).text());
  else if (loss.reduction != "mean" && loss.reduction != "sum" && loss.reduction != "none")
    call.fail("its `reduction` is `" + loss.reduction + "`");
  else
    loss.target = e.unsqueeze(target, 1);
  return loss;
}

/// Returns the elements of x that the mask [N, C, ..] selects along the channels.
NodeId picked(Emitter& e, NodeId mask, NodeId x) {
  return e.reduce(OpKind::ReduceSum, e.select(mask, x, e.like(x, 0)), {1}, false);
}

/// Returns whether each target counts, that is, is not ignored.
NodeId counts(Emitter& e, const Loss& loss) {
  NodeId ignored = e.literal({{e.dtype(loss.target), {}}, {*loss.ignore}, {}});
  return e.op(OpKind::NotEqual, {loss.target, ignored});
}

/// Returns the weight of each position; absent if all are 1.
NodeId weights(Emitter& e, const Loss& loss, NodeId mask, NodeId x) {
  if (!loss.weight.valid() && !loss.ignore) return {};
  if (!loss.weight.valid()) return e.squeeze(e.cast(counts(e, loss), e.dtype(x)), 1);
  Shape column(static_cast<size_t>(e.rank(x)), 1);
  column[1] = e.shape(x)[1];
  return picked(e, mask, e.reshape(loss.weight, column));
}

NodeId loss_of(Emitter& e, const Loss& loss, NodeId x) {
  TensorType classes{e.dtype(loss.target), Shape(static_cast<size_t>(e.rank(x)), 1)};
  classes.shape[1] = e.shape(x)[1];
  NodeId mask = e.equal(loss.target, e.iota(classes, 1));
  if (loss.ignore) mask = e.op(OpKind::LogicalAnd, {mask, counts(e, loss)});
  NodeId made = e.neg(picked(e, mask, x)), weight = weights(e, loss, mask, x);
  if (!made.valid()) return made;
  if (weight.valid()) made = e.mul(made, weight);
  if (loss.reduction == "none") return made;
  Shape all;
  for (int64_t axis = 0; axis < e.rank(made); ++axis) all.push_back(axis);
  auto total = [&](NodeId of) { return e.reduce(OpKind::ReduceSum, of, all, false); };
  if (loss.reduction == "sum") return total(made);
  if (weight.valid()) return e.div(total(made), total(weight));
  return e.reduce(OpKind::ReduceMean, made, all, false);
}

void negative_log_likelihood_loss(Call& call) {
  NodeId x = call.input(0);
  if (call.failed()) return;
  Loss loss = read_loss(call, x);
  if (!call.failed()) call.result(loss_of(call.emit(), loss, x));
}

void softmax_cross_entropy_loss(Call& call) {
  NodeId scores = call.input(0);
  if (call.failed()) return;
  Loss loss = read_loss(call, scores);
  if (call.failed()) return;
  NodeId x = call.emit().log_softmax(scores, 1);
  call.result(0, loss_of(call.emit(), loss, x));
  if (call.uses_result(1)) call.result(1, x);
}

} // namespace

llvm::ArrayRef<Form> loss_forms() {
  static constexpr Form kForms[] = {
      {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
  };
  return kForms;
}

} // namespace tg::onnx
