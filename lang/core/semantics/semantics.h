// What each operator means: one definition, templated over the scalar. It serves the reference
// backend (float, Integer), constant folding and float64 checks (double), and exact checks (a prime
// field).
// The bodies are in impl.h; a library that evaluates over its own scalar includes that
// and instantiates, float64 is instantiated in semantics.cpp.
//
// The page of semantics (the shapes are those of shape_rules.h):
//
//   Order      act(op(x, y) + bias + residual). Sums run in row-major order of what is summed, in
//              the scalar's Wide type: a float's sums and functions are taken in double and rounded
//              once, at the end of the operator, and between the operators of a fused_map not at
//              all. A backend may sum in another order; it is compared within a tolerance.
//   NaN        every operator hands NaN on: relu(NaN), maximum(NaN, y), maximum(x, NaN), and the
//              maximum of a window, row or reduction that contains one, are NaN. maximum(-0, 0)
//              and relu(-0) may be either zero.
//   Infinity   follows IEEE 754: sigmoid(-inf) = 0, tanh(inf) = 1, gelu(-inf) = NaN (-inf * 0), a
//              softmax row whose maximum is infinite is NaN.
//   matmul     leading dimensions broadcast as NumPy's do; bias along n; residual of the result's
//              shape.
//   conv2d     cross-correlation (the kernel is not flipped), nchw with weights [O, C / groups, kh,
//              kw]; group g makes the O / groups results from the C / groups inputs of index g.
//              Result row y reads input rows y * stride - before + i * dilation. Padding is zeros
//              that are multiplied like elements of x, as in ONNX's Conv, so that it makes NaN of
//              an infinite or NaN weight.
//   conv3d     conv2d along three axes.
//   conv_transpose2d  element (y, x) of an image goes to y * stride - before + i * dilation for
//              each row i of the kernel, and columns likewise: the transpose, as a matrix, of the
//              conv2d of the same kernel, stride and padding. Places that no element goes to, those
//              of output_padding among them, are the bias, or 0. `same` gives stride times the
//              size; what is cut off is split in halves, an odd one behind (ONNX's SAME_UPPER).
//   winograd_conv2d  conv2d by minimal filtering (winograd_transforms.h): where the last tiles
//              reach beyond the image they read zeros, and results outside are dropped. Equal to
//              conv2d in exact arithmetic; an infinity or NaN spreads over its whole tile, which a
//              backend may do in conv2d, too.
//   same       pads to ceil(size / stride) results; the total is split in halves and an odd zero
//              goes behind (below, right), as in TensorFlow: even kernels are not centred.
//   max pool   padding never wins: only elements inside are looked at (padding is smaller than the
//              window, so there is always one).
//   avg pool   divides by the number of elements inside, or with count_padding by kh * kw, also
//              where the window reaches beyond explicit padding.
//   resize     the sum of products of each axis's weights (lang/core/resample.h); an element that
//              has the weight 1 alone is moved as it is. Elements of the weight 0 are not read.
//   gelu       the exact form x * (1 + erf(x / sqrt(2))) / 2.
//   softmax    exp(x - max) / sum(exp(x - max)) along the axis.
//   norms      eps is added to the variance, under the root; variance is the mean of squared
//              distances from the mean (divided by n, not n - 1), in two passes.
//   sqrt       of a negative is NaN; of -0 is -0. Division by zero is IEEE's.
//   mod        x - floor(x / y) * y of the exact quotient: the sign is y's; NaN for y = 0.
//   round      to nearest, halves to the even neighbour.
//   reduce_max, reduce_min  NaN if any is NaN. reduce_mean divides by the number of elements
//              reduced; reduce_prod multiplies in the order in which sums are taken.
//   argmax     the first of equals; a NaN counts as the largest. So it is in top_k, whose smallest
//              come in ascending order, NaN last.
//   pad        any value; enlarge pads a window with zeros, the same number on both sides.
//   gather     an index outside of 0 .. size - 1 gives NaN, of integers and bools 0.
//   scatter    an index outside of 0 .. size - 1 changes nothing. Updates are taken in their order:
//              of those with one index the last is what is written; joined are all of them.
//   non_max_suppression  ONNX's: boxes by score, of equals the smaller index first; one is left out
//              if intersection / union with one that was chosen is above the threshold. Boxes
//              without an area overlap none; a score that is NaN is above no threshold.
//   f16, bf16  are read exactly, computed with in Wide, and rounded once, to nearest even, where
//              the result is stored: sums keep at least the precision of f32.
//   f64        is its own Wide: every step of an operator rounds, nothing is narrower.
//   i32, i64   wrap around (two's complement); a sum in i32 is that in i64, cut. Division and mod
//              round down; x / 0 and x mod 0 are 0. No fused_map divides integers: its operands are
//              of one scalar, which may be that of other operands.
//   bool       is 0 or 1. Comparisons with NaN are false but for not_equal.
//   cast       to floats rounds to nearest even; to integers cuts the fraction off, a value beyond
//              the range becomes its end and NaN 0 (between integers it wraps); to bool is x != 0.
//              Over the reals (double) a cast between floats changes nothing.
//   reshape    keeps row-major order.
//   extern     has no meaning here, but that of being a function: of its name and type, and of all
//              elements of all operands. `Math::External` is one that has no property beside, for
//              checks of rules and graphs; backends run the kernel that is registered for it.
//   merge_gconv w[O, I, kh, kw] of `groups` groups becomes [O, I * count, kh, kw]: row o of group g
//              stands at inputs (g mod count) * I onwards, zeros elsewhere.
//
// Rational operators (sums, products, quotients, moves) use only +, -, *, / of Wide. All else goes
// through Math<Wide>, so that a field can put keyed random functions there: `unary` and `binary`
// functions, `maximum` of two, `select`, `max_of` a whole window (symmetric), `argmax` and
// `softmax` of a whole row, `cast`, `External` of what is put in an order. Bools are 0 and 1, so
// that `and`, `or` and `not` are rational. Pointwise operators with a formula (formulas.h) are put
// together out of these.
#pragma once

