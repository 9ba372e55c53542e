// Random models through kernels of our own (Products::Tiles) and through `ref`.
#pragma once

#include "runtime/onednn/handles.h"
#include "tests/unit/onednn/compare.h"
#include "tests/unit/random_draws.h"

namespace tg::test {

/// 250 models, one operator each of which is a kernel whose name begins so and holds `kind`,
/// wherever the processor can run it: they agree with `ref`, in either layout, with one to three
/// threads.
inline void expect_agreement(void (*model)(Builder&, RandomDraws&), llvm::StringRef kernel,
                             llvm::StringRef kind = "") {
  constexpr uint64_t kModels = 250;
  size_t ours = 0;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    RandomDraws r(seed);
    Builder b;
    model(b, r);
    Plan plan = plan_from_graph(b.graph);
    std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
    CompileOptions options;
    options.threads = static_cast<int>(r.in(1, 3));
    options.io_layout = r.coin() ? IoLayout::Plain : IoLayout::Native;
    Comparison info;
    std::vector<Tensor> got =
        outputs_of(*make_cpu_backend(Products::Tiles), plan, options, 2, &info);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_LE(max_rel_diff(got[i], want[i]), 1e-4) // tanh of large sums
          << "seed " << seed << "\n"
          << dump(b.graph) << implementations(info);
    for (const StepInfo& step : info.steps) {
      llvm::StringRef name = step.implementation;
      ours += name.startswith(kernel) && name.contains(kind);
    }
  }
  EXPECT_EQ(ours, cpu::may_use_own("avx2") ? kModels : 0);
}

} // namespace tg::test
