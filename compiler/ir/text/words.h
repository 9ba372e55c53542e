// The smallest parts of a written model: names, signs, types and literals.
#pragma once

#include "lang/core/op.h"

#include <llvm/ADT/DenseMap.h>

namespace tg::text {

/// Returns the reserved words of the grammar.
llvm::ArrayRef<llvm::StringLiteral> keywords();
/// Returns true for a reserved word; an operand or output of that name gets the suffix `_`.
bool reserved(llvm::StringRef name);
bool is_identifier(llvm::StringRef text);
/// Returns true for a reserved word, an operator, a builtin or a name with a fixed meaning: a value
/// of that name would hide it.
bool is_word(llvm::StringRef name);
/// Returns the text if it is an identifier, else the fallback.
std::string identifier(llvm::StringRef text, llvm::StringRef fallback);

/// The syntax of an operator. Precedences are those of the grammar, weakest first. Operators of
/// equal precedence are left-associative; comparisons are not associative.
struct Sign {
  llvm::StringRef text; // "" for an operator without a sign
  enum Strength : uint8_t { Or, And, Not, Comparison, Sum, Product, Negation } strength;

  bool is_prefix() const { return strength == Not || strength == Negation; }
  /// Returns true if an expression with this sign needs parentheses as an operand of `outer`.
  bool is_wrapped_in(const Sign& outer, bool first) const {
    bool groups = first && outer.strength != Comparison && !outer.is_prefix();
    return strength < outer.strength || (strength == outer.strength && !groups);
  }
};
Sign sign_of(OpKind op);

/// Returns the type as written in a model; a plain `bool` would be a compile-time bool.
std::string type_text(const TensorType& type);

/// The words for infinity and NaN, changed if inputs have these names.
struct NumberWords {
  std::string inf = "inf", nan = "nan";

  std::string text(double x) const;
  /// Returns the text of an element: `0.5`, `3`, `true`.
  std::string text(double x, DType dtype) const;
  /// Returns the literal for an element of a constant.
  std::string text(const Value& values, size_t i, DType dtype) const;
};

/// The text of a constant's parts.
struct ConstantParts {
  std::string shape; // "[2, 3]"
  /// Texts of elements that are expressions of open sizes, by element; others are numbers.
  llvm::DenseMap<uint32_t, std::string> open{};
};

/// Returns the elements as nested lists in the shape, or `full` if they are all equal. A literal is
/// f32 by default. It states its dtype if that differs, or if it is among operands of other dtypes
/// (`mixed`), whose dtype it would take.
std::string constant_text(const NumberWords& words, const Value& values, const TensorType& type,
                          const ConstantParts& parts, bool mixed = false);

} // namespace tg::text
