#include "runtime/onednn/patterns.h"

namespace tg {

namespace {

constexpr Act kActs[] = {Act::Relu, Act::Tanh, Act::Sigmoid, Act::Gelu, Act::Relu6};
constexpr KernelPattern kPatterns[] = {
    {OpKind::Conv2d, true, true, kActs},
    {OpKind::Matmul, true, true, kActs},
};

} // namespace

llvm::ArrayRef<KernelPattern> cpu_patterns() { return kPatterns; }

} // namespace tg
