// A rewrite rule in the form that the e-graph runs: terms over numbered variables, conditions, and
// what the right side computes. Made from the language by from_ast.h, or by hand in tests.
//
// Three numberings: class variables bind e-classes (tensors, or `none`), value variables bind
// attribute values, terms index Rule::terms. A term of the left side has in each attribute slot a
// value variable or a literal; a term of the right side may also compute (ValueExpr).
// `..`, split, optional operands, negative axes and defaults are gone: from_ast.h spells them
// out.
#pragma once

#include "lang/core/const_math.h"
#include "lang/core/diagnostics/source.h"
#include "lang/core/op.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tg {

/// Position of a rule in the list that a search was given.
using RuleId = uint16_t;
/// Not made by a rule: part of the graph that was given.
inline constexpr RuleId kSourceRule = UINT16_MAX;
/// A merge that follows from others: equal operators over operands that became equal.
inline constexpr RuleId kCongruence = UINT16_MAX - 1;
/// Index into Rule::terms.
using TermId = uint32_t;
/// Index into Rule::exprs.
using ExprIndex = uint32_t;

/// An expression over bound values and types; conditions are expressions whose value is a Bool.
/// Evaluation yields a Value, or fails (division that leaves a remainder, an index out of range,
/// kinds that do not fit, overflow): then the rule does not apply at this match.
struct ValueExpr {
  enum class Kind : uint8_t {
    Literal,  // literal
    Variable, // variable: a value variable
    // over a class variable:
    Rank,       // variable
    Dim,        // variable; operands[0] = axis, may be negative
    ShapeOf,    // variable: all dims, as Ints
    DTypeOf,    // variable: an Enum
    IsWeight,   // variable: the class depends on weights and constants only
    IsNone,     // variable: the operand is absent
    IsConstant, // variable: the class contains a constant leaf
    IsFloat,    // variable: of floats
    SameType,   // variable, variable2: two classes have the same type
  // Operations on values; Add also of two lists, one behind the other, Eq and Ne on any two values.
#define TG_CONST_OP(name, sign, strength) name,
#include "lang/core/const_ops.def"
    // lists:
    List,    // of numbers
    Range,   // Ints from operands[0] to before operands[1]
    Index,   // operands[0] a list, operands[1] an Int, may be negative
    Slice,   // of the list operands[0] from operands[1] to before operands[2], in steps of [3]
    Permute, // composition of permutations: operands[0] after operands[1], that is r[i] = p1[p0[i]]
    // attributes of a constant:
    Floats,   // Floats of numbers
    TypeLike, // a Type: dtype of the class `variable`, shape operands[0]
  };
  Kind kind{};
  Value literal;
  uint32_t variable = 0, variable2 = 0;
  llvm::SmallVector<ExprIndex, 2> operands;

  bool asks_class() const { return kind >= Kind::Rank && kind <= Kind::SameType; }
  bool is_operation() const { return kind >= Kind::Add && kind <= Kind::Prod; }
  /// Of an operation.
  ConstOp operation() const {
    return static_cast<ConstOp>(static_cast<int>(kind) - static_cast<int>(Kind::Add));
  }
  static Kind of(ConstOp op) {
    return static_cast<Kind>(static_cast<int>(op) + static_cast<int>(Kind::Add));
  }
};

struct TermAttr {
  enum class Kind : uint8_t { Variable, Literal, Computed };
  Kind kind{};
  uint32_t variable =
      0;              // value variable; on the left the first occurrence binds, later ones compare
  Value literal;      // in normal form
  ExprIndex expr = 0; // right side only

  static TermAttr of(Value literal) {
    TermAttr attr;
    attr.kind = Kind::Literal;
    attr.literal = std::move(literal);
    return attr;
  }
  static TermAttr of_variable(uint32_t number) {
    TermAttr attr;
    attr.variable = number;
    return attr;
  }
  static TermAttr of_expr(ExprIndex expr) {
    TermAttr attr;
    attr.kind = Kind::Computed;
    attr.expr = expr;
    return attr;
  }
};

