#include "compiler/import/onnx/read/shared/attention_mask.h"

#include "lang/core/shape_rules.h"

#include <cmath>
#include <limits>

namespace tg::onnx {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

NodeId both(Emitter& e, NodeId a, NodeId b) {
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  return e.op(OpKind::LogicalAnd, {a, b});
}

/// Hides the keys beyond the end of a mask that is shorter than the keys.
NodeId padded(Call& call, const MaskRules& rules) {
  Emitter& e = call.emit();
  int64_t rank = e.rank(rules.mask);
  if (rank < 1 || rank > 4) return call.fail("its mask has " + llvm::Twine(rank) + " axes");
  Shape before(static_cast<size_t>(rank), 0), after = before;
  after.back() = std::max<int64_t>(0, rules.keys - e.shape(rules.mask).back());
  double hidden = e.dtype(rules.mask) == DType::Bool ? 0 : kHidden;
  return e.pad(rules.mask, before, after, Value::of_float(hidden));
}

/// Returns the keys that a query may see by position; absent if it may see all.
NodeId visible_places(Emitter& e, const MaskRules& rules) {
  bool left = rules.left >= 0, right = rules.right >= 0;
  if (!rules.causal && !left && !right) return {};
  NodeId keys = e.iota({DType::I64, {1, rules.keys}}, 1);
  NodeId place = e.iota({DType::I64, {rules.queries, 1}}, 0);
  if (rules.filled.valid()) {
    NodeId first = e.sub(rules.filled, static_cast<double>(rules.queries));
    place = e.add(place, e.reshape(first, {e.shape(first)[0], 1, 1, 1}));
  } else if (rules.offset != 0) {
    place = e.add(place, static_cast<double>(rules.offset));
  }
  NodeId seen;
  if (rules.causal) seen = e.op(OpKind::LessEqual, {keys, place});
  if (left)
    seen = both(e, seen,
                e.op(OpKind::GreaterEqual, {keys, e.sub(place, static_cast<double>(rules.left))}));
  if (right)
    seen = both(e, seen,
                e.op(OpKind::LessEqual, {keys, e.add(place, static_cast<double>(rules.right))}));
  return seen;
}

/// Returns true if each query sees a key, when positions alone decide.
bool all_queries_see_a_key(const MaskRules& rules) {
  for (int64_t i = 0; i < rules.queries; ++i) {
    int64_t place = i + rules.offset, first = 0, last = rules.keys - 1;
    if (rules.causal) last = std::min(last, place);
    if (rules.left >= 0) first = std::max(first, place - rules.left);
    if (rules.right >= 0) last = std::min(last, place + rules.right);
    if (first > last) return false;
  }
  return true;
}

/// Returns the queries for which this bias hides every key; absent if there are known to be none.
NodeId hidden_queries(Emitter& e, NodeId bias) {
  if (!bias.valid()) return {};
  NodeId best = e.reduce(OpKind::ReduceMax, bias, {e.rank(bias) - 1}, true);
  NodeId hidden = e.equal(best, e.like(best, kHidden));
  std::optional<Literal> known = e.known(hidden);
  bool none = known && llvm::all_of(known->ints, [](int64_t x) { return x == 0; });
  return none ? NodeId() : hidden;
}

/// Returns the values of a mask with several rows and positions; none if they are not known.
std::optional<Literal> known_mask(Emitter& e, NodeId x) {
  Ints shape = e.shape(x);
  bool could_be = x.valid() && e.graph().node(x).weight_only && is_float(e.dtype(x)) &&
                  shape.size() >= 2 && shape.end()[-2] > 1 && shape.back() > 1;
  return could_be ? e.known(x) : std::nullopt;
}

} // namespace

AttentionMask attention_mask(Call& call, const MaskRules& rules) {
  Emitter& e = call.emit();
  NodeId seen = visible_places(e, rules);
  bool by_places = !rules.mask.valid() && !rules.filled.valid();
  NodeId bias;
  if (rules.mask.valid()) {
    NodeId mask = padded(call, rules);
    if (!mask.valid()) return {};
    if (e.dtype(mask) == DType::Bool)
      seen = both(e, mask, seen);
    else
      bias = e.cast(mask, rules.dtype);
  }
  if (rules.filled.valid()) {
    NodeId keys = e.iota({DType::I64, {1, rules.keys}}, 1);
    NodeId end = e.reshape(rules.filled, {e.shape(rules.filled)[0], 1, 1, 1});
    seen = both(e, seen, e.less(keys, end));
  }
  if (seen.valid())
    bias = e.select(seen, bias.valid() ? bias : e.scalar(0, rules.dtype),
                    e.scalar(kHidden, rules.dtype));
  bool none_hidden = by_places && all_queries_see_a_key(rules);
  return {bias, none_hidden ? NodeId() : hidden_queries(e, bias)};
}

NodeId sum_with_zero_mask(Emitter& e, NodeId x, NodeId y) {
  for (auto [kept, mask] : {std::pair(x, y), std::pair(y, x)}) {
    if (!kept.valid() || !mask.valid() || e.graph().node(kept).weight_only || e.rank(mask) < 3)
      continue;
    Shape both;
    if (!broadcast_shapes(e.shape(kept), e.shape(mask), both) || Ints(both) != e.shape(kept))
      continue;
    std::optional<Literal> known = known_mask(e, mask);
    if (known && llvm::all_of(known->reals, [](double number) { return number == 0; })) return kept;
  }
  return {};
}

NodeId softmax_with_bounded_mask(Emitter& e, NodeId softmax) {
  Graph& graph = e.graph();
  if (!softmax.valid() || graph.node(softmax).op != OpKind::Softmax) return softmax;
  NodeId sum = graph.operands(softmax)[0];
  if (graph.node(sum).op != OpKind::Add) return softmax;
  for (size_t i : {1, 0}) {
    NodeId scores = graph.operands(sum)[1 - i], mask = graph.operands(sum)[i];
    std::optional<Literal> known = known_mask(e, mask);
    if (!known || !llvm::all_of(known->reals, [](double number) { return std::isfinite(number); }))
      continue;
    auto [least, most] = std::minmax_element(known->reals.begin(), known->reals.end());
    ValueId bounds[] = {graph.symbols().value(Value::of_float(*least)),
                        graph.symbols().value(Value::of_float(*most))};
    NodeId bounded = graph.add(OpKind::Clip, bounds, {mask}); // op() would compute it
    return e.softmax(e.add(scores, bounded), graph.attr(softmax, 0).number);
  }
  return softmax;
}

} // namespace tg::onnx
