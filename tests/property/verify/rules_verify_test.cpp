// Tests that the rules that are shipped with Tangram are true.
#include "compiler/rules/text.h"
#include "compiler/verify/verify_rule.h"
#include "tests/property/rules/library.h"
#include "tests/unit/verify/status_name.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tg::test {
namespace {

/// Fewer than the default of `tg rules verify`, so that the suite stays short.
constexpr size_t kInstances = 30;

/// Returns the verdicts in the order of the rules, computed on two threads.
std::vector<RuleVerdict> verdicts(llvm::ArrayRef<Rule> rules, size_t instances, size_t smaller) {
  std::vector<RuleVerdict> all(rules.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    RuleCheckOptions options;
    options.instances = instances;
    options.smaller = smaller;
    for (size_t i; (i = next++) < rules.size();) all[i] = verify_rule(rules[i], options);
  };
  std::thread other(work);
  work();
  other.join();
  return all;
}

TEST(Rules, AllThatAreShippedAreTested) {
  std::vector<Rule> rules = library();
  std::vector<RuleVerdict> all = verdicts(rules, kInstances, 400);
  for (size_t i = 0; i < rules.size(); ++i)
    EXPECT_EQ(status_name(all[i].status), "tested") << rule_text(rules[i]) << "\n"
                                                    << all[i].why << "\n"
                                                    << all[i].counterexample;
}

} // namespace
} // namespace tg::test
