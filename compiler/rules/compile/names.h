// The meanings of names in a rule: parameters (tensors, values, operators), items of lists that
// take a value apart, and lets, which may refer only to earlier ones.
#pragma once

#include "compiler/rules/compile/draft.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

namespace tg {

/// The operators chosen for the rule's operator variables.
using OperatorChoice = llvm::SmallVector<std::pair<llvm::StringRef, OpKind>, 2>;

/// The kinds of a rule parameter, given after the colon.
enum class RuleParamKind : uint8_t { Any, Tensor, Attribute, Pointwise, Unary, Binary, Activation };
std::optional<RuleParamKind> parse_rule_param_kind(llvm::StringRef word);
/// Returns the operators of a kind; empty for kinds that are not operators.
llvm::SmallVector<OpKind, 16> operators_of(RuleParamKind kind);

class RuleNames {
public:
  RuleNames(const Ast& tree, const ast::Decl& decl, OperatorChoice operators, RuleDraft& draft,
            RuleErrors& errors)
      : tree_(tree), decl_(decl), operators_(std::move(operators)), draft_(draft), errors_(errors) {
  }

  /// `number` is a variable of the rule; `expr` is the value of a name inside a list.
  struct Meaning {
    enum class Kind : uint8_t { Unknown, Class, Value, Alias, Operator, Let };
    Kind kind = Kind::Unknown;
    bool bound = false;
    uint32_t number = 0;
    ExprIndex expr = 0;      // Alias
    OpKind op{};             // Operator
    ast::ExprId let;         // Let: the expression
    uint32_t order = 0;      // Let: its number; it may refer only to earlier ones
    int part = -1;           // Let: its index among several results, -1 for the only one
    bool value_only = false; // Unknown: cannot become a Class
    Span declared, used;     // `used`: the first use; invalid if unused
  };

  bool declare() { return declare_params() && declare_lets(); }
  /// Returns the meaning of a name or a callee. Null for unknown names, for later lets, and for
  /// names in the inlined body of a function, which are words of the language because its
  /// parameters have been replaced.
  Meaning* find(const ast::Expr& name);
  /// Returns the let that an expression names, or null.
  Meaning* let(const ast::Expr& name);
  /// Returns the meaning of a name used as an operand: a class variable. Null after an error.
  Meaning* tensor(ast::ExprId name);
  /// Returns the meaning of a name used as an attribute: a value variable or an alias.
  Meaning* attribute(ast::ExprId name);
  /// Binds an unbound name to this expression. Returns false if the expression is not such a name.
  bool take(ast::ExprId name, ExprIndex stands_for);
  bool is_unbound(ast::ExprId name);
  std::nullopt_t unknown(ast::ExprId name, llvm::StringRef what);

  /// Returns the operator that an expression applies; nullopt if there is none (not an error).
  std::optional<OpKind> operator_of(const ast::Expr& expr);
  /// Returns true if an expression denotes a tensor, not a compile-time value.
  bool is_tensor(ast::ExprId expr);

  bool check_bound(bool reversed);
  bool check_all_used();

  /// Hides later lets during its lifetime.
  class LetScope {
  public:
    LetScope(RuleNames& names, const Meaning& let) : limit_(names.let_limit_), before_(limit_) {
      limit_ = let.order;
    }
    ~LetScope() { limit_ = before_; }

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
  llvm::DenseMap<uint32_t, bool> let_is_tensor_; // by the expression of a let
  uint32_t let_limit_ = UINT32_MAX;
};

} // namespace tg
