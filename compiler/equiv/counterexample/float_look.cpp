#include "compiler/equiv/counterexample/float_look.h"

#include "compiler/equiv/counterexample/crossing.h"
#include "compiler/equiv/counterexample/minimise.h"

#include <cmath>

namespace tg {

namespace {

// Of all evaluations; a model of which one alone costs more than a glance is not glanced at.
constexpr double kGlanceFlops = 2e9, kWholeFlops = 2e10;
constexpr size_t kOrdinary = 4; // inputs that every whole look tries, whatever they cost

class Look {
public:
  Look(const Joined& joined, const EquivalenceOptions& options, Adversary::Effort effort)
      : options_(options), effort_(effort), trial_(joined),
        adversary_(trial_, options.seed, effort), flops_(evaluation_flops(joined.graph)),
        budget_(effort == Adversary::Effort::Glance ? kGlanceFlops : kWholeFlops) {}

  FloatFindings run() {
    for (size_t i = 0; i < adversary_.size() && !findings_.different && !stopped(); ++i) {
      bool whole = effort_ != Adversary::Effort::Glance;
      if (!affordable() && !(whole && i < kOrdinary)) break;
      Attempt attempt = adversary_.at(i);
      // Indices have a meaning out of range; a number too large for a double has none.
      judge(attempt, adversary_.out_of_range(i), adversary_.extreme(i));
    }
    if (findings_.different) return std::move(findings_);
    if (effort_ == Adversary::Effort::Whole) cross();
    if (options_.caveats && !findings_.different) add_caveats();
    return std::move(findings_);
  }

private:
  bool affordable() { return (budget_ -= flops_) >= 0; }
  bool stopped() const { return options_.stop && options_.stop(); }

  Counterexample example(const Attempt& attempt, const Trial::Difference& difference) const {
    return counterexample_of(trial_, attempt, difference, options_.minimise);
  }

  /// Whether the values prove that the sides differ.
  bool judge(const Attempt& attempt, bool any_result, bool extreme) {
    std::optional<Trial::Difference> found = trial_.run(attempt.values);
    if (!found) return false;
    bool finite = std::isfinite(found->a) && std::isfinite(found->b);
    bool glance = effort_ == Adversary::Effort::Glance;
    if (!finite && !any_result && (glance || extreme)) {
      if (!findings_.not_finite) findings_.not_finite = example(attempt, *found);
      return false;
    }
    if (!trial_.rounding_explains(attempt.values, *found)) {
      findings_.different = example(attempt, *found);
      return true;
    }
    if (!findings_.rounded && !found->tiny) findings_.rounded = example(attempt, *found);
    return false;
  }

  /// Thresholds that no input so far was beyond.
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
      std::optional<Trial::Difference> found = trial_.run(attempt.values);
      if (!found || found->tiny) continue;
      bool telling = finite_on_one_side(attempt.values, *found);
      if (telling || !findings_.special) findings_.special = example(attempt, *found);
      if (telling) break;
    }
    for (size_t i = 0; i < adversary_.roundings() && !findings_.jumps && affordable(); ++i) {
      Attempt attempt = adversary_.rounding(i);
      std::optional<Trial::Difference> found = trial_.run(attempt.values);
      if (found && !is_float(output_type(*found))) findings_.jumps = example(attempt, *found);
    }
  }

  /// Makes the difference that of an element which is finite on a side, if there is one: whether
  /// it is an infinity or a NaN that is no number is a matter of the order of sums.
  bool finite_on_one_side(const LeafValues& values, Trial::Difference& found) const {
    auto [a, b] = trial_.outputs(values, found.output);
    for (size_t i = 0; i < a.size(); ++i) {
      bool alike = std::isfinite(a[i]) == std::isfinite(b[i]);
      if (alike && (!std::isfinite(a[i]) || i != static_cast<size_t>(found.index))) continue;
      found.index = static_cast<int64_t>(i), found.a = a[i], found.b = b[i];
      return true;
    }
    return false;
  }

  DType output_type(const Trial::Difference& difference) const {
    const Joined& joined = trial_.joined();
    return joined.graph.type(joined.a[difference.output]).dtype;
  }

  const EquivalenceOptions& options_;
  Adversary::Effort effort_;
  Trial trial_;
  Adversary adversary_;
  double flops_, budget_;
  FloatFindings findings_;
};

} // namespace

FloatFindings look_in_float64(const Joined& joined, const EquivalenceOptions& options,
                              Adversary::Effort effort) {
  bool glance = effort == Adversary::Effort::Glance;
  if (glance && evaluation_flops(joined.graph) > kGlanceFlops) return {};
  return Look(joined, options, effort).run();
}

std::optional<Counterexample> find_counterexample(const Joined& joined,
                                                  const EquivalenceOptions& options) {
  EquivalenceOptions quick = options;
  quick.caveats = false;
  return Look(joined, quick, Adversary::Effort::Quick).run().different;
}

} // namespace tg
