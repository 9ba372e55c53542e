// Tests that no wrong rule is proved: of the mutants of all shipped rules (conditions dropped,
// operands, axes, attributes and orders changed; every set, every form),
// none that instances refute.
#include "compiler/rules/text.h"
#include "compiler/verify/proof/proof.h"
#include "compiler/verify/verify_rule.h"
#include "tests/property/rules/library.h"
#include "tests/property/rules/mutants.h"
#include "tests/unit/verify/status_name.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

namespace tg::test {
namespace {

struct Tally {
  size_t tried = 0, proved = 0, never_typed = 0;
};

/// Proves on two threads, and checks proved rules on many instances.
Tally expect_none_wrong(llvm::ArrayRef<Mutant> mutants) {
  ProofOptions quick;
  quick.cases = 400;
  quick.questions = 1500;
  quick.total = 1500;
  RuleCheckOptions closely;
  closely.instances = 600;
  closely.smaller = 0;
  Tally tally;
  std::atomic<size_t> next = 0;
  std::mutex reporting;
  auto work = [&] {
    for (size_t i; (i = next++) < mutants.size();) {
      bool proved = prove_rule(mutants[i].rule, quick).proved;
      RuleVerdict verdict;
      if (proved) verdict = verify_rule(mutants[i].rule, closely);
      std::lock_guard lock(reporting);
      ++tally.tried;
      if (!proved) continue;
      ++tally.proved;
      tally.never_typed += verdict.status == RuleVerdict::Status::Empty;
      EXPECT_NE(status_name(verdict.status), "refuted")
          << mutants[i].what << ": " << rule_text(mutants[i].rule) << "\n"
          << verdict.why << "\n"
          << verdict.counterexample;
    }
  };
  std::thread other(work);
  work();
  other.join();
  return tally;
}

std::vector<Mutant> every(size_t step) {
  std::vector<Mutant> chosen;
  size_t at = 0;
  for (const Rule& rule : library()) {
    if (rule.native != Native::No) continue;
    for (Mutant& mutant : Mutator(rule).all()) {
      if (at++ % step) continue;
      mutant.what = rule.name + ": " + mutant.what;
      chosen.push_back(std::move(mutant));
    }
  }
  return chosen;
}

void expect_every(size_t step, size_t least) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  Tally tally = expect_none_wrong(every(step));
  std::printf("%zu mutants, %zu proved, of which %zu are never well typed\n", tally.tried,
              tally.proved, tally.never_typed);
  EXPECT_GE(tally.tried, least);
}

TEST(MutantsInProofs, NoWrongOneIsProved) { expect_every(41, 100); }

/// All mutants, which takes many minutes: --gtest_also_run_disabled_tests.
TEST(MutantsInProofs, DISABLED_NoneOfAllIsProved) { expect_every(1, 4000); }

} // namespace
} // namespace tg::test
