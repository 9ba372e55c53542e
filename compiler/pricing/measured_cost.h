// The cost model that measures: each distinct operator instance is timed once on a backend
// (runtime/measure/measure.h) and stored in the cost database (runtime/measure/cost_db.h), so that
// a second run measures nothing. A price that is not steady, because the machine was busy, is
// valid for the life of the model and is not stored: a later run measures it again.
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
  /// Path of the database; "": the user's cache folder.
  std::string cost_db;
  int threads = 1;
  /// Bytes that one run of the network touches (network_bytes), which determines how cold
  /// weights are.
  int64_t network_bytes = 0;
  int64_t memory_limit_bytes = 0; // 0: no limit
  CacheState cache = CacheState::AsNetwork;
  bool allow_tf32 = false;
  /// As in MeasureOptions, for backends without their own step timer. Without `watch`, the machine
  /// is watched by a yardstick on the backend.
  double repeat_within = MeasureOptions().repeat_within;
  std::shared_ptr<MachineWatch> watch = {};
  /// Instances not timed by then have no price.
  StopToken stop = {};
  /// Called during timing, if set, with the number of finished instances and their total.
  std::function<void(size_t done, size_t total)> progress;
};

/// Returns the bytes of the weights and results of a graph that one run reads or writes, each once.
int64_t network_bytes(const Graph& graph);

/// Prices of groups from a backend that times them; each distinct group is timed once and cached.
class MeasuredGroups final : public GroupPricer {
public:
  /// The timer must outlive this object.
  MeasuredGroups(const StepTimer& timer, MeasureOptions measure)
      : timer_(timer), measure_(measure) {}
  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override;

private:
  const StepTimer& timer_;
  MeasureOptions measure_;
};

/// Prefixes to the conditions of operators alone: times within whole runs of such a network, and
/// times measured once on a busy machine, which a second measurement must confirm.
inline constexpr llvm::StringLiteral kPlacedLayout = "in place, ", kOnceLayout = "once, in place, ";
/// The same within the networks that `tg calibrate` runs: used for learning, never as the price in
/// another network.
inline constexpr llvm::StringLiteral kBlockLayout = "in place, calibration, ";

class MeasuredCost : public CostModel {
public:
  MeasuredCost(std::unique_ptr<Backend> backend, MeasuredCostOptions options);

  std::string name() const override { return "measured:" + backend_->name(); }
  /// Infinite for operators that the backend cannot run. An `extern op` is not timed, since each
  /// program can register it anew, which does not suit a database. Its price is that of the bytes
  /// that it moves.
  double price(const Symbols& symbols, const OpInstance& instance) override;
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool needs_preparation() const override { return true; }
  llvm::ArrayRef<KernelPattern> patterns() const override { return backend_->patterns(); }
  /// For backends with a StepTimer, under the conditions of single operators.
  GroupPricer* groups() override { return groups_ ? &*groups_ : nullptr; }
  std::vector<std::string> notes() const override;
  /// Returns the notes except those about a busy machine.
  std::vector<std::string> faults() const;

  /// Number of instances timed in this process, and the time it took.
  size_t timed() const { return timed_; }
  /// Number of those whose prices are not stored, because the machine was busy each time.
  size_t unsettled() const { return unsettled_.size(); }
  /// The yardstick's best stored time.
  double yardstick_us() { return database_->yardstick(); }
  CostDb& database() { return *database_; }
  /// Opens the same file for times of operators within whole runs of networks of this size (`kind`:
  /// kPlacedLayout or kOnceLayout).
  std::unique_ptr<CostDb> open_placed(llvm::StringRef kind) const;
  std::string backend_name() const { return backend_->name(); }
  double washed_mib() const { return static_cast<double>(measure_.wash_bytes >> 20); }

  /// Returns the price if it needs no timing or is already known, infinite if timing failed;
  /// nullopt if it must still be timed.
  std::optional<double> known_price(const Symbols& symbols, const OpInstance& instance);
  /// Runs prepare() until `stop` at the latest.
  void time(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances, const StopToken& stop);
  /// Times them again and keeps the minimum of both times, since other work can only add time.
  void time_again(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                  const StopToken& stop);

  /// Returns true if nothing runs for it, so that there is nothing to time.
  bool needs_no_timing(const Symbols& symbols, const OpInstance& instance) const;
  /// Returns true if its price is a measured time.
  bool is_timed(const Symbols& symbols, const OpInstance& instance) const {
    return instance.op != OpKind::Extern && !needs_no_timing(symbols, instance);
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
  llvm::StringMap<std::string> failures_;   // instances that cannot be timed, and the reasons
  std::vector<std::string> first_failures_; // in order of occurrence
  size_t timed_ = 0;
  llvm::StringSet<> unsettled_;
};

/// Returns the environment on which times of this backend depend; the caller sets `layout`.
CostEnvironment environment_of(const Backend& backend, int threads);

/// Returns the instance as a step for the runtime, with in_place as the plan builder would set it
/// for an operand that dies.
StepSpec step_spec(const Symbols& symbols, const OpInstance& instance);

} // namespace tg
