#include "compiler/verify/counterexample/rule_probes.h"

#include "compiler/verify/counterexample/probe.h"
#include "compiler/verify/counterexample/trial.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg {

namespace {

constexpr size_t kEachApart = 6;       // if the sides differ in the field: only float64 decides
constexpr size_t kEach = 2;            // comparisons per instance, besides open partitions
constexpr uint64_t kAlike = 16;        // comparisons at a candidate for a smaller counterexample
constexpr double kReordered = 0x1p-36; // error of reordered sums in float64, relative
constexpr uint32_t kNoisyDraws = 4;    // at which an integer may depend on rounding

/// Returns the integers in constants of the graph and their neighbours, of both signs: exact, where
/// threshold_values() has doubles.
std::vector<Integer> whole_thresholds(const Graph& graph) {
  std::vector<Integer> values;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const OpKind op = graph.node({i}).op;
    if (!is_integer(graph.type({i}).dtype)) continue;
    auto add = [&](int64_t n) {
      for (Integer x : {Integer(n), -Integer(n)})
        for (int64_t step : {0, -1, 1}) values.push_back(x + Integer(step));
    };
    if (op == OpKind::Constant) llvm::for_each(graph.attr({i}, 0).ints, add);
    for (size_t slot = 0; op == OpKind::Clip && slot < graph.attrs({i}).size(); ++slot)
      if (graph.attr({i}, slot).is(Value::Kind::Int)) add(graph.attr({i}, slot).number);
  }
  return values;
}

/// Returns true if no computed value is a float.
bool whole(const Graph& graph) {
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (is_float(graph.type({i}).dtype)) return false;
  return true;
}

} // namespace

std::vector<RuleProbes::Leaf> RuleProbes::leaves_of(const Joined& sides) const {
  std::vector<Leaf> leaves;
  for (uint32_t i = 0; i < sides.graph.size(); ++i) {
    NodeId id{i};
    if (!is_variable(sides.graph.node(id).op)) continue;
    auto name = llvm::find(rule_.class_var_names, sides.graph.attr(id, 0).text);
    Leaf leaf{id, static_cast<uint32_t>(name - rule_.class_var_names.begin())};
    if (is_integer(sides.graph.type(id).dtype))
      leaf.limit = index_limit(sides.graph, id).value_or(0);
    leaves.push_back(leaf);
  }
  return leaves;
}

bool RuleProbes::admits(const Joined& sides, const Leaf& leaf, Partition partition) const {
  if (partition == Partition::Threshold && thresholds_.empty() &&
      (whole_thresholds_.empty() || is_float(sides.graph.type(leaf.node).dtype)))
    return false;
  bool finite = partition != Partition::Infinite && partition != Partition::NotANumber;
  if (!finite && llvm::is_contained(rule_.finite, leaf.variable)) return false;
  return has_partition(sides.graph.type(leaf.node).dtype, leaf.limit > 0, rule_.numerics,
                       partition);
}

/// Returns a partition that some leaf admits and that was not compared yet.
std::optional<Partition> RuleProbes::open_partition(const Joined& sides,
                                                    const std::vector<Leaf>& leaves) {
  std::optional<Partition> open;
  for (const Leaf& leaf : leaves)
    for (size_t p = 0; p < kPartitions; ++p) {
      auto partition = static_cast<Partition>(p);
      if (!admits(sides, leaf, partition)) continue;
      admitted_[leaf.variable].set(p);
      if (!open && !reached_[leaf.variable].test(p)) open = partition;
    }
  return open;
}

/// Fills with one partition if one is open, else with a mixture, which tests pairs.
void RuleProbes::choose(const Joined& sides, std::vector<Leaf>& leaves,
                        std::optional<Partition> open) {
  RandomStream stream(seed_ + count_, "choice");
  for (size_t i = 0; i < leaves.size(); ++i) {
    Leaf& leaf = leaves[i];
    uint64_t bits = stream.bits(i);
    leaf.sparse = bits % 4 < 2;
    leaf.partition = open.value_or(static_cast<Partition>((bits >> 8) % kPartitions));
    if (!open && bits % 3 == 0) leaf.partition = Partition::Ordinary;
    if (leaf.partition == Partition::Equal && !open) leaf.partition = Partition::Ties;
    if (!admits(sides, leaf, leaf.partition)) leaf.partition = Partition::Ordinary;
  }
}

