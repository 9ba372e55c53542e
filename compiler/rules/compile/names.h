// What the names of a rule mean: its parameters (tensors, values, operators), the items of lists
// that take a value apart, and its lets, which may name only earlier ones.
#pragma once

#include "compiler/rules/compile/draft.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

namespace tg {

/// What the rule's operator variables stand for in one instance.
using OperatorChoice = llvm::SmallVector<std::pair<llvm::StringRef, OpKind>, 2>;

/// Which words a rule parameter's kind may be, after the colon.
enum class RuleParamKind : uint8_t { Any, Tensor, Attribute, Pointwise, Unary, Binary, Activation };
std::optional<RuleParamKind> parse_rule_param_kind(llvm::StringRef word);
/// The operators that a kind ranges over; empty for kinds that are no operator's.
llvm::SmallVector<OpKind, 16> operators_of(RuleParamKind kind);

class RuleNames {
public:
  RuleNames(const Ast& tree, const ast::Decl& decl, OperatorChoice operators, RuleDraft& draft,
            RuleErrors& errors)
      : tree_(tree), decl_(decl), operators_(std::move(operators)), draft_(draft), errors_(errors) {
  }

  /// `number` is a variable of the rule; `expr` what a name inside a list stands for.
  struct Meaning {
    enum class Kind : uint8_t { Unknown, Class, Value, Alias, Operator, Let };
    Kind kind = Kind::Unknown;
    bool bound = false;
    uint32_t number = 0;
    ExprIndex expr = 0;      // Alias
    OpKind op{};             // Operator
    ast::ExprId let;         // Let: what it names
    uint32_t order = 0;      // Let: its number; it may name only earlier ones
    int part = -1;           // Let: which result of several, -1 for the only one
    bool value_only = false; // Unknown: cannot become a Class
    Span declared, used;     // `used`: the first use; invalid if there is none
  };

  bool declare() { return declare_params() && declare_lets(); }
  /// What a name or a callee means. Null for a name of nothing, for a let that comes later, and for
  /// what the body of a function names: the language's words, since its parameters stand for
  /// something else by now.
  Meaning* find(const ast::Expr& name);
  /// The let that an expression names, or null.
  Meaning* let(const ast::Expr& name);
  /// The name in an operand's place: a class variable. Null after an error.
  Meaning* tensor(ast::ExprId name);
  /// The name in an attribute's place: a value variable or what stands for one.
  Meaning* attribute(ast::ExprId name);
  /// A name that nothing has bound yet stands for this. False if the expression is none.
  bool take(ast::ExprId name, ExprIndex stands_for);
  bool is_unbound(ast::ExprId name);
  std::nullopt_t unknown(ast::ExprId name, llvm::StringRef what);

  /// The operator that an expression applies;
  /// nullopt if it applies none (then nothing is reported).
  std::optional<OpKind> operator_of(const ast::Expr& expr);
  /// Whether an expression stands for a tensor, as opposed to a compile-time value.
  bool is_tensor(ast::ExprId expr);

  bool check_bound(bool reversed);
  bool check_all_used();

  /// While it lives, only lets before this one have a meaning.
  class Before {
  public:
    Before(RuleNames& names, const Meaning& let) : limit_(names.let_limit_), before_(limit_) {
      limit_ = let.order;
    }
    ~Before() { limit_ = before_; }

  private:
    uint32_t &limit_, before_;
  };

private:
  bool declare_params();
  bool declare_lets();
  bool name_is_tensor(const ast::Expr& name);

  const Ast& tree_;
  const ast::Decl& decl_;
  OperatorChoice operators_;
  RuleDraft& draft_;
  RuleErrors& errors_;
  llvm::StringMap<Meaning> names_;
  llvm::DenseMap<uint32_t, bool> let_is_tensor_; // by the expression that a let names
  uint32_t let_limit_ = UINT32_MAX;
};

} // namespace tg
