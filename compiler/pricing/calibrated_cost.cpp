#include "compiler/pricing/calibrated_cost.h"

#include "compiler/extract/cost/price_features.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Deviation of a poor estimate, for which no time is surprising; and the resolution of the clock.
constexpr double kIgnorance = 0.5, kClockUs = 1;
/// Shares of a graph's cost: below these the remaining uncertainty of a decision, and that of one
/// operator, is ignored.
constexpr double kSteady = 0.01, kTrifle = 0.001;

/// Returns the memory touched between two runs of an operator, from the `layout` of its
/// environment: 16 for "native, washed 16 MiB" (measure_conditions), in place or alone.
double washed_mib_of(llvm::StringRef layout) {
  double mib = 0;
  llvm::StringRef number = layout.rsplit("washed ").second.split(' ').first;
  return number.getAsDouble(mib) ? 0 : mib;
}

} // namespace

void learn_times(PriceModel& model, AnalyticCost& roofline, CostDb& database,
                 llvm::function_ref<bool(llvm::StringRef key, bool in_place)> leave_out) {
  Symbols symbols;
  for (const auto& [layout, row] : database.rows_of_all_layouts()) {
    if (llvm::StringRef(layout).startswith(kOnceLayout)) continue;
    bool in_place = llvm::StringRef(layout).startswith(kPlacedLayout);
    if (leave_out && leave_out(row.instance, in_place)) continue;
    std::optional<OwnedInstance> read = read_instance(symbols, row.instance);
    if (!read) continue; // from another version
    PriceFeatures features =
        price_features(roofline, symbols, read->instance(), washed_mib_of(layout));
    features.in_place = in_place;
    model.learn(features, row.microseconds, kTimeNoise);
  }
}

CalibratedCost::CalibratedCost(std::unique_ptr<MeasuredCost> measured, const DeviceProfile& device)
    : measured_(std::move(measured)), placed_(measured_->open_placed(kPlacedLayout)),
      once_(measured_->open_placed(kOnceLayout)), roofline_(device),
      washed_mib_(measured_->washed_mib()) {
  learn_times(model_, roofline_, measured_->database());
}

PriceFeatures CalibratedCost::features(const Symbols& symbols, const OpInstance& instance,
                                       bool in_place) {
  PriceFeatures features = price_features(roofline_, symbols, instance, washed_mib_);
  features.in_place = in_place;
  return features;
}

PriceGuess CalibratedCost::guess(const Symbols& symbols, const OpInstance& instance,
                                 bool in_place) {
  std::string key = instance_key(symbols, instance);
  auto& guesses = guesses_[in_place];
  if (auto known = guesses.find(key); known != guesses.end()) return known->second;
  return guesses[key] = model_.guess(features(symbols, instance, in_place));
}

std::optional<double> CalibratedCost::known(const Symbols& symbols, const OpInstance& instance) {
  std::optional<double> alone = measured_->known_price(symbols, instance);
  bool timed = measured_->is_timed(symbols, instance);
  if (!model_.knows_places() || !timed || (alone && std::isinf(*alone))) return alone;
  return placed_->find(instance_key(symbols, instance));
}

double CalibratedCost::price(const Symbols& symbols, const OpInstance& instance) {
  if (std::optional<double> price = known(symbols, instance)) return *price;
  return guess(symbols, instance).mean_us();
}

bool CalibratedCost::needs_placed_times(const Symbols& symbols,
                                        llvm::ArrayRef<OpInstance> instances) {
  return llvm::any_of(instances, [&](const OpInstance& instance) {
    return measured_->is_timed(symbols, instance) &&
           !placed_->find(instance_key(symbols, instance));
  });
}

/// Other work can only add time. If two searches find the same sum although the machine was
/// slightly busy, it is the time of the operators. Two searches beside the same permanently running
/// program would agree too; such times do not get here.
std::vector<CostRow> CalibratedCost::confirmed(std::vector<CostRow>& rows) {
  constexpr double kAgree = 0.1;
  double before = 0, now = 0;
  auto known = [&](const CostRow& row) { return once_->find(row.instance); };
  for (const CostRow& row : rows)
    if (std::optional<double> earlier = known(row)) before += *earlier, now += row.microseconds;
  std::vector<CostRow> out;
  if (std::abs(now - before) <= kAgree * std::min(before, now)) {
    for (const CostRow& row : rows)
      if (std::optional<double> earlier = known(row)) {
        out.push_back(row);
        out.back().microseconds = std::min(*earlier, row.microseconds);
      }
    llvm::erase_if(rows, known);
  }
  once_->store(rows);
  return out;
}

