// Whether others computed while something was timed.
// Three signs, since each misses what the others see:
//
//   waiting    how long threads of this process stood in line for a core, by the system's own count
//              (Linux): exact, but it knows neither of other virtual machines on the same cores nor
//              of what shares a core's units, caches and clock;
//   stolen     how long a virtual machine that wanted a core had none, since others had it, by the
//              system's count; in steps of some milliseconds, and where the host says it;
//   yardstick  a computation of some tens of microseconds on the threads that are timed, always the
//              same: where it takes longer than it usually does (UsualTime), everything did.
//
// Others only ever add. Where they took a small share of the time, and the yardstick says that what
// was left ran at its usual speed, a time is too long by that share at most (Disturbance::Slight).
#pragma once

#include "lang/core/support/repeated_times.h"
#include "runtime/backend.h"

namespace tg {

class MachineWatch {
public:
  virtual ~MachineWatch() = default;
  /// What others took of the machine since this was last asked, as far as can be told.
  virtual Disturbance disturbance() = 0;
  /// The same answer again, by waiting and stealing alone: of programs that run interleaved both
  /// see the speed that the machine has, whatever it is.
  virtual Disturbance taken_by_others() const { return Disturbance::None; }
  /// The same, where nothing but an undisturbed machine will do.
  bool quiet() { return disturbance() == Disturbance::None; }
  /// What the yardstick takes where nobody disturbs; 0: there is none.
  virtual double usual_us() const { return 0; }
};

/// What a computation usually takes when nothing is known to have disturbed it: the median of the
/// last readings, of a few the least. Not the least that was ever seen: on a virtual machine whose
/// cores share units with others' nearly all the time, a lucky moment was 1.7 times as fast as the
/// median, and nothing else would ever have counted as undisturbed. What earlier processes saw
/// counts as kEarlierReadings, since this one may live in a busy hour, but not where this one is
/// faster.
class UsualTime {
public:
  /// `earlier_us`: 0 where it is not known.
  explicit UsualTime(double earlier_us) : earlier_us_(earlier_us) {}
  void add(double microseconds);
  /// 0: nothing is known.
  double us() const;

private:
  static constexpr size_t kEarlierReadings = 64, kMostReadings = 256, kFew = 16;

  double earlier_us_;
  std::vector<double> last_; // readings, the oldest replaced first
  size_t count_ = 0;
};

/// The signs at one moment, the clock with them.
struct MachineSigns {
  double clock_us = 0;
  double waited_us = 0;    // of all threads together, so far
  double yardstick_us = 0; // 0: there is none
  double stolen_us = 0;    // of all cores together, so far
};

/// Judges by signs that `read` takes: whenever the watch is asked, and when it is made. `usual_us`:
/// of the yardstick, from earlier; 0: not known.
std::unique_ptr<MachineWatch> watch_signs(std::function<MachineSigns()> read, double usual_us = 0);

/// What was stolen so far, from the text of /proc/stat; 0 where it does not say.
double stolen_us(llvm::StringRef stat, double us_per_tick);

/// Judges by this machine's signs. The yardstick runs on the backend, so that its threads are those
/// that steps have; where the backend cannot run it, it is not asked. The backend may end before
/// the watch.
std::unique_ptr<MachineWatch> watch_machine(const Backend& backend, int threads,
                                            double usual_us = 0);

} // namespace tg
