// One attempt at an instance of a rule: a walk down its left side (sample.h has the idea). A
// term is asked for a shape, or for any, and asks its operands for the shapes that give it. What is
// guessed is drawn in guess.cpp, terms and their attributes are in attempt.cpp, operators
// by shape rule in products.cpp (windows and products), choices.cpp (conditions, indices,
// limits) and shapes.cpp (all others).
//
// Invariant: `types_` holds what `infer` said of a term, or nothing; a variable that is bound stays
// what it is until the attempt ends.
#pragma once

#include "compiler/rules/instance.h"

#include <llvm/ADT/STLExtras.h>

#include <random>

namespace tg {

class RuleAttempt {
public:
  /// All outlive the attempt; what it finds goes to `instance`, why it fails to `why`.
  RuleAttempt(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
              std::mt19937_64& rng, RuleInstance& instance, std::string& why);

  /// False if a guess was wrong; a new attempt then guesses anew.
  bool run();

private:
  // --- chance -----------------------------------------------------------------------------------

  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(0, 99) < percent; }
  int64_t size();
  Shape any_shape(int64_t least_rank = 0);
  /// Often the shape of an image that is there already: rules that join things want them alike.
  Shape image();
  /// The shape of a variable that is bound already, perhaps but for one axis.
  std::optional<Shape> bound_shape();
  template <class List> static int64_t last(const List& list) {
    return static_cast<int64_t>(list.size()) - 1;
  }
  int64_t divisor(int64_t n);
  /// A shape that broadcasts to `shape`: some leading axes left out, some made 1.
  Shape narrower(Shape shape);
  /// The same elements under another shape.
  Shape regrouped(llvm::ArrayRef<int64_t> shape);
  Value any_act();
  Value any_pair(int64_t high);
  Value any_pad();
  /// A number of any partition that a program may write, or near one of the rule's own.
  double any_number(DType dtype = DType::F32);
  /// The numbers of a constant: one for all elements, or many.
  std::vector<double> any_literal(const TensorType& type);
  Shape any_kernel();
  Value any_permutation(size_t rank);
  llvm::SmallVector<int64_t, 4> some_axes(int64_t rank);
  /// An input size along one axis that gives `out` results.
  int64_t input_size(int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                     const Value& pad, size_t axis);

  // --- what conditions say ----------------------------------------------------------------------

  /// What the conditions say outright about one variable; the attempt follows it where it can.
  struct Hints {
    llvm::SmallVector<ExprIndex, 1> equals;                        // of a value variable
    llvm::SmallVector<std::pair<ExprIndex, ExprIndex>, 4> entries; // of a list: position, number
    llvm::SmallVector<ExprIndex, 1> ranks, shapes;
    llvm::SmallVector<std::pair<ExprIndex, ExprIndex>, 2> dims, least_dims; // axis, size
    std::optional<bool> weight, none, constant;
  };

  void read_hints(ExprIndex at, bool truth);
  void equality(ExprIndex side, ExprIndex other);
  std::optional<Value> value_of(ExprIndex at);
  std::optional<int64_t> int_of(ExprIndex at);
  /// What hints (`dims` or `least_dims`) say of one axis of a term; `otherwise` if they say
  /// nothing.
  int64_t hinted_dim(TermId id, decltype(Hints::dims) Hints::*hints, int64_t axis,
                     int64_t otherwise);
  /// A shape for an unbound class variable that nobody asked for another.
  Shape hinted_shape(uint32_t variable, int64_t least_rank);

  // --- terms ------------------------------------------------------------------------------------

  /// Fails where no tensor has the type: what regroups a shape may split it into too many axes.
  bool bind(uint32_t variable, const TensorType& type);
  /// Gives the term a type, of that shape if one is wanted.
  bool make(TermId id, const Shape* want);
  bool make(TermId id, const Shape& want) { return make(id, &want); }
  /// The shape of a term that is decided already, by bound variables alone.
  std::optional<Shape> known(TermId id);
  bool decided(TermId id) const;
  const Shape& shape(TermId id) const { return symbols_.type(types_[id]).shape; }
  bool is_op(TermId id) const { return rule_.terms[id].kind == Term::Kind::Op; }
  /// An operand that may be absent.
  bool make_optional(TermId id, const Shape& want);
  bool make_with_rank(TermId id, const Shape* want, int64_t least);
  bool make_number(TermId id);
  /// Whether a slot is what a condition computes from what is not known yet: the operand, mostly.
  bool waits_for_type(const Term& term);
  /// What a slot holds if that is decided: a literal, a bound variable, or what a condition says.
  std::optional<Value> attr(const Term& term, size_t slot);
  Value attr_or(const Term& term, size_t slot, Value otherwise);
  /// A list that was guessed for a variable, with the entries that conditions give.
  Value with_entries(uint32_t variable, Value guess);
  int64_t int_or(const Term& term, size_t slot, int64_t otherwise);
  /// Types the term from its operands and these attributes, and binds what the slots bind.
  bool finish(TermId id, llvm::ArrayRef<Value> values);
  /// Bias and residual, once x and y are made, and the whole.
  bool epilogue(TermId id, int64_t channels, llvm::ArrayRef<Value> attrs);

  // --- operators: by shape rule (op.h) ----------------------------------------------------------

  bool make_op(TermId id, const Shape* want);
  bool make_broadcast(TermId id, const Shape* want);
  bool make_matmul(TermId id, const Shape* want);
  bool make_conv2d(TermId id, const Shape* want);
  /// The kernel of a convolution of an input with so many channels.
  bool make_kernel(TermId w, Shape kernel, int64_t channels, const Shape* want);
  bool make_winograd_weight(TermId id, const Shape* want);
  bool make_winograd_conv2d(TermId id, const Shape* want);
  bool make_pool(TermId id, const Shape* want);
  bool make_softmax(TermId id, const Shape* want);
  /// batch_norm (channels along axis 1) and layer_norm (along the last).
  bool make_norm(TermId id, const Shape* want, int64_t least_rank);
  bool make_reduce(TermId id, const Shape* want);
  bool make_concat(TermId id, const Shape* want);
  bool make_slice(TermId id, const Shape* want);
  bool make_reshape(TermId id, const Shape* want);
  bool make_transpose(TermId id, const Shape* want);
  bool make_pad(TermId id, const Shape* want);
  bool make_enlarge(TermId id, const Shape* want);
  bool make_merge(TermId id, const Shape* want);
  bool make_fused(TermId id, const Shape* want);
  bool make_select(TermId id, const Shape* want);
  bool make_argmax(TermId id, const Shape* want);
  bool make_gather(TermId id, const Shape* want);
  Shape any_indices();
  bool make_iota(TermId id, const Shape* want);
  bool make_clip(TermId id, const Shape* want);
  bool make_cast(TermId id, const Shape* want);
  bool make_extern(TermId id, const Shape* want);

  Symbols& symbols_;
  const Rule& rule_;
  llvm::ArrayRef<DType> dtypes_; // of class variables
  std::mt19937_64& rng_;
  RuleInstance& in_;
  std::string& why_;
  std::vector<TypeId> types_; // of terms; invalid until made
  std::vector<Hints> class_hints_, value_hints_;
  llvm::SmallVector<double, 8> numbers_;         // that the rule is written with
  llvm::SmallVector<Shape, 4> images_, kernels_; // of convolutions so far
};

} // namespace tg
