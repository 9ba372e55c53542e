// The rules that come with Tangram are true, and what is made wrong out of them is caught.
#include "compiler/egraph/rule_text.h"
#include "compiler/equiv/proof.h"
#include "compiler/equiv/verify_rule.h"
#include "tests/property/equiv/mutate.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

namespace tg::test {
namespace {

/// Fewer than `tg rules verify` draws by default: the whole suite has to stay short.
constexpr size_t kInstances = 30;
constexpr size_t kCloser = 100;
constexpr size_t kClosest = 6000;  // of what is neither refuted nor proved nor explained
constexpr size_t kMutantsEach = 4; // of a declaration, spread over all kinds

/// Verdicts in the order of the rules, on two threads.
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

/// Names of mutants that are true, by an argument that stands beside them.
std::set<std::string> explained() {
  std::set<std::string> names;
  std::ifstream file(TG_SOURCE_DIR "/tests/property/equiv/true_mutants.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t reason = line.find(" -- ");
    EXPECT_NE(reason, std::string::npos) << line << ": no reason";
    names.insert(line.substr(0, reason));
  }
  return names;
}

/// Whether many more instances refute what is neither explained nor proved.
bool refuted_after_all(const Rule& rule) {
  RuleCheckOptions options;
  options.instances = kClosest;
  options.smaller = 0;
  return verify_rule(rule, options).status == RuleVerdict::Status::Refuted;
}

/// Some mutants are true: a condition that types imply, an attribute that cannot matter where the
/// sides agree in type. Each that instances do not refute has to be proved, or explained in
/// true_mutants.txt; all others count as wrong, and have to be caught.
TEST(Rules, WrongOnesMadeOfThemAreCaught) {
  std::vector<Rule> rules;
  std::vector<std::string> names;
  std::string last;
  for (const Rule& rule : library()) {
    if (rule.native != Native::No || rule.declared == last || rule.set == "taso") continue;
    // Their instances are rare (padding that fits two kernels), and each costs many draws.
    if (llvm::StringRef(rule.name).startswith("enlarge_and_join_padded")) continue;
    last = rule.declared; // one form of each declaration
    std::vector<Mutant> mutants = Mutator(rule).all();
    size_t step = (mutants.size() + kMutantsEach - 1) / kMutantsEach;
    for (size_t i = 0; i < mutants.size(); i += std::max<size_t>(step, 1)) {
      rules.push_back(std::move(mutants[i].rule));
      names.push_back(rule.name + ": " + mutants[i].what);
    }
  }
  std::vector<RuleVerdict> all = verdicts(rules, kInstances, 0);
  // Those that a few instances did not catch are looked at more closely.
  std::vector<Rule> close;
  for (size_t i = 0; i < rules.size(); ++i)
    if (all[i].status == RuleVerdict::Status::Tested) close.push_back(rules[i]);
  std::vector<RuleVerdict> second = verdicts(close, kCloser, 0);
  for (size_t i = 0, at = 0; i < rules.size(); ++i)
    if (all[i].status == RuleVerdict::Status::Tested) all[i] = second[at++];
  std::set<std::string> known = explained();
  size_t refuted = 0, never = 0, proved = 0, argued = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    refuted += all[i].status == RuleVerdict::Status::Refuted;
    never += all[i].status == RuleVerdict::Status::Empty;
    if (all[i].status != RuleVerdict::Status::Tested) continue;
    if (known.count(names[i])) {
      ++argued;
    } else if (prove_rule(rules[i]).proved) {
      ++proved;
    } else if (refuted_after_all(rules[i])) {
      ++refuted;
    } else if (can_prove()) {
      ADD_FAILURE() << names[i] << "\n  neither refuted nor proved, nor explained";
    }
  }
  EXPECT_GE(refuted + never, 300u);
  size_t wrong = rules.size() - proved - argued;
  std::printf("%zu mutants: %zu proved true, %zu true by argument; of the %zu others %zu refuted, "
              "%zu never well typed: %.1f%% caught\n",
              rules.size(), proved, argued, wrong, refuted, never,
              100.0 * static_cast<double>(refuted + never) / static_cast<double>(wrong));
}

} // namespace
} // namespace tg::test
