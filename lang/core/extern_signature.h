// The type of an operator that a program declares and another library computes (`extern op`):
// its shape rule. Its canonical text is an attribute of the node,
// so that a graph describes its own operators and needs no lookup elsewhere:
//
//   (T[N, C, S...], f32[N]) -> T[N, 2 C *, S...] where N 2 % 0 ==
//
// Sizes and conditions are in postfix order, as written by lang/check/external.cpp
// from the syntax tree: the language has only one parser of expressions, which is not here.
//
// The first operand that has a bare name binds it; later occurrences are compared with it.
// Other expressions in operand types, and conditions, are checked when all names are bound.
// Arithmetic is that of all compile-time values (const_math.h). Nothing here is recursive.
#pragma once

#include "lang/core/const_math.h"
#include "lang/core/type.h"

#include <llvm/ADT/STLExtras.h>

#include <optional>
#include <string>
#include <vector>

namespace tg {

class ExternSignature {
public:
  /// The prefix minus in the text; `-` is the binary one. Names cannot contain that sign.
  static constexpr llvm::StringLiteral kNegate = "~";

  /// Returns nullopt if the text is malformed, a type has two parts of unknown length,
  /// or a used name is not bound by an operand.
  static std::optional<ExternSignature> parse(llvm::StringRef text);

  size_t operand_count() const { return operands_.size(); }
  /// Returns the declaration `extern op fft(x0: T[S...]) -> T[S...]`. Operands are named x0, x1, ….
  std::string declaration(llvm::StringRef name) const;

  /// Returns operand types that fit together, with the known shapes,
  /// and a result of the shape `want` (if not null), as far as the names of dimensions allow;
  /// open sizes are drawn from `size`. For tests of rules; `infer` makes the final decision.
  llvm::SmallVector<TensorType, 4> example(llvm::ArrayRef<std::optional<Shape>> known,
                                           const Shape* want,
                                           llvm::function_ref<int64_t()> size) const;
  /// Returns the dtype of an operand or, after the last, of the result; None if it is a variable.
  DType dtype_of(size_t operand) const;

  /// Computes the type of the result. Returns false if the operands do not fit,
  /// and sets `why` to the reason.
  bool infer(llvm::ArrayRef<TensorType> operands, TensorType& result, std::string& why) const;

private:
  friend class ExternSignatureReader;
  friend class ExternSignatureBinder;

  struct Item {
    enum class Kind : uint8_t { Number, Name, Operator };
    Kind kind = Kind::Number;
    int64_t number = 0;
    std::string name;
    ConstOp op{};
  };
  struct Expr {
    std::vector<Item> postfix; // complete: all operators have operands, one value is left
    std::string text;          // as written in the language
    bool bare() const { return postfix.size() == 1 && postfix[0].kind == Item::Kind::Name; }
  };
  struct Dim {
    enum class Kind : uint8_t { Value, Any, Spread };
    Kind kind = Kind::Value;
    Expr value;       // Value
    std::string name; // Spread
    /// Returns true for a size that is a name, which the first operand that has it binds.
    bool binds() const { return kind == Kind::Value && value.bare(); }
    const std::string& bound_name() const { return value.postfix[0].name; }
  };
  struct Type {
    std::string dtype; // "f32", or a variable
    std::vector<Dim> dims;
    std::string text;
    bool has_spread() const {
      return llvm::any_of(dims, [](const Dim& d) { return d.kind == Dim::Kind::Spread; });
    }
  };

  static std::string infix(llvm::ArrayRef<Item> postfix);
  bool well_bound() const;

  std::vector<Type> operands_;
  Type result_;
  std::vector<Expr> where_;
};

} // namespace tg
