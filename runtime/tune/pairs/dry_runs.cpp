#include "runtime/tune/pairs/dry_runs.h"

#include "lang/core/support/random.h"
#include "runtime/tune/device_wrapper.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/space.h"

#include <algorithm>

namespace tg::tune {

namespace {

/// The device with a different clock: times are pseudo-random and reproducible,
/// and the guess is faster than all others.
class DryDevice : public DeviceWrapper {
public:
  DryDevice(const Device& device, uint64_t seed, const std::optional<Program>& guess)
      : DeviceWrapper(device), seed_(seed), guess_(guess) {}
  std::optional<double> measure(const Program& program) override {
    constexpr uint64_t kTimes = 1 << 20;
    return program == guess_ ? 0.5 : 1 + static_cast<double>(number(program) % kTimes);
  }

protected:
  bool is_guess(const Program& program) const { return program == guess_; }
  uint64_t number(const Program& program) const {
    return RandomStream(seed_, text(program)).bits(0);
  }

private:
  uint64_t seed_;
  const std::optional<Program>& guess_;
};

/// If trials end early, times are relative to the time of the guess.
/// The programs that reuse tries take 0.93 to 1.2 of it on CPUs (bench/results/tuner.md),
/// and from 0.8 if the peak is far.
/// The times of one operator's programs are close together: for some operators the guess
/// is the best program, for others most programs are better.
constexpr double kFastestFar = 0.8, kFastest = 0.93, kSlowest = 1.05, kSpread = 0.15;
constexpr int kOutcomes = 4;

class TimedDryDevice final : public DryDevice {
public:
  /// `outcome` is one of kOutcomes.
  TimedDryDevice(const Device& device, uint64_t seed, const std::optional<Program>& guess,
                 int outcome, double enough)
      : DryDevice(device, seed + static_cast<uint64_t>(outcome), guess), enough_(enough),
        fastest_(enough > 0 ? std::clamp(enough, kFastestFar, kFastest) : kFastest) {
    fastest_ += (kSlowest - fastest_) * (outcome + 0.5) / kOutcomes;
  }
  double enough_us(const Operator&) const override { return enough_; }
  std::optional<double> measure(const Program& program) override {
    constexpr uint64_t kTimes = 1 << 20;
    if (is_guess(program)) return 1;
    return fastest_ + kSpread * static_cast<double>(number(program) % kTimes) / kTimes;
  }

private:
  double enough_, fastest_;
};

} // namespace

const std::vector<Program>& DryRuns::programs_of(const Operator& op) {
  auto [at, is_new] = programs_.try_emplace(text(op));
  if (!is_new) return at->second;
  if (std::optional<Program> guess = device_.guess(op)) at->second.push_back(std::move(*guess));
  ProgramSpace space(op, device_, seed_);
  while (static_cast<int>(at->second.size()) < samples_) {
    std::optional<Program> program = space.random();
    if (!program) break; // many draws gave no legal program
    at->second.push_back(std::move(*program));
  }
  return at->second;
}

double DryRuns::patient_trials(const Operator& target, const Program& reused, double enough) const {
  ReuseOptions options;
  options.patience = patience_;
  options.start = device_.guess(target);
  int64_t all = 0;
  for (int outcome = 0; outcome < kOutcomes; ++outcome) {
    TimedDryDevice device(device_, seed_, options.start, outcome, enough);
    all += tune_by_reuse(target, reused, device, options).trials;
  }
  return static_cast<double>(all) / kOutcomes;
}

bool DryRuns::reaches_guess(const Operator& target, const Program& reused) const {
  std::optional<Program> none;
  DryDevice device(device_, seed_, none);
  ReuseOptions first;
  first.patience = 1;
  return tune_by_reuse(target, reused, device, first).best.has_value();
}

std::optional<double> DryRuns::expected_trials(const Operator& target, const Operator& reused,
                                               size_t most, double enough) {
  llvm::ArrayRef<Program> programs = programs_of(reused);
  programs = programs.take_front(most);
  if (programs.empty()) return {};
  ReuseOptions options;
  options.patience = patience_;
  if (guess_) options.start = device_.guess(target);
  DryDevice device(device_, seed_, options.start);
  int64_t all = 0, guesses = options.start ? static_cast<int64_t>(programs.size()) : 0;
  double patient = 0;
  for (const Program& program : programs) {
    all += tune_by_reuse(target, program, device, options).trials;
    if (options.start && patience_ > 0) patient += patient_trials(target, program, enough);
  }
  if (all == guesses && !(patience_ > 0 && reaches_guess(target, programs[0]))) return {};
  return (patient > 0 ? patient : static_cast<double>(all)) / static_cast<double>(programs.size());
}

} // namespace tg::tune
