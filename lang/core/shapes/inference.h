// Shared by the shape rules: an operator with its operands, whose result a rule computes;
// and the rules, by the file of their family. Rules get normalized attributes
// and checked operands (arity and absent operands), and report errors through Inference::fail,
// which is free if no reason is requested.
#pragma once

#include "lang/core/shape_rules.h"

#include <llvm/Support/FormatVariadic.h>

#include <type_traits>

namespace tg::shapes {

/// Converts an argument to its form in messages; other types are unchanged.
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

  /// Pass types, values and lists of ints directly, not as text:
  /// most failures are of matches, whose reason is not read.
  template <class... Args> bool fail(const char* format, Args&&... args) const {
    if (why) *why = llvm::formatv(format, shown(std::forward<Args>(args))...).str();
    return false;
  }
};

// --- attributes.cpp
/// Normalizes the attribute of the slot, or fails.
bool normalise_attr(Inference& in, size_t slot);
/// Fails if a number is below `low`, or larger than any size.
bool in_range(const Inference& in, const AttrInfo& attr, llvm::ArrayRef<int64_t> ints, int64_t low);
/// Returns true if a literal is exactly representable in this dtype (floats are rounded).
bool literal_fits(const Value& number, DType dtype);

// --- products.cpp
/// The bias, operand 2, of so many channels.
bool bias_fits(const Inference& in, int64_t channels);
/// Checks the activation, bias and residual of products: the last attribute and operands 2 and 3.
bool epilogue(const Inference& in, int64_t channels);

// The rules, each in the file of its family: `bool conv2d(Inference& in);` and so on.
#define TG_OP(...)
#define TG_SHAPE(shape, ...) bool shape(Inference& in);
#include "lang/core/ops.def"

} // namespace tg::shapes
