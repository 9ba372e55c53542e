// One case of a proof: ranks, absent operands and other choices are made, sizes and indices are
// symbols. Types both sides as `infer` would and computes their elements at a symbolic index.
//
// Where something is not known (are two sizes equal? which piece of a concat is meant?), the case
// decides, and the choices that it did not take are other cases: `Choices` replays a case from its
// start with the next choice, until all were taken. What the engine would refuse (an ill-typed
// side, a condition that fails, sides of different types) ends a case as impossible.
//
// Of tensors of any rank, as operands of matmul and of what goes element by element, only the last
// two axes have names, or none where there are no products; the axes before them are `packed`: they
// broadcast as a whole, in each operator alike. A tensor with more names than these is none of
// them.
//
// A model of an operator reads all of its attributes, each in the normal form of its kind, and
// types all of its operands: one that leaves something unread ends the proof (expect_all_read), so
// that what is not modelled is never ignored.
#pragma once

#include "compiler/equiv/proof/ranks.h"
#include "compiler/equiv/proof/sums.h"
#include "compiler/rules/dtypes.h"

namespace tg::proof {

class Choices {
public:
  /// A number below `count`: of several tries each once, in order.
  size_t choose(size_t count) {
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].first;
  }
  /// To the next case; false if there is none.
  bool next() {
    at_ = 0;
    while (!taken_.empty() && ++taken_.back().first == taken_.back().second) taken_.pop_back();
    return !taken_.empty();
  }

private:
  std::vector<std::pair<size_t, size_t>> taken_;
  size_t at_ = 0;
};

struct Tensor {
  bool none = false;
  bool packed = false;
  Poly extra = 0; // packed: how many axes come before the named ones
  /// Packed: how many elements the axes before the named ones have, where that has a name.
  std::optional<Poly> count = {};
  std::vector<Poly> dims;
  Poly rank() const { return Poly(static_cast<int64_t>(dims.size())) + extra; }
};

/// The value of an attribute or an expression.
struct Attr {
  enum class Kind : uint8_t { Int, Ints, Text, Bool, Number, Shape };
  Kind kind{};
  Poly n;
  std::vector<Poly> ns; // Ints; Shape: a type's dimensions
  std::string text;     // Text: a member of an enumeration
  bool truth = false;
  Value number;
  static Attr of(const Poly& n) { return {Kind::Int, n, {}, "", false, {}}; }
  static Attr of(std::vector<Poly> ns) { return {Kind::Ints, 0, std::move(ns), "", false, {}}; }
  static Attr member(std::string text) { return {Kind::Text, 0, {}, std::move(text), false, {}}; }
  /// Whichever member the value variable stands for.
  static Attr any_member(uint32_t v) { return member("any:" + std::to_string(v)); }
  bool any() const { return kind == Kind::Text && llvm::StringRef(text).startswith("any:"); }
};

/// Of one element of each operand: what is rational as it is, the rest as arbitrary functions; so
/// is a division that may be of integers. The operator has no attributes.
Value pointwise(Sums& sums, OpKind op, std::vector<Value> args, bool integers = false);

/// A rule of operators that go element by element, reshape and transpose, for tensors of any rank:
/// whole indices are mapped, nothing looks into them (whole.cpp). `why`: what it fails on.
bool prove_whole(const Rule& rule, const std::shared_ptr<Solver>& solver, std::string& why);

class Case {
public:
  enum class Outcome : uint8_t { Proved, Impossible, Unproved, Beyond };

  /// `named`: how many axes of tensors of any rank have names; nullopt: ranks are cases.
  Case(const Rule& rule, const Ranks& ranks, Choices& choices, std::optional<size_t> named,
       std::shared_ptr<Solver> solver, size_t budget);
  Outcome run();
  const std::string& why() const { return why_; }
  size_t questions() const { return arith_.asked(); }

private:
  // --- case.cpp: choices, conditions, expressions
  bool halted() const { return stop_ != Outcome::Proved; }
  void stop(Outcome outcome, std::string why = "") {
    if (!halted()) {
      stop_ = outcome;
      why_ = std::move(why);
    }
  }
  void beyond(std::string why) { stop(Outcome::Beyond, std::move(why)); }
  void beyond(OpKind op);
  bool decide(const Fact& fact);
  void must(const Fact& fact);
  void must_equal(const Poly& a, const Poly& b) { must(proof::equal(a, b)); }
  bool is(const Poly& a, const Poly& b) { return arith_.follows_equal(a, b); }
  bool has_bound(const Poly& p) const;
  const Tensor& variable(uint32_t v);
  bool like_another(uint32_t v, Tensor& type);
  void bind(uint32_t v, Tensor type);
  void must_be_as_many(const Tensor& a, const Tensor& b);
  Tensor fresh_tensor(size_t rank);
  void type_plain();
  void try_conditions();
  bool assume_condition(ExprIndex at, bool truth);
  bool bound_all(ExprIndex at) const;
  std::optional<Attr> evaluate(ExprIndex at);
  std::optional<Attr> evaluate_ints(const ValueExpr& e);
  std::optional<Attr> literal(const tg::Value& value) const;
  const Attr& value_variable(uint32_t v, const AttrInfo& info, const Tensor& first);
  std::optional<Attr> some_axes(OpKind op, const Tensor& type);
  Attr some_shape(TermId reshape, uint32_t v);
  Attr fresh_attr(const AttrInfo& info, const Tensor& first);
  std::optional<Attr> in_normal_form(AttrKind kind, Attr attr) const;
  Attr attribute(TermId id, size_t slot);

