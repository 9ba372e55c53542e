#include "compiler/driver/calibrated_cost.h"

#include "compiler/extract/cost/instance_text.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Of the logarithm of a time from the database.
constexpr double kNoise = 0.1;
/// A guess that may be so far off surprises nobody; nor does what the clock cannot tell.
constexpr double kIgnorance = 0.5, kClockUs = 1;
/// Shares of a graph's cost: what is not worth finding out about a decision, and about one
/// operator.
constexpr double kSettled = 0.01, kTrifle = 0.001;

/// What was touched between two runs of an operator, from the `layout` of its environment: of
/// "native, washed 16 MiB" (measure_conditions) 16.
double washed_mib_of(llvm::StringRef layout) {
  double mib = 0;
  llvm::StringRef number = layout.rsplit("washed ").second.split(' ').first;
  return number.getAsDouble(mib) ? 0 : mib;
}

} // namespace

void learn_times(PriceModel& model, AnalyticCost& roofline, CostDb& database,
                 llvm::function_ref<bool(llvm::StringRef key)> leave_out) {
  Symbols symbols;
  for (const auto& [layout, row] : database.rows_alike()) {
    if (leave_out && leave_out(row.instance)) continue;
    std::optional<OwnedInstance> read = read_instance(symbols, row.instance);
    if (!read) continue; // of another version
    model.learn(price_features(roofline, symbols, read->instance(), washed_mib_of(layout)),
                row.microseconds, kNoise);
  }
}

CalibratedCost::CalibratedCost(std::unique_ptr<MeasuredCost> measured, const DeviceProfile& device)
    : measured_(std::move(measured)), roofline_(device), washed_mib_(measured_->washed_mib()) {
  learn_times(model_, roofline_, measured_->database());
}

PriceGuess CalibratedCost::guess(const Symbols& symbols, const OpInstance& instance) {
  std::string key = instance_key(symbols, instance);
  if (auto known = guesses_.find(key); known != guesses_.end()) return known->second;
  return guesses_[key] = model_.guess(features(symbols, instance));
}

double CalibratedCost::price(const Symbols& symbols, const OpInstance& instance) {
  if (std::optional<double> known = measured_->known_price(symbols, instance)) return *known;
  return guess(symbols, instance).microseconds;
}

/// What took much longer than operators like it was perhaps disturbed.
void CalibratedCost::time_surprises_again(const Symbols& symbols,
                                          llvm::ArrayRef<OpInstance> instances,
                                          llvm::ArrayRef<Timed> timed, const StopToken& stop) {
  std::vector<OpInstance> surprising;
  for (const Timed& one : timed) {
    std::optional<double> now = measured_->known_price(symbols, instances[one.instance]);
    if (!now || !std::isfinite(*now) || one.guess.deviation > kIgnorance) continue;
    double above = std::log((*now + kClockUs) / (one.guess.microseconds + kClockUs));
    if (above > 2 * std::hypot(one.guess.deviation, kNoise))
      surprising.push_back(instances[one.instance]);
  }
  if (!surprising.empty()) measured_->time_again(symbols, surprising, stop);
}

std::vector<CalibratedCost::Timed> CalibratedCost::time(const Symbols& symbols,
                                                        llvm::ArrayRef<OpInstance> instances,
                                                        const StopToken& stop) {
  std::vector<Timed> timed;
  for (size_t i = 0; i < instances.size(); ++i)
    if (!measured_->known_price(symbols, instances[i]))
      timed.push_back({i, guess(symbols, instances[i])});
  measured_->time(symbols, instances, stop);
  time_surprises_again(symbols, instances, timed, stop);
  llvm::erase_if(timed, [&](Timed& one) {
    std::optional<double> now = measured_->known_price(symbols, instances[one.instance]);
    if (!now || !std::isfinite(*now)) return true; // the time was over, or it cannot be timed
    one.microseconds = *now;
    return false;
  });
  for (const Timed& one : timed)
    model_.learn(features(symbols, instances[one.instance]), one.microseconds, kNoise);
  guesses_.clear();
  return timed;
}

double CalibratedCost::settle(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses,
                              double graph_us, const StopToken& stop) {
  struct Doubt {
    const PriceUse* use;
    double risk_us;
  };
  std::vector<Doubt> doubts;
  double left = 0; // the variance of the decision
  for (const PriceUse& use : uses) {
    if (measured_->known_price(symbols, use.instance)) continue;
    PriceGuess guessed = guess(symbols, use.instance);
    double risk = use.weight * guessed.microseconds * std::expm1(guessed.deviation);
    doubts.push_back({&use, risk});
    left += risk * risk;
  }
  llvm::stable_sort(doubts, [](const Doubt& a, const Doubt& b) { return a.risk_us > b.risk_us; });
  std::vector<OpInstance> asked;
  for (const Doubt& doubt : doubts) {
    if (std::sqrt(left) <= kSettled * graph_us || doubt.risk_us <= kTrifle * graph_us) break;
    left = std::max(left - doubt.risk_us * doubt.risk_us, 0.0);
    asked.push_back(doubt.use->instance);
  }
  if (asked.empty() || stop.asked()) return 0;
  double moved_us = 0;
  for (const Timed& one : time(symbols, asked, stop))
    moved_us +=
        doubts[one.instance].use->weight * std::abs(one.microseconds - one.guess.microseconds);
  bool impossible = llvm::any_of(
      asked, [&](const OpInstance& instance) { return std::isinf(price(symbols, instance)); });
  return impossible ? std::numeric_limits<double>::infinity() : moved_us;
}

/// That a few prices were taken beside other work says little where guesses stand beside them.
std::vector<std::string> CalibratedCost::notes() const { return measured_->faults(); }

} // namespace tg
