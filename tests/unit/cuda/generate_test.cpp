// The kernel generator, executed on the processor: random networks over every operator against
// `ref`, and what kernels must look like where speed depends on it.
#include "compiler/emit/plan_from_graph.h"
#include "tests/property/backends/random_graph.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/ADT/StringRef.h>

namespace tg::test {
namespace {

bool winograd(const PlanStep& step) {
  return step.op == OpKind::WinogradConv2d || step.op == OpKind::WinogradWeight;
}

TEST(Generate, RandomNetworksAgreeWithRef) {
  std::vector<Generated> networks;
  std::vector<cuda::KernelSource> sources;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomGraph random(seed, 12);
    networks.push_back(generate_all(plan_from_graph(random.graph), winograd));
    for (const cuda::KernelSource& source : sources_of(networks.back())) sources.push_back(source);
  }
  CppLibrary library;
  library.compile(sources);
  for (size_t i = 0; i < networks.size(); ++i)
    EXPECT_LE(difference(networks[i], library), 1e-4)
        << "seed " << i << "\n"
        << dump(networks[i].plan) << texts(networks[i]);
}

} // namespace
} // namespace tg::test
