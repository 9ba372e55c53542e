#include "compiler/verify/counterexample/float_comparison.h"

#include "compiler/verify/counterexample/crossing.h"
#include "compiler/verify/counterexample/literals.h"
#include "compiler/verify/counterexample/narrow.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace tg {

namespace {

// Budgets over all evaluations. A glance is skipped if a single evaluation of the model exceeds it.
constexpr double kGlanceFlops = 2e9, kWholeFlops = 2e10;
constexpr size_t kOrdinaryInputs = 4; // tried by a `Whole` look at any cost

class FloatComparison {
public:
  FloatComparison(const Joined& joined, const EquivalenceOptions& options,
                  AdversarialInputs::Effort effort)
      : options_(options), effort_(effort), trial_(joined),
        adversary_(trial_, options.seed, effort), flops_(evaluation_flops(joined.graph)),
        budget_(effort == AdversarialInputs::Effort::Glance ? kGlanceFlops : kWholeFlops) {}

  FloatFindings run() {
    for (size_t i = 0; i < adversary_.size() && !findings_.different && !stopped(); ++i) {
      bool whole = effort_ != AdversarialInputs::Effort::Glance;
      if (!affordable() && !(whole && i < kOrdinaryInputs)) break;
      Attempt attempt = adversary_.at(i);
      // Out-of-range indices are defined; numbers too large for a double are not.
      judge(attempt, adversary_.out_of_range(i), adversary_.extreme(i));
    }
    if (!findings_.different && effort_ != AdversarialInputs::Effort::Glance) compare_literals();
    if (findings_.different) return std::move(findings_);
    if (effort_ == AdversarialInputs::Effort::Whole) cross();
    if (options_.caveats && !findings_.different) add_caveats();
    return std::move(findings_);
  }

private:
  bool affordable() { return (budget_ -= flops_) >= 0; }
  bool stopped() const { return options_.stop && options_.stop(); }

  Counterexample example(const Attempt& attempt, const Trial::Difference& difference) const {
    return counterexample_of(trial_, attempt, difference, options_.minimise);
  }

  /// Returns true if the values prove that the sides differ.
  bool judge(const Attempt& attempt, bool any_result, bool extreme) {
    std::optional<Trial::Difference> found = trial_.run(attempt.values);
    if (!found) return false;
    bool finite = std::isfinite(found->a.as_real()) && std::isfinite(found->b.as_real());
    bool glance = effort_ == AdversarialInputs::Effort::Glance;
    auto counts = !any_result && (glance || extreme) ? Trial::Results::Finite : Trial::Results::Any;
    if (!finite && counts == Trial::Results::Finite) {
      if (!findings_.not_finite) findings_.not_finite = example(attempt, *found);
      return false;
    }
    if (auto proven = trial_.run_beyond_rounding(attempt.values, counts)) {
      findings_.different = example(attempt, *proven);
      return true;
    }
    if (!findings_.rounded && !found->tiny) findings_.rounded = example(attempt, *found);
    return false;
  }

  /// Finds differences of literals that float64 rounds away, at ordinary numbers.
  void compare_literals() {
    for (size_t i = 0; i < std::min(adversary_.size(), kOrdinaryInputs); ++i) {
      Attempt attempt = adversary_.at(i);
      std::optional<Trial::Difference> found = run_by_literals(trial_, attempt.values);
      if (!found) continue;
      findings_.different = example(attempt, *found);
      return;
    }
  }

  /// Crosses thresholds that no input has crossed so far.
  void cross() {
    auto stop = [this] { return stopped(); };
    Crossing crossing(trial_, stop);
    if (crossing.empty()) return;
    for (size_t i = 0; i < adversary_.size(); ++i) crossing.see(adversary_.at(i).values);
    LeafValues base = adversary_.at(1).values; // ordinary numbers
    crossing.search(base, options_.seed, [&](const LeafValues& values) {
      return stopped() || judge({"numbers on both sides of a threshold", values}, false, true);
    });
    findings_.unreached = crossing.unreached();
  }

