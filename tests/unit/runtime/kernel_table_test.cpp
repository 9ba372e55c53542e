#include "runtime/kernel_table.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

int one() { return 1; }
int two() { return 2; }

using Table = KernelTable<int (*)()>;

TEST(KernelTable, ListsItsKernels) {
  static constexpr Table kTable = {{OpKind::Relu, one}, {OpKind::Add, two}};
  static_assert(kTable.has(OpKind::Relu) && !kTable.has(OpKind::Conv2d));
  static_assert(kTable.lacks(OpKind::Conv2d) && !kTable.lacks(OpKind::Input));
  EXPECT_EQ(kTable[OpKind::Relu](), 1);
  EXPECT_EQ(kTable[OpKind::Add](), 2);
  EXPECT_EQ(kTable[OpKind::Conv2d], nullptr);
}

TEST(KernelTable, PrefersRowsToTheCommonPointwiseKernel) {
  static constexpr Table kRows = {{OpKind::Relu, one}, {OpKind::Matmul, one}};
  static constexpr Table kTable = kRows.with_pointwise(two);
  for (const OpInfo& info : all_ops()) {
    bool row = info.kind == OpKind::Relu || info.kind == OpKind::Matmul;
    ASSERT_EQ(kTable.has(info.kind), row || is_pointwise(info.kind)) << info.name;
    if (!kTable.has(info.kind)) continue;
    EXPECT_EQ(kTable[info.kind](), row ? 1 : 2) << info.name;
  }
}

TEST(KernelTable, TraitsFillRowsThatAreMissing) {
  static constexpr Table kRows = {{OpKind::Slice, one}};
  static constexpr Table kTable = kRows.with_traits(Trait::Strided, two);
  EXPECT_EQ(kTable[OpKind::Slice](), 1);
  EXPECT_EQ(kTable[OpKind::Transpose](), 2);
  EXPECT_TRUE(kTable.lacks(OpKind::Matmul));
}

TEST(KernelTable, LeavesAndSugarNeedNoKernel) {
  for (const OpInfo& info : all_ops())
    EXPECT_EQ(is_executable(info.kind), !info.has(Trait::Leaf | Trait::Sugar)) << info.name;
}

} // namespace
} // namespace tg
