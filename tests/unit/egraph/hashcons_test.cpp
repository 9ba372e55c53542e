#include "compiler/egraph/hashcons.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tg {
namespace {

TEST(Hashcons, FindsInsertedButNotErasedNodes) {
  std::mt19937 rng(3);
  for (uint32_t spread : {4u, 64u, 1u << 20}) { // few distinct hashes make long clusters
    Hashcons table;
    std::set<std::pair<uint32_t, uint32_t>> model;
    uint32_t next = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (model.empty() || rng() % 5 < 3) {
        uint32_t hash = static_cast<uint32_t>(rng() % spread) * 2654435761u;
        if (table.full()) table.grow([](uint32_t, uint32_t) { return true; });
        table.insert(hash, next);
        model.emplace(hash, next++);
      } else {
        auto victim = std::next(model.begin(), static_cast<long>(rng() % model.size()));
        table.erase(victim->first, victim->second);
        model.erase(victim);
      }
      if (i % 500 != 0) continue;
      ASSERT_EQ(table.size(), model.size());
      for (auto [hash, node] : model)
        ASSERT_EQ(table.find(hash, [&](uint32_t n) { return n == node; }), node);
      ASSERT_EQ(table.find(12345, [](uint32_t) { return true; }), Hashcons::kEmpty);
    }
  }
}

TEST(Hashcons, DropsUnkeptNodesWhenItGrows) {
  Hashcons table;
  for (uint32_t i = 0; i < 8; ++i) table.insert(i, i);
  table.grow([](uint32_t, uint32_t node) { return node % 2 == 0; });
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.find(2, [](uint32_t) { return true; }), 2u);
  EXPECT_EQ(table.find(3, [](uint32_t) { return true; }), Hashcons::kEmpty);
}

} // namespace
} // namespace tg