#include "lang/core/fused_body.h"
#include "lang/core/op.h"

namespace tg {

/// Row-major elements of one operand. `data` is null where the operand is absent.
template <class T> struct ConstView {
  const T* data = nullptr;
  llvm::ArrayRef<int64_t> shape;
  bool present() const { return data != nullptr; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
};
template <class T> struct View {
  T* data = nullptr;
  llvm::ArrayRef<int64_t> shape;
  int64_t elements() const { return ConstView<T>{data, shape}.elements(); }
};

/// Storage scalar to the type in which operators compute. Specialise for a new scalar, and Math
/// for its Wide.
template <class T> struct ScalarTraits;
template <> struct ScalarTraits<float> { using Wide = double; };
template <> struct ScalarTraits<double> { using Wide = double; };

/// i32, i64 and bool: two's complement of 64 bits that wraps around.
struct Integer {
  int64_t value = 0;
  Integer() = default;
  explicit Integer(int64_t v) : value(v) {}
  bool operator==(const Integer&) const = default;
};
inline Integer wrapped(uint64_t bits) { return Integer(static_cast<int64_t>(bits)); }
inline uint64_t bits(Integer x) { return static_cast<uint64_t>(x.value); }
inline Integer operator+(Integer x, Integer y) { return wrapped(bits(x) + bits(y)); }
inline Integer operator-(Integer x, Integer y) { return wrapped(bits(x) - bits(y)); }
inline Integer operator*(Integer x, Integer y) { return wrapped(bits(x) * bits(y)); }
inline Integer operator-(Integer x) { return wrapped(0 - bits(x)); }
inline Integer& operator+=(Integer& x, Integer y) { return x = x + y; }
Integer operator/(Integer x, Integer y); // rounds down
template <> struct ScalarTraits<Integer> { using Wide = Integer; };
template <class T> using WideOf = typename ScalarTraits<T>::Wide;

/// What is not rational, and literals. `literal` gets the double that the text was read into.
template <class W> struct Math;
template <> struct Math<double> {
  static double literal(double value) { return value; }
  static double integer(int64_t value) { return static_cast<double>(value); }
  /// A unary, not rational, pointwise operator without a formula: relu, sigmoid, tanh, gelu, exp,
  /// sqrt, erf, log, sin, cos, atan, floor, round, sign; and those that are more exact than their
  /// formulas.
  static double unary(OpKind op, double x);
  static bool is_exacter(OpKind op);
  static double maximum(double x, double y);
  /// minimum, pow, mod, less, less_equal, equal.
  static double binary(OpKind op, double x, double y);
  /// x where the condition is not 0.
  static double select(double condition, double x, double y);
  static double cast(DType to, double x);
  /// The index below `size` that a value stands for; -1 for what is none. And what stands there.
  static int64_t index(double x, int64_t size);
  static double missing();
  /// Of at least one value.
  static int64_t argmax(llvm::ArrayRef<double> values);
  /// Of at least one value; does not depend on their order. A scalar without min_of has for the
  /// minimum the mirrored maximum.
  static double max_of(llvm::ArrayRef<double> values);
  static double min_of(llvm::ArrayRef<double> values);
  /// Whether x comes before y where the largest come first. Scalars that have no order leave it
  /// out: what is ordered is then a function of all that it is taken from (External).
  static bool above(double x, double y);
  /// In place.
  static void softmax(llvm::MutableArrayRef<double> row);
  /// Smooth, so that what is nearly equal stays so: sines of two weighted sums of all elements.
  class External {
  public:
    External(llvm::StringRef name, llvm::StringRef signature);
    void shape(llvm::ArrayRef<int64_t> sizes);
    void element(double x);
    double at(int64_t i) const;

  private:
    uint64_t key_;
    double sums_[2] = {};
  };
  /// A value of `External` as one of this dtype.
  static double of_dtype(DType dtype, double x);
  /// The quotient x / y as it is of integers: rounded down, and 0 for y = 0. For graphs that are
  /// evaluated over a scalar that is not theirs.
  static double whole_quotient(double quotient);
};

template <> struct Math<Integer> {
  static Integer literal(double value);
  static Integer integer(int64_t value) { return Integer(value); }
  static Integer unary(OpKind op, Integer x); // relu, sign, floor, round
  static Integer maximum(Integer x, Integer y);
  static Integer binary(OpKind op, Integer x, Integer y);
  static Integer select(Integer condition, Integer x, Integer y);
  static Integer cast(DType to, Integer x);
  static int64_t index(Integer x, int64_t size) { return x.value < size ? x.value : -1; }
  static Integer missing() { return {}; }
  static int64_t argmax(llvm::ArrayRef<Integer> values);
  static Integer max_of(llvm::ArrayRef<Integer> values);
  static Integer min_of(llvm::ArrayRef<Integer> values);
  static bool above(Integer x, Integer y) { return x.value > y.value; }
  static void softmax(llvm::MutableArrayRef<Integer> row); // of floats alone
  class External {
  public:
    External(llvm::StringRef name, llvm::StringRef signature);
    void shape(llvm::ArrayRef<int64_t> sizes);
    void element(Integer x);
    Integer at(int64_t i) const;

  private:
    uint64_t key_;
  };
  static Integer of_dtype(DType dtype, Integer x);
  static Integer whole_quotient(Integer quotient) { return quotient; }
};

/// The result of a pointwise operator at one element: the definition that pointwise operators,
/// activations and fused bodies share. `args` has the operator's operands.
template <class W> W pointwise(OpKind op, const W* args);

/// A bijection of 64 bits that leaves no pattern:
/// SplitMix64's finaliser (Steele, Lea and Flood 2014).
uint64_t scramble(uint64_t x);
/// Of a text, as a key of random functions.
uint64_t key_of_text(llvm::StringRef text);

/// Attribute values of an operator, one per slot, in normal form (shape_rules.h).
using AttrValues = llvm::ArrayRef<const Value*>;

/// Wide elements of scratch that evaluate_op needs. Operand shapes are empty where absent.
int64_t scratch_elements(OpKind op, AttrValues attrs,
                         llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands,
                         llvm::ArrayRef<int64_t> result);

/// Computes `result`. Operator, attributes and shapes must have passed `infer`; nothing can fail.
/// `result` may be the memory of an operand of its own shape: any of a pointwise operator or
/// fused_map, the first of a norm, softmax or scatter, the residual of matmul, conv2d and
/// winograd_conv2d. Leaves and sugar are not evaluated here.
template <class T>
void evaluate_op(OpKind op, AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                 llvm::MutableArrayRef<WideOf<T>> scratch);

/// The same for a fused_map whose body has been read already.
template <class T>
void evaluate_fused(const FusedBody& body, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                    llvm::MutableArrayRef<WideOf<T>> scratch);

/// Elements that evaluate_fused computes at a time.
inline constexpr int64_t kFusedBlock = 256;

extern template void evaluate_op<double>(OpKind, AttrValues, llvm::ArrayRef<ConstView<double>>,
                                         View<double>, llvm::MutableArrayRef<double>);
extern template void evaluate_fused<double>(const FusedBody&, llvm::ArrayRef<ConstView<double>>,
                                            View<double>, llvm::MutableArrayRef<double>);
extern template void evaluate_op<Integer>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Integer>>,
                                          View<Integer>, llvm::MutableArrayRef<Integer>);
extern template void evaluate_fused<Integer>(const FusedBody&, llvm::ArrayRef<ConstView<Integer>>,
                                             View<Integer>, llvm::MutableArrayRef<Integer>);

} // namespace tg