  void add_caveats() {
    for (size_t i = 0; i < adversary_.specials() && affordable(); ++i) {
      Attempt attempt = adversary_.special(i);
      auto found = trial_.run_beyond_rounding(attempt.values, Trial::Results::Any);
      if (!found) continue;
      bool telling = find_one_sided_finite(attempt.values, *found);
      if (telling || !findings_.special) findings_.special = example(attempt, *found);
      if (telling) break;
    }
    for (size_t i = 0; i < adversary_.roundings() && !findings_.jumps && affordable(); ++i) {
      Attempt attempt = adversary_.rounding(i);
      std::optional<Trial::Difference> found = trial_.run(attempt.values);
      if (found && !is_float(output_type(*found))) findings_.jumps = example(attempt, *found);
    }
  }

  /// Selects a difference at an element that is finite on one side, if there is one. The
  /// order of sums decides whether a nonfinite result is an infinity or NaN.
  bool find_one_sided_finite(const LeafValues& values, Trial::Difference& found) const {
    auto [a, b] = trial_.outputs(values, found.output);
    for (size_t i = 0; i < a.size(); ++i) {
      bool alike = std::isfinite(a.at(i)) == std::isfinite(b.at(i));
      if (alike && (!std::isfinite(a.at(i)) || i != static_cast<size_t>(found.index))) continue;
      found.index = static_cast<int64_t>(i), found.a = a.number(i), found.b = b.number(i);
      return true;
    }
    return false;
  }

  DType output_type(const Trial::Difference& difference) const {
    const Joined& joined = trial_.joined();
    return joined.graph.type(joined.a[difference.output]).dtype;
  }

  const EquivalenceOptions& options_;
  AdversarialInputs::Effort effort_;
  Trial trial_;
  AdversarialInputs adversary_;
  double flops_, budget_;
  FloatFindings findings_;
};

} // namespace

FloatFindings compare_in_float64(const Joined& joined, const EquivalenceOptions& options,
                                 AdversarialInputs::Effort effort) {
  bool glance = effort == AdversarialInputs::Effort::Glance;
  if (glance && evaluation_flops(joined.graph) > kGlanceFlops) return {};
  return FloatComparison(joined, options, effort).run();
}

std::optional<Counterexample> find_counterexample(const Joined& joined,
                                                  const EquivalenceOptions& options) {
  EquivalenceOptions quick = options;
  quick.caveats = false;
  return FloatComparison(joined, quick, AdversarialInputs::Effort::Quick).run().different;
}

