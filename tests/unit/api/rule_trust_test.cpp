// Tests verification of rules in child processes: a check that crashes fails only that rule.
#include "compiler/api/verify/in_children.h"
#include "compiler/api/verify/rule_trust.h"
#include "lang/core/support/data_file.h"
#include "tests/unit/rules/rule_fixture.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <unistd.h>

namespace tg {
namespace {

TEST(RunInChildren, AnswersEveryJobAndOutlivesThoseThatDie) {
  std::vector<ChildAnswer> answers(40);
  auto job = [](size_t i) {
    if (i % 10 == 3) std::raise(SIGFPE);
    if (i == 7) _exit(0);
    return std::string(i * 10'000, 'x') + std::to_string(i);
  };
  size_t done = 0;
  run_in_children(answers.size(), 3, job, [&](size_t i, ChildAnswer answer) {
    answers[i] = std::move(answer);
    ++done;
  });
  EXPECT_EQ(done, answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].failed(), i % 10 == 3 || i == 7) << i;
    EXPECT_EQ(answers[i].signal, i % 10 == 3 ? SIGFPE : 0) << i;
    if (!answers[i].failed()) {
      EXPECT_EQ(answers[i].text, job(i)) << i;
    }
  }
}

TEST(RuleTrust, AFaultInOneCheckLeavesTheOthersTheirVerdicts) {
  std::vector<Rule> rules = test::rules_of("rule one(x) exact { relu(relu(x)) => relu(x) }\n"
                                           "rule two(x) exact { -(-x) => x }\n"
                                           "rule three(x, y) exact { x + y => y + x }\n"
                                           "rule wrong(x, y) { x - y => y - x }\n");
  ASSERT_EQ(rules.size(), 4u);
  TrustOptions options;
  options.isolated = true;
  options.threads = 2;
  options.check.instances = 20;
  options.verify = [](const Rule& rule, const RuleCheckOptions& check) {
    if (rule.name == "two") std::abort();
    return verify_rule(rule, check);
  };
  std::vector<RuleVerdict> verdicts = verify_rules(rules, options);
  using Status = RuleVerdict::Status;
  EXPECT_EQ(verdicts[0].status, Status::Tested) << verdicts[0].why;
  EXPECT_EQ(verdicts[1].status, Status::Fault);
  EXPECT_NE(verdicts[1].why.find("`two` (signal 6"), std::string::npos) << verdicts[1].why;
  EXPECT_EQ(verdicts[2].status, Status::Tested) << verdicts[2].why;
  EXPECT_EQ(verdicts[3].status, Status::Refuted);
  EXPECT_NE(verdicts[3].counterexample.find("model left"), std::string::npos);
  options.isolated = false;
  options.verify = verify_rule;
  std::vector<RuleVerdict> here = verify_rules(rules, options);
  for (size_t i : {0, 2, 3}) {
    EXPECT_EQ(here[i].why, verdicts[i].why);
    EXPECT_EQ(here[i].cases, verdicts[i].cases);
    EXPECT_EQ(here[i].counterexample, verdicts[i].counterexample);
  }
}

/// A remembered verdict counts only if the fingerprint, which includes the program's version
/// and the operators, and the file's format match. Otherwise the rule is verified again,
/// and the verdict kept.
TEST(RuleTrust, VerdictsOfAnotherReleaseAreVerifiedAgain) {
  std::vector<Rule> rules = test::rules_of("rule twice(x) { relu(relu(x)) => relu(x) }\n");
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-rule-trust", folder));
  size_t verified = 0;
  TrustOptions options;
  options.check.instances = 60;
  options.threads = 1;
  options.cache = (folder + "/rules.verified").str();
  options.verify = [&](const Rule& rule, const RuleCheckOptions& check) {
    ++verified;
    return verify_rule(rule, check);
  };
  verify_rules(rules, options);
  EXPECT_EQ(std::exchange(verified, 0), 1u);
  verify_rules(rules, options);
  EXPECT_EQ(std::exchange(verified, 0), 0u) << "it is remembered";
  std::string kept = *read_text_file(options.cache);
  auto [header, rows] = llvm::StringRef(kept).split('\n');
  ASSERT_TRUE(rows.startswith(rule_fingerprint(rules[0])));
  std::string other_print = (header + "\n0" + rows.drop_front()).str();
  std::string other_form = ("another form\n" + rows).str();
  for (const std::string& text : {other_print, other_form, std::string("\xff\0\n", 3)}) {
    std::ofstream(options.cache) << text;
    EXPECT_EQ(verify_rules(rules, options)[0].status, RuleVerdict::Status::Tested);
    EXPECT_EQ(std::exchange(verified, 0), 1u);
    verify_rules(rules, options);
    EXPECT_EQ(std::exchange(verified, 0), 0u) << "it is kept again";
  }
  (void)llvm::sys::fs::remove_directories(folder);
}

/// A rule that states no class has the class that follows from its operators.
/// Its uses rely on that.
TEST(RuleTrust, ARuleWithoutAClassHasTheOneThatItsOperatorsSay) {
  std::vector<Rule> rules =
      test::rules_of("rule means(x) { reduce_mean(reduce_mean(x, axes = [3]), axes = [2]) => "
                     "reduce_mean(x, axes = [2, 3]) }\n"
                     "rule cut(x) { cast(cast(x, f16), f32) => x }\n");
  ASSERT_EQ(rules.size(), 2u);
  TrustOptions options;
  options.check.instances = 60;
  EXPECT_TRUE(require_trusted(rules, options));
  EXPECT_EQ(rules[0].numerics, Numerics::Reassociates);
  EXPECT_EQ(rules[1].numerics, Numerics::Lossy);
  EXPECT_FALSE(admits(Numerics::Risky, rules[1]));
}

} // namespace
} // namespace tg
