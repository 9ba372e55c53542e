#include "runtime/measure/machine_watch.h"

#include "lang/core/support/threads.h"
#include "runtime/measure/measure.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/Twine.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Returns the first bytes of a system file; "" if it does not exist.
using Beginning = std::array<char, 256>;
llvm::StringRef read_beginning(const char* path, Beginning& text) {
  int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

/// Returns the waiting time of one thread. Format: "time on a core, time in the run queue (ns),
/// time slices".
double waited_us(const char* thread) {
  llvm::SmallString<64> path;
  (llvm::Twine("/proc/self/task/") + thread + "/schedstat").toVector(path);
  Beginning text;
  uint64_t nanoseconds = 0;
  (void)read_beginning(path.c_str(), text)
      .split(' ')
      .second.split(' ')
      .first.getAsInteger(10, nanoseconds);
  return static_cast<double>(nanoseconds) / 1e3;
}

/// Returns the waiting time of all threads of this process; 0 if the system does not report it.
double waited_us() {
  DIR* threads = ::opendir("/proc/self/task");
  if (!threads) return 0;
  double sum = 0;
  while (const dirent* thread = ::readdir(threads))
    if (llvm::isDigit(thread->d_name[0])) sum += waited_us(thread->d_name);
  ::closedir(threads);
  return sum;
}

/// Returns the stolen time of all cores.
double read_stolen_us() {
  Beginning text;
  double ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return stolen_us(read_beginning("/proc/stat", text), 1e6 / ticks_per_second);
}

/// A convolution that stays in each core's own caches and is limited by arithmetic:
/// only such work reveals another user of a core's units.
/// On a virtual machine whose two cores sometimes behave like one,
/// for tenths of a second and without any waiting, the operators of squeezenet took 1.9 times
/// as long in these periods, this convolution 1.35 to 1.5 times, and a chain of tanh 1.15 times.
/// At other times this convolution stays below 1.25.
Plan yardstick_plan() {
  StepSpec spec;
  spec.op = OpKind::Conv2d;
  spec.attrs = {Value::of_ints({1, 1}), Value::of_enum("same"), Value::of_ints({1, 1}),
                Value::of_enum("none")};
  spec.operands = {f32({1, 64, 14, 14}), f32({64, 64, 3, 3}), TensorType{}, TensorType{}};
  spec.result = f32({1, 64, 14, 14});
  spec.weight_operands = 0b0010;
  Plan plan;
  MeasurePlanBuilder build(plan);
  build.output("result", build.copy(spec, [&](const TensorType& type, std::string name) {
    return build.value(PlanValue::Kind::Input, type, std::move(name));
  }));
  return plan;
}

/// Returns the least time of a few runs of an executable, so that one interrupt does not count
/// as drift. The first run is a warm-up.
double yardstick_us(Executable& executable) {
  constexpr int kRuns = 3;
  double least = 0;
  for (int i = 0; i <= kRuns; ++i) {
    Clock::time_point start = Clock::now();
    if (!executable.run_once()) return 0;
    double us = us_since(start);
    if (i > 0) least = i == 1 ? us : std::min(least, us);
  }
  return least;
}

class ReadingsWatch final : public MachineWatch {
public:
  ReadingsWatch(std::function<MachineReadings()> read, double usual_us)
      : read_(std::move(read)), last_(read_()), usual_(usual_us) {
    usual_.add(last_.yardstick_us);
  }

  Disturbance disturbance() override {
    MachineReadings now = read_();
    double taken = now.waited_us - last_.waited_us + now.stolen_us - last_.stolen_us;
    double passed = now.clock_us - last_.clock_us;
    double yardstick_us = std::max(last_.yardstick_us, now.yardstick_us);
    last_ = now;
    taken_ = taken > kMuch * passed     ? Disturbance::Heavy
             : taken > kLittle * passed ? Disturbance::Slight
                                        : Disturbance::None;
    if (taken_ == Disturbance::Heavy) return taken_;
    usual_.add(now.yardstick_us);
    return yardstick_us > kDrift * usual_.us() ? Disturbance::Heavy : taken_;
  }
  Disturbance taken_by_others() const override { return taken_; }

  double usual_us() const override { return usual_.us(); }

private:
  /// Shares of the elapsed time. Below kLittle, the time is as it would be on an idle machine.
  /// Up to kMuch, it is slightly too long. A program that computes all the time takes far more:
  /// two threads that share two cores with it wait two thirds of the time.
  static constexpr double kLittle = 0.05, kMuch = 0.15;
  /// A clock rate that follows the load varies by less. Another user of a core costs more.
  static constexpr double kDrift = 1.25;

  std::function<MachineReadings()> read_;
  MachineReadings last_;
  UsualTime usual_;
  Disturbance taken_ = Disturbance::None;
};

} // namespace

void UsualTime::add(double microseconds) {
  if (!(microseconds > 0)) return;
  if (last_.size() < kMostReadings) last_.emplace_back();
  last_[count_++ % kMostReadings] = microseconds;
}

double UsualTime::us() const {
  if (last_.empty()) return earlier_us_;
  std::vector<double> sorted = last_;
  auto own = sorted.begin() + static_cast<ptrdiff_t>(count_ < kFew ? 0 : sorted.size() / 2);
  std::nth_element(sorted.begin(), own, sorted.end());
  if (!(earlier_us_ > 0) || *own <= earlier_us_) return *own;
  auto readings = static_cast<double>(sorted.size());
  return earlier_us_ * std::pow(*own / earlier_us_, readings / (readings + kEarlierReadings));
}

// Format, in ticks: "cpu  user nice system idle iowait irq softirq steal guest guest_nice".
double stolen_us(llvm::StringRef stat, double us_per_tick) {
  constexpr size_t kSteal = 8;
  llvm::SmallVector<llvm::StringRef, 12> words;
  stat.split('\n').first.split(words, ' ', -1, /*KeepEmpty=*/false);
  uint64_t ticks = 0;
  if (words.size() <= kSteal || words[0] != "cpu" || words[kSteal].getAsInteger(10, ticks))
    return 0;
  return static_cast<double>(ticks) * us_per_tick;
}

std::unique_ptr<MachineWatch> watch_signs(std::function<MachineReadings()> read, double usual_us) {
  return std::make_unique<ReadingsWatch>(std::move(read), usual_us);
}

std::unique_ptr<MachineWatch> watch_machine(const Backend& backend, int threads, double usual_us) {
  CompileOptions options;
  options.threads = threads;
  options.io_layout = IoLayout::Native;
  options.weights = [](const PlanValue& value) { return plain_numbers(value.type); };
  auto compiled = backend.compile(yardstick_plan(), options);
  std::shared_ptr<Executable> yardstick = compiled ? std::move(*compiled) : nullptr;
  // With more threads than cores, threads wait for each other.
  bool threads_fit = threads <= available_cores();
  auto read = [yardstick, threads_fit, start = Clock::now()] {
    MachineReadings signs;
    if (yardstick) signs.yardstick_us = yardstick_us(*yardstick);
    if (threads_fit) signs.waited_us = waited_us();
    signs.stolen_us = read_stolen_us();
    signs.clock_us = us_since(start);
    return signs;
  };
  for (int i = 0; yardstick && i < 8; ++i) (void)read(); // wakes threads and raises the clock rate
  return watch_signs(read, usual_us);
}

} // namespace tg