TypedValues RuleProbes::fill(const Graph& graph, const Leaf& leaf, uint64_t probe) const {
  const TensorType& type = graph.type(leaf.node);
  auto elements = static_cast<size_t>(type.elements());
  bool equal = leaf.partition == Partition::Equal;
  RandomStream stream(seed_ + probe, equal ? "equal" : graph.attr(leaf.node, 0).text);
  size_t at_least = stream.bits(elements) % elements; // at least one element is of the partition
  TypedValues values;
  for (size_t i = 0; i < elements; ++i) {
    uint64_t bits = stream.bits(equal ? 0 : i);
    bool of_it = !leaf.sparse || equal || i == at_least || bits >> 62 == 0;
    Partition partition = of_it ? leaf.partition : Partition::Ordinary;
    bool near = partition == Partition::Threshold;
    double threshold =
        near && !thresholds_.empty() ? thresholds_[(bits >> 8) % thresholds_.size()] : 0;
    if (is_float(type.dtype))
      values.reals.push_back(near ? threshold : number_in(partition, type.dtype, bits));
    else if (near && !whole_thresholds_.empty() && bits & 1)
      values.wholes.push_back(
          wrap_to(type.dtype, whole_thresholds_[(bits >> 8) % whole_thresholds_.size()]));
    else if (near && std::abs(threshold) < 0x1p62)
      values.wholes.emplace_back(static_cast<int64_t>(std::round(threshold)));
    else
      values.wholes.emplace_back(integer_in(partition, type.dtype, leaf.limit, bits));
  }
  return values;
}

/// Returns true if an element that is not a float changes when sums are rounded.
bool RuleProbes::moved_by_rounding(const Joined& sides, const TypedLeaves& leaves, size_t output,
                                   size_t element) const {
  const std::vector<bool> alone = one_sided(sides);
  for (uint32_t draw = 0; draw < kNoisyDraws; ++draw) {
    TypedRun noisy =
        evaluate_noisy(sides.graph, leaves, {sides.a[output], sides.b[output]}, {alone, draw});
    for (size_t side : {0, 1})
      if (!noisy.wanted[side].same(run_.wanted[2 * output + side], element)) return true;
  }
  return false;
}

RuleProbes::Finding RuleProbes::compare(const Joined& sides, const std::vector<Leaf>& leaves,
                                        uint64_t probe, bool in_field) {
  const Graph& graph = sides.graph;
  llvm::SmallVector<NodeId, 4> wanted;
  bool discrete = false;
  for (size_t i = 0; i < sides.a.size(); ++i) {
    wanted.append({sides.a[i], sides.b[i]});
    discrete |= !is_float(graph.type(sides.a[i]).dtype);
  }
  bool special = false, outside = false;
  for (const Leaf& leaf : leaves) {
    special |= is_special(leaf.partition);
    outside |= leaf.partition == Partition::OutOfRange;
  }
  bool stored = special || (probe % 2 && (discrete || rule_.numerics == Numerics::Exact));
  auto source = [&](const Graph&, NodeId id) {
    return fill(graph, *llvm::find_if(leaves, [&](const Leaf& l) { return l.node == id; }), probe);
  };
  run_ = evaluate_typed(graph, source, wanted, stored ? Rounding::Stored : Rounding::None);
  special |= run_.too_large;
  const bool integers = whole(graph);
  Finding worst;
  for (size_t output = 0; output < sides.a.size(); ++output) {
    const TypedValues &a = run_.wanted[2 * output], &b = run_.wanted[2 * output + 1];
    for (size_t i = 0; i < a.size(); ++i) {
      double x = a.at(i), y = b.at(i);
      bool finite = std::isfinite(x) && std::isfinite(y);
      told_ |= finite;
      // No class preserves the sign of a zero, so none preserves that of 1 / 0.
      const bool one_pole = run_.at_zero && !run_.too_large && std::isinf(x) && std::isinf(y);
      if (a.same(b, i) || one_pole) continue;
      Finding found{Numerics::Reassociates, false, output, i};
      bool rounded = finite && std::abs(x - y) <= kReordered * std::max(run_.largest, 1e-3);
      const bool explained = !a.whole() && finite && (rounded || stored);
      if (integers || (outside && !special && !explained))
        found.wrong = true;
      else if (special && !a.whole())
        found.seen = Numerics::Reassociates;
      else if (!stored && (a.whole() ? !moved_by_rounding(sides, source, output, i) : !rounded))
        (in_field ? found.seen = Numerics::Risky : found.seen), found.wrong = !in_field;
      else if (a.whole())
        found.seen = Numerics::Risky;
      if (found.wrong) return found;
      if (found.seen > worst.seen) worst = found;
    }
  }
  return worst;
}

void RuleProbes::reach(const std::vector<Leaf>& leaves) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    reached_[leaves[i].variable].set(static_cast<size_t>(leaves[i].partition));
    for (size_t j = i + 1; j < leaves.size(); ++j)
      pairs_.insert(
          {leaves[i].variable, leaves[i].partition, leaves[j].variable, leaves[j].partition});
  }
}

bool RuleProbes::probe_once(const Joined& sides, std::vector<Leaf>& leaves, bool in_field,
                            std::optional<Partition> open) {
  choose(sides, leaves, open);
  Finding found = compare(sides, leaves, count_, in_field);
  reach(leaves);
  ++count_;
  if (!found.wrong && found.seen <= observed_) return false;
  std::string text = describe(sides, leaves, found, count_ - 1);
  if (found.wrong) {
    refutation_ = text;
    for (const Leaf& leaf : leaves) refuting_[leaf.variable] = leaf.partition;
    return true;
  }
  observed_ = found.seen;
  where_ = text;
  return false;
}

