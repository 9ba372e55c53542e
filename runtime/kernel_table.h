// The kernel table of a backend: one slot per row of ops.def, built at compile time.
// A backend lists the kernels that it has.
// `ref` must list all of them (static_assert); other backends may leave gaps and fall back to it.
#pragma once

#include "lang/core/op.h"

#include <array>
#include <initializer_list>

namespace tg {

inline constexpr std::array<uint32_t, kOpCount> kTraits = {
#define TG_OP(kind, name, operands, attrs, shape, traits, ...) traits,
#include "lang/core/ops.def"
};

/// Returns true for operators that a plan can hold as a step: leaves are values, sugar never
/// reaches a graph.
constexpr bool is_executable(OpKind op) {
  return (kTraits[static_cast<size_t>(op)] & (Trait::Leaf | Trait::Sugar)) == 0;
}

/// `Kernel` is a function pointer or a small struct, value-initialised where the backend has none.
/// Which rows are there is kept apart: sanitizers make the comparison of a function pointer with
/// null no constant.
template <class Kernel> class KernelTable {
public:
  struct Row {
    OpKind op;
    Kernel kernel;
  };

  /// Two rows for one operator, or a row for a leaf, do not compile.
  consteval KernelTable(std::initializer_list<Row> rows) {
    for (const Row& row : rows) add(row);
  }
  /// Adds this kernel for all pointwise operators (is_pointwise) without a row.
  consteval KernelTable with_pointwise(const Kernel& kernel) const {
    KernelTable all = *this;
    for (size_t i = 0; i < kOpCount; ++i)
      if (is_pointwise(static_cast<OpKind>(i)) && !has_[i])
        all.add({static_cast<OpKind>(i), kernel});
    return all;
  }

  /// Adds this kernel for all operators with one of these traits and without a row.
  consteval KernelTable with_traits(uint32_t traits, const Kernel& kernel) const {
    KernelTable all = *this;
    for (size_t i = 0; i < kOpCount; ++i)
      if ((kTraits[i] & traits) != 0 && !all.has_[i]) all.add({static_cast<OpKind>(i), kernel});
    return all;
  }

  constexpr const Kernel& operator[](OpKind op) const { return slots_[static_cast<size_t>(op)]; }
  constexpr bool has(OpKind op) const { return has_[static_cast<size_t>(op)]; }
  /// Returns true if the operator needs a row and has none.
  constexpr bool lacks(OpKind op) const { return is_executable(op) && !has(op); }

private:
  consteval void add(const Row& row) {
    size_t index = static_cast<size_t>(row.op);
    if (has_[index]) duplicate_kernel();
    if (!is_executable(row.op)) leaf_has_no_kernel();
    slots_[index] = row.kernel;
    has_[index] = true;
  }

  // Not constexpr: a call during constant evaluation is a compile error.
  static void duplicate_kernel() {}
  static void leaf_has_no_kernel() {}

  std::array<Kernel, kOpCount> slots_{};
  std::array<bool, kOpCount> has_{};
};

} // namespace tg
