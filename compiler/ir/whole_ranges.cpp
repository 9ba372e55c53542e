#include "compiler/ir/whole_ranges.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <limits>
#include <set>

namespace tg {

namespace {

__extension__ using Wide = __int128;

constexpr size_t kMostUnder = 32; // nodes of a branch whose ranges a condition narrows

WholeRange joined(const WholeRange& a, const WholeRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// The range between all of these, or every number of the dtype where one is beyond it.
WholeRange hull(llvm::ArrayRef<Wide> ends, DType dtype) {
  auto [low, high] = std::minmax_element(ends.begin(), ends.end());
  WholeRange all = range_of_dtype(dtype);
  if (*low < all.low || *high > all.high) return all;
  return {static_cast<int64_t>(*low), static_cast<int64_t>(*high)};
}

Wide floor_div(Wide x, Wide y) {
  Wide cut = x / y;
  return cut - (x % y != 0 && (x < 0) != (y < 0));
}

WholeRange product(const WholeRange& x, const WholeRange& y, DType dtype) {
  Wide a = x.low, b = x.high, c = y.low, d = y.high;
  return hull({a * c, a * d, b * c, b * d}, dtype);
}

/// x / 0 is 0. Divisors of both signs say nothing.
WholeRange quotient(const WholeRange& x, const WholeRange& y, DType dtype) {
  if (y.high < 0 || (y.low < 0 && y.high >= 0)) return range_of_dtype(dtype);
  if (y.high == 0) return {0, 0};
  Wide least = std::max<int64_t>(y.low, 1), most = y.high;
  WholeRange all = hull({floor_div(x.low, least), floor_div(x.low, most), floor_div(x.high, least),
                         floor_div(x.high, most)},
                        dtype);
  return y.low == 0 ? joined(all, {0, 0}) : all;
}

/// The remainder has the sign of the divisor; x mod 0 is 0.
WholeRange remainder(const WholeRange& x, const WholeRange& y) {
  if (y.low > 0 && x.low >= 0 && x.high < y.low) return x;
  return {std::min<int64_t>(y.low < 0 ? y.low + 1 : 0, 0),
          std::max<int64_t>(y.high > 0 ? y.high - 1 : 0, 0)};
}

/// Returns the range of x < y (or x <= y) as a bool: [1, 1] always, [0, 0] never, else [0, 1].
WholeRange is_less(const WholeRange& x, const WholeRange& y, bool or_equal) {
  bool always = or_equal ? x.high <= y.low : x.high < y.low;
  bool never = or_equal ? x.low > y.high : x.low >= y.high;
  return {always, !never};
}

WholeRange is_equal(const WholeRange& x, const WholeRange& y) {
  bool always = x.is_single() && x == y, never = x.high < y.low || y.high < x.low;
  return {always, !never};
}

WholeRange inverted(const WholeRange& x) { return {1 - x.high, 1 - x.low}; }

WholeRange of_constant(const Graph& graph, NodeId id) {
  const Value& values = graph.attr(id, 0);
  if (values.ints.empty() && values.reals.empty()) return range_of_dtype(graph.type(id).dtype);
  WholeRange range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (int64_t x : values.ints) range = joined(range, {x, x});
  for (double real : values.reals) {
    auto x = static_cast<int64_t>(real);
    range = joined(range, {x, x});
  }
  return range;
}

/// Narrows to what both say; a place that cannot be has any range.
void narrow(llvm::DenseMap<uint32_t, WholeRange>& known, NodeId id, const WholeRange& was,
            const WholeRange& to) {
  WholeRange& range = known.try_emplace(id.index, was).first->second;
  WholeRange both{std::max(range.low, to.low), std::min(range.high, to.high)};
  if (both.low <= both.high) range = both;
}

int64_t before(int64_t x) { return x == std::numeric_limits<int64_t>::min() ? x : x - 1; }
int64_t after(int64_t x) { return x == std::numeric_limits<int64_t>::max() ? x : x + 1; }

} // namespace

WholeRange range_of_dtype(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  if (dtype == DType::I32)
    return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
}

bool is_element_by_element(OpKind op) {
  return op == OpKind::Cast || op_info(op).has(Trait::Pointwise);
}

WholeRange WholeRanges::of(NodeId id) {
  while (ranges_.size() <= id.index) {
    NodeId next{static_cast<uint32_t>(ranges_.size())};
    DType dtype = graph_.type(next).dtype;
    ranges_.push_back(is_integer(dtype) || dtype == DType::Bool
                          ? computed(next, [&](NodeId operand) { return ranges_[operand.index]; })
                          : WholeRange{});
  }
  return ranges_[id.index];
}

// NOLINTNEXTLINE(readability-function-size): a flat switch, a row an operator.
WholeRange WholeRanges::computed(NodeId id, Of of) {
  const TensorType& type = graph_.type(id);
  const WholeRange all = range_of_dtype(type.dtype);
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  switch (graph_.node(id).op) {
  case OpKind::Constant: return of_constant(graph_, id);
  case OpKind::Input: {
    if (!inputs_) return all;
    auto known = inputs_->find(graph_.attr(id, 0).text);
    return known == inputs_->end() ? all : known->second;
  }
  case OpKind::Reshape:
  case OpKind::Transpose:
  case OpKind::Slice:
  case OpKind::Broadcast:
  case OpKind::Concat:
  case OpKind::ReduceMax:
  case OpKind::ReduceMin: {
    WholeRange range = of(operands[0]);
    for (NodeId operand : operands.drop_front()) range = joined(range, of(operand));
    return range;
  }
  case OpKind::Gather: { // an element that is missing is 0
    auto axis = static_cast<size_t>(graph_.attr(id, 0).number);
    WholeRange in_range{0, graph_.type(operands[0])[axis] - 1}, x = of(operands[0]);
    return of(operands[1]).is_within(in_range) ? x : joined(x, {0, 0});
  }
  case OpKind::Argmax:
  case OpKind::TopK: {
    auto axis = static_cast<size_t>(graph_.attr(id, 0).number);
    return {0, std::max<int64_t>(graph_.type(operands[0])[axis] - 1, 0)};
  }
  case OpKind::Iota: {
    auto axis = static_cast<size_t>(graph_.attr(id, 1).number);
    int64_t last = type.rank() == 0 ? 0 : std::max<int64_t>(type[axis] - 1, 0);
    return last <= all.high ? WholeRange{0, last} : all;
  }
  case OpKind::Cast: {
    DType from = graph_.type(operands[0]).dtype;
    if (is_float(from)) return all;
    WholeRange x = of(operands[0]);
    if (type.dtype == DType::Bool) return inverted(is_equal(x, {0, 0}));
    return x.is_within(all) ? x : all;
  }
  case OpKind::Select: return selected(id, of);
  default: return pointwise(id, of);
  }
}

// NOLINTNEXTLINE(readability-function-size): a flat switch, a row an operator.
WholeRange WholeRanges::pointwise(NodeId id, Of of) const {
  DType dtype = graph_.type(id).dtype;
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  const WholeRange all = range_of_dtype(dtype);
  OpKind op = graph_.node(id).op;
  if (!op_info(op).has(Trait::Pointwise) || is_float(graph_.type(operands[0]).dtype)) return all;
  WholeRange x = of(operands[0]), y = operands.size() > 1 ? of(operands[1]) : WholeRange{};
  bool same = operands.size() > 1 && operands[0] == operands[1];
  Wide a = x.low, b = x.high, c = y.low, d = y.high;
  switch (op) {
  case OpKind::Identity: return x;
  case OpKind::Add: return hull({a + c, b + d}, dtype);
  case OpKind::Sub: return same ? WholeRange{0, 0} : hull({a - d, b - c}, dtype);
  case OpKind::Mul: return product(x, y, dtype);
  case OpKind::Neg: return hull({-a, -b}, dtype);
  case OpKind::Abs: {
    WholeRange ends = hull({a < 0 ? -a : a, b < 0 ? -b : b}, dtype);
    return ends == all ? all : WholeRange{x.low <= 0 && x.high >= 0 ? 0 : ends.low, ends.high};
  }
  case OpKind::Sign: return {x.low < 0 ? -1 : x.low > 0, x.high > 0 ? 1 : -(x.high < 0)};
  case OpKind::Relu: return {std::max<int64_t>(x.low, 0), std::max<int64_t>(x.high, 0)};
  case OpKind::Maximum: return {std::max(x.low, y.low), std::max(x.high, y.high)};
  case OpKind::Minimum: return {std::min(x.low, y.low), std::min(x.high, y.high)};
  case OpKind::Div: return quotient(x, y, dtype);
  case OpKind::Mod: return remainder(x, y);
  case OpKind::Less: return same ? WholeRange{0, 0} : is_less(x, y, false);
  case OpKind::LessEqual: return same ? WholeRange{1, 1} : is_less(x, y, true);
  case OpKind::Greater: return same ? WholeRange{0, 0} : is_less(y, x, false);
  case OpKind::GreaterEqual: return same ? WholeRange{1, 1} : is_less(y, x, true);
  case OpKind::Equal: return same ? WholeRange{1, 1} : is_equal(x, y);
  case OpKind::NotEqual: return same ? WholeRange{0, 0} : inverted(is_equal(x, y));
  case OpKind::LogicalAnd: return {std::min(x.low, y.low), std::min(x.high, y.high)};
  case OpKind::LogicalOr: return {std::max(x.low, y.low), std::max(x.high, y.high)};
  case OpKind::LogicalNot: return inverted(x);
  default: return all;
  }
}

WholeRange WholeRanges::selected(NodeId id, Of of) {
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  WholeRange condition = of(operands[0]);
  if (condition.is_single()) return of(operands[condition.low ? 1 : 2]);
  return joined(under(operands[1], operands[0], true), under(operands[2], operands[0], false));
}

/// Returns the ranges of the compared values that follow from the condition.
WholeRanges::Known WholeRanges::implied(NodeId condition, bool holds) {
  Known known;
  llvm::SmallVector<std::pair<NodeId, bool>, 8> open{{condition, holds}};
  while (!open.empty() && known.size() < kMostUnder) {
    auto [id, is] = open.pop_back_val();
    llvm::ArrayRef<NodeId> sides = graph_.operands(id);
    OpKind op = graph_.node(id).op;
    if (op == OpKind::LogicalNot) open.push_back({sides[0], !is});
    if ((op == OpKind::LogicalAnd && is) || (op == OpKind::LogicalOr && !is))
      for (NodeId side : sides) open.push_back({side, is});
    known[id.index] = {is, is};
    if (op_info(op).shape != ShapeRule::compare || !is_integer(graph_.type(sides[0]).dtype))
      continue;
    bool swaps = op == OpKind::Greater || op == OpKind::GreaterEqual;
    NodeId x = sides[swaps ? 1 : 0], y = sides[swaps ? 0 : 1];
    WholeRange of_x = of(x), of_y = of(y);
    bool or_equal = op == OpKind::LessEqual || op == OpKind::GreaterEqual;
    if (op == OpKind::Equal || op == OpKind::NotEqual) {
      if (is == (op == OpKind::Equal)) {
        narrow(known, x, of_x, of_y), narrow(known, y, of_y, of_x);
        continue;
      }
      for (auto [one, range, other] : {std::tuple(x, of_x, of_y), std::tuple(y, of_y, of_x)})
        if (other.is_single() && !range.is_single())
          narrow(known, one, range,
                 {range.low + (range.low == other.low), range.high - (range.high == other.low)});
      continue;
    }
    if (!is) std::swap(x, y), std::swap(of_x, of_y), or_equal = !or_equal; // x <= y
    narrow(known, x, of_x, {of_x.low, or_equal ? of_y.high : before(of_y.high)});
    narrow(known, y, of_y, {or_equal ? of_x.low : after(of_x.low), of_y.high});
  }
  return known;
}

WholeRange WholeRanges::under(NodeId id, NodeId condition, bool holds) {
  Known known = implied(condition, holds);
  uint32_t first = id.index;
  for (const auto& [index, range] : known) first = std::min(first, index);
  std::set<uint32_t> nodes;
  llvm::SmallVector<uint32_t, 16> open{id.index};
  while (!open.empty()) {
    uint32_t i = open.pop_back_val();
    DType dtype = graph_.type({i}).dtype;
    bool counts = (is_integer(dtype) || dtype == DType::Bool) && i > first && !known.count(i) &&
                  is_element_by_element(graph_.node({i}).op);
    if (!counts || !nodes.insert(i).second) continue;
    if (nodes.size() > kMostUnder) return of(id);
    for (NodeId operand : graph_.operands({i})) open.push_back(operand.index);
  }
  auto narrowed = [&](NodeId operand) {
    auto at = known.find(operand.index);
    return at != known.end() ? at->second : ranges_[operand.index];
  };
  for (uint32_t i : nodes) {
    WholeRange range = graph_.node({i}).op == OpKind::Select
                           ? ranges_[i] // conditions within conditions are not followed
                           : computed({i}, narrowed);
    known[i] = range;
  }
  return narrowed(id);
}

} // namespace tg
