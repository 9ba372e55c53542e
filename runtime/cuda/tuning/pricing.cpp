#include "runtime/cuda/tuning/scratch.h"
#include "runtime/cuda/tuning/step_timer.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <algorithm>

namespace tg::cuda {

namespace {

/// Limits of the units that are timed together, and of their memory.
constexpr size_t kMostTogether = 16;
constexpr int64_t kMostBytes = int64_t{512} << 20;
/// The size of the pattern with which scratch memory is filled repeatedly.

} // namespace

class UnitTimer {
public:
  UnitTimer(const CompileOptions& options, std::shared_ptr<GpuDevice> device, PlanDb* known,
            const GraphTiming& how)
      : options_(options), device_(std::move(device)), known_(known), how_(how),
        conditions_(std::string(how.cold ? "cold " : "hot ") +
                    (options.allow_tf32 ? "tf32 " : "")) {}

  std::vector<Result<PlanTime>> time(llvm::ArrayRef<const Plan*> plans,
                                     const ExecutableLibraries& libraries, CubinCache& cache) {
    auto stream = device_->make_stream();
    if (!stream) return std::vector<Result<PlanTime>>(plans.size(), stream.error());
    timer_.emplace(*device_, *stream);
    std::vector<Result<std::unique_ptr<PreparedPlan>>> prepared;
    for (const Plan* plan : plans) prepared.push_back(prepare(*plan, libraries, cache, *stream));
    for (auto& plan : prepared)
      if (plan) collect(**plan);
    time_all();
    std::vector<Result<PlanTime>> times;
    for (auto& plan : prepared) {
      if (plan)
        times.push_back(sum(**plan));
      else
        times.push_back(std::move(plan.error()));
    }
    return times;
  }

  /// Times each launch of a loaded plan, which stays unchanged.
  Result<std::vector<double>> time_launches(PreparedPlan& plan) {
    std::vector<Address> own = plan.memory().addresses();
    timer_.emplace(*device_, plan.stream());
    collect(plan);
    time_all();
    plan.memory().restore_addresses(std::move(own));
    plan.set_parameters();
    std::vector<double> times;
    for (const Launch& launch : plan.launches()) {
      times.push_back(0);
      if (launch.unit.kind == tg::cuda::Unit::Kind::View) continue;
      TG_TRY(StepTime time, times_.find(conditions_ + plan.key(launch))->second);
      times.back() = time.microseconds;
    }
    return times;
  }

private:
  struct Unit {
    PreparedPlan* plan;
    size_t launch;
    std::string key;
    int64_t bytes; // of one copy
    int copies;
    int64_t all_bytes() const { return bytes * copies; }
    const Launch& launched() const { return plan->launches()[launch]; }
  };

  /// Prepares a plan, without loading it.
  Result<std::unique_ptr<PreparedPlan>> prepare(const Plan& plan,
                                                const ExecutableLibraries& libraries,
                                                CubinCache& cache, Stream stream) {
    TG_TRY(std::unique_ptr<PreparedPlan> prepared,
           PreparedPlan::make(plan, options_, device_, cache, libraries, stream, how_.cold));
    TG_CHECK(prepared->reserve_workspace());
    return prepared;
  }

  int64_t within_limit(int64_t bytes) const {
    int64_t limit = options_.memory_limit_bytes;
    return limit > 0 ? std::min(limit, bytes) : bytes;
  }

  /// Collects units without a price, each once.
  void collect(PreparedPlan& plan) {
    for (size_t i = 0; i < plan.launches().size(); ++i) {
      const Launch& launch = plan.launches()[i];
      if (launch.unit.kind == tg::cuda::Unit::Kind::View) continue;
      std::string key = conditions_ + plan.key(launch);
      if (known(key) || !seen_.insert(key).second) continue;
      int64_t bytes = plan.scratch_bytes(launch);
      int copies = how_.cold ? cold_copies(bytes, within_limit(kColdBytes)) : 1;
      timed_by_[&plan] += 1;
      units_.push_back({&plan, i, std::move(key), bytes, copies});
    }
  }

  void time_all() {
    int64_t most = within_limit(kMostBytes);
    llvm::ArrayRef<Unit> left = units_;
    while (!left.empty()) {
      size_t count = 1;
      int64_t bytes = left[0].all_bytes();
      while (count < std::min(kMostTogether, left.size()) &&
             (bytes = add_bytes(bytes, left[count].all_bytes())) <= most)
        ++count;
      time(left.take_front(count));
      left = left.drop_front(count);
    }
  }

  /// Times each unit alone if they cannot be timed together, so that one failing unit does not
  /// affect the others.
  void time(llvm::ArrayRef<Unit> units) {
    Result<std::vector<GraphTime>> times = time_together(units);
    for (size_t i = 0; i < units.size(); ++i) {
      if (times)
        keep(units[i], (*times)[i]);
      else if (units.size() > 1)
        time(units[i]);
      else
        times_.try_emplace(units[i].key, std::move(times.error()));
    }
  }

