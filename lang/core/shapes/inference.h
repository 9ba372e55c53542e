// Shared by the shape rules: an operator with its operands, whose result a rule computes. The rules
// are templates over the form of an Inference, so that each is written once for numbers and for
// open sizes (sizes/open_size.h); they are in the file of their family, and shape_rules.cpp
// instantiates them. Rules get normalized attributes and checked operands (arity and absent
// operands), and report errors through `fail`, which is free if no reason is requested.
//
// A rule compares sizes with the usual operators. It reads a number that is not a size (an axis, a
// count) through `fixed`, and checks the limits of memory with `exceeds`.
#pragma once

#include "lang/core/shape_rules.h"
#include "lang/core/sizes/open_size.h"

#include <llvm/Support/FormatVariadic.h>

#include <type_traits>

namespace tg::shapes {

/// Converts an argument to its form in messages; other types are unchanged.
template <class T> decltype(auto) shown(T&& x) {
  using Plain = std::decay_t<T>;
  if constexpr (std::is_same_v<Plain, TensorType> || std::is_same_v<Plain, OpenType>)
    return x.text();
  else if constexpr (std::is_same_v<Plain, Value> || std::is_same_v<Plain, OpenValue>)
    return x.text_form();
  else if constexpr (std::is_same_v<Plain, Size>)
    return x.sample();
  else if constexpr (std::is_base_of_v<llvm::SmallVectorImpl<int64_t>, Plain> ||
                     std::is_same_v<Plain, llvm::ArrayRef<int64_t>>)
    return Value::of_ints(x).text_form();
  else if constexpr (std::is_base_of_v<llvm::SmallVectorImpl<Size>, Plain> ||
                     std::is_same_v<Plain, llvm::ArrayRef<Size>>)
    return OpenValue::of_ints(x).text_form();
  else
    return std::forward<T>(x);
}

/// Operands and attributes that are interned numbers.
struct ClosedForm {
  static constexpr bool kOpen = false;
  using Int = int64_t;
  using Shape = tg::Shape;
  using Type = TensorType;
  using Value = tg::Value;

  Symbols& symbols;
  llvm::SmallVectorImpl<ValueId>& attrs;
  llvm::ArrayRef<TypeId> operands;

  const TensorType& type(size_t i) const { return symbols.type(operands[i]); }
  const Value& attr(size_t slot) const { return symbols.value(attrs[slot]); }
  void set(size_t slot, const Value& value) { attrs[slot] = symbols.value(value); }
};

/// Operands and attributes with open sizes.
struct OpenForm {
  static constexpr bool kOpen = true;
  using Int = Size;
  using Shape = OpenShape;
  using Type = OpenType;
  using Value = OpenValue;

  llvm::SmallVectorImpl<OpenValue>& attrs;
  llvm::ArrayRef<OpenType> operands;

  const OpenType& type(size_t i) const { return operands[i]; }
  const OpenValue& attr(size_t slot) const { return attrs[slot]; }
  void set(size_t slot, const OpenValue& value) { attrs[slot] = value; }
};

template <class Form> struct Inference : Form {
  using typename Form::Type;
  const OpInfo& info;
  std::string* why;
  Type result;

  Inference(Form form, const OpInfo& info, std::string* why) : Form(form), info(info), why(why) {}

  /// Pass types, values and lists of ints directly, not as text:
  /// most failures are of matches, whose reason is not read.
  template <class... Args> bool fail(const char* format, Args&&... args) const {
    if (why) *why = llvm::formatv(format, shown(std::forward<Args>(args))...).str();
    return false;
  }
};

/// Returns the value as numbers; open ones are fixed.
inline const Value& closed(const Value& v) { return v; }
inline Value closed(const OpenValue& v) {
  (void)v.number.fixed();
  for (const Size& n : v.ints) (void)n.fixed();
  return v.sample();
}

inline const TensorType& closed(const TensorType& type) { return type; }
inline TensorType closed(const OpenType& type) {
  for (const Size& n : type.shape) (void)n.fixed();
  return type.sample();
}

/// Returns true for the number 1, but not for an open size that is 1 at the sample.
inline bool is_one(int64_t n) { return n == 1; }
inline bool is_one(const Size& n) { return !n.open() && n.sample() == 1; }

/// Applies NumPy broadcasting, right-aligned. Returns false if the shapes do not agree. Sizes that
/// are 1 by number are tried first, so that an open size is compared
/// only where that decides.
template <class Int, class Out>
bool broadcast_together(llvm::ArrayRef<Int> a, llvm::ArrayRef<Int> b, Out& out) {
  size_t rank = std::max(a.size(), b.size());
  Out result(rank, Int(1));
  for (size_t i = 0; i < rank; ++i) {
    Int da = i < a.size() ? a[a.size() - 1 - i] : Int(1);
    Int db = i < b.size() ? b[b.size() - 1 - i] : Int(1);
    Int& to = result[rank - 1 - i];
    if (is_one(da) || is_one(db)) {
      to = is_one(da) ? db : da;
    } else if (da == db || db == 1) {
      to = da;
    } else if (da == 1) {
      to = db;
    } else {
      return false;
    }
  }
  out = std::move(result);
  return true;
}

} // namespace tg::shapes
