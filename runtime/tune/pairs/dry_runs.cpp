#include "runtime/tune/pairs/dry_runs.h"

#include "lang/core/support/random.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/space.h"

namespace tg::tune {

namespace {

/// All of the device but its clock: which program is the fastest is by chance, and the same again.
class DryDevice final : public Device {
public:
  DryDevice(const Device& device, uint64_t seed) : device_(device), seed_(seed) {}
  std::string name() const override { return device_.name(); }
  DeviceLimits limits() const override { return device_.limits(); }
  std::string why_not(const Program& program, const Nest& nest) const override {
    return device_.why_not(program, nest);
  }
  Program adapted(Program program) const override { return device_.adapted(std::move(program)); }
  Extents choose_block(const Operator& op, const Nest& nest, int64_t points,
                       BlockCost& cost) const override {
    return device_.choose_block(op, nest, points, cost);
  }
  std::optional<ThreadShape> choose_threads(const Operator& op, const Nest& nest,
                                            const Extents& block, const Extents& fetched,
                                            int64_t threads) const override {
    return device_.choose_threads(op, nest, block, fetched, threads);
  }
  bool stopped() const override { return device_.stopped(); }
  std::optional<double> measure(const Program& program) override {
    constexpr uint64_t kTimes = 1 << 20;
    return 1 + static_cast<double>(RandomStream(seed_, text(program)).bits(0) % kTimes);
  }

private:
  const Device& device_;
  uint64_t seed_;
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

std::optional<double> DryRuns::expected_trials(const Operator& target, const Operator& reused) {
  const std::vector<Program>& programs = programs_of(reused);
  if (programs.empty()) return {};
  DryDevice device(device_, seed_);
  ReuseOptions options;
  if (guess_) options.start = device_.guess(target);
  int64_t all = 0, guesses = options.start ? static_cast<int64_t>(programs.size()) : 0;
  for (const Program& program : programs)
    all += tune_by_reuse(target, program, device, options).trials;
  if (all == guesses) return {}; // of what is reused nothing was
  return static_cast<double>(all) / static_cast<double>(programs.size());
}

} // namespace tg::tune
