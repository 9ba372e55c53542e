// Tests counts of lines, requests and loads by enumeration of elements; divisors and ranges.
#include "runtime/tune/factors.h"
#include "runtime/tune/ranges.h"
#include "runtime/tune/reuse.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tune/read_operator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tg::tune {
namespace {

const char* const kSmall[] = {
    "C1D [1, 6, 10 | 4, 3] stride 2",
    "C2D [2, 4, 6, 5 | 3, 3, 1] stride 1, 2 dilation 2, 1",
    "BMM [3, 6, 4 | 10] shared 0, 1",
    "GRP [1, 12, 4, 4 | 3, 3, 3] groups 3",
    "DEP [1, 12, 4, 4 | 3, 3] multiplier 2",
    "T2D [1, 6, 4, 4 | 3, 2, 2] stride 2, 2",
    "CAP [1, 2, 2, 4, 4, 4 | 3, 3, 4, 2] stride 2",
};

/// Calls `visit` for every point of a box.
void for_points(const Extents& box, llvm::function_ref<void(const Extents&)> visit) {
  Extents at(box.size(), 0);
  for (;;) {
    visit(at);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == box[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

int64_t address_in(const Extents& whole, const Extents& at) {
  int64_t address = 0;
  for (size_t d = 0; d < whole.size(); ++d) address = address * whole[d] + at[d];
  return address;
}

Extents index_of(const Input& input, const Extents& loops) {
  Extents index;
  for (const Dimension& dimension : input.dimensions) {
    index.push_back(0);
    for (const Term& term : dimension.terms)
      index.back() += loops[term.axis] / term.divisor * term.scale;
  }
  return index;
}

Extents random_divisors(const Extents& of, RandomDraws& random) {
  Extents chosen;
  for (int64_t one : of) {
    std::vector<int64_t> all = divisors(one);
    chosen.push_back(all[static_cast<size_t>(random.in(0, static_cast<int64_t>(all.size()) - 1))]);
  }
  return chosen;
}

int64_t lines_element_by_element(const Nest& nest, const Extents& block) {
  Extents covered = block;
  covered.insert(covered.end(), nest.reduction.begin(), nest.reduction.end());
  int64_t base = 0, count = 0;
  for (const Input& input : nest.inputs) {
    Extents whole = box_of(input, nest.loops());
    int64_t last = -1;
    for_points(box_of(input, covered), [&](const Extents& at) {
      int64_t line = (base + address_in(whole, at)) / 8;
      count += line != last;
      last = line;
    });
    base += product(whole);
  }
  return count;
}

TEST(BlockCost, CountsLinesAsAWalkOverAllElementsDoes) {
  RandomDraws random(1);
  for (const char* op : kSmall) {
    Nest nest = nest_of(*read_operator(op));
    BlockCost cost(nest);
    for (int i = 0; i < 20; ++i) {
      Extents block = random_divisors(nest.space, random);
      EXPECT_EQ(cost.of(block), lines_element_by_element(nest, block)) << op;
    }
  }
}

/// Returns the requests of the first load by all threads, times the distinct elements of thread 0.
double requests_thread_by_thread(const Nest& nest, const Extents& block, const Extents& fetched,
                                 const ThreadShape& shape) {
  Extents covered = block;
  covered.insert(covered.end(), fetched.begin(), fetched.end());
  double all = 0;
  for (const Input& input : nest.inputs) {
    Extents staged = box_of(input, covered);
    std::map<int64_t, std::map<int64_t, std::set<int64_t>>> asked; // warp, bank
    int64_t thread = 0;
    for_points(shape.grid, [&](const Extents& t) {
      Extents loops(nest.axes(), 0);
      for (size_t a = 0; a < t.size(); ++a) loops[a] = t[a] * shape.inner[a];
      int64_t address = address_in(staged, index_of(input, loops));
      asked[thread++ / 32][address % 32].insert(address);
    });
    double requests = 0;
    for (const auto& [warp, banks] : asked) {
      size_t most = 0;
      for (const auto& [bank, addresses] : banks) most = std::max(most, addresses.size());
      requests += static_cast<double>(most);
    }
    std::set<Extents> elements;
    for_points(shape.virtuals, [&](const Extents& v) {
      Extents inner = shape.inner;
      inner.insert(inner.end(), fetched.begin(), fetched.end());
      for_points(inner, [&](const Extents& p) {
        Extents loops = p;
        for (size_t a = 0; a < v.size(); ++a) loops[a] += v[a] * shape.grid[a] * shape.inner[a];
        elements.insert(index_of(input, loops));
      });
    });
    all += requests * static_cast<double>(elements.size());
  }
  return all;
}

TEST(ThreadCost, CountsRequestsAsThreadsOneByOneDo) {
  RandomDraws random(2);
  for (const char* op : kSmall) {
    Nest nest = nest_of(*read_operator(op));
    for (int i = 0; i < 20; ++i) {
      Extents block = random_divisors(nest.space, random), fetched = nest.reduction;
      if (nest.load_axis)
        fetched[*nest.load_axis] = random_divisors(fetched, random)[*nest.load_axis];
      ThreadShape shape{random_divisors(block, random), {}, {}};
      for (size_t a = 0; a < block.size(); ++a) shape.inner.push_back(block[a] / shape.grid[a]);
      shape.virtuals = random_divisors(shape.inner, random);
      for (size_t a = 0; a < block.size(); ++a) shape.inner[a] /= shape.virtuals[a];
      EXPECT_EQ(ThreadCost(nest, block, fetched).of(shape, 1e18),
                requests_thread_by_thread(nest, block, fetched, shape))
          << op;
    }
  }
}

TEST(BestThreads, IsTheLeastOfAllShapes) {
  Nest nest = nest_of(*read_operator(kSmall[1]));
  Extents block = {1, 4, 6, 1}, fetched = {3, 3, 1};
  for (int64_t threads : divisors(24)) {
    auto best = best_threads(nest, block, fetched, threads);
    ASSERT_TRUE(best);
    double least = ThreadCost(nest, block, fetched).of(*best, 1e18);
    for_factorizations(threads, block, [&](const Extents& grid) {
      Extents left;
      for (size_t a = 0; a < grid.size(); ++a) left.push_back(block[a] / grid[a]);
      for_divisors(left, [&](const Extents& virtuals) {
        ThreadShape shape{grid, virtuals, left};
        for (size_t a = 0; a < left.size(); ++a) shape.inner[a] /= virtuals[a];
        double cost = requests_thread_by_thread(nest, block, fetched, shape);
        EXPECT_GE(cost, least);
        EXPECT_TRUE(cost > least || product(virtuals) >= product(best->virtuals));
      });
      return true;
    });
  }
  EXPECT_FALSE(best_threads(nest, block, fetched, 5));
}

TEST(BestBlock, CoversWholeGroups) {
  Nest nest = nest_of(*read_operator(kSmall[3]));
  BlockCost cost(nest);
  EXPECT_EQ(best_block(nest, 4, cost)[1] % 4, 0);
  EXPECT_TRUE(best_block(nest, 2, cost).empty()); // half a group
}

TEST(Dividers, AreWithinOrJustBeyond) {
  using List = std::vector<int64_t>;
  EXPECT_EQ(dividers(4, 8, 64), (List{4, 8}));
  EXPECT_EQ(dividers(8, 4, 64), (List{8, 4}));
  EXPECT_EQ(dividers(5, 7, 64), (List{8}));         // none in range
  EXPECT_EQ(dividers(4, 12, 64), (List{4, 8, 16})); // 16 is as near to 12 as 8
  EXPECT_EQ(dividers(4, 10, 64), (List{4, 8}));     // 16 is farther from 10 than 8
  EXPECT_EQ(dividers(100, 200, 64), (List{}));
  EXPECT_EQ(dividers(3.5, 3.5, 12), (List{3, 4})); // rounded outwards
}

TEST(Factors, EnumerateAllFactorizationsInOrder) {
  std::vector<Extents> found;
  for_factorizations(4, {2, 4, 1}, [&](const Extents& one) {
    found.push_back(one);
    return true;
  });
  EXPECT_EQ(found, (std::vector<Extents>{{1, 4, 1}, {2, 2, 1}}));
  int count = 0;
  for_divisors({4, 3}, [&](const Extents&) { ++count; });
  EXPECT_EQ(count, 6);
  EXPECT_EQ(divisors(36), (std::vector<int64_t>{1, 2, 3, 4, 6, 9, 12, 18, 36}));
}

TEST(Ranges, FollowWhicheverIsLarger) {
  Operator small = *read_operator("BMM [1, 64, 64 | 64]"),
           large = *read_operator("BMM [1, 128, 64 | 64]");
  EXPECT_TRUE(can_reuse(small, large));
  EXPECT_TRUE(can_reuse(large, small));
  EXPECT_FALSE(can_reuse(small, *read_operator("BMM [1, 128, 32 | 64]")));
  Footprint from{1024, 128, 4, 2048, 20};
  // With equal reductions: one more block than the ratio allows, beyond the reused one.
  std::vector<int64_t> grown = block_sizes(growth(large, small), from, 128 * 64);
  EXPECT_EQ(grown, (std::vector<int64_t>{2048, 1024, 512}));
  std::vector<int64_t> shrunk = block_sizes(growth(small, large), from, 64 * 64);
  EXPECT_EQ(shrunk, (std::vector<int64_t>{512, 1024, 2048}));
  EXPECT_EQ(default_rounds(4, 2, 64), 8);
  EXPECT_EQ(default_rounds(4, 0.5, 64), 2);
  EXPECT_EQ(norm_threads(64, 256, 512),
            (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}));
}

TEST(Registers, GrowWithUnrolling) {
  Program program = *read_program("BMM [1, 64, 64 | 64]; tiles 1.1.1.1.1, 4.1.8.1.2, 4.1.8.1.2 | "
                                  "4.8.2; unroll 16; vectors 1, 1");
  Nest nest = nest_of(program.op);
  EXPECT_EQ(unrolled_loops(program.tile, 0), 0);
  EXPECT_EQ(registers(nest, program.tile, 0), 1 + 1 + 4);
  EXPECT_EQ(registers(nest, program.tile, 16), 4 + 4 + 4); // two rows of two terms of each
  EXPECT_EQ(registers(nest, program.tile, 1024), 2 * 64 + 2 * 64 + 4);
  EXPECT_EQ(default_unroll(nest, program.tile, 12), 64);
}

} // namespace
} // namespace tg::tune
