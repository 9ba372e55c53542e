// The smallest pieces of a written model: names, signs, types and literals.
#pragma once

#include "lang/core/op.h"

namespace tg::text {

/// Words that the grammar keeps.
llvm::ArrayRef<llvm::StringLiteral> keywords();
/// Whether it is one; an operand or output of that name gets a `_` behind it.
bool reserved(llvm::StringRef name);
bool is_identifier(llvm::StringRef text);
/// The text itself where it is an identifier.
std::string identifier(llvm::StringRef text, llvm::StringRef fallback);

/// An operator as the grammar has it. Strengths are those of the grammar, weakest first; operators
/// of one strength group from the left, comparisons not at all.
struct Sign {
  llvm::StringRef text; // "" for an operator that has none
  enum Strength : uint8_t { Or, And, Not, Comparison, Sum, Product, Negation } strength;

  bool is_prefix() const { return strength == Not || strength == Negation; }
  /// Whether what this one makes needs parentheses as an operand of `outer`.
  bool is_wrapped_in(const Sign& outer, bool first) const {
    bool groups = first && outer.strength != Comparison && !outer.is_prefix();
    return strength < outer.strength || (strength == outer.strength && !groups);
  }
};
Sign sign_of(OpKind op);

/// As it stands in a model: `bool` alone would be a bool of compile time.
std::string type_text(const TensorType& type);

/// What stands for the numbers that have no digits: names, unless inputs have these.
struct NumberWords {
  std::string inf = "inf", nan = "nan";

  std::string text(double x) const;
  /// An element as it is written: `0.5`, `3`, `true`.
  std::string text(double x, DType dtype) const;
  /// The literal for an element of a constant.
  std::string text(const Value& values, size_t i, DType dtype) const;
};

/// Elements as nested lists under the shape; one number stands for `full`. A literal is f32 unless
/// it says otherwise, or stands (`mixed`) among operands of other dtypes and would take theirs.
std::string constant_text(const NumberWords& words, const Value& values, const TensorType& type,
                          bool mixed = false);

} // namespace tg::text
