// A rule under construction: its terms, variables and conditions. The left side comes first and
// binds variables. A computed attribute there becomes a fresh variable and a condition; on the
// right side it is computed when the rule is applied. A number among tensors takes the dtype of
// its neighbours.
#pragma once

#include "compiler/rules/compile/exprs.h"
#include "lang/check/unfolded_tree.h"

#include <llvm/ADT/DenseSet.h>

#include <optional>

namespace tg {

// The types of a rule's terms as they follow from its text, as expressions over the bindings of the
// left side: ranks, shapes, dtypes. nullopt if the operators do not determine them.

/// Returns true if the result has the shape of the first operand for all attributes.
bool keeps_shape(ShapeRule rule);

class TermTypes {
public:
  TermTypes(Rule& rule, RuleExprs& exprs) : rule_(rule), exprs_(exprs) {}

  std::optional<ExprIndex> rank(TermId term);
  std::optional<ExprIndex> shape(TermId term);
  /// Returns a class variable with the dtype of the term.
  std::optional<uint32_t> dtype_like(TermId term) const;

private:
  std::optional<ExprIndex> highest_rank(llvm::ArrayRef<TermId> operands);
  std::optional<ExprIndex> slice_shape(const Term& slice);
  std::optional<ExprIndex> constant_rank(const Term& constant);
  bool is_number(TermId term) const;
  bool is_open(ExprIndex list) const;

  Rule& rule_;
  RuleExprs& exprs_;
};

/// Reports the errors of a rule. Only the first is reported, since others may follow from it.
class RuleErrors {
public:
  RuleErrors(const Ast& tree, Span rule, bool reversed, DiagnosticSink& sink)
      : tree_(tree), rule_(rule), reversed_(reversed), sink_(sink) {}

  std::nullopt_t fail(Diagnostic d) {
    if (!failed_) {
      if (Span call = call_behind(tree_, rule_, d.span); call.valid())
        d.labels.push_back({call, "called here"});
      if (reversed_)
        d.notes.push_back("the rule is two-way; this is its direction from right to left");
      sink_.report(std::move(d));
    }
    return give_up();
  }
  /// Fails because of an error that was reported before.
  std::nullopt_t give_up() {
    failed_ = true;
    return std::nullopt;
  }
  bool failed() const { return failed_; }

private:
  const Ast& tree_;
  Span rule_;
  bool reversed_, failed_ = false;
  DiagnosticSink& sink_;
};

class RuleDraft {
public:
  /// `name` is the name of the declaration, for messages.
  RuleDraft(llvm::StringRef name, RuleErrors& errors) : name_(name), errors_(errors) {}
  RuleDraft(const RuleDraft&) = delete;

  Rule& rule() { return rule_; }
  RuleExprs& exprs() { return exprs_; }
  TermTypes& types() { return types_; }
  const Term& term(TermId id) const { return rule_.terms[id]; }
  /// Starts the right side.
  void begin_right() { on_left_ = false; }
  bool on_left() const { return on_left_; }

  uint32_t new_class(std::string name);
  /// `kind` is the kind of the slot that binds it; literals compared with it take its normal form.
  uint32_t new_value(const std::string& name, std::optional<AttrKind> kind = {});
  void set_kind(uint32_t value, AttrKind kind) { value_kinds_[value] = kind; }
  std::optional<AttrKind> kind_of(ExprIndex expr) const;
  void require(ExprIndex condition) { rule_.conditions.push_back(condition); }

  TermId add(Term term);
  TermId class_term(uint32_t number) { return add(Term::of_class(number)); }
  TermId none_term() { return add(Term::of(OpKind::None, {})); }
  /// Adds a tensor of one number.
  TermId constant(TermAttr values);
  /// Adds a tensor filled with a number. Requires a tensor on the left, whose dtype it takes.
  bool can_fill() const { return dtype_var_.has_value(); }
  TermId filled(ExprIndex number, ExprIndex shape);
  /// Notes an operand on the left, whose dtype constants may take.
  void note_operand(OpKind op, size_t index, TermId operand);
  /// Gives numbers among the operands the dtype of their neighbours, as in models.
  void set_number_dtypes(const Term& user);

  /// Returns a slot that must equal a computed value: a fresh variable and a condition.
  TermAttr equal_to(ExprIndex expr, const AttrInfo& info);
  /// Returns a slot with a computed value; folded() evaluates it if possible.
  TermAttr computed(ExprIndex expr);
  TermAttr folded(ExprIndex expr);
  /// Returns a slot for either side; on the left it is compared with the value.
  TermAttr slot(ExprIndex expr, const AttrInfo& info);
  TermAttr floats(ExprIndex number);
  /// Returns the permutation of `transpose(x)` without `perm`: the last two axes are swapped,
  /// as in models.
  std::optional<ExprIndex> last_two_swapped(TermId operand, Span at);

  /// Reports a rule that is too large; since lets may refer to lets, even a short text can be one.
  bool too_large(Span at);
  /// Counts the nesting depth of the text during its lifetime.
  class Depth {
  public:
    explicit Depth(RuleDraft& draft) : depth_(draft.depth_) { ++depth_; }
    ~Depth() { --depth_; }

  private:
    uint32_t& depth_;
  };

private:
  llvm::StringRef name_;
  RuleErrors& errors_;
  Rule rule_;
  RuleExprs exprs_{rule_};
  TermTypes types_{rule_, exprs_};
  llvm::SmallVector<std::optional<AttrKind>, 8> value_kinds_;
  /// A class variable that is never absent: constants take its dtype.
  std::optional<uint32_t> dtype_var_;
  llvm::DenseSet<TermId> numbers_; // constants without a neighbour that has a dtype
  bool on_left_ = true;
  uint32_t depth_ = 0;
};

/// Returns the normal form of an attribute, if it does not depend on operands. nullopt if the kind
/// does not fit.
std::optional<Value> normal_form(AttrKind kind, Value value);

} // namespace tg
