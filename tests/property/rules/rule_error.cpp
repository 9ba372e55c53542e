#include "tests/property/rules/rule_error.h"

#include "compiler/ir/evaluate.h"
#include "compiler/rules/instances/sample.h"
#include "compiler/verify/counterexample/probe.h"
#include "lang/core/semantics/impl.h"
#include "runtime/convert.h"

#include <cmath>

namespace tg {

namespace {

/// A number of a narrow dtype, stored as the equal float.
template <DType D> struct Rounded {
  Rounded() = default;
  explicit Rounded(double x) {
    uint16_t bits;
    narrow(D, &x, reinterpret_cast<std::byte*>(&bits), 1);
    value = D == DType::F16 ? f16_to_float(bits) : bf16_to_float(bits);
  }
  operator double() const { return static_cast<double>(value); }
  float value = 0;
};

using F16 = Rounded<DType::F16>;
using BF16 = Rounded<DType::BF16>;

} // namespace

template <> struct ScalarTraits<F16> { using Wide = double; };
template <> struct ScalarTraits<BF16> { using Wide = double; };

namespace {

template <class T>
Result<std::vector<NodeValues>> evaluate_over(const Graph& graph, const LeafSource& leaves,
                                              llvm::ArrayRef<NodeId> wanted) {
  auto rounded = [&](const Graph& of, NodeId id) {
    std::vector<T> values;
    for (double x : leaves(of, id)) values.push_back(static_cast<T>(x));
    return values;
  };
  TG_TRY(std::vector<std::vector<T>> results, Evaluation<T>(graph, wanted).run(rounded));
  std::vector<NodeValues> wide;
  for (const std::vector<T>& values : results) wide.emplace_back(values.begin(), values.end());
  return wide;
}

LeafSource rounded_leaves(LeafSource leaves, DType dtype) {
  return [leaves = std::move(leaves), dtype](const Graph& graph, NodeId id) {
    NodeValues values = leaves(graph, id);
    std::vector<std::byte> narrowed(values.size() * static_cast<size_t>(dtype_size(dtype)));
    narrow(dtype, values.data(), narrowed.data(), static_cast<int64_t>(values.size()));
    widen(dtype, narrowed.data(), values.data(), static_cast<int64_t>(values.size()));
    return values;
  };
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool finite_and_not_zero(const NodeValues& values) {
  bool zero = true;
  for (double x : values) {
    if (!std::isfinite(x)) return false;
    zero &= x == 0;
  }
  return !zero;
}

/// Both sides at one instance.
struct Sides {
  Graph graph;
  std::vector<NodeId> left, right;
};

/// Returns nullopt if the engine would reject the match: the right side is ill-typed
/// or has another type.
std::optional<Sides> build(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
                           const RuleInstance& instance) {
  Sides sides{Graph(symbols), {}, {}};
  std::vector<NodeId> nodes;
  for (TermId root : rule.lhs)
    sides.left.push_back(build_term(sides.graph, rule, instance, root, nodes));
  for (TermId root : rule.rhs)
    sides.right.push_back(build_term(sides.graph, rule, instance, root, nodes));
  for (size_t i = 0; i < sides.left.size(); ++i) {
    if (!sides.left[i].valid() || !sides.right[i].valid()) return std::nullopt;
    if (!(sides.graph.type(sides.left[i]) == sides.graph.type(sides.right[i]))) return std::nullopt;
  }
  return sides;
}

void visit_instance(const Sides& sides, uint64_t seed, llvm::ArrayRef<Probe> probes,
                    llvm::function_ref<void(const RuleErrorCase&)> visit) {
  for (DType dtype : kRoundedDTypes)
    for (Probe probe : probes) {
      LeafSource leaves = rounded_leaves(probe_leaves(probe, seed), dtype);
      auto exact = evaluate(sides.graph, leaves, sides.left);
      auto left = evaluate_rounded(sides.graph, dtype, leaves, sides.left);
      auto right = evaluate_rounded(sides.graph, dtype, leaves, sides.right);
      assert(exact && left && right && "a probe gives each leaf a value");
      visit({sides.graph, leaves, dtype, probe == Probe::Mixed, sides.left, sides.right,
             std::move(*exact), std::move(*left), std::move(*right)});
    }
}

} // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
  case DType::F16: return 0x1p-11;
  case DType::BF16: return 0x1p-8;
  default: return 0x1p-24;
  }
}

Result<std::vector<NodeValues>> evaluate_rounded(const Graph& graph, DType dtype,
                                                 const LeafSource& leaves,
                                                 llvm::ArrayRef<NodeId> wanted) {
  switch (dtype) {
  case DType::F16: return evaluate_over<F16>(graph, leaves, wanted);
  case DType::BF16: return evaluate_over<BF16>(graph, leaves, wanted);
  default: return evaluate_over<float>(graph, leaves, wanted);
  }
}

bool RuleErrorCase::same_bits() const {
  for (size_t i = 0; i < left_rounded.size(); ++i)
    for (size_t j = 0; j < left_rounded[i].size(); ++j)
      if (!same_number(left_rounded[i][j], right_rounded[i][j])) return false;
  return true;
}

size_t for_each_error_case(const Rule& rule, const RuleErrorOptions& options,
                           llvm::function_ref<void(const RuleErrorCase&)> visit) {
  if (rule.native != Native::No) return 0;
  constexpr size_t kAttempts = 20000; // for one draw
  auto symbols = std::make_shared<Symbols>();
  RuleSampler sampler(*symbols, rule, options.seed);
  llvm::SmallVector<Probe, 3> probes = {Probe::Plain, Probe::Positive};
  if (options.mixed) probes.push_back(Probe::Mixed);
  size_t found = 0;
  for (size_t i = 0; i < options.draws && found < options.instances; ++i) {
    std::optional<RuleInstance> instance = sampler.draw(kAttempts);
    if (!instance) break;
    std::optional<Sides> sides = build(rule, symbols, *instance);
    if (!sides) continue;
    ++found;
    visit_instance(*sides, options.seed + i, probes, visit);
  }
  return found;
}

void RuleError::add(const RuleErrorCase& rule_case) {
  same_bits &= rule_case.same_bits();
  for (size_t i = 0; i < rule_case.exact.size(); ++i) {
    if (!finite_and_not_zero(rule_case.exact[i])) continue;
    double of_left = max_rel_diff(rule_case.left_rounded[i], rule_case.exact[i]);
    double of_right = max_rel_diff(rule_case.right_rounded[i], rule_case.exact[i]);
    if (!std::isfinite(of_left)) continue; // the dtype is too narrow for both sides
    ++cases;
    left = std::max(left, of_left);
    right = std::max(right, of_right);
    added = std::max(added, of_right - of_left);
  }
}

} // namespace tg