  // --- types.cpp: types of terms
  const Tensor& type(TermId id);
  Tensor type_of(TermId id);
  Tensor type_of_rest(TermId id);
  const Tensor& with_rank(TermId id, size_t rank);
  const Tensor& of_rank(TermId id, size_t rank);
  void join_windows();
  void fill(TermId id, const Tensor& type);
  Tensor broadcast(const Tensor& a, const Tensor& b);
  Poly broadcast(const Poly& a, const Poly& b);
  Tensor matmul_type(TermId id);
  Tensor conv_type(TermId id);
  Tensor pool_type(TermId id);
  Tensor concat_type(TermId id);
  Tensor slice_type(TermId id);
  Tensor reshape_type(TermId id);
  Tensor reduce_type(TermId id);
  Tensor constant_type(TermId id);
  std::optional<size_t> axis(const Poly& p, const Tensor& type);
  std::vector<size_t> axes(const Attr& attr, const Tensor& type);
  struct Window {
    Poly size, kernel, stride, dilation; // what it follows from
    std::string kind;
    std::vector<Poly> pads;
    Poly out, before;
  };
  const Window& window(const Poly& size, const Poly& kernel, const Poly& stride,
                       const Poly& dilation, const Attr& pad, size_t axis);
  const Window& conv_window(TermId id, size_t axis);
  const Window& pool_window(TermId id, size_t axis);

  // --- values.cpp: elements
  using Index = std::vector<Poly>;
  Value at(TermId id, const Index& index);
  Value element(TermId id, const Index& index);
  void expect_all_read(TermId id);
  Value at_rest(TermId id, const Index& index);
  Value matmul(TermId id, const Index& index);
  Value conv(TermId id, const Index& index);
  Value pool(TermId id, const Index& index);
  Value clip(TermId id, const Index& index);
  Value concat(TermId id, const Index& index);
  Value pad(TermId id, const Index& index);
  Value enlarge(TermId id, const Index& index);
  Value reshape(TermId id, const Index& index);
  Value reduce(TermId id, const Index& index);
  Value batch_norm(TermId id, const Index& index);
  Value softmax(TermId id, const Index& index);
  Value epilogue(TermId id, Value sum, const Index& index, size_t channel_axis);
  Value activated(const Attr& act, Value value);
  Index operand_index(TermId operand, const Index& index);
  Value within(TermId operand, const Index& index, std::vector<Fact> guards);
  Poly open_sum(const Poly& size);
  Value close_sum(Value body);
  std::vector<Poly> parts(const Poly& index, const std::vector<Poly>& radices);
  std::optional<std::vector<Poly>> known_parts(const Poly& whole, const std::vector<Poly>& radices);
  std::vector<Poly> fresh_parts(const Poly& whole, const std::vector<Poly>& radices);
  std::vector<Poly> regrouped(llvm::ArrayRef<Poly> from, llvm::ArrayRef<Poly> to,
                              llvm::ArrayRef<Poly> index);
  void compare(size_t result);

  struct Groups {
    Poly inputs, inputs_each, outputs; // what they follow from
    Poly count, outputs_each;
  };
  const Groups& groups(const Poly& inputs, const Poly& inputs_each, const Poly& outputs);

  struct Scope {
    size_t mark;
    std::vector<std::pair<Sym, Poly>> symbols; // with their sizes
  };
  struct Mix {
    Poly whole;
    std::vector<Poly> parts, radices;
  };
  bool covers(const Scope& scope, Sym symbol, const Poly& size);
  bool within_always(const Poly& whole, const Poly& size);

  const Rule& rule_;
  RuleDTypes dtypes_;
  const Ranks& ranks_;
  Choices& choices_;
  std::optional<size_t> named_;
  Arith arith_;
  Sums sums_;
  Outcome stop_ = Outcome::Proved;
  std::string why_;
  std::vector<std::optional<Tensor>> variables_, types_;
  std::vector<std::optional<Attr>> values_;
  std::vector<std::map<size_t, Attr>> attributes_; // of terms, by slot
  std::vector<bool> assumed_, may_be_absent_;
  std::vector<bool> bound_; // by Sym
  std::vector<Scope> scopes_;
  std::vector<Mix> mixes_;
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::unique_ptr<Groups>> groups_;
};

} // namespace tg::proof
