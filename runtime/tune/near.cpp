// Neighbours, likely programs, and the comparison that decides between them.
#include "runtime/tune/near.h"

#include "runtime/tune/device_wrapper.h"
#include "runtime/tune/ranges.h"
#include "runtime/tune/reuse.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace tg::tune {

namespace {

double log_ratio(double a, double b) { return std::abs(std::log(a / b)); }

double between(double value, double a, double b) {
  return std::clamp(value, std::min(a, b), std::max(a, b));
}

/// The "time" of a program is the distance of its features from the likely ones.
/// Blocks and memory are likely in the middle of their ranges.
/// Threads, which are register tiles on a CPU, are likely as large as those of the reused program,
/// as far as their range allows.
class LikelyDevice final : public DeviceWrapper {
public:
  LikelyDevice(const Device& device, const Operator& target, const Program& reused,
               llvm::function_ref<bool()> late)
      : DeviceWrapper(device), nest_(nest_of(target)), late_(late) {
    Features of = features(reused, nest_of(reused.op));
    Growth grows = growth(target, reused.op);
    FeatureRanges ranges = feature_ranges(grows);
    auto middle = [](const Range& range) { return std::sqrt(range.low * range.high); };
    likely_ = {of.blocks * middle(ranges.blocks),
               of.threads * between(grows.space, ranges.threads.low, ranges.threads.high),
               of.shared * middle(ranges.shared)};
  }
  bool stopped() const override { return late_() || DeviceWrapper::stopped(); }
  // Choosing a shape may take longer than a trial.
  Extents choose_block(const Operator& op, const Nest& nest, int64_t points,
                       BlockCost& cost) const override {
    return late_() ? Extents() : DeviceWrapper::choose_block(op, nest, points, cost);
  }
  std::optional<ThreadShape> choose_threads(const Operator& op, const Nest& nest,
                                            const Extents& block, const Extents& fetched,
                                            int64_t threads) const override {
    if (late_()) return std::nullopt;
    return DeviceWrapper::choose_threads(op, nest, block, fetched, threads);
  }
  std::optional<double> measure(const Program& program) override {
    Features of = features(program, nest_);
    if (of.blocks <= 0 || likely_.blocks <= 0) return 1; // the program has no tiles
    double far = log_ratio(of.blocks, likely_.blocks) + log_ratio(of.threads, likely_.threads);
    if (of.shared > 0 && likely_.shared > 0) far += log_ratio(of.shared, likely_.shared);
    return far;
  }

private:
  Nest nest_;
  llvm::function_ref<bool()> late_;
  Features likely_;
};

class NearTrials {
public:
  NearTrials(PlanDevice& device, const NearOptions& options)
      : device_(device), options_(options), known_(device.kept_programs()) {}

  NearReport run() {
    std::vector<size_t> order(device_.operators().size());
    std::iota(order.begin(), order.end(), size_t{0});
    llvm::erase_if(order, [&](size_t i) { return !device_.operators()[i].op || device_.kept(i); });
    report_.asked = order.size();
    llvm::stable_sort(order, [&](size_t a, size_t b) { return work_of(a) > work_of(b); });
    for (size_t op : order) {
      if (left_us() <= 0 || device_.stopped()) break;
      ask(op);
    }
    return report_;
  }

private:
  using Clock = std::chrono::steady_clock;

  double work_of(size_t i) const {
    const PlanOperator& op = device_.operators()[i];
    return op.flops * static_cast<double>(op.occurrences);
  }
  double left_us() const {
    std::chrono::duration<double, std::micro> spent = Clock::now() - start_;
    return options_.milliseconds * 1000 - spent.count();
  }

  std::vector<const Program*> neighbours_of(const Operator& op) const {
    std::vector<std::pair<double, const Program*>> all;
    for (const Program& program : known_)
      if (can_reuse(op, program.op)) all.push_back({distance(op, program.op), &program});
    llvm::stable_sort(all, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const Program*> nearest;
    for (const auto& [far, program] : llvm::ArrayRef(all).take_front(options_.neighbours))
      nearest.push_back(program);
    return nearest;
  }

  void ask(size_t at) {
    const Operator& op = *device_.operators()[at].op;
    device_.begin(at);
    std::vector<const Program*> neighbours = neighbours_of(op);
    report_.alone += neighbours.empty();
    std::vector<Program> programs;
    for (const Program* neighbour : neighbours)
      for (Program& program : likely_programs(op, *neighbour, device_, options_.programs,
                                              [&] { return left_us() <= 0; }))
        if (!llvm::is_contained(programs, program)) programs.push_back(std::move(program));
    if (programs.empty() || left_us() <= 0) return;
    // The untuned program need not run a second time. If it is the only candidate,
    // that is recorded, however.
    std::vector<Program> others;
    for (const Program& program : programs)
      if (!device_.is_untuned(at, program)) others.push_back(program);
    if (!others.empty()) programs = std::move(others);
    std::optional<KeptProgram> found =
        device_.compare(at, programs, {.most_us = left_us(), .strict = true});
    if (!found || !found->decided) return;
    found->trials = static_cast<int64_t>(programs.size());
    found->cut_off = true;
    ++report_.tried;
    report_.faster += found->faster;
    device_.keep(at, *found);
  }

  PlanDevice& device_;
  const NearOptions& options_;
  Clock::time_point start_ = Clock::now();
  std::vector<Program> known_;
  NearReport report_;
};

} // namespace

std::vector<Program> likely_programs(const Operator& target, const Program& reused,
                                     const Device& device, size_t most,
                                     llvm::function_ref<bool()> late) {
  LikelyDevice likely(device, target, reused, late);
  ReuseOptions options;
  options.to_the_end = true;
  std::vector<Program> programs;
  for (const Measured& one : tune_by_reuse(target, reused, likely, options).ranking)
    if (programs.size() < most) programs.push_back(one.program);
  return programs;
}

NearReport try_near(PlanDevice& device, const NearOptions& options) {
  return NearTrials(device, options).run();
}

} // namespace tg::tune
