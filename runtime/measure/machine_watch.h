// Detects whether other programs computed while something was timed.
// Three signs are used, because each misses cases that the others detect:
//
//   waiting    how long threads of this process waited for a core, as reported by the system
//              (Linux): exact, but blind to other virtual machines on the same cores and to other
//              users of a core's units, caches and clock;
//   stolen     how long a runnable virtual machine had no core because others had it, as reported
//              by the system; in steps of some milliseconds, and only if the host reports it;
//   yardstick  a fixed computation of some tens of microseconds on the threads that are timed: if
//              it takes longer than usual (UsualTime), everything did.
//
// Other programs can only add time. If they took a small share of the time,
// and the yardstick shows that the remainder ran at its usual speed,
// then a time is too long by at most that share (Disturbance::Slight).
#pragma once

#include "lang/core/support/repeated_times.h"
#include "runtime/backend.h"

namespace tg {

class MachineWatch {
public:
  virtual ~MachineWatch() = default;
  /// Returns the disturbance by other programs since the last call, as far as it can be detected.
  virtual Disturbance disturbance() = 0;
  /// Returns the same result by waiting and stealing alone. Two interleaved programs both see the
  /// machine's current speed, whatever it is.
  virtual Disturbance taken_by_others() const { return Disturbance::None; }
  /// Returns true if the machine was undisturbed since the last call.
  bool quiet() { return disturbance() == Disturbance::None; }
  /// Returns the yardstick's time on an undisturbed machine; 0 if there is no yardstick.
  virtual double usual_us() const { return 0; }
};

/// The usual time of a computation on an apparently undisturbed machine:
/// the median of the last readings, or the least of them if there are only a few.
/// The least time ever seen is unsuitable. On a virtual machine whose cores share units
/// with others nearly all the time, one lucky reading was 1.7 times as fast as the median,
/// and nothing else would have counted as undisturbed.
/// The time of earlier processes counts as kEarlierReadings readings,
/// because this process may run at a busy time, but it is ignored if this process is faster.
class UsualTime {
public:
  /// `earlier_us`: 0 if unknown.
  explicit UsualTime(double earlier_us) : earlier_us_(earlier_us) {}
  void add(double microseconds);
  /// Returns 0 if unknown.
  double us() const;

private:
  static constexpr size_t kEarlierReadings = 64, kMostReadings = 256, kFew = 16;

  double earlier_us_;
  std::vector<double> last_; // readings; the oldest is replaced first
  size_t count_ = 0;
};

/// The signs at one moment, including the clock.
struct MachineReadings {
  double clock_us = 0;
  double waited_us = 0;    // of all threads together, so far
  double yardstick_us = 0; // 0: there is no yardstick
  double stolen_us = 0;    // of all cores together, so far
};

/// Judges by the signs that `read` returns, when the watch is created and at each call. `usual_us`:
/// the yardstick's time from earlier processes; 0: unknown.
std::unique_ptr<MachineWatch> watch_signs(std::function<MachineReadings()> read,
                                          double usual_us = 0);

/// Parses the stolen time so far from the text of /proc/stat; 0 if it is not reported.
double stolen_us(llvm::StringRef stat, double us_per_tick);

/// Judges by the signs of this machine. The yardstick runs on the backend,
/// to use the same threads as steps; without it if the backend cannot run it.
/// The watch may outlive the backend.
std::unique_ptr<MachineWatch> watch_machine(const Backend& backend, int threads,
                                            double usual_us = 0);

} // namespace tg
