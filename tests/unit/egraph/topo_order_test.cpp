#include "compiler/egraph/topo_order.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

bool path(const std::vector<std::vector<uint32_t>>& children, uint32_t from, uint32_t to) {
  std::vector<bool> seen(children.size());
  std::vector<uint32_t> worklist{from};
  while (!worklist.empty()) {
    uint32_t v = worklist.back();
    worklist.pop_back();
    if (v == to) return true;
    if (seen[v]) continue;
    seen[v] = true;
    worklist.insert(worklist.end(), children[v].begin(), children[v].end());
  }
  return false;
}

TEST(TopoOrder, RefusesExactlyTheEdgesThatCloseACycle) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 rng(seed);
    const uint32_t n = 12;
    TopoOrder order(n);
    std::vector<std::vector<uint32_t>> children(n);
    for (int i = 0; i < 60; ++i) {
      uint32_t user = rng() % n, child = rng() % n;
      bool closes = path(children, child, user);
      ASSERT_EQ(order.can_add(user, child), !closes) << "seed " << seed;
      if (closes) continue;
      order.add(user, child);
      children[user].push_back(child);
      for (uint32_t v = 0; v < n; ++v)
        for (uint32_t below : children[v]) ASSERT_LT(order.place(below), order.place(v));
    }
  }
}

} // namespace
} // namespace tg
