// The type of an operator that a program declares and another library computes (`extern op`): its
// shape rule. As canonical text it is an attribute of the node, so that a graph says of itself what
// its operators take and give, and nothing has to be looked up elsewhere:
//
//   (T[N, C, S...], f32[N]) -> T[N, 2 C *, S...] where N 2 % 0 ==
//
// Sizes and conditions stand in postfix order, as lang/check/external.cpp writes them out of the
// syntax tree: the language has one parser of expressions, and it is not here.
//
// A bare name in an operand's type is bound by the first operand that has it and compared from then
// on; other expressions there, and conditions, are checked when all names are bound. Arithmetic is
// that of all compile-time values (const_math.h). Nothing here recurses.
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
  /// The prefix minus in the text, where `-` is the one between two: no name has that sign.
  static constexpr llvm::StringLiteral kNegate = "~";

  /// nullopt if the text is malformed, a type has two parts of unknown length, or something uses a
  /// name that no operand binds.
  static std::optional<ExternSignature> parse(llvm::StringRef text);

  size_t operand_count() const { return operands_.size(); }
  /// As it is declared: `extern op fft(x0: T[S...]) -> T[S...]`. Operands are called x0, x1, ….
  std::string declaration(llvm::StringRef name) const;

  /// Types of operands that fit each other: those of the shapes that are known, and of a result of
  /// the shape that is wanted (where it is not null), as far as the names of dimensions say; what
  /// is left open is drawn from `size`. For tests of rules; `infer` has the last word.
  llvm::SmallVector<TensorType, 4> example(llvm::ArrayRef<std::optional<Shape>> known,
                                           const Shape* want,
                                           llvm::function_ref<int64_t()> size) const;
  /// The dtype of an operand or, behind the last, of the result; None where it is a variable.
  DType dtype_of(size_t operand) const;

  /// The type of the result. False where the operands do not fit; `why` then says so.
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
    std::vector<Item> postfix; // complete: each operator has its operands, and one value is left
    std::string text;          // as it is written in the language
    bool bare() const { return postfix.size() == 1 && postfix[0].kind == Item::Kind::Name; }
  };
  struct Dim {
    enum class Kind : uint8_t { Value, Any, Spread };
    Kind kind = Kind::Value;
    Expr value;       // Value
    std::string name; // Spread
    /// A size that is a name, which the first operand that has it binds.
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
