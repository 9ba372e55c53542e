// Interned values, attribute lists and types. An id is a small integer.
// Two ids of one table are equal exactly if their contents are equal,
// so later phases never compare strings. Append-only: an id stays valid, and its reference stable,
// as long as the table lives.
#pragma once

#include "lang/core/type.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/Hashing.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tg {

/// A compile-time value: the contents of an operator's attribute slot.
struct Value {
  enum class Kind : uint8_t {
    Int,    // number
    Bool,   // number, 0 or 1
    Float,  // real
    Ints,   // ints: strides, shapes, permutations, explicit padding
    Floats, // reals: the elements of a literal tensor, row-major
    Enum,   // text: "relu", "same"
    String, // text: a name, a path, the body of a fused_map
    Type,   // dtype in number, shape in ints
  };

  Kind kind = Kind::Int;
  int64_t number = 0;
  double real = 0;
  llvm::SmallVector<int64_t, 4> ints;
  std::vector<double> reals;
  std::string text;

  static Value of_int(int64_t n);
  static Value of_bool(bool b);
  static Value of_float(double x);
  static Value of_ints(llvm::ArrayRef<int64_t> ints);
  static Value of_floats(std::vector<double> reals);
  static Value of_enum(llvm::StringRef text);
  static Value of_string(llvm::StringRef text);
  static Value of_type(const TensorType& type);

  bool is(Kind k) const { return kind == k; }
  TensorType as_type() const;
  /// Compares floats bitwise, so that NaN and -0.0 are ordinary values.
  bool operator==(const Value& other) const;
  /// Returns the value as written in the language: `relu`, `[1, 2]`, `0.5`, `"path"`.
  /// Floats round-trip.
  std::string text_form() const;
};

struct ValueId {
  uint32_t index = UINT32_MAX;
  bool operator==(const ValueId&) const = default;
};
/// A list of values, one for each attribute slot of an operator (op.h).
struct AttrsId {
  uint32_t index = UINT32_MAX;
  bool operator==(const AttrsId&) const = default;
};
struct TypeId {
  uint32_t index = UINT32_MAX;
  bool operator==(const TypeId&) const = default;
};

class Symbols {
public:
  Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  ValueId value(const Value& v);
  const Value& value(ValueId id) const { return values_[id.index]; }

  AttrsId attrs(llvm::ArrayRef<ValueId> values);
  llvm::ArrayRef<ValueId> attrs(AttrsId id) const { return attr_lists_[id.index]; }
  const Value& attr(AttrsId id, size_t slot) const { return value(attrs(id)[slot]); }
  /// The empty list.
  AttrsId no_attrs() const { return AttrsId{0}; }

  TypeId type(const TensorType& t);
  const TensorType& type(TypeId id) const { return types_[id.index]; }
  /// The type of the absent operand.
  TypeId none_type() const { return TypeId{0}; }

private:
  // Deques: references stay valid while the table grows. Indexes map a hash to the ids
  // that have it.
  std::deque<Value> values_;
  std::deque<llvm::SmallVector<ValueId, 6>> attr_lists_;
  std::deque<TensorType> types_;
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>> value_index_, attrs_index_, type_index_;
};

} // namespace tg
