// What the shape rules share: an operator with its operands, whose result a rule finds, and the
// rules by the file of their family. Each gets attributes in normal form and types that are not all
// absent by mistake (arity and optional operands are checked before), and says what is wrong
// through Inference::fail, which costs nothing where nobody asks.
#pragma once

#include "lang/core/shape_rules.h"

#include <llvm/Support/FormatVariadic.h>

#include <type_traits>

namespace tg::shapes {

/// What a message shows of an argument; all else as it is.
template <class T> decltype(auto) shown(T&& x) {
  using Plain = std::decay_t<T>;
  if constexpr (std::is_same_v<Plain, TensorType>)
    return x.text();
  else if constexpr (std::is_same_v<Plain, Value>)
    return x.text_form();
  else if constexpr (std::is_base_of_v<llvm::SmallVectorImpl<int64_t>, Plain> ||
                     std::is_same_v<Plain, llvm::ArrayRef<int64_t>>)
    return Value::of_ints(x).text_form();
  else
    return std::forward<T>(x);
}

struct Inference {
  Symbols& symbols;
  const OpInfo& info;
  llvm::SmallVectorImpl<ValueId>& attrs;
  llvm::ArrayRef<TypeId> operands;
  std::string* why;
  TensorType result;

  const TensorType& type(size_t i) const { return symbols.type(operands[i]); }
  const Value& attr(size_t slot) const { return symbols.value(attrs[slot]); }
  void set(size_t slot, const Value& value) { attrs[slot] = symbols.value(value); }

  /// Types, values and lists of ints are given as such:
  /// most failures are of matches, which nobody reads of.
  template <class... Args> bool fail(const char* format, Args&&... args) const {
    if (why) *why = llvm::formatv(format, shown(std::forward<Args>(args))...).str();
    return false;
  }
};

// --- attributes.cpp
/// Brings the attribute of the slot into normal form, or fails.
bool normalise_attr(Inference& in, size_t slot);
/// Fails where one is below `low`, or beyond all sizes.
bool in_range(const Inference& in, const AttrInfo& attr, llvm::ArrayRef<int64_t> ints, int64_t low);
/// Whether a literal can be an element of this dtype without being changed (floats are rounded).
bool literal_fits(const Value& number, DType dtype);

// --- products.cpp
/// The bias, operand 2, of so many channels.
bool bias_fits(const Inference& in, int64_t channels);
/// Activation, bias and residual of products: the last attribute and operands 2 and 3.
bool epilogue(const Inference& in, int64_t channels);

// The rules, each in the file of its family: `bool conv2d(Inference& in);` and so on.
#define TG_OP(...)
#define TG_SHAPE(shape, ...) bool shape(Inference& in);
#include "lang/core/ops.def"

} // namespace tg::shapes
