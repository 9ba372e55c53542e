#include "compiler/verify/counterexample/climb.h"

#include "compiler/rules/instances/partition.h"
#include "compiler/verify/counterexample/probe.h"

#include <cmath>
#include <random>

namespace tg {

namespace {

constexpr size_t kRestart = 60;  // evaluations without improvement before a restart
constexpr double kLargest = 1e6; // largest number tried, except for the graph's own

class Climber {
public:
  Climber(const Joined& sides, uint64_t seed) : sides_(sides), rng_(seed) {
    for (size_t i = 0; i < sides.a.size(); ++i) wanted_.append({sides.a[i], sides.b[i]});
    thresholds_ = threshold_values(literals_of(sides.graph, wanted_));
    for (uint32_t i = 0; i < sides.graph.size(); ++i) {
      OpKind op = sides.graph.node({i}).op;
      if (!is_variable(op)) continue;
      best_.leaves.push_back({{i}, {}});
      limits_.push_back(index_limit(sides.graph, {i}).value_or(0));
    }
  }

  std::optional<ClimbResult> run(size_t evaluations) {
    if (best_.leaves.empty()) return std::nullopt;
    double height = -1;
    for (size_t since = kRestart; evaluations > 0; --evaluations) {
      ClimbResult next = best_;
      if (since++ >= kRestart) {
        restart(next);
        since = 0;
        height = -1;
      } else {
        change(next);
      }
      double reached = measure(sides_, next);
      if (reached > kRounding) return next;
      if (reached < height) continue; // a plateau may be crossed
      if (reached > height) since = 0;
      height = reached;
      best_ = std::move(next);
    }
    return std::nullopt;
  }

private:
  void restart(ClimbResult& at) {
    constexpr Partition kStarts[] = {Partition::Ordinary, Partition::Positive, Partition::Negative,
                                     Partition::Ties, Partition::Large};
    Partition partition = kStarts[rng_() % std::size(kStarts)];
    for (size_t i = 0; i < at.leaves.size(); ++i) {
      auto& [id, values] = at.leaves[i];
      const TensorType& type = sides_.graph.type(id);
      values = {};
      for (int64_t n = 0; n < type.elements(); ++n) {
        if (is_float(type.dtype))
          values.reals.push_back(number_in(partition, type.dtype, rng_()));
        else
          values.wholes.emplace_back(integer_in(partition, type.dtype, limits_[i], rng_()));
      }
    }
  }

  /// Changes one element, or all of one tensor.
  void change(ClimbResult& at) {
    size_t which = rng_() % at.leaves.size();
    auto& [id, values] = at.leaves[which];
    DType dtype = sides_.graph.type(id).dtype;
    bool all = rng_() % 4 == 0;
    size_t element = rng_() % values.size();
    uint64_t how = rng_();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!all && i != element) continue;
      if (!is_float(dtype))
        values.wholes[i] = Integer(integer_in(Partition::Ordinary, dtype, limits_[which], rng_()));
      else
        values.reals[i] = changed(values.reals[i], values.reals[rng_() % values.size()], how);
    }
  }

  double changed(double x, double other, uint64_t how) const {
    double u = static_cast<double>(how >> 40) * 0x1p-24, to = x;
    switch (how % 8) {
    case 0: to = -x; break;
    case 1: to = x * (1 + 9 * u); break;
    case 2: to = x / (1 + 9 * u); break;
    case 3: to = x + (2 * u - 1); break;
    case 4: to = other; break;
    case 5: to = x + (2 * u - 1) * 1e-6; break;
    case 6: to = 0; break;
    default:
      if (!thresholds_.empty()) return thresholds_[(how >> 8) % thresholds_.size()];
    }
    return std::abs(to) <= kLargest ? to : x;
  }

  const Joined& sides_;
  std::mt19937_64 rng_;
  llvm::SmallVector<NodeId, 4> wanted_;
  std::vector<double> thresholds_;
  std::vector<int64_t> limits_; // for indices, by leaf
  ClimbResult best_;
};

} // namespace

double measure(const Joined& sides, ClimbResult& at) {
  llvm::SmallVector<NodeId, 4> wanted;
  for (size_t i = 0; i < sides.a.size(); ++i) wanted.append({sides.a[i], sides.b[i]});
  auto source = [&](const Graph&, NodeId id) {
    for (const auto& [leaf, values] : at.leaves)
      if (leaf == id) return values;
    return TypedValues();
  };
  TypedRun run = evaluate_typed(sides.graph, source, wanted, Rounding::None);
  double largest = 0;
  if (run.overflowed) return 0;
  for (size_t output = 0; output < sides.a.size(); ++output) {
    const TypedValues &a = run.wanted[2 * output], &b = run.wanted[2 * output + 1];
    for (size_t i = 0; i < a.size(); ++i) {
      double apart = std::abs(a.at(i) - b.at(i)) / std::max(run.largest, 1e-3);
      if (!(apart > largest)) continue; // NaN
      largest = apart;
      at.output = output, at.element = i, at.a = a.at(i), at.b = b.at(i);
    }
  }
  return largest;
}

std::optional<ClimbResult> climb(const Joined& sides, uint64_t seed, size_t evaluations) {
  return Climber(sides, seed).run(evaluations);
}

} // namespace tg
