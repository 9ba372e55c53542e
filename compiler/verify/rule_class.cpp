#include "compiler/verify/rule_class.h"

#include "compiler/rules/text.h"
#include "compiler/verify/counterexample/probe.h"
#include "compiler/verify/counterexample/trial.h"
#include "lang/core/support/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr double kRounding = 1e-9; // tolerance for reassociation in float64
constexpr size_t kDerived = 20;    // instances with an expanded derivation, which takes longer

/// Returns `leaves` with the value in one element of one float leaf of the graph, chosen by `seed`.
/// Leaves named in `finite` are not changed.
LeafSource with_one(LeafSource leaves, double value, uint64_t seed, const Joined& sides,
                    llvm::ArrayRef<std::string> finite) {
  std::vector<NodeId> candidates;
  const Graph& graph = sides.graph;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    OpKind op = graph.node({i}).op;
    bool leaf = is_variable(op);
    if (leaf && is_float(graph.type({i}).dtype) && graph.type({i}).elements() > 0 &&
        !llvm::is_contained(finite, graph.attr({i}, 0).text))
      candidates.push_back({i});
  }
  if (candidates.empty()) return {};
  RandomStream stream(seed, "not finite");
  NodeId chosen = candidates[stream.bits(0) % candidates.size()];
  return [=](const Graph& of, NodeId id) {
    NodeValues values = leaves(of, id);
    if (id == chosen) values[stream.bits(1) % values.size()] = value;
    return values;
  };
}

/// Returns the strictest class that fits the two sides of an output. Floats are computed in
/// float64, integers exactly, since literals may have more digits than float64.
Numerics seen_of(const Joined& sides, size_t output, const LeafSource& leaves) {
  auto typed = [&](const Graph& graph, NodeId id) {
    return typed_values(graph.type(id).dtype, leaves(graph, id));
  };
  TypedRun run =
      evaluate_typed(sides.graph, typed, {sides.a[output], sides.b[output]}, Rounding::None);
  const TypedValues &a = run.wanted[0], &b = run.wanted[1];
  if (a.whole()) return a.wholes == b.wholes ? Numerics::Exact : Numerics::Risky;
  if (first_difference(a.reals, b.reals, kRounding)) return Numerics::Risky;
  return first_difference(a.reals, b.reals, 0) ? Numerics::Reassociates : Numerics::Exact;
}

} // namespace

void ClassWatch::look(const std::shared_ptr<Symbols>& symbols, const RuleInstance& instance,
                      const Joined& sides, uint64_t seed) {
  std::string where = llvm::join(describe(*symbols, rule_, instance), ", ");
  if (looked_++ < kDerived) derivation_.look(symbols, instance);
  observe(sides, seed, where);
  if (rule_.numerics <= Numerics::Reassociates) observe_not_finite(sides, seed, where);
}

/// Observes the rounding of both sides on ordinary numbers.
void ClassWatch::observe(const Joined& sides, uint64_t seed, const std::string& where) {
  for (Probe probe : {Probe::Plain, Probe::Positive})
    for (size_t i = 0; i < sides.a.size(); ++i) {
      const Numerics seen = seen_of(sides, i, probe_leaves(probe, seed));
      if (seen <= observed_) continue;
      observed_ = seen;
      worst_ = where;
    }
}

/// Observes the effect of one infinity or NaN among ordinary numbers. A NaN reaches every value
/// that depends on it. An infinity may give a finite number, for example by tanh; only `exact`
/// rules promise anything about that.
void ClassWatch::observe_not_finite(const Joined& sides, uint64_t seed, const std::string& where) {
  std::vector<std::string> finite;
  for (uint32_t variable : rule_.finite) finite.push_back(rule_.class_var_names[variable]);
  bool exact = rule_.numerics == Numerics::Exact;
  double value = exact ? std::array{HUGE_VAL, -HUGE_VAL, std::nan("")}[seed % 3] : std::nan("");
  LeafSource leaves = with_one(probe_leaves(Probe::Plain, seed), value, seed, sides, finite);
  if (!leaves || !spread_.empty()) return;
  for (size_t i = 0; i < sides.a.size(); ++i) {
    auto values = evaluate(sides.graph, leaves, {sides.a[i], sides.b[i]});
    assert(values && "a probe gives each leaf a value");
    const NodeValues &left = (*values)[0], &right = (*values)[1];
    size_t broken = 0;
    for (size_t j = 0; j < left.size(); ++j)
      broken += std::isfinite(left[j]) ? !std::isfinite(right[j])
                                       : exact && !(left[j] == right[j] ||
                                                    (std::isnan(left[j]) && std::isnan(right[j])));
    if (broken == 0) continue;
    spread_ = llvm::formatv("with one {0} among its inputs, {1} of {2} elements {3} at {4}", value,
                            broken, left.size(),
                            exact ? "differ" : "are not finite only on the right side", where);
    return;
  }
}

Numerics ClassWatch::numerics() const { return std::max(derivation_.result().numerics, observed_); }

std::string ClassWatch::fault() const {
  if (!rule_.stated) return "";
  if (std::string derived = class_fault(rule_, derivation_.result()); !derived.empty())
    return derived;
  if (observed_ > rule_.numerics)
    return llvm::formatv("the rule is stated `{0}`, but in float64 it is `{1}`: at {2}",
                         numerics_name(rule_.numerics), numerics_name(observed_), worst_);
  if (spread_.empty()) return "";
  return llvm::formatv("the rule is stated `{0}`, but {1}", numerics_name(rule_.numerics), spread_);
}

} // namespace tg
