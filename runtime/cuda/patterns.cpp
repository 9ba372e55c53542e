#include "runtime/cuda/patterns.h"

namespace tg::cuda {

namespace {

constexpr Act kActs[] = {Act::Relu};
constexpr KernelPattern kPatterns[] = {
    {OpKind::Conv2d, true, true, kActs},
    {OpKind::Matmul, true, true, kActs},
};

} // namespace

llvm::ArrayRef<KernelPattern> cuda_patterns() { return kPatterns; }

} // namespace tg::cuda
