// One thread per instance and two barriers per round: a round starts when all are ready, and ends
// with the last.
#include "compiler/trial/run_model.h"
#include "lang/core/support/stop.h"

#include <atomic>
#include <barrier>
#include <optional>
#include <thread>

namespace tg {

namespace {

class Rounds {
public:
  explicit Rounds(llvm::ArrayRef<Executable*> instances)
      : instances_(instances), gate_(static_cast<ptrdiff_t>(instances.size()) + 1),
        failures_(instances.size()) {
    for (size_t i = 0; i < instances.size(); ++i) threads_.emplace_back([this, i] { work(i); });
  }
  ~Rounds() {
    done_ = true;
    gate_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Runs one round and returns its microseconds.
  Result<double> run() {
    gate_.arrive_and_wait();
    Stopwatch watch;
    gate_.arrive_and_wait();
    double us = watch.seconds() * 1e6;
    for (std::optional<Diagnostic>& failure : failures_)
      if (failure) return std::move(*failure);
    return us;
  }

private:
  void work(size_t i) {
    for (;;) {
      gate_.arrive_and_wait();
      if (done_) return;
      if (Result<void> ran = instances_[i]->run_once(); !ran) failures_[i] = ran.error();
      gate_.arrive_and_wait();
    }
  }

  llvm::ArrayRef<Executable*> instances_;
  std::barrier<> gate_;
  std::vector<std::optional<Diagnostic>> failures_; // by instance; read between rounds
  std::atomic<bool> done_ = false;
  std::vector<std::thread> threads_;
};

} // namespace

Result<Timing> time_concurrently(llvm::ArrayRef<Executable*> instances,
                                 const TimingOptions& options) {
  Rounds rounds(instances);
  return time_repeated(options, [&] { return rounds.run(); });
}

} // namespace tg
