// Tests sets that share their storage against ordinary sets.
#include "compiler/extract/greedy/dag_sets.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tg {
namespace {

TEST(DagSets, AreSets) {
  std::mt19937_64 random(1);
  for (size_t classes : {1u, 31u, 33u, 256u, 257u, 5'000u}) {
    DagSets sets(classes);
    for (uint32_t c = 0; c < classes; ++c) sets.set_cost({c}, static_cast<double>(random() % 9));
    std::vector<DagSets::Set> known = {DagSets::kEmpty};
    std::vector<std::set<uint32_t>> plain(1);
    std::vector<double> cost(classes);
    for (uint32_t c = 0; c < classes; ++c) cost[c] = sets.cost(sets.insert(DagSets::kEmpty, {c}));
    for (int i = 0; i < 2'000; ++i) {
      size_t a = random() % known.size(), b = random() % known.size();
      DagSets::Mark mark = sets.mark();
      sets.release((sets.unite(known[a], known[b]), mark)); // is undone completely
      std::set<uint32_t> merged = plain[a];
      auto cls = static_cast<uint32_t>(random() % classes);
      if (i % 3 == 0) {
        known.push_back(sets.insert(known[a], {cls}));
        merged.insert(cls);
      } else {
        known.push_back(sets.unite(known[a], known[b]));
        merged.insert(plain[b].begin(), plain[b].end());
      }
      plain.push_back(merged);
      EXPECT_EQ(sets.contains(known.back(), {cls}), merged.count(cls) != 0);
      double sum = 0;
      for (uint32_t member : merged) sum += cost[member];
      EXPECT_EQ(sets.cost(known.back()), sum);
    }
  }
}

TEST(DagSets, KeepOneOfTwoSidesThatHasEverything) {
  DagSets sets(1'000);
  DagSets::Set a = sets.insert(sets.insert(DagSets::kEmpty, {3}), {700});
  DagSets::Set b = sets.insert(a, {500});
  EXPECT_EQ(sets.unite(a, b), b);
  EXPECT_EQ(sets.unite(b, a), b);
}

} // namespace
} // namespace tg
