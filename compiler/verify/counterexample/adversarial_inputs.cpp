#include "compiler/verify/counterexample/adversarial_inputs.h"

#include "compiler/verify/counterexample/narrow.h"
#include "compiler/verify/counterexample/probe.h"
#include "lang/core/support/random.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr double kScales[] = {1e3, 1e-3, 1e6, 1e-6, 1e10, 1e-10, 1e16, 1e20, 1e-20, 1e25, 1e30};
constexpr Probe kOrdinary[] = {Probe::Integers, Probe::Plain, Probe::Positive, Probe::Mixed};
constexpr size_t kMostRounds = 8000;
constexpr double kThresholdFlops = 2e8; // budget of all rounds beyond the first few
constexpr size_t kFewRounds = 4;
constexpr size_t kNear = 140; // values of the pool: the neighbours of ten literals
constexpr size_t kEndRounds = 10, kRangeRounds = 4;
constexpr size_t kAlikeRounds = 6;
constexpr size_t kRepeatRounds = 18; // additional rounds, in which only indices are equal

/// Returns the limits of a type, powers of two that limit other types, and values that overflow
/// when doubled or squared.
std::vector<double> ends_of(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  std::vector<double> values = {0, 1, -1, 2, -2, 3, -3, 7, -7, 100};
  int bits = dtype == DType::I32 ? 31 : 63;
  for (int power : {15, 16, 24, 30, 31, 32, 53, 62, 63}) {
    if (power > bits) continue;
    double x = std::ldexp(1.0, power);
    for (double y : {x, x - 1, x + 1, -x, -x + 1, 1.5 * x}) values.push_back(y);
  }
  values.push_back(46341); // the smallest integer whose square exceeds 2^31
  return values;
}

bool any_whole(const Trial& trial) {
  return llvm::any_of(trial.leaves(),
                      [&](NodeId id) { return !is_float(trial.joined().graph.type(id).dtype); });
}

/// Returns true if results depend on which elements are equal: ties, and repeated indices.
bool picks(const Graph& graph) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const OpInfo& op = op_info(graph.node({i}).op);
    ResultDType result = op.shape_row().dtype;
    if (result == ResultDType::boolean || result == ResultDType::i64 || op.index_operand() >= 0)
      return true;
  }
  return false;
}

} // namespace

AdversarialInputs::AdversarialInputs(const Trial& trial, uint64_t seed, Effort effort)
    : trial_(trial), graph_(trial.joined().graph), seed_(seed) {
  llvm::SmallVector<NodeId, 8> roots(trial.joined().a.begin(), trial.joined().a.end());
  roots.append(trial.joined().b.begin(), trial.joined().b.end());
  pool_ = threshold_values(literals_of(graph_, roots));
  for (NodeId id : trial.leaves())
    index_limits_.push_back(is_integer(graph_.type(id).dtype) ? index_limit(graph_, id)
                                                              : std::nullopt);
  bool all = effort == Effort::Whole, glance = effort == Effort::Glance;
  plan(Kind::Ordinary, glance ? 2 : std::size(kOrdinary));
  bool indexed = llvm::any_of(index_limits_, [](auto limit) { return limit.has_value(); });
  if (picks(graph_)) plan(Kind::Alike, kAlikeRounds + (indexed ? kRepeatRounds : 0));
  if (!pool_.empty()) plan(Kind::Threshold, glance ? 1 : all ? threshold_rounds() : 4 * kFewRounds);
  if (all) plan(Kind::Scale, std::size(kScales));
  if (any_whole(trial)) plan(Kind::Ends, all ? 4 * kEndRounds : kEndRounds);
  if (indexed) plan(Kind::OutOfRange, kRangeRounds);
}

void AdversarialInputs::plan(Kind kind, size_t rounds) {
  for (uint32_t round = 0; round < rounds; ++round) plans_.push_back({kind, round});
}

