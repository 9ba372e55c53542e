// Tests the detection of other programs' work from scripted signs, and the reading of real signs.
#include "runtime/measure/machine_watch.h"

#include <gtest/gtest.h>
#include <llvm/ADT/STLExtras.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

namespace tg {
namespace {

using Answers = std::vector<Disturbance>;
constexpr Disturbance kNone = Disturbance::None, kSlight = Disturbance::Slight,
                      kHeavy = Disturbance::Heavy;

/// Returns the answers of a watch that reads these signs: one for each, except the first.
Answers answers(std::vector<MachineReadings> signs, double usual_us = 0) {
  size_t next = 0;
  auto watch = watch_signs([&] { return signs[next++]; }, usual_us);
  Answers out;
  while (next < signs.size()) out.push_back(watch->disturbance());
  return out;
}

TEST(MachineWatch, DetectsThatThreadsWaited) {
  EXPECT_EQ(answers({{0, 70, 30}, {1000, 80, 30}, {2000, 180, 30}, {3000, 220, 30}}),
            (Answers{kNone, kSlight, kNone}))
      << "the share counts from the previous call";
}

/// Two threads on two cores with a third program that always computes wait for two thirds
/// of the time.
TEST(MachineWatch, DistinguishesABusyProgramFromInterrupts) {
  EXPECT_EQ(answers({{0, 0, 30}, {1000, 670, 30}, {2000, 1340, 31}, {3000, 1440, 30}}),
            (Answers{kHeavy, kHeavy, kSlight}))
      << "the yardstick may fall into a turn of ours";
  EXPECT_EQ(answers({{0, 0, 30}, {1000, 100, 60}}), Answers{kHeavy})
      << "a little waiting beside a machine that is slow";
}

TEST(MachineWatch, NoticesThatTheYardstickDrifts) {
  EXPECT_EQ(answers({{0, 0, 30}, {1, 0, 33}, {2, 0, 60}, {3, 0, 31}, {4, 0, 30}}),
            (Answers{kNone, kHeavy, kHeavy, kNone}))
      << "before and after";
  EXPECT_EQ(answers({{0, 0, 60}, {1, 0, 60}, {2, 0, 30}, {3, 0, 30}, {4, 0, 60}}),
            (Answers{kNone, kHeavy, kNone, kHeavy}))
      << "few times are compared with the least of them";
}

/// On a slow machine, two interleaved programs keep their relative speed.
TEST(MachineWatch, DistinguishesASlowMachineFromABusyOne) {
  std::vector<MachineReadings> signs{{0, 0, 30}, {1000, 0, 60}, {2000, 80, 60}, {3000, 800, 30}};
  auto watch = watch_signs([&, next = size_t{0}]() mutable { return signs[next++]; });
  for (Disturbance taken : {kNone, kSlight, kHeavy}) {
    EXPECT_EQ(watch->disturbance(), kHeavy);
    EXPECT_EQ(watch->taken_by_others(), taken);
  }
}

TEST(MachineWatch, KnowsTheYardstickFromEarlier) {
  std::vector<MachineReadings> slow{{0, 0, 60}, {1, 0, 60}, {2, 0, 60}};
  EXPECT_EQ(answers(slow), (Answers{kNone, kNone}));
  EXPECT_EQ(answers(slow, 30), (Answers{kHeavy, kHeavy}));
}

/// As on a virtual machine whose neighbours compute nearly always.
TEST(MachineWatch, LearnsTheUsualTimeFromMostRuns) {
  std::vector<MachineReadings> signs;
  for (int i = 0; i < 200; ++i) signs.push_back({1000.0 * i, 0, i == 20 ? 30.0 : 50.0 + i % 7});
  Answers all = answers(signs);
  EXPECT_EQ(llvm::count(llvm::ArrayRef(all).take_back(100), kNone), 100) << "but for one moment";
  EXPECT_EQ(answers({{0, 0, 50}, {1, 0, 50}, {2, 0, 30}, {3, 0, 50}}),
            (Answers{kNone, kHeavy, kHeavy}))
      << "few readings do not tell";
}

TEST(MachineWatch, IgnoresRunsInWhichItsOwnThreadsWaited) {
  std::vector<MachineReadings> signs;
  for (int i = 0; i < 100; ++i) signs.push_back({1000.0 * i, 600.0 * i, 60});
  auto watch = watch_signs([&, next = size_t{0}]() mutable { return signs[next++]; }, 30);
  for (int i = 1; i < 100; ++i) EXPECT_EQ(watch->disturbance(), kHeavy) << i;
  EXPECT_LT(watch->usual_us(), 31);
}

TEST(UsualTime, IsTheMedianOfTheLastReadings) {
  UsualTime usual(0);
  EXPECT_EQ(usual.us(), 0);
  usual.add(0); // ignored
  EXPECT_EQ(usual.us(), 0);
  for (int i = 0; i < 100; ++i) usual.add(100 + i);
  EXPECT_EQ(usual.us(), 150);
  for (int i = 0; i < 1000; ++i) usual.add(50);
  EXPECT_EQ(usual.us(), 50) << "old times are forgotten";
}

TEST(UsualTime, LeavesEarlierReadingsSlowlyAndTakesBetterOnesAtOnce) {
  UsualTime usual(30);
  EXPECT_EQ(usual.us(), 30);
  for (int i = 0; i < 64; ++i) usual.add(40);
  EXPECT_NEAR(usual.us(), std::sqrt(30.0 * 40), 1e-9) << "as many as the earlier ones count for";
  for (int i = 0; i < 1000; ++i) usual.add(40);
  EXPECT_GT(usual.us(), 37);
  UsualTime faster(30);
  for (int i = 0; i < 10; ++i) faster.add(20);
  EXPECT_EQ(faster.us(), 20);
}

TEST(MachineWatch, DoesWithoutAYardstick) {
  EXPECT_EQ(answers({{0, 0, 0}, {1000, 0, 0}, {2000, 500, 0}}), (Answers{kNone, kHeavy}));
}

/// The time in which a thread waits for a core and the time in which the core was stolen
/// are separate.
TEST(MachineWatch, DetectsTimeOfOtherVirtualMachines) {
  EXPECT_EQ(answers({{0, 0, 30, 5e4}, {1e5, 0, 30, 5e4}, {2e5, 0, 30, 6e4}, {3e5, 0, 30, 9e4}}),
            (Answers{kNone, kSlight, kHeavy}));
  EXPECT_EQ(answers({{0, 0, 30, 0}, {1e5, 1e4, 30, 1e4}}), Answers{kHeavy}) << "together";
}

TEST(MachineWatch, ReadsStolenTime) {
  EXPECT_EQ(stolen_us("cpu  127311 15712 22682 25543 833 0 167 636 0 0\ncpu0 1 2 3\n", 1e4), 636e4);
  for (const char* none :
       {"", "cpu  1 2 3 4", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu  1 2 3 4 5 6 7 x 9"})
    EXPECT_EQ(stolen_us(none, 1e4), 0) << none;
}

class NoBackend final : public Backend {
public:
  std::string name() const override { return "none"; }
  std::string description() const override { return "none"; }
  bool supports(const Plan&, const PlanStep&) const override { return false; }
  Result<std::unique_ptr<Executable>> compile(const Plan&, const CompileOptions&) const override {
    return error(Code::no_kernel, "none");
  }
};

bool system_counts_waiting() {
  std::ifstream counts("/proc/self/schedstat");
  int64_t on_a_core = 0;
  return counts >> on_a_core && on_a_core > 0;
}

TEST(MachineWatch, ReadsHowLongThreadsWait) {
  // Kernels without schedstat count nothing (sandboxes such as gVisor, CONFIG_SCHED_INFO off).
  // There the watch uses only its yardstick, which the tests above cover.
  if (!system_counts_waiting()) GTEST_SKIP() << "the system does not say how long threads wait";
  auto watch = watch_machine(NoBackend(), 1);
  // Three threads per core: load from other programs only makes them wait longer.
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i)
    threads.emplace_back([&] {
      while (!ends) {
      }
    });
  (void)watch->quiet();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(watch->quiet());
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

} // namespace
} // namespace tg
