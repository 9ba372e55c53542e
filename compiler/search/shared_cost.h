// A thread-safe cost model. Queries are serialised. A measurement runs alone: working threads pause
// at their next query, because their load would distort the measured time.
#pragma once

#include "compiler/extract/cost/cost.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace tg {

class SharedCost final : public CostModel {
public:
  /// While it exists, its thread counts as computing: measurements wait for the thread's next
  /// query.
  class BusyThread {
  public:
    explicit BusyThread(SharedCost& costs) : costs_(costs) { costs_.begin_work(); }
    ~BusyThread() { costs_.end_work(); }
    BusyThread(const BusyThread&) = delete;
    BusyThread& operator=(const BusyThread&) = delete;

  private:
    SharedCost& costs_;
  };
  /// While it exists, its thread counts as waiting, so other threads may measure.
  class IdleThread {
  public:
    explicit IdleThread(SharedCost& costs) : costs_(costs), worked_(costs_.end_work()) {}
    ~IdleThread() {
      if (worked_) costs_.begin_work();
    }
    IdleThread(const IdleThread&) = delete;
    IdleThread& operator=(const IdleThread&) = delete;

  private:
    SharedCost& costs_;
    bool worked_;
  };

  explicit SharedCost(CostModel& model) : model_(model) {}
  std::string name() const override { return model_.name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool needs_preparation() const override { return model_.needs_preparation(); }
  llvm::ArrayRef<KernelPattern> patterns() const override { return model_.patterns(); }
  std::vector<std::string> notes() const override { return model_.notes(); }

private:
  void begin_work();
  bool end_work();
  void let_measure();
  void alone(llvm::function_ref<void()> measure);

  CostModel& model_;
  std::mutex asking_; // held during a query

  std::mutex mutex_; // guards the members below
  std::condition_variable changed_;
  std::set<std::thread::id> working_;
  bool measuring_ = false;
  std::atomic<int> waiting_ = 0; // threads that wait to measure or are measuring
};

} // namespace tg