/// Returns the number of rounds in which every leaf alone has every value of the pool, limited by
/// the budget.
size_t AdversarialInputs::threshold_rounds() const {
  int64_t least = 1 << 20;
  for (NodeId id : trial_.leaves()) least = std::min(least, graph_.type(id).elements());
  double wanted = 2.0 * static_cast<double>(trial_.leaves().size() * pool_.size()) /
                  static_cast<double>(std::max<int64_t>(least, 1));
  double affordable = kThresholdFlops / std::max(evaluation_flops(graph_), 1.0);
  double rounds = std::min({std::ceil(wanted), affordable, static_cast<double>(kMostRounds)});
  return std::max(static_cast<size_t>(rounds), kFewRounds);
}

NodeValues AdversarialInputs::plain(size_t leaf) const {
  return probe_leaves(Probe::Plain, seed_)(graph_, trial_.leaves()[leaf]);
}

Attempt AdversarialInputs::at(size_t i) const {
  const Plan& plan = plans_[i];
  Attempt attempt;
  switch (plan.kind) {
  case Kind::Ordinary: attempt.name = probe_name(kOrdinary[plan.round]).str(); break;
  case Kind::Alike: attempt.name = "equal numbers"; break;
  case Kind::Threshold: attempt.name = "numbers around the models' own constants"; break;
  case Kind::Scale: attempt.name = "numbers of one magnitude, tiny or huge"; break;
  case Kind::Ends: attempt.name = "the ends of the integers' range"; break;
  case Kind::OutOfRange: attempt.name = "indices out of range"; break;
  }
  for (size_t leaf = 0; leaf < trial_.leaves().size(); ++leaf)
    attempt.values.push_back(plan.kind == Kind::Alike ? alike(plan.round, leaf)
                             : is_float(graph_.type(trial_.leaves()[leaf]).dtype)
                                 ? floats(plan, leaf)
                                 : wholes(plan, leaf));
  return attempt;
}

/// Fills all elements with one number, or with two alternating ones, to test every tie of a
/// comparison and repeated indices, at both ends of the range and beyond. In later rounds only
/// indices are equal: if two updates of one element differ, the result shows which one wins.
NodeValues AdversarialInputs::alike(size_t round, size_t leaf) const {
  const TensorType& type = graph_.type(trial_.leaves()[leaf]);
  NodeValues values(static_cast<size_t>(type.elements()));
  std::optional<int64_t> limit = index_limits_[leaf];
  if (round >= kAlikeRounds && !limit)
    return probe_leaves(Probe::Plain, seed_ + round)(graph_, trial_.leaves()[leaf]);
  round %= kAlikeRounds;
  constexpr double kFloats[kAlikeRounds][2] = {{1, 1}, {-1, -1}, {0.5, -0.5},
                                               {0, 0}, {2, 2},   {0, 1}};
  const double last = static_cast<double>(limit.value_or(2)) - 1;
  const double indices[kAlikeRounds][2] = {{0, 0},   {last, last},         {0, last},
                                           {-1, -1}, {last + 1, last + 1}, {last / 2, 0}};
  for (size_t i = 0; i < values.size(); ++i) {
    // Values within a leaf are alike. In even rounds they are different from those of other leaves.
    double x = kFloats[round][i % 2] * (round % 2 ? 1 : static_cast<double>(leaf + 1));
    if (type.dtype == DType::Bool) x = round % 2 ? 1 : static_cast<double>(i % 2);
    values[i] = limit                  ? std::floor(indices[round][i % 2])
                : is_float(type.dtype) ? x
                                       : std::floor(x);
  }
  return values;
}

/// In every second round all leaves are from the pool; otherwise only one is, so that others stay
/// moderate.
NodeValues AdversarialInputs::floats(const Plan& plan, size_t leaf) const {
  if (plan.kind == Kind::Ordinary)
    return probe_leaves(kOrdinary[plan.round], seed_)(graph_, trial_.leaves()[leaf]);
  NodeValues values = plain(leaf);
  if (plan.kind == Kind::Scale)
    for (double& x : values) x *= kScales[plan.round];
  if (plan.kind != Kind::Threshold) return values;
  size_t leaves = trial_.leaves().size();
  bool chosen = plan.round % 2 == 0 || plan.round / 2 % leaves == leaf;
  if (!chosen) return values;
  // A leaf that is changed alone iterates over the pool, nearest thresholds first, and so does the
  // first of several. Others take random values of the pool, half from its front, so that pairs
  // occur.
  bool alone = leaves == 1 || plan.round % 2 == 1;
  size_t turn = leaves == 1 ? plan.round : plan.round / 2;
  if (leaves > 1 && alone) turn /= leaves;
  RandomStream stream(seed_ + plan.round, graph_.attr(trial_.leaves()[leaf], 0).text);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = stream.bits(i);
    size_t among = bits % 2 ? pool_.size() : std::min(pool_.size(), kNear);
    size_t at = alone || leaf == 0 ? turn * values.size() + i : static_cast<size_t>(bits >> 8);
    values[i] = pool_[at % (alone || leaf == 0 ? pool_.size() : among)];
  }
  return values;
}

