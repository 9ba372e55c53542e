// The cost model that asks the machine: each distinct operator instance is timed once on a backend
// (runtime/measure/measure.h) and kept in the cost database (runtime/measure/cost_db.h), so that a
// second run asks nothing. A price that is not settled, since others computed meanwhile, holds as
// long as the model lives and is not kept: a later run takes it again.
#pragma once

#include "compiler/extract/cost/cost.h"
#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"
#include "runtime/backend.h"
#include "runtime/measure/cost_db.h"
#include "runtime/measure/measure.h"

#include <llvm/ADT/StringSet.h>

#include <functional>

namespace tg {

struct MeasuredCostOptions {
  /// Path of the database; "" = the user's cache folder.
  std::string cost_db;
  int threads = 1;
  /// Bytes that one run of the network touches (network_bytes). It decides how cold weights are.
  int64_t network_bytes = 0;
  int64_t memory_limit_bytes = 0; // 0: none
  CacheState cache = CacheState::AsNetwork;
  bool allow_tf32 = false;
  /// As MeasureOptions has them, where the backend has no way of its own to time steps. No watch:
  /// the machine is watched by a yardstick on the backend.
  double repeat_within = MeasureOptions().repeat_within;
  std::shared_ptr<MachineWatch> watch = {};
  /// What is not timed by then has no price.
  StopToken stop = {};
  /// Called while instances are timed, if set: how many are done, of how many.
  std::function<void(size_t done, size_t total)> progress;
};

/// Weights and results of a graph: what one run reads or writes, each once.
int64_t network_bytes(const Graph& graph);

/// Prices of groups by a backend that times them; each distinct one is timed once and kept.
class MeasuredGroups final : public GroupPricer {
public:
  /// The timer must outlive it.
  MeasuredGroups(const StepTimer& timer, MeasureOptions measure)
      : timer_(timer), measure_(measure) {}
  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override;

private:
  const StepTimer& timer_;
  MeasureOptions measure_;
};

/// Before the conditions of operators alone: times within whole runs of such a network; and what
/// was taken once while others computed, which a second time has to confirm.
inline constexpr llvm::StringLiteral kPlacedLayout = "in place, ", kOnceLayout = "once, in place, ";
/// The same within the networks that `tg calibrate` runs:
/// to learn from, and no other network's price.
inline constexpr llvm::StringLiteral kBlockLayout = "in place, calibration, ";

class MeasuredCost : public CostModel {
public:
  MeasuredCost(std::unique_ptr<Backend> backend, MeasuredCostOptions options);

  std::string name() const override { return "measured:" + backend_->name(); }
  /// Infinite for what the backend cannot run. An `extern op` is not timed, since a database is no
  /// place for what each program may register anew: it has the price of the bytes that it moves.
  double price(const Symbols& symbols, const OpInstance& instance) override;
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool wants_notice() const override { return true; }
  llvm::ArrayRef<KernelPattern> patterns() const override { return backend_->patterns(); }
  /// Of backends with a StepTimer, under the conditions of single operators.
  GroupPricer* groups() override { return groups_ ? &*groups_ : nullptr; }
  std::vector<std::string> notes() const override;
  /// The part of the notes that does not speak of how busy the machine was.
  std::vector<std::string> faults() const;

  /// Instances that were timed in this process, and how long that took.
  size_t timed() const { return timed_; }
  /// Those of them whose prices are not kept: others computed, each time that they were timed.
  size_t unsettled() const { return unsettled_.size(); }
  /// The yardstick's best time as it is kept.
  double yardstick_us() { return database_->yardstick(); }
  CostDb& database() { return *database_; }
  /// The same file, where it keeps what operators take within whole runs of networks of this size
  /// (`kind`: kPlacedLayout or kOnceLayout).
  std::unique_ptr<CostDb> open_placed(llvm::StringRef kind) const;
  std::string backend_name() const { return backend_->name(); }
  double washed_mib() const { return static_cast<double>(measure_.wash_bytes >> 20); }

  /// The price of what needs no timing or was timed, infinite where that was not possible; nothing
  /// where it is still to be timed.
  std::optional<double> known_price(const Symbols& symbols, const OpInstance& instance);
  /// prepare() until `stop` at the latest.
  void time(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances, const StopToken& stop);
  /// Times them once more: of both times the lesser counts, since others only ever add.
  void time_again(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                  const StopToken& stop);

  /// Nothing is run for it: there is nothing to time.
  bool costs_nothing(const Symbols& symbols, const OpInstance& instance) const;
  /// Whether its price is a time.
  bool is_timed(const Symbols& symbols, const OpInstance& instance) const {
    return instance.op != OpKind::Extern && !costs_nothing(symbols, instance);
  }

private:
  std::optional<std::string> key_to_time(const Symbols& symbols, const OpInstance& instance) const;
  void watch();
  void time_all(llvm::ArrayRef<std::string> keys, llvm::ArrayRef<StepSpec> specs,
                const StopToken& stop);
  void time_portion(llvm::ArrayRef<std::string> keys, llvm::ArrayRef<StepSpec> specs);

  std::unique_ptr<Backend> backend_;
  MeasuredCostOptions options_;
  MeasureOptions measure_;
  std::string path_;
  CostEnvironment environment_; // of the database
  std::unique_ptr<CostDb> database_;
  std::optional<MeasuredGroups> groups_;
  llvm::StringMap<std::string> failures_;   // instances that cannot be timed, and why
  std::vector<std::string> first_failures_; // in the order in which they were met
  size_t timed_ = 0;
  llvm::StringSet<> unsettled_;
};

/// What times on this backend depend on beside `layout`, which is the caller's to say.
CostEnvironment environment_of(const Backend& backend, int threads);

/// The instance as the runtime wants it;
/// in_place as the plan builder decides it for an operand that dies.
StepSpec step_spec(const Symbols& symbols, const OpInstance& instance);

} // namespace tg
