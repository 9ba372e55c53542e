#include "compiler/verify/counterexample/literals.h"

#include "compiler/verify/counterexample/extended.h"
#include "compiler/verify/counterexample/narrow.h"
#include "compiler/verify/counterexample/typed_pass.h"

#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr size_t kMostOps = 50;          // in a graph that is decided
constexpr size_t kMostLiterals = 64;     // in such a graph
constexpr double kMostFlops = 1e6;       // per evaluation
constexpr uint32_t kNoiseDraws = 4;      // random draws of noise
constexpr double kNoise = 0x1p-60;       // above the scalar's own rounding
constexpr Extended kFewMoves = 8;        // factor for noise that no draw showed
constexpr Extended kLiterally = 0x1p-30; // of the largest number: float64 shows more

using Run = TypedRunOf<Extended>;

/// Returns the next float64 away from zero.
double next_from_zero(double x) {
  return std::nextafter(x, std::copysign(std::numeric_limits<double>::infinity(), x));
}

bool is_moved(double x) { return x != 0 && std::isfinite(x); }

/// Adds each literal of the attribute, moved by one unit in its last place.
void add_moved(const Graph& graph, NodeId id, size_t slot, std::vector<MovedLiteral>& all) {
  Value value = graph.attr(id, slot);
  if (value.is(Value::Kind::Float) && is_moved(value.real))
    all.push_back({id, slot, Value::of_float(next_from_zero(value.real))});
  if (graph.node(id).op != OpKind::Constant || !is_float(graph.type(id).dtype)) return;
  if (value.is(Value::Kind::Ints)) value = Value::of_floats({value.ints.begin(), value.ints.end()});
  for (double& x : value.reals) {
    if (!is_moved(x) || all.size() > kMostLiterals) continue;
    const double given = std::exchange(x, next_from_zero(x));
    all.push_back({id, slot, value});
    x = given;
  }
}

/// A pair of sides at given inputs.
class LiteralSides {
public:
  LiteralSides(const Trial& trial, const LeafValues& values)
      : graph_(trial.joined().graph), leaves_(trial.typed_leaves(values)),
        alone_(one_sided(trial.joined())) {
    const Joined& joined = trial.joined();
    for (size_t i = 0; i < joined.a.size(); ++i) {
      if (joined.a[i] == joined.b[i] || !is_float(graph_.type(joined.a[i]).dtype)) continue;
      outputs_.push_back(i);
      wanted_.append({joined.a[i], joined.b[i]});
    }
    for (uint32_t i = 0; i < graph_.size(); ++i)
      for (size_t slot = 0; slot < graph_.attrs({i}).size(); ++slot)
        add_moved(graph_, {i}, slot, moved_);
  }

  bool decidable() const {
    if (!kHasExtended || outputs_.empty() || graph_.op_count() > kMostOps) return false;
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (alone_[i] && op_info(graph_.node({i}).op).has(Trait::InDoubles)) return false;
    return moved_.size() <= kMostLiterals && evaluation_flops(graph_) <= kMostFlops;
  }

  std::optional<Trial::Difference> difference() const {
    const Run plain = run(nullptr, nullptr);
    std::vector<Run> noisy, moved;
    for (uint32_t draw = 0; draw < kNoiseDraws; ++draw) {
      const Noise noise{alone_, draw, kNoise};
      noisy.push_back(run(&noise, nullptr));
    }
    for (const MovedLiteral& literal : moved_) moved.push_back(run(nullptr, &literal));
    for (size_t i = 0; i < outputs_.size(); ++i)
      for (size_t at = 0; at < plain.wanted[2 * i].size(); ++at) {
        const Extended apart = distance(plain, i, at);
        const Extended large = kLiterally * static_cast<Extended>(plain.largest);
        if (apart == 0 || !(std::abs(apart) < large)) continue;
        Extended noise = 0, literals = 0;
        for (const Run& other : noisy)
          noise = std::max(noise, std::abs(distance(other, i, at) - apart));
        for (const Run& other : moved) literals += std::abs(distance(other, i, at) - apart);
        if (std::abs(apart) > literals + kFewMoves * noise)
          return Trial::Difference{outputs_[i], static_cast<int64_t>(at),
                                   plain.wanted[2 * i].number(at),
                                   plain.wanted[2 * i + 1].number(at)};
      }
    return std::nullopt;
  }

private:
  Run run(const Noise* noise, const MovedLiteral* moved) const {
    return TypedPass<Extended>(graph_, leaves_, Rounding::None, noise, moved).run(wanted_);
  }

  static Extended distance(const Run& run, size_t output, size_t at) {
    return run.wanted[2 * output].reals[at] - run.wanted[2 * output + 1].reals[at];
  }

  const Graph& graph_;
  TypedLeaves leaves_;
  std::vector<bool> alone_;
  llvm::SmallVector<size_t, 4> outputs_;
  llvm::SmallVector<NodeId, 4> wanted_; // a, b, a, b, ...
  std::vector<MovedLiteral> moved_;
};

} // namespace

std::optional<Trial::Difference> run_by_literals(const Trial& trial, const LeafValues& values) {
  const LiteralSides sides(trial, values);
  return sides.decidable() ? sides.difference() : std::nullopt;
}

} // namespace tg