NodeValues AdversarialInputs::wholes(const Plan& plan, size_t leaf) const {
  NodeId id = trial_.leaves()[leaf];
  DType dtype = graph_.type(id).dtype;
  std::optional<int64_t> limit = index_limits_[leaf];
  if (plan.kind == Kind::Ordinary || plan.kind == Kind::Scale)
    return probe_leaves(plan.kind == Kind::Scale ? Probe::Plain : kOrdinary[plan.round],
                        seed_)(graph_, id);
  NodeValues values(static_cast<size_t>(graph_.type(id).elements()));
  std::vector<double> from;
  if (plan.kind == Kind::OutOfRange && limit) {
    auto size = static_cast<double>(*limit);
    from = {-1, size, size - 1, 0, size + 5, -size, 0x1p31 - 1, -0x1p31};
  } else if (plan.kind == Kind::Threshold && dtype != DType::Bool) {
    for (double x : pool_) from.push_back(std::round(x));
  } else {
    from = ends_of(dtype);
    if (auto range = trial_.joined().ranges.find(graph_.attr(id, 0).text);
        range != trial_.joined().ranges.end())
      for (int64_t end : {range->second.low, range->second.high})
        for (int64_t by : {-1, 0, 1}) from.push_back(static_cast<double>(end + by));
  }
  RandomStream stream(seed_ + 977 * plan.round, graph_.attr(id, 0).text);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t at = static_cast<size_t>(stream.bits(i) >> 8);
    if (plan.kind == Kind::OutOfRange) at = i + plan.round; // each position, whatever the size
    values[i] = from[at % from.size()];
    if (plan.kind == Kind::Threshold && limit)
      values[i] = static_cast<double>(stream.bits(i) % static_cast<uint64_t>(*limit));
  }
  return values;
}

/// Sets a few elements to NaN or infinity. In the last round all elements are special.
Attempt AdversarialInputs::special(size_t round) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double specials[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity};
  Attempt attempt{"NaN and infinities", {}};
  for (size_t leaf = 0; leaf < trial_.leaves().size(); ++leaf) {
    NodeId id = trial_.leaves()[leaf];
    NodeValues values =
        is_float(graph_.type(id).dtype) ? plain(leaf) : wholes({Kind::Ordinary, 0}, leaf);
    RandomStream stream(seed_ + round, graph_.attr(id, 0).text);
    if (is_float(graph_.type(id).dtype))
      for (size_t i = 0; i < values.size(); ++i)
        if (round + 1 == kSpecials || i == stream.bits(0) % values.size())
          values[i] = specials[(i + leaf + round) % 3];
    attempt.values.push_back(std::move(values));
  }
  return attempt;
}

/// Gives one leaf ordinary values, and the others values so small that a sum with it rounds them
/// away.
Attempt AdversarialInputs::rounding(size_t round) const {
  Attempt attempt{"numbers that are lost to rounding in a sum", {}};
  for (size_t leaf = 0; leaf < trial_.leaves().size(); ++leaf) {
    NodeId id = trial_.leaves()[leaf];
    bool tiny = is_float(graph_.type(id).dtype) && leaf != round % (trial_.leaves().size() + 1);
    NodeValues values = wholes({Kind::Ordinary, 0}, leaf);
    if (is_float(graph_.type(id).dtype)) values = plain(leaf);
    if (tiny)
      for (double& x : values) x *= 1e-20;
    attempt.values.push_back(std::move(values));
  }
  return attempt;
}

} // namespace tg
