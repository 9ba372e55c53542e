#include "runtime/tune/pairs/dry_runs.h"

#include "lang/core/support/random.h"
#include "runtime/tune/other_clock.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/space.h"

namespace tg::tune {

namespace {

/// All of the device but its clock: which program is the fastest is by chance, and the same again;
/// the guess is faster than all others.
class DryDevice final : public OtherClock {
public:
  DryDevice(const Device& device, uint64_t seed, const std::optional<Program>& guess)
      : OtherClock(device), seed_(seed), guess_(guess) {}
  std::optional<double> measure(const Program& program) override {
    constexpr uint64_t kTimes = 1 << 20;
    if (program == guess_) return 0.5;
    return 1 + static_cast<double>(RandomStream(seed_, text(program)).bits(0) % kTimes);
  }

private:
  uint64_t seed_;
  const std::optional<Program>& guess_;
};

} // namespace

const std::vector<Program>& DryRuns::programs_of(const Operator& op) {
  auto [at, is_new] = programs_.try_emplace(text(op));
  if (!is_new) return at->second;
  if (std::optional<Program> guess = device_.guess(op)) at->second.push_back(std::move(*guess));
  ProgramSpace space(op, device_, seed_);
  while (static_cast<int>(at->second.size()) < samples_) {
    std::optional<Program> program = space.random();
    if (!program) break; // of many draws none was legal
    at->second.push_back(std::move(*program));
  }
  return at->second;
}

std::optional<double> DryRuns::expected_trials(const Operator& target, const Operator& reused,
                                               size_t most) {
  llvm::ArrayRef<Program> programs = programs_of(reused);
  programs = programs.take_front(most);
  if (programs.empty()) return {};
  ReuseOptions options;
  options.patience = patience_;
  if (guess_) options.start = device_.guess(target);
  DryDevice device(device_, seed_, options.start);
  int64_t all = 0, guesses = options.start ? static_cast<int64_t>(programs.size()) : 0;
  for (const Program& program : programs)
    all += tune_by_reuse(target, program, device, options).trials;
  if (all == guesses) return {}; // of what is reused nothing was
  return static_cast<double>(all) / static_cast<double>(programs.size());
}

} // namespace tg::tune
