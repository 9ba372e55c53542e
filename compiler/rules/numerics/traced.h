// The scalar of rounding: the computation of a float as an expression. The common definition of the
// operators (lang/core/semantics/semantics.h) over this scalar shows how each element of a result
// is computed. So the numerics class of a rule follows from its operators without a separate table.
//
// Expressions are interned: equal ids give the same bits for all finite inputs, up to the sign of
// zero. Built in are identities of floats: x + y is y + x; signs move out of sums and products; x +
// 0, x * 1 and x / 1 are x; x + x is 2 * x; maxima are sets; rounding commutes with signs and
// maxima. 0 * x is 0 too, which is true only for finite x: so every scalar records the leaves that
// it reads, and products with zero of values that may overflow are recorded (`take_dropped`).
//
// Each expression also has two numbers. `plain` is its value at a random point of a prime field,
// with uninterpreted functions and reciprocals and without rounding: equal plains are equal over
// the reals, with nothing cancelled in a quotient. `size` is the sum of its terms without their
// signs: if it grows, sums go through larger terms.
//
// Integers do not round: expressions that are equal modulo 2^64 (for i32 modulo 2^32) at random
// integers are one expression (`store_whole`), so values computed from them, including casts to
// floats, are the same.
#pragma once

#include "lang/core/semantics/semantics.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <string>
#include <utility>
#include <vector>

namespace tg {

/// Ids of `Expressions`. The default is the zero that operators use as padding.
struct Traced {
  uint32_t value = 0; // an expression
  uint32_t reads = 0; // a set of leaves: floats that can make it infinite or NaN
};

class Expressions {
public:
  enum class Kind : uint8_t { Literal, Whole, Leaf, NaN, Neg, Add, Mul, Div, Max, Call, Round };
  struct Node {
    Kind kind{};
    uint32_t op = 0; // Call: a function; Round: a dtype; Leaf: its element; Whole: its upper half
    llvm::SmallVector<uint32_t, 3> args; // ids
    double literal = 0;
    uint64_t hash = 0, plain = 0;
    uint64_t whole = 0; // the value at random integers, modulo 2^64
    double size = 0;
    uint8_t held = 0;    // dtypes that hold the value exactly, one bit each
    bool finite = false; // for all finite leaves
    bool raises = false; // contains an exponential
    bool jumps = false;  // contains a step (steps_of)
  };

  /// Scalars belong to the latest Expressions object of this thread that is still alive.
  Expressions();
  ~Expressions();
  Expressions(const Expressions&) = delete;
  Expressions& operator=(const Expressions&) = delete;
  static Expressions& current();

  /// Returns element `at` of a tensor, identified by `key`; as a leaf it has a number below 2^32.
  Traced leaf(uint64_t key, uint32_t at, DType dtype);
  Traced literal(double value);
  /// Beyond the range of a double, the number is known only by its identity.
  Traced integer(int64_t value);
  Traced nan();
  Traced neg(Traced x);
  Traced add(Traced x, Traced y);
  Traced mul(Traced x, Traced y);
  Traced div(Traced x, Traced y);
  Traced max(llvm::ArrayRef<Traced> of);
  /// Returns an uninterpreted function.
  Traced call(uint32_t function, llvm::ArrayRef<Traced> args, uint8_t held);
  Traced select(Traced condition, Traced x, Traced y);
  /// Stores a value in a dtype: floats are rounded.
  Traced store(DType dtype, Traced x);
  /// Returns the first of the expressions that are the same integer (or bool); sums and
  /// products wrap.
  Traced store_whole(DType dtype, Traced x);
  /// Casts between dtypes: rounds, or truncates by an uninterpreted function.
  Traced cast(DType from, DType to, Traced x);
  /// Returns the value of `x` computed in another way, with the plain value and size of `meant`.
  Traced defined(uint32_t function, Traced x, Traced meant);
  /// The same for log1p and expm1, which do not lose digits of a small x in a sum with 1.
  Traced near_zero(uint32_t function, Traced x, Traced meant);
  Traced softmax(Traced of, llvm::ArrayRef<Traced> row);
  /// Returns x as computed within an operator whose result has the size of `like`.
  Traced sized(Traced x, Traced like);

