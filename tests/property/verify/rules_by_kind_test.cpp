// Tests rules by kind (rules_by_kind.h): false rules are neither tested nor proved,
// and true rules are tested. By default a sample of each kind, with TANGRAM_FULL_TESTS all,
// with TANGRAM_RULE_KIND=NAME all rules of one kind.
#include "tests/property/verify/judged.h"
#include "tests/property/verify/rules_by_kind.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

namespace tg::test {
namespace {

constexpr size_t kEvery = 9; // one rule in kEvery of each kind, unless all are requested

using Status = RuleVerdict::Status;

std::vector<KindRule> sample(std::vector<KindRule> all) {
  const char* kind = std::getenv("TANGRAM_RULE_KIND");
  if (std::getenv("TANGRAM_FULL_TESTS")) return all;
  std::vector<KindRule> some;
  std::map<std::string, size_t> seen;
  for (KindRule& rule : all)
    if (kind ? rule.kind == kind : seen[rule.kind]++ % kEvery == 0) some.push_back(std::move(rule));
  return some;
}

std::vector<Judged> judge_all(const std::vector<KindRule>& rules) {
  std::vector<Judged> all(rules.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < rules.size();) all[i] = judge(rules[i].text);
  };
  std::thread other(work);
  work();
  other.join();
  return all;
}

TEST(RulesByKind, FalseRulesAreNotVerified) {
  const std::vector<KindRule> rules = sample(false_rules());
  ASSERT_GE(false_rules().size(), 500u);
  std::vector<Judged> all = judge_all(rules);
  std::map<std::string, std::pair<size_t, size_t>> kinds; // tried, wrong
  for (size_t i = 0; i < rules.size(); ++i) {
    bool wrong = all[i].tested && all[i].status != Status::Refuted;
    auto& [tried, failed] = kinds[rules[i].kind];
    ++tried, failed += wrong;
    EXPECT_FALSE(wrong) << rules[i].kind << ": " << rules[i].text << "\n  " << all[i].why;
  }
  for (const auto& [kind, counts] : kinds)
    std::printf("%-10s %4zu false, %zu verified\n", kind.c_str(), counts.first, counts.second);
}

TEST(RulesByKind, TrueRulesAreTested) {
  const std::vector<KindRule> rules = sample(true_rules());
  ASSERT_GE(true_rules().size(), 260u);
  std::vector<Judged> all = judge_all(rules);
  std::map<std::string, std::array<size_t, 3>> kinds; // tried, refuted or unread, not tested
  for (size_t i = 0; i < rules.size(); ++i) {
    const bool tested = all[i].status == Status::Tested;
    const bool refused = all[i].status == Status::Refuted || all[i].status == Status::Empty;
    auto& [tried, wrong, untested] = kinds[rules[i].kind];
    ++tried, wrong += refused, untested += !refused && !tested;
    EXPECT_TRUE(tested) << rules[i].kind << ": " << rules[i].text << "\n  " << all[i].why;
  }
  for (const auto& [kind, counts] : kinds)
    std::printf("%-10s %4zu true, %zu refused, %zu untested\n", kind.c_str(), counts[0], counts[1],
                counts[2]);
}

} // namespace
} // namespace tg::test
