// The kernel table of a backend: one slot per row of ops.def, built at compile time. A backend
// lists what it has; `ref` must list everything (static_assert), the others may leave gaps and fall
// back to it.
#pragma once

#include "lang/core/op.h"

#include <array>
#include <initializer_list>

namespace tg {

/// Rows that a plan can hold as a step: leaves are values, sugar never reaches a graph.
inline constexpr std::array<bool, kOpCount> kExecutable = {
#define TG_OP(kind, name, operands, attrs, shape, traits, work, doc)                               \
  (((traits) & (Trait::Leaf | Trait::Sugar)) == 0),
#include "lang/core/ops.def"
};

/// `Kernel` is a function pointer, or a struct with a constexpr bool conversion; empty where the
/// backend has none.
template <class Kernel> class KernelTable {
public:
  struct Row {
    OpKind op;
    Kernel kernel;
  };

  /// Two rows for one operator, or a row for a leaf, do not compile.
  consteval KernelTable(std::initializer_list<Row> rows) {
    for (const Row& row : rows) {
      Kernel& slot = slots_[static_cast<size_t>(row.op)];
      if (slot) duplicate_kernel();
      if (!kExecutable[static_cast<size_t>(row.op)]) kernel_of_a_leaf();
      slot = row.kernel;
    }
  }

  constexpr const Kernel& operator[](OpKind op) const { return slots_[static_cast<size_t>(op)]; }
  constexpr bool has(OpKind op) const { return static_cast<bool>((*this)[op]); }
  constexpr bool covers_all() const {
    for (size_t i = 0; i < kOpCount; ++i)
      if (kExecutable[i] && !slots_[i]) return false;
    return true;
  }

private:
  // Not constexpr: reaching one of them stops the compiler.
  static void duplicate_kernel() {}
  static void kernel_of_a_leaf() {}

  std::array<Kernel, kOpCount> slots_{};
};

} // namespace tg
