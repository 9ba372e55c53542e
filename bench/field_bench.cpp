// Measures matrix products over the finite field (compiler/verify/field/product.h) by each path
// that this processor supports, on one thread, with m x k by k x n shapes from networks. The timed
// region covers packing, products and reduction. `terms` is m n k per second.
#include "compiler/verify/field/product.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

namespace {

using namespace tg;

void product(benchmark::State& state) {
  int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  auto path = static_cast<FieldPath>(state.range(3));
  if (!has_field_path(path)) return state.SkipWithError("not on this processor");
  std::vector<Field> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  std::vector<Field> c(static_cast<size_t>(m * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = Field::random(i);
  for (size_t i = 0; i < b.size(); ++i) b[i] = Field::random(a.size() + i);
  auto row = [&](int64_t l, int64_t first, int64_t count, Field* out) {
    std::copy_n(b.data() + l * n + first, count, out);
  };
  auto store = [&](int64_t i, int64_t first, llvm::ArrayRef<Field> sums) {
    std::copy(sums.begin(), sums.end(), c.data() + i * n + first);
  };
  for (auto _ : state) {
    multiply({m, n, k, a.data(), k, row, store}, path);
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["terms"] = benchmark::Counter(static_cast<double>(m * n * k),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"m", "n", "k", "path"})->Unit(benchmark::kMillisecond);
  for (int path : {0, 1, 2}) {
    bench->Args({1024, 1024, 1024, path})->Args({64, 1024, 1024, path});
    bench->Args({64, 3136, 576, path})->Args({512, 49, 4608, path})->Args({64, 64, 64, path});
  }
}

BENCHMARK(product)->Apply(sizes)->Repetitions(5)->ReportAggregatesOnly();

} // namespace

BENCHMARK_MAIN();
