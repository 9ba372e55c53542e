// A rewrite rule as data: wherever the left side matches and the conditions hold, the right side is
// equal to it. Both sides are terms over numbered variables, so the e-graph can compile a rule to a
// pattern and a plan (book.h), and the verifier can build both sides (instances/instance.h).
// from_ast.h makes rules from the language.
//
// Example:
//
//   Rule rule = *rule_from_text("rule fuse(x, w) {"
//                               "  relu(conv2d(x, w, act = none, ..)) =>"
//                               "    conv2d(x, w, act = relu, ..) }");
//   rule.class_vars; // == 4: x, w, and the bias and residual that `..` binds
//   rule.value_vars; // == 3: the stride, padding and dilation that `..` binds
//   const Term& source = rule.terms[rule.lhs[0]]; // source.op == OpKind::Relu
//   const Term& product = rule.terms[source.operands[0]]; // product.op == OpKind::Conv2d
//   const Term& fused = rule.terms[rule.rhs[0]]; // fused.op == OpKind::Conv2d
//   rule.terms[fused.operands[1]].variable; // == 1, which is w
//   fused.attrs.back().literal; // == Value::of_enum("relu")
//
// There are three numberings: class variables bind e-classes (tensors, or `none`), value variables
// bind attribute values, and TermIds index Rule::terms. An attribute slot of a left-side term has a
// value variable or a literal; a slot of a right-side term may also be computed (ValueExpr).
//
// Invariants:
//   - rhs is as long as lhs, and rhs[i] equals lhs[i]; a native rule has no rhs.
//   - Every variable of a right side or a condition is bound by the left side.
//   - Operands precede their users, in terms and in exprs.
//   - Literals are in normal form. `..`, split, optional operands, negative axes and defaults do
//     not occur: from_ast.h expands them.
//
// Sources: rewrites with conditions over e-classes, Willsey et al., "egg: Fast and extensible
// equality saturation" (POPL 2021); rules of several patterns, Yang et al., "Equality saturation
// for tensor graph superoptimization" (TENSAT, MLSys 2021).
#pragma once

#include "lang/core/const_math.h"
#include "lang/core/diagnostics/source.h"
#include "lang/core/op.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tg {

/// Position of a rule in the list of a search.
using RuleId = uint16_t;
/// Not made by a rule: part of the source graph.
inline constexpr RuleId kSourceRule = UINT16_MAX;
/// A merge that follows from others: equal operators over operands that became equal.
inline constexpr RuleId kCongruence = UINT16_MAX - 1;
/// Index into Rule::terms.
using TermId = uint32_t;
/// Index into Rule::exprs.
using ExprIndex = uint32_t;

/// An expression over bound values and types; a condition is an expression with a Bool value.
/// Evaluation yields a Value or fails (division with a remainder, an index out of range, mismatched
/// kinds, overflow). If it fails, the rule does not apply at this match.
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
    IsFloat,    // variable: the class has floats
    SameType,   // variable, variable2: two classes have the same type
  // Operations on values. Add also concatenates two lists; Eq and Ne compare any two values.
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

  bool queries_class() const { return kind >= Kind::Rank && kind <= Kind::SameType; }
  bool is_operation() const { return kind >= Kind::Add && kind <= Kind::Prod; }
  /// The operation of is_operation().
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
    /// Left side only: any pointwise operator with any operands, all bound at once. It is the whole
    /// left side of a native rewrite.
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

/// Built-in rewrites that the pattern language cannot express.
enum class Native : uint8_t {
  No,
  /// f(xs...) => fused_map: inlines the pointwise operators or fused maps in the classes of the
  /// operands (the largest body of each class) into one body, within the limits of fused_map.
  FusePointwise,
};

/// The effect of a rule on floats: keeps them bit for bit, rounds in other places, goes through
/// terms that may be larger, or truncates digits by casts. Each class promises less than the
/// previous one (rules/README.md). derived_class.h derives the class of a rule.
enum class Numerics : uint8_t { Exact, Reassociates, Risky, Lossy };

struct Rule {
  /// Unique. One declaration may give several rules: `name`, `name-rev` (for `<=>`), `name[relu]`,
  /// `name-int` (for `//` on integers), `name~2` (operands of a commuting operator swapped).
  std::string name;
  std::string declared; // the name as declared
  std::string set;      // rule set, "" if none
  std::string file;     // the file it was read from; see line
  uint32_t line = 0;
  bool built_in = false;     // from the library, not from a user's file
  bool with_program = false; // built_in, and the library is the program's own
  Numerics numerics = Numerics::Exact;
  bool stated = false; // the class is stated in the rule's text; otherwise it is derived
  Span at;             // of the name, in `file`
  Native native = Native::No;

  std::vector<Term> terms;
  std::vector<ValueExpr> exprs;
  llvm::SmallVector<TermId, 2> lhs; // two or more: a multi-pattern rule
  llvm::SmallVector<TermId, 2> rhs; // as many; rhs[i] equals lhs[i]; empty for a native rule
  std::vector<ExprIndex> conditions;
  /// Class variables that the rule assumes to hold no infinity and no NaN: `where finite(x)`. This
  /// is an assumption, not a condition, since it is not known before the model runs.
  llvm::SmallVector<uint32_t, 2> finite;

  uint32_t class_vars = 0, value_vars = 0;
  std::vector<std::string> class_var_names, value_var_names;

  bool multi() const { return lhs.size() > 1; }
};

/// A condition that a number of the left side has the dtype of its neighbour: the value variable is
/// the type of a number with the dtype of the class.
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

/// Returns true if a rule may be used when `most` is allowed. Exact rules must not assume
/// finite inputs.
inline bool admits(Numerics most, const Rule& rule) {
  return rule.numerics <= most && (most != Numerics::Exact || rule.finite.empty());
}

} // namespace tg