std::string RuleProbes::describe(const Joined& sides, const std::vector<Leaf>& leaves,
                                 const Finding& found, uint64_t probe) const {
  llvm::SmallVector<std::string, 4> parts;
  for (const Leaf& leaf : leaves)
    parts.push_back(rule_.class_var_names[leaf.variable] + " = " +
                    shown(fill(sides.graph, leaf, probe), sides.graph.type(leaf.node).dtype));
  auto side = [&](size_t which) {
    const TypedValues& all = run_.wanted[2 * found.output + which];
    TypedValues one;
    if (all.whole())
      one.wholes = {all.wholes[found.element]};
    else
      one.reals = {all.reals[found.element]};
    return shown(one, sides.graph.type(sides.a[found.output]).dtype);
  };
  return llvm::formatv("{0}, where the left side is {1} and the right side {2}",
                       llvm::join(parts, ", "), side(0), side(1));
}

bool RuleProbes::refuted(const RuleInstance& instance, const Joined& sides, bool in_field) {
  note_constants(instance);
  llvm::SmallVector<NodeId, 4> roots(sides.a.begin(), sides.a.end());
  roots.append(sides.b.begin(), sides.b.end());
  thresholds_ = threshold_values(literals_of(sides.graph, roots));
  whole_thresholds_ = whole_thresholds(sides.graph);
  std::vector<Leaf> leaves = leaves_of(sides);
  for (size_t i = 0; i < 2 * kPartitions; ++i) {
    std::optional<Partition> open = open_partition(sides, leaves);
    if (!open) break;
    if (probe_once(sides, leaves, in_field, open)) return true;
  }
  for (size_t i = 0; i < (in_field ? kEach : kEachApart); ++i)
    if (probe_once(sides, leaves, in_field, std::nullopt)) return true;
  return false;
}

bool RuleProbes::is_refuted_again(const Joined& sides, bool in_field) {
  std::vector<Leaf> leaves = leaves_of(sides);
  for (Leaf& leaf : leaves)
    if (auto found = refuting_.find(leaf.variable); found != refuting_.end())
      if (admits(sides, leaf, found->second)) leaf.partition = found->second;
  if (refuting_.empty()) return false;
  for (uint64_t probe = count_; probe < count_ + kAlike; ++probe) { // rare inputs are seldom hit
    Finding found = compare(sides, leaves, probe, in_field);
    if (found.wrong) refutation_ = describe(sides, leaves, found, probe);
    if (found.wrong) return true;
  }
  return false;
}

bool RuleProbes::has_finite_values(const Joined& sides, uint64_t seed) {
  llvm::SmallVector<NodeId, 4> wanted(sides.a.begin(), sides.a.end());
  wanted.append(sides.b.begin(), sides.b.end());
  auto leaves = [&](const Graph& graph, NodeId id) {
    const TensorType& type = graph.type(id);
    RandomStream stream(seed, graph.attr(id, 0).text);
    TypedValues values;
    for (size_t i = 0; i < static_cast<size_t>(type.elements()); ++i) {
      if (is_float(type.dtype))
        values.reals.push_back(number_in(Partition::Positive, type.dtype, stream.bits(i)));
      else
        values.wholes.emplace_back(integer_in(Partition::Zero, type.dtype, 0, 0));
    }
    return values;
  };
  return !evaluate_typed(sides.graph, leaves, wanted, Rounding::None).overflowed;
}

/// Records the constants, which are part of the instance and are not filled.
void RuleProbes::note_constants(const RuleInstance& instance) {
  for (uint32_t v = 0; v < rule_.class_vars; ++v)
    if (instance.constants[v] && instance.types[v] != TypeId{})
      for (double x : instance.literals[v]) reached_[v].set(static_cast<size_t>(partition_of(x)));
}

size_t RuleProbes::reached() const {
  size_t count = 0;
  for (const auto& [variable, partitions] : reached_) count += partitions.count();
  return count;
}

std::string RuleProbes::unreached() const {
  llvm::SmallVector<std::string, 4> parts;
  for (const auto& [variable, admitted] : admitted_) {
    auto reached = reached_.find(variable);
    std::bitset<kPartitions> open =
        reached == reached_.end() ? admitted : admitted & ~reached->second;
    llvm::SmallVector<llvm::StringRef, 4> names;
    for (size_t p = 0; p < kPartitions; ++p)
      if (open.test(p)) names.push_back(partition_name(static_cast<Partition>(p)));
    if (!names.empty())
      parts.push_back(rule_.class_var_names[variable] + ": " + llvm::join(names, ", "));
  }
  return llvm::join(parts, "; ");
}

} // namespace tg