namespace {

using Verdict = Equivalence::Verdict;

/// Describes the values: "`y` at [0, 1] is 1 and 2".
std::string values_text(const Counterexample& example) {
  std::string index;
  for (int64_t i : example.index) index += (index.empty() ? "[" : ", ") + std::to_string(i);
  if (!index.empty()) index = " at " + index + "]";
  return llvm::formatv("`{0}`{1} is {2} and {3}", example.output, index,
                       value_of(example.a).text_form(), value_of(example.b).text_form());
}

std::string parts_text(const Counterexample& example) {
  return llvm::formatv("they differ at {0}: {1}", example.probe, values_text(example));
}

/// Returns false if neither side is finite: whether the result is infinity or NaN then depends on
/// the order of sums.
bool is_conclusive(const Counterexample& special) {
  return std::isfinite(special.a.as_real()) || std::isfinite(special.b.as_real());
}

void undecided(Equivalence& result, std::string why, std::string help) {
  result.verdict = Verdict::Undecided;
  result.undecided = std::move(why);
  result.help = std::move(help);
}

void refute(Equivalence& result, Counterexample example) {
  result.verdict = Verdict::Different;
  result.method = Equivalence::Method::Float64;
  result.field_difference = example.output;
  result.counterexample = std::move(example);
}

/// Returns true if the nodes of only one side depend on an integer input or weight. The selection
/// of elements by a gather or scatter does not count if both sides use the same indices.
bool integers_behind(const Joined& joined) {
  const Graph& graph = joined.graph;
  std::vector<bool> alone = one_sided(joined), whole(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    NodeId id{i};
    OpKind op = graph.node(id).op;
    llvm::ArrayRef<NodeId> operands = graph.operands(id);
    bool reads = false;
    for (size_t k = 0; k < operands.size(); ++k) {
      bool index = static_cast<int>(k) == op_info(op).index_operand() && !alone[operands[k].index];
      reads |= whole[operands[k].index] && !index;
    }
    bool leaf = is_variable(op);
    whole[i] = is_integer(graph.type(id).dtype) && (leaf || reads);
    if (alone[i] && (whole[i] || reads)) return true;
  }
  return false;
}

/// Marks nodes that the outputs of one side need and those of the other do not.
std::vector<bool> below(const Graph& graph, llvm::ArrayRef<NodeId> outputs) {
  std::vector<bool> needed(graph.size());
  for (NodeId output : outputs) needed[output.index] = true;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    if (needed[i])
      for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  return needed;
}

/// Returns the float types to which only one side rounds common values, if there are several types:
/// by casts, or because it computes in another type.
std::vector<std::string> one_sided_types(const Joined& joined) {
  const Graph& graph = joined.graph;
  std::vector<bool> in_a = below(graph, joined.a), in_b = below(graph, joined.b);
  std::set<DType> types[2], all;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    DType to = graph.type({i}).dtype;
    OpKind op = graph.node({i}).op;
    if (!is_float(to) || in_a[i] == in_b[i]) continue;
    all.insert(to);
    DType from = op == OpKind::Cast ? graph.type(graph.operands({i})[0]).dtype : DType::None;
    bool cuts = op == OpKind::Cast && is_float(from) && !holds_all(to, from);
    if (cuts || rounds(op)) types[in_b[i]].insert(to);
  }
  if (all.size() < 2) return {};
  std::vector<DType> one_sided;
  std::set_symmetric_difference(types[0].begin(), types[0].end(), types[1].begin(), types[1].end(),
                                std::back_inserter(one_sided));
  std::vector<std::string> names;
  for (DType type : one_sided) names.push_back(dtype_name(type).str());
  return names;
}

void add_caveats(const Joined& joined, const FloatFindings& found, Equivalence& result) {
  if (!found.unreached.empty())
    result.caveats.push_back("no tested inputs give both results of " +
                             llvm::join(found.unreached, ", "));
  for (const auto* example : {&found.not_finite, &found.special, &found.jumps})
    if (*example) result.caveats.push_back(parts_text(**example));
  for (const std::string& name : one_sided_types(joined))
    result.caveats.push_back("only one of them rounds to " + name +
                             ", but the check does not round");
}

} // namespace

void confirm_in_float64(const Joined& joined, const EquivalenceOptions& options,
                        Equivalence& result) {
  FloatFindings found = compare_in_float64(joined, options, AdversarialInputs::Effort::Glance);
  if (found.different) return refute(result, std::move(*found.different));
  if (options.caveats) add_caveats(joined, found, result);
}

void decide_in_float64(const Joined& joined, const Joined& simple,
                       const EquivalenceOptions& options, Equivalence& result) {
  result.method = Equivalence::Method::Float64;
  FloatFindings found = compare_in_float64(joined, options,
                                           options.thorough ? AdversarialInputs::Effort::Whole
                                                            : AdversarialInputs::Effort::Quick);
  if (found.different) return refute(result, std::move(*found.different));
  result.verdict = Verdict::Equal;
  llvm::StringRef at = result.field_difference;
  if (found.rounded) {
    undecided(result,
              "float64 rounds too much to tell: " + parts_text(*found.rounded) +
                  ", which may be due to rounding",
              "");
    result.counterexample = std::move(found.rounded);
  } else if (integers_behind(simple)) {
    undecided(result,
              llvm::formatv("`{0}` depends on integers, and the tested values do not decide "
                            "the others",
                            at),
              "integers are decided if both sides are the same sums and products of the same "
              "quotients, comparisons and maxima");
  } else if (auto& doubt =
                 found.special && is_conclusive(*found.special) ? found.special : found.jumps) {
    undecided(result, parts_text(*doubt) + "; at ordinary numbers no difference was found", "");
    result.counterexample = std::move(*doubt);
  } else if (options.caveats) {
    add_caveats(joined, found, result);
  }
}

} // namespace tg
