// Queries of a run for tests of the cpu backend: its kernels, and whether they are good choices.
#pragma once

#include "runtime/cpu/handles.h"
#include "tests/unit/cpu/compare.h"

namespace tg::test {

inline constexpr double kTolerance = 2e-5;

inline bool avx512() { return cpu::may_use(dnnl_cpu_isa_avx512_core); }
inline size_t count(const Comparison& c, llvm::StringRef name) {
  size_t n = 0;
  for (const StepInfo& step : c.steps) n += step.name == name;
  return n;
}

inline std::string kernel_of(const Comparison& c, llvm::StringRef name) {
  for (const StepInfo& step : c.steps)
    if (step.name == name) return step.implementation;
  return "";
}

inline bool is_poor(llvm::StringRef kernel) {
  return kernel.startswith("ref") || kernel.contains("gemm:") || kernel.startswith("simple");
}

inline void expect_good(const Comparison& c) {
  EXPECT_LE(c.difference, kTolerance);
  if (!avx512()) return;
  for (const StepInfo& step : c.steps)
    EXPECT_FALSE(is_poor(step.implementation)) << step.name << ": " << step.implementation;
}

inline NodeId conv(Builder& b, NodeId x, const char* path, int64_t out, int64_t kernel,
                   int64_t stride, const char* activation = "none", NodeId residual = {},
                   int64_t groups = 1) {
  int64_t in = b.graph.type(x)[1] / groups;
  NodeId w = b.weight(path, {out, in, kernel, kernel});
  NodeId bias = b.weight(std::string(path) + ".b", {out});
  return b.op(OpKind::Conv2d, {x, w, bias, residual.valid() ? residual : b.none()},
              {pair(stride, stride), act("same"), pair(1, 1), act(activation)});
}

} // namespace tg::test