/// The first time of each instance is kept, so that prices are from the same moment as far
/// as possible.
void CalibratedCost::learn_placed(const Symbols& symbols, llvm::ArrayRef<PlacedTime> times,
                                  TimeTrust trust) {
  std::vector<CostRow> rows;
  for (const PlacedTime& time : times) {
    std::string key = instance_key(symbols, time.instance);
    if (!measured_->is_timed(symbols, time.instance) || placed_->find(key)) continue;
    rows.push_back({key, time.microseconds, "in place"});
    model_.learn(features(symbols, time.instance, true), time.microseconds, kTimeNoise);
  }
  if (trust == TimeTrust::Steady) placed_->store(rows);
  if (trust == TimeTrust::Unconfirmed) placed_->store(confirmed(rows));
  placed_->remember(rows);
  for (auto& guesses : guesses_) guesses.clear();
}

/// Times again what took much longer than similar operators, since it may have been disturbed.
void CalibratedCost::retime_outliers(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                                     llvm::ArrayRef<Timed> timed, const StopToken& stop) {
  std::vector<OpInstance> surprising;
  for (const Timed& one : timed) {
    std::optional<double> now = measured_->known_price(symbols, instances[one.instance]);
    if (!now || !std::isfinite(*now) || one.guess.deviation > kIgnorance) continue;
    double above = std::log((*now + kClockUs) / (one.guess.microseconds + kClockUs));
    if (above > 2 * std::hypot(one.guess.deviation, kTimeNoise))
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
      timed.push_back({i, guess(symbols, instances[i], false)});
  measured_->time(symbols, instances, stop);
  retime_outliers(symbols, instances, timed, stop);
  llvm::erase_if(timed, [&](Timed& one) {
    std::optional<double> now = measured_->known_price(symbols, instances[one.instance]);
    if (!now || !std::isfinite(*now)) return true; // out of time, or it cannot be timed
    one.microseconds = *now;
    return false;
  });
  for (const Timed& one : timed)
    model_.learn(features(symbols, instances[one.instance], false), one.microseconds, kTimeNoise);
  for (auto& guesses : guesses_) guesses.clear();
  return timed;
}

double CalibratedCost::refine_prices(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses,
                                     double graph_us, const StopToken& stop) {
  struct UncertainPrice {
    const PriceUse* use;
    double risk_us;
  };
  std::vector<UncertainPrice> doubts;
  double left = 0; // the variance of the decision
  for (const PriceUse& use : uses) {
    if (known(symbols, use.instance) || measured_->known_price(symbols, use.instance)) continue;
    PriceGuess guessed = guess(symbols, use.instance);
    double risk = use.weight * guessed.microseconds * std::expm1(guessed.deviation);
    doubts.push_back({&use, risk});
    left += risk * risk;
  }
  llvm::stable_sort(doubts, [](const UncertainPrice& a, const UncertainPrice& b) {
    return a.risk_us > b.risk_us;
  });
  std::vector<OpInstance> asked;
  for (const UncertainPrice& doubt : doubts) {
    if (std::sqrt(left) <= kSteady * graph_us || doubt.risk_us <= kTrifle * graph_us) break;
    left = std::max(left - doubt.risk_us * doubt.risk_us, 0.0);
    asked.push_back(doubt.use->instance);
  }
  if (asked.empty() || stop.asked()) return 0;
  std::vector<double> before;
  for (const OpInstance& instance : asked) before.push_back(price(symbols, instance));
  double moved_us = 0;
  for (const Timed& one : time(symbols, asked, stop))
    moved_us += doubts[one.instance].use->weight *
                std::abs(price(symbols, asked[one.instance]) - before[one.instance]);
  bool impossible = llvm::any_of(
      asked, [&](const OpInstance& instance) { return std::isinf(price(symbols, instance)); });
  return impossible ? std::numeric_limits<double>::infinity() : moved_us;
}

/// That a few prices were measured on a busy machine does not matter among estimates.
std::vector<std::string> CalibratedCost::notes() const { return measured_->faults(); }

} // namespace tg
