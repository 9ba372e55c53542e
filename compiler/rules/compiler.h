// One rule declaration of the syntax tree, compiled into one Rule: names resolved, the left side to
// patterns, the right side to what is built, conditions and computed attributes to ValueExprs.
//
// A declaration stands for several rules where it has operator variables (`f: unary`) or two
// directions; each is compiled on its own, by one RuleCompiler. The left side is lowered first and
// binds; then the conditions; then the right side, which may only use what is bound. What the left
// side cannot match by itself (a computed attribute, a negative axis) becomes a fresh value
// variable and a condition. Expressions are made by RuleExprs, and what is known of a term's type
// by TermTypes. Internal to compiler.cpp, terms.cpp, places.cpp and values.cpp; users include
// from_ast.h.
#pragma once

#include "compiler/rules/term_types.h"
#include "lang/core/diagnostic.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringMap.h>

#include <optional>

namespace tg {

/// What the rule's operator variables stand for in one instance.
using OperatorChoice = llvm::SmallVector<std::pair<llvm::StringRef, OpKind>, 2>;

/// Which words a rule parameter's kind may be, after the colon.
enum class RuleParamKind : uint8_t { Any, Tensor, Attribute, Pointwise, Unary, Binary, Activation };
std::optional<RuleParamKind> parse_rule_param_kind(llvm::StringRef word);
/// The operators that a kind ranges over; empty for kinds that are no operator's.
llvm::SmallVector<OpKind, 16> operators_of(RuleParamKind kind);

/// `rank`, `dim`, `weight` …: functions of conditions and computed attributes.
bool is_rule_function(llvm::StringRef name);

class RuleCompiler {
public:
  /// `swaps`: bit i swaps the operands of the i-th commuting operator that the left side has.
  /// `integers`: that of the two variants of a rule with `x // y` which is for integers.
  RuleCompiler(const Ast& tree, const ast::Decl& decl, OperatorChoice operators, bool reversed,
               uint32_t swaps, DiagnosticSink& sink, bool integers = false);

  /// The rule without name, set and place; nullopt after an error, which the sink then has.
  std::optional<Rule> run();
  /// How many commuting operators the left side has; known after run().
  uint32_t commuting() const { return commuting_; }
  /// Whether tensors are divided by `//`, so that there are two variants; known after run().
  bool divides() const { return divides_; }

private:
  /// What a name means. `number` is a variable of the rule; `expr` what a name inside a list or a
  /// `let` stands for.
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

  /// A call of an operator, with each argument at its place.
  struct Call {
    OpKind op{};
    ast::ExprId expr;
    llvm::SmallVector<ast::ExprId, 4> operands; // required ones, or those of a variadic operator
    llvm::SmallVector<ast::ExprId, 2> optional; // by position; invalid where left out
    llvm::SmallVector<ast::ExprId, 4> attrs;    // by slot; invalid where left out
    ast::ExprId parts;                          // of a split
    bool rest = false;                          // ends in `..`
  };

  /// While it lives, only lets before `order` have a meaning.
  class LetGuard {
  public:
    LetGuard(RuleCompiler& compiler, uint32_t order)
        : limit_(compiler.let_limit_), before_(limit_) {
      limit_ = order;
    }
    ~LetGuard() { limit_ = before_; }

  private:
    uint32_t &limit_, before_;
  };

  /// Counts how deep lowering is; too_large() looks at it.
  class DepthGuard {
  public:
    explicit DepthGuard(RuleCompiler& compiler) : compiler_(compiler) { ++compiler_.depth_; }
    ~DepthGuard() { --compiler_.depth_; }

  private:
    RuleCompiler& compiler_;
  };
  bool too_large(ast::ExprId at);

  // compiler.cpp: names, calls, results.
  bool declare_params();
  bool declare_lets();
  bool check_all_used();
  bool check_bound();
  Meaning* find(llvm::StringRef name);
  Meaning* tensor(ast::ExprId name);
  Meaning* attribute(ast::ExprId name);
  std::nullopt_t fail(Diagnostic d);
  std::nullopt_t unknown(ast::ExprId name, llvm::StringRef what);
  std::optional<Call> read_call(ast::ExprId expr);
  std::nullopt_t lacks_attribute(const Call& call, const AttrInfo& attr);
  std::nullopt_t bad_attribute(const Call& call, const AttrInfo& attr, Span span,
                               const Value& given);
  bool read_variadic(Call& call, const ast::Arg& arg);
  bool read_named(Call& call, const ast::Arg& arg);
  bool read_positional(Call& call, size_t position, const ast::Arg& arg);
  std::optional<OpKind> operator_of(const ast::Expr& expr);
  uint32_t new_value(const std::string& name, std::optional<AttrKind> kind = {});
  uint32_t new_class(std::string name);
  TermId add(Term term);
  TermId class_term(uint32_t number);
  TermId none_term();

