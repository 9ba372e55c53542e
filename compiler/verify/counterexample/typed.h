// Evaluates a graph with every tensor in its own dtype, as the reference backend does: integers
// wrap around (i32 at 32 bits), a missing element of an integer is 0, floats are computed in double
// and rounded to their dtype where they are stored, if that is asked for. What holds here bit for
// bit holds on the reference backend; `ir/evaluate.h` computes all tensors in double.
//
// Declared operators have no kernel here: each is a function that has no property beside being one,
// of its type alone, as in the field.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/const_math.h"
#include "lang/core/semantics/semantics.h"

#include <functional>
#include <vector>

namespace tg {

/// The elements of one tensor: `reals` of a float dtype, `wholes` of all others.
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
  /// The same number: NaN equals NaN, -0 equals 0.
  bool same(const TypedElements& other, size_t i) const {
    if (whole()) return wholes[i] == other.wholes[i];
    const Real a = reals[i], b = other.reals[i];
    return a == b || (a != a && b != b);
  }
};
using TypedValues = TypedElements<double>;

/// For a person: "[0.5, inf]", of many elements the first.
std::string shown(const TypedValues& values, DType dtype);

/// As many values as the leaf's type has elements, of the kind that its dtype says.
using TypedLeaves = std::function<TypedValues(const Graph&, NodeId)>;

enum class Rounding : uint8_t {
  None,   // floats are doubles throughout; integers cast to floats are rounded to the dtype
  Stored, // to the dtype of each result
};

/// Rounding made worse, for doubles 2^12 times: what it changes, rounding can have made. Operators
/// that round read their operands and give their results up to `size` off, at random for each
/// element, so that sums which cancel, even to an exact 0, are off by as much as what they are sums
/// of.
struct Noise {
  const std::vector<bool>& nodes; // whose rounding counts
  uint32_t draw = 0;              // 2 k + 1 is off in the opposite directions of 2 k
  double size = 0x1p-40;          // relative
};

template <class Real> struct TypedRunOf {
  std::vector<TypedElements<Real>> wanted; // in the order asked
  double largest = 0;      // magnitude of a finite float that occurred, leaves included
  bool overflowed = false; // finite operands gave something that is not finite
  bool too_large = false;  // and not because a function has a pole there, as 1 / x at 0
  bool at_zero = false;    // because one has: the infinity's sign is that of a zero
};
using TypedRun = TypedRunOf<double>;

/// `leaves` is asked once for each leaf that is needed.
TypedRun evaluate_typed(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, Rounding rounding);
/// The same as `Rounding::None`, with noise.
TypedRun evaluate_noisy(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, const Noise& noise);

/// Returns true if results are other numbers than the operands: what moves or chooses rounds
/// nothing.
bool rounds(OpKind op);

/// A number as an element of an integer dtype or of bool, wrapped around.
Integer wrap_to(DType dtype, Integer x);

} // namespace tg