  void keep(const Unit& unit, const GraphTime& time) {
    StepTime found{time.microseconds, time.low, time.high,
                   unit.plan->info(unit.launched()).implementation, time.runs};
    if (known_)
      known_->store(unit.key, {found.implementation, found.microseconds, found.low_us,
                               found.high_us, found.runs});
    times_.try_emplace(unit.key, std::move(found));
  }

  std::optional<StepTime> known(const std::string& key) const {
    std::optional<PlanEntry> entry = known_ ? known_->find(key) : std::nullopt;
    if (!entry) return std::nullopt;
    return StepTime{entry->microseconds, entry->low_us, entry->high_us, entry->plan, entry->runs};
  }

  Result<std::vector<GraphTime>> time_together(llvm::ArrayRef<Unit> units) {
    int64_t bytes = 0;
    for (const Unit& unit : units) bytes = add_bytes(bytes, unit.all_bytes());
    TG_TRY(Address scratch, device_->allocate(bytes));
    auto times = time_on(units, scratch);
    TG_CHECK(device_->release(scratch));
    return times;
  }

  Result<std::vector<GraphTime>> time_on(llvm::ArrayRef<Unit> units, Address scratch) {
    std::vector<GraphWork> works;
    for (const Unit& unit : units) {
      for (int copy = 0; copy < unit.copies; ++copy)
        TG_CHECK(unit.plan->fill_scratch(unit.launched(), at(unit, scratch, copy), pattern_));
      unit.plan->use_scratch(unit.launch, scratch);
      TG_CHECK(unit.plan->launch(unit.launched())); // loads kernels, which a capture must not
      works.push_back({[&unit, scratch](int copy) {
                         unit.plan->use_scratch(unit.launch, at(unit, scratch, copy));
                         return unit.plan->launch(unit.launched());
                       },
                       unit.copies});
      scratch += static_cast<Address>(unit.all_bytes());
    }
    return timer_->time_together(works, how_);
  }

  static Address at(const Unit& unit, Address scratch, int copy) {
    return scratch + static_cast<Address>(unit.bytes * copy);
  }

  Result<PlanTime> sum(const PreparedPlan& plan) {
    PlanTime time;
    time.timed = timed_by_[&plan];
    for (const Launch& launch : plan.launches()) {
      if (launch.unit.kind == tg::cuda::Unit::Kind::View) continue;
      std::string key = conditions_ + plan.key(launch);
      auto timed = times_.find(key);
      if (timed == times_.end())
        add(*known(key), time);
      else if (timed->second)
        add(*timed->second, time);
      else
        return timed->second.error();
    }
    if (time.groups == 0) time.sum.implementation = "view";
    return time;
  }

  static void add(const StepTime& unit, PlanTime& time) {
    StepTime& sum = time.sum;
    sum.microseconds += unit.microseconds;
    sum.low_us += unit.low_us;
    sum.high_us += unit.high_us;
    sum.runs = time.groups == 0 ? unit.runs : std::min(sum.runs, unit.runs);
    if (time.groups > 0) sum.implementation += " + ";
    sum.implementation += unit.implementation;
    ++time.groups;
  }

  CompileOptions options_;
  std::shared_ptr<GpuDevice> device_;
  PlanDb* known_;
  GraphTiming how_;
  std::string conditions_;
  std::optional<GraphTimer> timer_;
  std::vector<Unit> units_;
  llvm::StringSet<> seen_;
  std::map<const PreparedPlan*, size_t> timed_by_;
  llvm::StringMap<Result<StepTime>> times_; // of units, by key
  std::map<DType, Tensor> patterns_;
  PatternOf pattern_ = [this](DType dtype) -> Result<const Tensor*> {
    auto it = patterns_.find(dtype);
    if (it == patterns_.end()) {
      TG_TRY(Tensor made, plain_numbers({dtype, {kPatternElements}}));
      it = patterns_.emplace(dtype, std::move(made)).first;
    }
    return &it->second;
  };
};

std::vector<Result<PlanTime>> time_plans(llvm::ArrayRef<const Plan*> plans,
                                         const CompileOptions& options,
                                         std::shared_ptr<GpuDevice> device, CubinCache& cache,
                                         const ExecutableLibraries& libraries, PlanDb* known,
                                         const GraphTiming& how) {
  return UnitTimer(options, std::move(device), known, how).time(plans, libraries, cache);
}

Result<std::vector<double>> time_launches(PreparedPlan& plan, std::shared_ptr<GpuDevice> device,
                                          const GraphTiming& how) {
  return UnitTimer({}, std::move(device), nullptr, how).time_launches(plan);
}

} // namespace tg::cuda
