// Tests the cooperation of a block's threads in the device form: sums over a row by shuffles
// and through shared memory, sums over threads that are not adjacent, and tiles.
// An emulator executes the threads on the processor, against `ref`.
#include "tests/unit/cuda/block_emulator.h"
#include "tests/unit/cuda/plain_strides.h"
#include "tests/unit/runtime/plan_writer.h"

#include <cmath>

namespace tg::test {
namespace {

using cuda::KernelSchedule;

bool none(const PlanStep&) { return false; }

Plan softmax(Shape shape, int64_t axis) {
  PlanWriter w;
  w.output("y", w.run(OpKind::Softmax, {Value::of_int(axis)}, {w.input("x", std::move(shape))}));
  return w.finish();
}

Plan argmax(Shape shape, int64_t axis) { // in 64-bit integers
  PlanWriter w;
  w.output("y", w.run(OpKind::Argmax, {Value::of_int(axis), Value::of_bool(false)},
                      {w.input("x", std::move(shape))}));
  return w.finish();
}

/// Two sums, the second of which depends on the first. Its root uses the device's own function.
Plan normalised(Shape shape, int64_t axis) {
  PlanWriter w;
  auto mean = [&](PlanValueId x) {
    return w.run(OpKind::ReduceMean, {Value::of_ints({axis}), Value::of_bool(true)}, {x});
  };
  PlanValueId x = w.input("x", std::move(shape));
  PlanValueId centred = w.run(OpKind::Sub, {}, {x, mean(x)});
  PlanValueId variance = mean(w.run(OpKind::Mul, {}, {centred, centred}));
  w.output("y", w.run(OpKind::Mul, {}, {centred, w.run(OpKind::Rsqrt, {}, {variance})}));
  return w.finish();
}

Plan product(int64_t rows, int64_t terms, int64_t columns) {
  PlanWriter w;
  PlanValueId y =
      w.run(OpKind::Matmul, {Value::of_enum("relu")},
            {w.input("x", {rows, terms}), w.weight("w", {terms, columns}), kNoValue, kNoValue});
  w.output("y", y);
  return w.finish();
}

struct Case {
  Plan plan;
  KernelSchedule schedule;
  int threads, row_threads; // 0: as chosen
};

/// One case of each kind of cooperation, in which the threads synchronise twice.
std::vector<Case> few_cases() {
  return {{normalised({3, 1100}, 1), KernelSchedule::Rows, 256, 256},
          {normalised({130, 37}, 0), KernelSchedule::Columns, 256, 16},
          {normalised({130, 37}, 0), KernelSchedule::Columns, 24, 3},
          {product(70, 33, 50), KernelSchedule::Tiles, 0, 0},
          {product(20, 150, 30), KernelSchedule::Tiles, 0, 0}}; // clusters of two blocks
}

/// Rows of one warp and of several; neighbours and sharers of a column that are one warp,
/// several warps, or not a power of two; more neighbours than a warp has threads; tiles with edges.
std::vector<Case> cases() {
  std::vector<Case> all = few_cases();
  all.push_back({softmax({5, 100}, 1), KernelSchedule::Rows, 0, 0});
  all.push_back({softmax({4, 2000}, 1), KernelSchedule::Rows, 0, 0});
  all.push_back({argmax({3, 700}, 1), KernelSchedule::Rows, 0, 0});
  all.push_back({argmax({77, 9}, 0), KernelSchedule::Columns, 64, 8});
  all.push_back({product(1, 300, 70), KernelSchedule::Columns, 0, 0});
  all.push_back({product(9, 64, 8), KernelSchedule::Tiles, 0, 0});
  all.push_back({product(70, 300, 50), KernelSchedule::Tiles, 0, 0}); // clusters
  for (int threads : {64, 1024})
    all.push_back({softmax({2, 1100}, 1), KernelSchedule::Rows, threads, threads});
  for (auto [apart, sharers] :
       {std::pair{32, 1}, {8, 4}, {1, 32}, {8, 8}, {4, 256}, {32, 8}, {64, 4}, {5, 40}})
    all.push_back({softmax({130, 37}, 0), KernelSchedule::Columns, apart * sharers, sharers});
  return all;
}

std::vector<Generated> generate(std::vector<Case> cases) {
  std::vector<Generated> all;
  for (Case& c : cases) {
    Generated g = generate_all(std::move(c.plan), none);
    EXPECT_EQ(g.kernels.size(), 1u);
    if (c.threads != 0) {
      cuda::Tunables tunables;
      tunables.threads = c.threads;
      tunables.row_threads = c.row_threads;
      std::string why;
      g.kernels[0] =
          cuda::generate(g.plan, g.units[0].group, cuda::plain_strides(g.plan), why, &tunables);
      g.sources[0] = cuda::kernel_source(*g.kernels[0]);
      EXPECT_EQ(g.kernels[0]->tunables.threads, c.threads);
    }
    EXPECT_EQ(g.kernels[0]->schedule, c.schedule) << dump(g.plan);
    all.push_back(std::move(g));
  }
  return all;
}

/// Returns the largest difference of each case over all orders.
std::vector<double> differences(const std::vector<Generated>& all, const std::string& prelude) {
  std::vector<cuda::KernelSource> sources;
  for (const Generated& g : all) sources.push_back(g.sources[0]);
  CppLibrary library;
  library.compile(sources, prelude, emulated_text);
  std::vector<double> largest;
  for (const Generated& g : all) {
    largest.push_back(0);
    for (TurnOrder order : {TurnOrder::Ascending, TurnOrder::Descending, TurnOrder::Mixed}) {
      library.find("tg_turn_order")(nullptr, static_cast<int>(order));
      double worst = difference(g, library);
      largest.back() = std::isnan(worst) ? worst : std::max(largest.back(), worst);
    }
  }
  return largest;
}

TEST(DeviceForms, AgreeWithRefInAnyOrderOfThreads) {
  std::vector<Generated> all = generate(cases());
  std::vector<double> largest = differences(all, emulated_prelude());
  for (size_t i = 0; i < all.size(); ++i) {
    const cuda::Tunables& t = all[i].kernels[0]->tunables;
    EXPECT_LE(largest[i], 1e-4) << dump(all[i].plan) << t.threads << " threads, " << t.row_threads
                                << " of a row";
  }
}

/// Each barrier of the prelude, of tiles and of clusters is necessary: without it,
/// some order gives a wrong result.
TEST(DeviceForms, AMissingBarrierShows) {
  std::vector<Generated> all = generate(few_cases());
  const std::string prelude = emulated_prelude(), barrier = "__syncthreads()";
  size_t found = 0;
  for (size_t at = prelude.find("#define TG_BARRIER");
       (at = prelude.find(barrier, at)) != std::string::npos; at += barrier.size()) {
    std::string without = prelude;
    without.replace(at, barrier.size(), "");
    double worst = 0;
    for (double difference : differences(all, without)) worst = std::max(worst, difference);
    EXPECT_GT(worst, 1e-3) << prelude.substr(at - 100, 200);
    ++found;
  }
  EXPECT_EQ(found, 7u) << "of tiles, rows, uneven columns and columns of several warps";
  std::string without = prelude, of_clusters = "block::wait(block::kAtCluster)";
  without.replace(without.find(of_clusters), of_clusters.size(), "(void)0");
  EXPECT_GT(differences(all, without).back(), 1e-3);
}

} // namespace
} // namespace tg::test
