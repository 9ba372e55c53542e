// A rule while it is written: its terms, variables and conditions. The left side comes first and
// binds; what is computed there becomes a fresh variable and a condition, on the right side it is
// computed when the rule is applied. Numbers among tensors take the dtype of what they meet.
#pragma once

#include "compiler/rules/compile/exprs.h"
#include "lang/check/unfolded_tree.h"

#include <llvm/ADT/DenseSet.h>

#include <optional>

namespace tg {

// What a rule's text says of the types of its terms, as expressions over what the left side binds:
// ranks, shapes, dtypes. nullopt where the operators do not say it.

/// The result has the shape of the first operand, whatever the attributes are.
bool keeps_shape(ShapeRule rule);

class TermTypes {
public:
  TermTypes(Rule& rule, RuleExprs& exprs) : rule_(rule), exprs_(exprs) {}

  std::optional<ExprIndex> rank(TermId term);
  std::optional<ExprIndex> shape(TermId term);
  /// A class variable that has the dtype of the term.
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

/// What is wrong with a rule. The first mistake is reported;
/// what else is wrong would follow from it.
class RuleErrors {
public:
  RuleErrors(const Ast& tree, Span rule, bool reversed, DiagnosticSink& sink)
      : tree_(tree), rule_(rule), reversed_(reversed), sink_(sink) {}

  std::nullopt_t fail(Diagnostic d) {
    if (!failed_) {
      if (Span call = call_behind(tree_, rule_, d.span); call.valid())
        d.labels.push_back({call, "called here"});
      if (reversed_) d.notes.push_back("the rule is two-way; this is its direction right to left");
      sink_.report(std::move(d));
    }
    return give_up();
  }
  /// At what was reported before.
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
  /// `name`: of the declaration, for messages.
  RuleDraft(llvm::StringRef name, RuleErrors& errors) : name_(name), errors_(errors) {}
  RuleDraft(const RuleDraft&) = delete;

  Rule& rule() { return rule_; }
  RuleExprs& exprs() { return exprs_; }
  TermTypes& types() { return types_; }
  const Term& term(TermId id) const { return rule_.terms[id]; }
  /// From now on the right side is written.
  void begin_right() { on_left_ = false; }
  bool on_left() const { return on_left_; }

  uint32_t new_class(std::string name);
  /// `kind`: that of the slot that binds it; literals compared with it take its normal form.
  uint32_t new_value(const std::string& name, std::optional<AttrKind> kind = {});
  void set_kind(uint32_t value, AttrKind kind) { value_kinds_[value] = kind; }
  std::optional<AttrKind> kind_of(ExprIndex expr) const;
  void require(ExprIndex condition) { rule_.conditions.push_back(condition); }

  TermId add(Term term);
  TermId class_term(uint32_t number) { return add(Term::of_class(number)); }
  TermId none_term() { return add(Term::of(OpKind::None, {})); }
  /// A tensor of one number.
  TermId constant(TermAttr values);
  /// A tensor of one number everywhere; needs a tensor on the left whose dtype it has.
  bool can_fill() const { return dtype_var_.has_value(); }
  TermId filled(ExprIndex number, ExprIndex shape);
  /// An operand on the left, whose dtype may be that of constants.
  void note_operand(OpKind op, size_t index, TermId operand);
  /// Numbers among the operands take the dtype of what they meet, as in models.
  void give_dtypes(const Term& user);

  /// A slot that must equal something computed: a fresh variable and a condition.
  TermAttr equal_to(ExprIndex expr, const AttrInfo& info);
  /// A slot that holds what is computed; `folded`: or its value.
  TermAttr computed(ExprIndex expr);
  TermAttr folded(ExprIndex expr);
  /// The same on either side: on the left it is compared with that.
  TermAttr slot(ExprIndex expr, const AttrInfo& info);
  TermAttr floats(ExprIndex number);
  /// What `transpose(x)` without `perm` does, as in models: the last two axes change places.
  std::optional<ExprIndex> last_two_swapped(TermId operand, Span at);

  /// Lets may name lets, so that a short text can stand for a large rule; reports it.
  bool too_large(Span at);
  /// Counts how deep the text is while it lives.
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
  /// A class variable that is never absent: its dtype is that of constants.
  std::optional<uint32_t> dtype_var_;
  llvm::DenseSet<TermId> numbers_; // constants that have met nothing with a dtype yet
  bool on_left_ = true;
  uint32_t depth_ = 0;
};

/// The form that attribute slots hold, where that needs no operand.
/// nullopt if the kind does not fit.
std::optional<Value> normal_form(AttrKind kind, Value value);

} // namespace tg
