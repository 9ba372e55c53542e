// Evaluates a graph with every tensor in its own dtype, as the reference backend does: integers
// wrap around (i32 at 32 bits), and a missing integer element is 0. Floats are computed in double,
// and rounded to their dtype when stored, if requested. Bitwise results here are those of the
// reference backend; `ir/evaluate.h` computes all tensors in double.
//
// Declared operators have no kernel here. Each is an uninterpreted function that depends on its
// type, as in the field.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/const_math.h"
#include "lang/core/semantics/semantics.h"

#include <functional>
#include <vector>

namespace tg {

/// The elements of one tensor: `reals` for a float dtype, `wholes` for all others.
template <class Real> struct TypedElements {
  std::vector<Real> reals;
  std::vector<Integer> wholes;

  size_t size() const { return std::max(reals.size(), wholes.size()); }
  bool whole() const { return !wholes.empty(); }
  Real at(size_t i) const { return whole() ? static_cast<Real>(wholes[i].value) : reals[i]; }
  ConstNumber number(size_t i) const {
    return whole() ? ConstNumber::of_int(wholes[i].value)
                   : ConstNumber::of_float(static_cast<double>(reals[i]));
  }
  /// Returns true for equal numbers: NaN equals NaN, and -0 equals 0.
  bool same(const TypedElements& other, size_t i) const {
    if (whole()) return wholes[i] == other.wholes[i];
    const Real a = reals[i], b = other.reals[i];
    return a == b || (a != a && b != b);
  }
};
using TypedValues = TypedElements<double>;

/// Formats values for display: "[0.5, inf]"; of many elements only the first.
std::string shown(const TypedValues& values, DType dtype);

/// Returns as many values as the leaf's type has elements, of the kind of its dtype.
using TypedLeaves = std::function<TypedValues(const Graph&, NodeId)>;

enum class Rounding : uint8_t {
  None,   // floats are doubles throughout; integers cast to floats are rounded to the dtype
  Stored, // to the dtype of each result
};

/// Amplified rounding, for doubles 2^12 times: rounding can explain the changes it causes.
/// Operators that round read operands and return results with random errors up to `size` for each
/// element. So cancelling sums, even with an exact result of 0, have errors in proportion to their
/// terms.
struct Noise {
  const std::vector<bool>& nodes; // nodes whose rounding counts
  uint32_t draw = 0;              // draw 2 k + 1 has the opposite signs of draw 2 k
  double size = 0x1p-40;          // relative
};

template <class Real> struct TypedRunOf {
  std::vector<TypedElements<Real>> wanted; // in the requested order
  double largest = 0;                      // largest magnitude of a finite float, including leaves
  bool overflowed = false;                 // finite operands gave a nonfinite result
  bool too_large = false;                  // and not at a pole of a function, such as 1 / x at 0
  bool at_zero = false;                    // at such a pole: the infinity's sign is that of a zero
};
using TypedRun = TypedRunOf<double>;

/// `leaves` is called once for each needed leaf.
TypedRun evaluate_typed(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, Rounding rounding);
/// Like `Rounding::None`, with noise.
TypedRun evaluate_noisy(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, const Noise& noise);

/// Returns true if results can be numbers other than the operands. Operators that move or select do
/// not round.
bool rounds(OpKind op);

/// Converts a number to an element of an integer dtype or bool, by wrapping around.
Integer wrap_to(DType dtype, Integer x);

} // namespace tg
