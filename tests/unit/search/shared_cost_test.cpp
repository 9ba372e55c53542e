// Tests threads that share a measuring cost model: no thread computes during a measurement,
// and none waits forever.
#include "compiler/search/shared_cost.h"

#include "tests/unit/search/search_fixture.h"

#include <gtest/gtest.h>

#include <thread>

namespace tg {
namespace {

/// Times each instance, identified by `weight_operands`, once. Counts the moments
/// in which another thread computed meanwhile.
class TimedCost final : public CostModel {
public:
  explicit TimedCost(const std::atomic<int>& computing) : computing_(computing) {}
  std::string name() const override { return "timed"; }
  double price(const Symbols&, const OpInstance& instance) override {
    return timed_.count(instance.weight_operands) ? 1 : -1;
  }
  void prepare(const Symbols&, llvm::ArrayRef<OpInstance> instances) override {
    for (const OpInstance& instance : instances) {
      if (!timed_.insert(instance.weight_operands).second) continue;
      for (int i = 0; i < 20; ++i) {
        disturbed += computing_ > 0;
        std::this_thread::yield();
      }
    }
  }
  bool known(const Symbols&, llvm::ArrayRef<OpInstance> instances) override {
    return llvm::all_of(instances,
                        [&](const OpInstance& i) { return timed_.count(i.weight_operands) > 0; });
  }
  bool needs_preparation() const override { return true; }
  size_t timed() const { return timed_.size(); }
  int disturbed = 0;

private:
  const std::atomic<int>& computing_;
  std::set<uint32_t> timed_;
};

OpInstance instance(uint32_t number) { return {OpKind::Relu, {}, {}, {}, number}; }

/// Performs steps of a search: each computes, then requests prices. Two threads share
/// their numbers.
void compute_and_ask(SharedCost& costs, std::atomic<int>& computing, int thread, int steps) {
  Symbols symbols;
  for (int i = 0; i < steps; ++i) {
    ++computing;
    std::this_thread::yield();
    --computing;
    uint32_t number = static_cast<uint32_t>(i + (thread / 2) * steps);
    if (i % 3 == 0)
      costs.prepare(symbols, {});
    else if (i % 3 == 1)
      costs.prepare(symbols, {instance(number)});
    else
      EXPECT_EQ(costs.price(symbols, instance(number)), 1) << number;
  }
}

TEST(SharedCost, StopsOtherThreadsDuringAMeasurement) {
  constexpr int kThreads = 4, kSteps = 60;
  std::atomic<int> computing = 0;
  TimedCost timed(computing);
  SharedCost costs(timed);
  SharedCost::BusyThread busy(costs);
  std::vector<std::thread> threads;
  for (int t = 1; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      SharedCost::BusyThread busy(costs);
      compute_and_ask(costs, computing, t, kSteps);
    });
  compute_and_ask(costs, computing, 0, kSteps);
  {
    SharedCost::IdleThread idle(costs); // the other threads continue to measure
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(timed.disturbed, 0);
  EXPECT_EQ(timed.timed(), size_t{kThreads / 2 * kSteps * 2 / 3});
}

TEST(SharedCost, OneThatWorksAloneAndOneThatIsNotAtWorkMayMeasure) {
  std::atomic<int> computing = 0;
  TimedCost timed(computing);
  SharedCost costs(timed);
  Symbols symbols;
  EXPECT_EQ(costs.price(symbols, instance(1)), 1);
  SharedCost::BusyThread busy(costs);
  EXPECT_EQ(costs.price(symbols, instance(2)), 1);
  EXPECT_EQ(timed.timed(), 2u);
}

TEST(SharedCost, ReturnsKnownPricesWithoutAnIdleMachine) {
  std::atomic<int> computing = 0;
  TimedCost timed(computing);
  SharedCost costs(timed);
  Symbols symbols;
  costs.prepare(symbols, {instance(1)});
  SharedCost::BusyThread busy(costs); // a measurement would wait for it
  std::thread other([&] {
    SharedCost::BusyThread busy(costs);
    EXPECT_EQ(costs.price(symbols, instance(1)), 1);
  });
  other.join();
}

} // namespace
} // namespace tg