  const Node& node(uint32_t value) const { return nodes_[value]; }
  bool holds(uint32_t value, DType dtype) const;
  /// Returns the leaves of a set of reads, ascending.
  std::vector<uint64_t> leaves(uint32_t reads) const;
  /// Returns the plain values that were multiplied by zero since the last call and may not be
  /// finite.
  llvm::DenseSet<uint64_t> take_dropped() { return std::exchange(dropped_, {}); }
  /// Returns the plain values of the exponents in the value, except numbers.
  llvm::DenseSet<uint64_t> exponents(uint32_t value) const;

private:
  struct Reads {
    uint32_t a = 0, b = 0; // two sets; unset for a leaf
    uint64_t leaf = 0;
  };
  uint32_t intern(Node node);
  bool stays_finite(const Node& node) const;
  uint32_t drop(uint32_t x, uint32_t y);
  uint32_t join(uint32_t a, uint32_t b);
  uint32_t all_reads(llvm::ArrayRef<Traced> of);
  std::optional<double> literal_of(uint32_t value) const;
  Traced rounded(DType dtype, Traced x);
  template <class F> std::optional<Traced> of_each_choice(Traced x, F f);
  std::optional<uint32_t> negated(uint32_t value) const;
  bool clamps(uint32_t value) const;
  std::optional<uint32_t> raised(uint32_t value, double least);
  uint64_t share_of_row(uint32_t of, llvm::ArrayRef<uint32_t> row) const;
  std::optional<uint32_t> exponent_of(uint32_t value) const;
  std::optional<uint64_t> as_softmax(uint32_t above, uint32_t below) const;

  std::vector<Node> nodes_;
  llvm::DenseMap<uint64_t, uint32_t> by_hash_, by_whole_;
  std::vector<Reads> reads_;
  llvm::DenseMap<uint64_t, uint32_t> joins_;
  llvm::DenseSet<uint64_t> dropped_;
  Expressions* outer_;
};

/// Returns the hashes of the functions in the value whose result jumps at some argument, such as
/// comparisons and casts to integers. Equal hashes are computed from the same bits.
llvm::DenseSet<uint64_t> steps_of(const Expressions& all, uint32_t value);

inline Traced operator+(Traced x, Traced y) { return Expressions::current().add(x, y); }
inline Traced operator-(Traced x) { return Expressions::current().neg(x); }
inline Traced operator-(Traced x, Traced y) { return x + -y; }
inline Traced operator*(Traced x, Traced y) { return Expressions::current().mul(x, y); }
inline Traced operator/(Traced x, Traced y) { return Expressions::current().div(x, y); }
inline Traced& operator+=(Traced& x, Traced y) { return x = x + y; }

template <> struct ScalarTraits<Traced> { using Wide = Traced; };

template <> struct Math<Traced> {
  static Traced literal(double value) { return Expressions::current().literal(value); }
  static Traced integer(int64_t value) { return Expressions::current().integer(value); }
  static Traced unary(OpKind op, Traced x);
  static Traced maximum(Traced x, Traced y) { return Expressions::current().max({x, y}); }
  static Traced binary(OpKind op, Traced x, Traced y);
  static Traced select(Traced condition, Traced x, Traced y);
  static Traced cast(DType, Traced x) { return x; } // without the source dtype; see Expressions
  static bool has_precise_form(OpKind op) {
    return op != OpKind::Abs && Math<double>::has_precise_form(op);
  }
  /// Returns an index, or none, determined by the expression of the value.
  static int64_t index(Traced x, int64_t size);
  static Traced missing() { return Expressions::current().nan(); }
  static int64_t argmax(llvm::ArrayRef<Traced> values);
  static Traced max_of(llvm::ArrayRef<Traced> values) { return Expressions::current().max(values); }
  static void softmax(llvm::MutableArrayRef<Traced> row);
  class External {
  public:
    External(llvm::StringRef name, llvm::StringRef signature);
    void shape(llvm::ArrayRef<int64_t> sizes);
    void element(Traced x) { elements_.push_back(x); }
    Traced at(int64_t i) const;

  private:
    uint64_t key_;
    std::vector<Traced> elements_;
  };
};

extern template void evaluate_op<Traced>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Traced>>,
                                         View<Traced>, llvm::MutableArrayRef<Traced>);

} // namespace tg
