// Tests the roundings of a relaxation: the seed, the repair of cycles, and the answer
// without time for a relaxation.
#include "compiler/extract/extractors.h"
#include "compiler/extract/solver/ilp.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// `count` classes under a root, each with two nodes of equal cost.
ExtractionProblem pairs(uint32_t count) {
  ExtractionProblem p;
  ClassIx root = p.add_class();
  std::vector<ClassIx> all;
  for (uint32_t i = 0; i < count; ++i) {
    ClassIx cls = all.emplace_back(p.add_class());
    p.add_node(cls, 1, {});
    p.add_node(cls, 1, {});
  }
  p.add_node(root, 1, all);
  p.add_root(root);
  p.seal();
  return p;
}

TEST(LpRounding, DrawsTheSameBySeed) {
  ExtractionProblem p = pairs(20);
  std::vector<double> half(p.node_count(), 0.5);
  // With all values at one half, all choices have equal costs, so that the first,
  // deterministic one is returned.
  std::optional<Choice> plain = round_relaxation(p, half, 1, 0);
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, *round_relaxation(p, half, 2, 0)) << "no seed matters without draws";
  EXPECT_EQ(*round_relaxation(p, half, 1, 8), *round_relaxation(p, half, 1, 8));
}

TEST(LpRounding, DrawsChoicesThatGreedyMisses) {
  // The relaxation prefers the expensive node in each pair. Draws find the cheap nodes,
  // whose shared class pays if all users choose it.
  ExtractionProblem p;
  ClassIx root = p.add_class(), shared = p.add_class();
  std::vector<ClassIx> users;
  p.add_node(shared, 3, {});
  for (int i = 0; i < 4; ++i) {
    ClassIx user = users.emplace_back(p.add_class());
    p.add_node(user, 2, {});
    p.add_node(user, 0, {shared});
  }
  p.add_node(root, 0, users);
  p.add_root(root);
  p.seal();
  std::vector<double> x = {1};
  for (int i = 0; i < 4; ++i) x.insert(x.end(), {0.6, 0.4});
  x.push_back(1);
  x[0] = 0.4; // of the root's node
  double alone = check_choice(p, *round_relaxation(p, x, 1, 0)).dag_cost;
  double drawn = check_choice(p, *round_relaxation(p, x, 1, 200)).dag_cost;
  EXPECT_EQ(drawn, 3) << "all four share";
  EXPECT_LE(drawn, alone);
}

TEST(LpRounding, RepairsCycles) {
  // The relaxation lets two classes support each other.
  ExtractionProblem p;
  ClassIx root = p.add_class(), a = p.add_class(), b = p.add_class();
  p.add_node(root, 0, {a, b});
  p.add_node(a, 10, {});
  p.add_node(a, 0, {b});
  p.add_node(b, 11, {});
  p.add_node(b, 0, {a});
  p.add_root(root);
  p.seal();
  std::vector<double> circle = {1, 0, 1, 0, 1};
  for (int tries : {0, 16}) {
    std::optional<Choice> choice = round_relaxation(p, circle, 1, tries);
    ASSERT_TRUE(choice);
    CheckedChoice checked = check_choice(p, *choice);
    EXPECT_EQ(checked.fault, "");
    EXPECT_EQ(checked.dag_cost, 10);
  }
}

TEST(Lp, WithoutTimeGreedyAnswers) {
  ExtractionProblem p = pairs(5);
  Result<Extraction> answer = extract_by_lp(p, {.time_limit_s = 0});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->dag_cost, 6);
  EXPECT_EQ(answer->algorithm, "greedy");
  EXPECT_EQ(answer->note, "lp: the time limit; the result is from greedy");
}

TEST(Lp, StopsOnRequest) {
  ExtractionProblem p = pairs(50);
  IlpOptions options;
  options.stop = [](const ExtractionProgress&) { return true; };
  Result<Extraction> answer = extract_by_lp(p, options);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(check_choice(p, answer->choice).ok());
}

} // namespace
} // namespace tg