  // terms.cpp: the two sides.
  using Terms = llvm::SmallVector<TermId, 2>;
  bool lower_left_sides();
  bool lower_right_sides();
  bool left_roots(ast::ExprId expr, Terms& out);
  std::optional<TermId> left(ast::ExprId expr);
  std::optional<TermId> left_call(const Call& call);
  std::optional<TermId> left_name(ast::ExprId expr);
  bool left_split(ast::ExprId expr, Terms& out);
  bool left_split_covers(TermId whole, const TermAttr& axis, uint32_t stop);
  bool left_piece_size(ast::ExprId size, uint32_t stop, std::optional<uint32_t> start);
  TermId rest_operand(OpKind op, size_t index);
  std::optional<TermAttr> left_attr(const Call& call, size_t slot, llvm::ArrayRef<TermId> operands);
  std::optional<TermAttr> left_list(ast::ExprId list, const AttrInfo& info);
  std::optional<TermAttr> left_literal(const Call& call, size_t slot, const Value& given,
                                       llvm::ArrayRef<TermId> operands);
  TermAttr equal_to(ExprIndex expr, const AttrInfo& info);
  bool names_unbound(ast::ExprId list);
  bool is_tensor(ast::ExprId expr);
  bool right(ast::ExprId expr, Terms& out);
  std::optional<TermId> right_one(ast::ExprId expr);
  bool right_name(ast::ExprId expr, Terms& out);
  std::optional<TermId> right_call(const Call& call);
  std::optional<TermAttr> right_attr(const Call& call, size_t slot,
                                     llvm::ArrayRef<TermId> operands);
  TermAttr right_slot(ExprIndex expr);
  std::optional<ExprIndex> last_two_swapped(const Call& call, TermId operand);
  void give_dtypes(const Term& user);
  bool has_rest(OpKind op) const;
  bool right_split(const Call& call, Terms& out);
  bool split_sizes(const Call& call, TermId whole, const TermAttr& axis,
                   llvm::SmallVectorImpl<ExprIndex>& sizes);
  std::optional<TermId> right_constant(ast::ExprId expr);
  std::optional<TermId> filled(ast::ExprId expr);
  TermId constant_term(TermAttr values, bool left);
  TermAttr floats_attr(ExprIndex number);
  TermAttr computed(ExprIndex expr);

  // places.cpp: signs and brackets on tensors.
  std::optional<TermId> operand(ast::ExprId expr);
  TermAttr slot_of(ExprIndex expr, const AttrInfo& info);
  std::optional<TermId> places(ast::ExprId expr);
  std::optional<ExprIndex> axis_of(ast::ExprId expr, TermId x, int64_t axis);
  std::optional<TermId> piece(ast::ExprId expr, TermId x, int64_t axis, const ast::Slice& place);
  std::optional<ExprIndex> bound(ast::ExprId expr, TermId x, int64_t axis, ast::ExprId written);
  std::optional<TermId> without_axes(ast::ExprId expr, TermId x, TermId shaped,
                                     llvm::ArrayRef<int64_t> axes);
  std::optional<TermId> gathered(ast::ExprId expr, TermId x, int64_t axis);
  std::optional<TermId> index_operand(ast::ExprId expr);
  std::optional<TermId> floor_division(ast::ExprId expr);

  // values.cpp: expressions over values.
  std::optional<ExprIndex> value(ast::ExprId expr, std::optional<AttrKind> kind = {});
  std::optional<ExprIndex> value_name(ast::ExprId expr, std::optional<AttrKind> kind);
  std::optional<ExprIndex> value_call(ast::ExprId expr);
  std::optional<ExprIndex> value_question(ast::ExprId call, ValueExpr::Kind kind, size_t tensors);
  std::optional<ast::ExprId> asked_about(ast::ExprId expr, ValueExpr::Kind kind);
  std::optional<ExprIndex> value_arithmetic(ast::ExprId call, ConstOp op);
  std::optional<ExprIndex> argument(llvm::StringRef function, const ast::Arg& arg);
  std::nullopt_t unknown_function(const ast::Expr& call);
  std::optional<ExprIndex> value_index(ast::ExprId expr);
  std::optional<ExprIndex> value_list(ast::ExprId expr);
  std::optional<ExprIndex> value_binary(ast::ExprId expr);
  std::optional<ExprIndex> value_unary(ast::ExprId expr);
  bool condition(ast::ExprId expr);
  bool assume_finite(const ast::Expr& call);
  std::optional<AttrKind> kind_of(ExprIndex expr) const;
  std::optional<Value> normal_form(AttrKind kind, Value value);

  const Ast& tree_;
  const ast::Decl& decl_;
  OperatorChoice operators_;
  bool reversed_;
  uint32_t swaps_, commuting_ = 0;
  DiagnosticSink& sink_;
  Rule rule_;
  RuleExprs exprs_{rule_};
  TermTypes types_{rule_, exprs_};
  llvm::StringMap<Meaning> names_;
  /// Kind of the slot that binds a value variable; literals compared with it take its normal form.
  llvm::SmallVector<std::optional<AttrKind>, 8> value_kinds_;
  /// What `..` stands for: the variable of each slot, and of each optional operand (numbered from
  /// kMaxAttrs). All `..` of one operator in a rule are one.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> rest_;
  /// Terms of the lets that the right side has used, by the expression that they name.
  llvm::DenseMap<uint32_t, llvm::SmallVector<TermId, 2>> lowered_lets_;
  /// A class variable that is never absent: its dtype is that of constants.
  std::optional<uint32_t> dtype_var_;
  llvm::DenseSet<TermId> numbers_;               // constants that have met nothing with a dtype yet
  llvm::DenseMap<uint32_t, bool> let_is_tensor_; // by the expression that a let names
  uint32_t let_limit_ = UINT32_MAX;
  uint32_t depth_ = 0;
  bool integers_ = false, divides_ = false; // of `//`
  bool on_left_ = true;
  bool failed_ = false;
};

} // namespace tg