struct Term {
  enum class Kind : uint8_t {
    ClassVar, // variable; on the left the first occurrence binds, later ones compare
    Op,       // op, attrs, operands
    /// Left side only: any pointwise operator with any operands, all bound at once; the whole left
    /// side of a native rewrite.
    AnyPointwise,
  };
  Kind kind{};
  uint32_t variable = 0;
  OpKind op{};
  llvm::SmallVector<TermAttr, 4> attrs; // one per slot
  llvm::SmallVector<TermId, 4> operands;

  static Term of_class(uint32_t variable) {
    Term term;
    term.variable = variable;
    return term;
  }
  static Term of(OpKind op, llvm::ArrayRef<TermId> operands) {
    Term term;
    term.kind = Kind::Op;
    term.op = op;
    term.operands.assign(operands.begin(), operands.end());
    return term;
  }
};

/// Rewrites that the pattern language cannot say and that the engine has built in.
enum class Native : uint8_t {
  No,
  /// f(xs...) => fused_map: inline into one body what the classes of the operands hold as pointwise
  /// operators or fused maps (of each class the largest body), within the limits of fused_map.
  FusePointwise,
};

/// What a rule does to floats: keeps them bit for bit, rounds in other places, goes through terms
/// that may be larger, or cuts digits off by casts. Each promises less than the one before
/// (rules/README.md); derived_class.h says which a rule has.
enum class Numerics : uint8_t { Exact, Reassociates, Risky, Lossy };

struct Rule {
  /// Unique. One declaration may give several rules: `name`, `name-rev` (of `<=>`), `name[relu]`,
  /// `name-int` (of `//`: for integers), `name~2` (operands of a commuting operator the other way
  /// round).
  std::string name;
  std::string declared; // the name as declared
  std::string set;      // rule set, "" if none
  std::string file;     // where it was read, with the line
  uint32_t line = 0;
  bool built_in = false;     // read from the library, not from a file of the user's
  bool with_program = false; // built_in, and the library is the one that comes with the program
  Numerics numerics = Numerics::Exact;
  bool stated = false; // the class, in the rule's own text; else it is derived
  Span at;             // of the name, in `file`
  Native native = Native::No;

  std::vector<Term> terms;
  std::vector<ValueExpr> exprs;
  llvm::SmallVector<TermId, 2> lhs; // two or more: a multi-pattern rule
  llvm::SmallVector<TermId, 2> rhs; // as many; rhs[i] equals lhs[i]; empty for a native rule
  std::vector<ExprIndex> conditions;
  /// Class variables of which the rule takes for granted that they hold no infinity and no NaN:
  /// `where finite(x)`. No condition: nobody can tell before the model runs.
  llvm::SmallVector<uint32_t, 2> finite;

  uint32_t class_vars = 0, value_vars = 0;
  std::vector<std::string> class_var_names, value_var_names;

  bool multi() const { return lhs.size() > 1; }
};

/// A condition that a number of the left side has the dtype of what it stands beside: a value
/// variable, which is a type, is that of a number like the class.
struct NumberLike {
  uint32_t type = 0, like = 0; // value variable, class variable
};
inline std::optional<NumberLike> number_like(const Rule& rule, const ValueExpr& condition) {
  if (condition.kind != ValueExpr::Kind::Eq) return std::nullopt;
  const ValueExpr &type = rule.exprs[condition.operands[0]],
                  &like = rule.exprs[condition.operands[1]];
  bool number = type.kind == ValueExpr::Kind::Variable && like.kind == ValueExpr::Kind::TypeLike &&
                rule.exprs[like.operands[0]].kind == ValueExpr::Kind::List &&
                rule.exprs[like.operands[0]].operands.empty();
  return number ? std::optional(NumberLike{type.variable, like.variable}) : std::nullopt;
}

/// Whether a rule may be used where `most` is asked for. What is exact takes nothing for granted.
inline bool admits(Numerics most, const Rule& rule) {
  return rule.numerics <= most && (most != Numerics::Exact || rule.finite.empty());
}

} // namespace tg
