// Runs random models on the own kernels (Products::Tiles) and on `ref`.
#pragma once

#include "runtime/cpu/handles.h"
#include "tests/unit/cpu/compare.h"
#include "tests/unit/random_draws.h"

namespace tg::test {

/// Compares a graph on own kernels, on one to three threads, with its definition.
/// `info` gets its steps.
inline void expect_as_defined(const Graph& graph, RandomDraws& r, uint64_t seed, double bound,
                              Comparison& info) {
  Plan plan = plan_from_graph(graph);
  std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
  CompileOptions options;
  options.threads = static_cast<int>(r.in(1, 3));
  options.io_layout = r.coin() ? IoLayout::Plain : IoLayout::Native;
  std::vector<Tensor> got = outputs_of(*make_cpu_backend(Products::Tiles), plan, options, 2, &info);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_LE(max_rel_diff(got[i], want[i]), bound) << "seed " << seed << "\n"
                                                    << dump(graph) << implementations(info);
}

/// Checks 250 models with one operator each. If the processor can run it,
/// its kernel's name begins with `kernel` and contains `kind`. The models agree with `ref`,
/// in either layout, on one to three threads.
inline void expect_agreement(void (*model)(Builder&, RandomDraws&), llvm::StringRef kernel,
                             llvm::StringRef kind = "") {
  constexpr uint64_t kModels = 250;
  size_t ours = 0;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    RandomDraws r(seed);
    Builder b;
    model(b, r);
    Comparison info;
    expect_as_defined(b.graph, r, seed, 1e-4, info); // tanh of large sums
    if (testing::Test::HasFatalFailure()) return;
    for (const StepInfo& step : info.steps) {
      llvm::StringRef name = step.implementation;
      ours += name.startswith(kernel) && name.contains(kind);
    }
  }
  EXPECT_EQ(ours, cpu::may_use_own("avx2") ? kModels : 0);
}

} // namespace tg::test
