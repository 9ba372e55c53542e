#include "compiler/search/shared_cost.h"

namespace tg {

double SharedCost::price(const Symbols& symbols, const OpInstance& instance) {
  prepare(symbols, instance);
  std::lock_guard lock(asking_);
  return model_.price(symbols, instance);
}

void SharedCost::prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) {
  let_measure();
  if (!instances.empty() && !known(symbols, instances))
    alone([&] { model_.prepare(symbols, instances); });
}

bool SharedCost::known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) {
  std::lock_guard lock(asking_);
  return model_.known(symbols, instances);
}

void SharedCost::begin_work() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_ == 0; });
  working_.insert(std::this_thread::get_id());
}

/// Returns true if the thread was working.
bool SharedCost::end_work() {
  std::lock_guard lock(mutex_);
  bool worked = working_.erase(std::this_thread::get_id()) > 0;
  changed_.notify_all();
  return worked;
}

void SharedCost::let_measure() {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  IdleThread idle(*this);
}

/// Measures exclusively. Waiting measurements run one after the other before any thread resumes.
void SharedCost::alone(llvm::function_ref<void()> measure) {
  ++waiting_;
  bool worked = end_work();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return working_.empty() && !measuring_; });
    measuring_ = true;
  }
  {
    std::lock_guard asking(asking_);
    measure();
  }
  {
    std::lock_guard lock(mutex_);
    measuring_ = false;
    --waiting_;
    changed_.notify_all();
  }
  if (worked) begin_work();
}

} // namespace tg
