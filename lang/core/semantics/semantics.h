// The semantics of each operator: one definition, templated over the scalar. It serves the
// reference backend (float, Integer), constant folding and float64 checks (double), and exact
// checks (a prime field). The bodies are in impl.h. A library that evaluates over its own scalar
// includes that file and instantiates them; float64 is instantiated in semantics.cpp.
//
// The rules (shapes are those of shape_rules.h):
//
//   Order      act(op(x, y) + bias + residual). Sums run in row-major order of the summed elements,
//              in the scalar's Wide type: sums and functions of floats are computed in double and
//              rounded once, at the end of the operator, and not between the operators of a
//              fused_map. A backend may sum in another order; it is compared within a tolerance.
//   NaN        every operator propagates NaN: relu(NaN), maximum(NaN, y), maximum(x, NaN), and the
//              maximum of a window, row or reduction that contains a NaN, are NaN. maximum(-0, 0)
//              and relu(-0) may be either zero.
//   Infinity   follows IEEE 754: sigmoid(-inf) = 0, tanh(inf) = 1, gelu(-inf) = NaN (-inf * 0). A
//              softmax row whose maximum is infinite is NaN.
//   matmul     leading dimensions broadcast as in NumPy; the bias runs along n; the residual has
//              the shape of the result.
//   conv2d     cross-correlation (the kernel is not flipped), nchw with weights [O, C / groups, kh,
//              kw]; group g computes the O / groups results from the C / groups inputs of index g.
//              Result row y reads input rows y * stride - before + i * dilation. Padding consists
//              of zeros that are multiplied like elements of x, as in ONNX's Conv, so it gives NaN
//              with an infinite or NaN weight.
//   conv3d     conv2d along three axes.
//   conv_transpose2d  element (y, x) of an image contributes to y * stride - before + i * dilation
//              for each row i of the kernel, and likewise for columns: the transpose, as a matrix,
//              of the conv2d of the same kernel, stride and padding. Results without contributions,
//              including those of output_padding, are the bias, or 0. `same` gives stride times the
//              size; the excess is cut in halves, an odd element at the end (ONNX's SAME_UPPER).
//   winograd_conv2d  conv2d by minimal filtering (winograd_transforms.h): the last tiles read zeros
//              beyond the image, and results outside are dropped. Equal to conv2d in exact
//              arithmetic. An infinity or NaN spreads over its whole tile, which a backend may also
//              do in conv2d.
//   same       pads to ceil(size / stride) results; the total is split in halves with an odd zero
//              at the end (below, right), as in TensorFlow: even kernels are not centred.
//   max pool   ignores padding: only elements inside are considered (padding is smaller than the
//              window, so there is always one).
//   avg pool   divides by the number of elements inside, or with count_padding by kh * kw, even
//              if the window extends beyond explicit padding.
//   resize     the sum of products of each axis's weights (lang/core/resample.h); an element with
//              the single weight 1 is copied. Elements with the weight 0 are not read.
//   gelu       the exact form x * (1 + erf(x / sqrt(2))) / 2.
//   softmax    exp(x - max) / sum(exp(x - max)) along the axis.
//   norms      eps is added to the variance, under the root; the variance is the mean of squared
//              distances from the mean (divided by n, not n - 1), in two passes.
//   sqrt       of a negative number is NaN; of -0 is -0. Division by zero follows IEEE 754.
//   mod        x - floor(x / y) * y of the exact quotient: it has the sign of y; NaN for y = 0.
//   round      to nearest, halves to the even neighbour.
//   reduce_max, reduce_min  NaN if any element is NaN. reduce_mean divides by the number of reduced
//              elements; reduce_prod multiplies in the order of sums.
//   argmax     the first of equal elements; a NaN counts as the largest. The same holds for top_k,
//              whose smallest elements come in ascending order, NaN last.
//   pad        any value; enlarge pads a window with zeros, the same number on both sides.
//   gather     an index outside 0 .. size - 1 gives NaN, or 0 for integers and bools.
//   scatter    an index outside 0 .. size - 1 changes nothing. Updates are applied in order: of
//              several with the same index, the last is written, or all are combined.
//   non_max_suppression  ONNX's: boxes by score, among equal ones the smaller index first; a box is
//              skipped if intersection / union with a chosen box is above the threshold. Boxes
//              without an area overlap none; a NaN score is above no threshold.
//   f16, bf16  are read exactly, computed in Wide, and rounded once, to nearest even, when the
//              result is stored: sums keep at least the precision of f32.
//   f64        is its own Wide: every step of an operator rounds, nothing is narrower.
//   i32, i64   wrap around (two's complement); a sum in i32 is the wrapped sum in i64. Division and
//              mod round down; x / 0 and x mod 0 are 0. No fused_map divides integers: all its
//              operands have one scalar, which may be that of other operands.
//   bool       is 0 or 1. Comparisons with NaN are false, except not_equal.
//   cast       to floats rounds to nearest even. To integers, it drops the fraction; a value beyond
//              the range becomes the range's end, and NaN becomes 0 (between integers it wraps). To
//              bool it is x != 0. Over the reals (double) a cast between floats changes nothing.
//   reshape    keeps row-major order.
//   extern     is uninterpreted here: a function of its name and type, and of all elements of all
//              operands. `Math::External` is such a function without other properties, for checks
//              of rules and graphs; backends run the kernel that is registered for it.
//   merge_gconv w[O, I, kh, kw] of `groups` groups becomes [O, I * count, kh, kw]: row o of group g
//              is at the inputs from (g mod count) * I on, with zeros elsewhere.
//
// Rational operators (sums, products, quotients, moves) use only +, -, *, / of Wide. All others use
// Math<Wide>, so that a field can substitute keyed random functions: `unary` and `binary`
// functions, `maximum` of two, `select`, `max_of` a whole window (symmetric), `argmax` and
// `softmax` of a whole row, `cast`, and `External` for operators that need an order. Bools are 0
// and 1, so `and`, `or` and `not` are rational. Pointwise operators with a formula (formulas.h) are
// composed of these.
#pragma once

#include "lang/core/fused_body.h"
#include "lang/core/op.h"

namespace tg {

/// Row-major elements of one operand. `data` is null if the operand is absent.
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

/// Maps a storage scalar to the type in which operators compute.
/// Specialize it for a new scalar, and Math for its Wide.
template <class T> struct ScalarTraits;
template <> struct ScalarTraits<float> { using Wide = double; };
template <> struct ScalarTraits<double> { using Wide = double; };

/// i32, i64 and bool: 64-bit two's complement with wraparound.
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

/// The functions that are not rational, and literals. `literal` gets the double
/// that was parsed from the text.
template <class W> struct Math;
template <> struct Math<double> {
  static double literal(double value) { return value; }
  static double integer(int64_t value) { return static_cast<double>(value); }
  /// A unary, not rational, pointwise operator without a formula:
  /// relu, sigmoid, tanh, gelu, exp, sqrt, erf, log, sin, cos, atan, floor, round, sign;
  /// and operators with a more precise form than their formula.
  static double unary(OpKind op, double x);
  static bool has_precise_form(OpKind op);
  static double maximum(double x, double y);
  /// minimum, pow, mod, less, less_equal, equal.
  static double binary(OpKind op, double x, double y);
  /// Returns x if the condition is not 0.
  static double select(double condition, double x, double y);
  static double cast(DType to, double x);
  /// `index` returns the index below `size` that a value represents; -1 if it is invalid.
  /// `missing` is the element at an invalid index.
  static int64_t index(double x, int64_t size);
  static double missing();
  /// Requires at least one value.
  static int64_t argmax(llvm::ArrayRef<double> values);
  /// Requires at least one value; does not depend on their order.
  /// For a scalar without min_of, the minimum is the mirrored maximum.
  static double max_of(llvm::ArrayRef<double> values);
  static double min_of(llvm::ArrayRef<double> values);
  /// Returns true if x comes before y in descending order. Scalars without an order omit it;
  /// a sorted result is then a function of all operands (External).
  static bool above(double x, double y);
  /// Works in place.
  static void softmax(llvm::MutableArrayRef<double> row);
  /// A smooth function, so that nearly equal operands give nearly equal results:
  /// sines of two weighted sums of all elements.
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
  /// Converts a value of `External` to this dtype.
  static double of_dtype(DType dtype, double x);
  /// Converts the quotient x / y to that of integers: rounded down, and 0 for y = 0.
  /// For graphs that are evaluated over another scalar than their own.
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
  static void softmax(llvm::MutableArrayRef<Integer> row); // for floats only
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

/// Returns the result of a pointwise operator at one element. Pointwise operators,
/// activations and fused bodies share this definition. `args` has the operator's operands.
template <class W> W pointwise(OpKind op, const W* args);

/// A bijection of 64 bits without visible patterns: SplitMix64's finalizer (Steele,
/// Lea and Flood 2014).
uint64_t scramble(uint64_t x);
/// Returns the hash of a text, as a key of random functions.
uint64_t key_of_text(llvm::StringRef text);

/// Attribute values of an operator, one per slot, normalized (shape_rules.h).
using AttrValues = llvm::ArrayRef<const Value*>;

/// Returns the number of Wide elements of scratch that evaluate_op needs.
/// Operand shapes are empty if absent.
int64_t scratch_elements(OpKind op, AttrValues attrs,
                         llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands,
                         llvm::ArrayRef<int64_t> result);

/// Computes `result`. Operator, attributes and shapes must have passed `infer`; nothing can fail.
/// `result` may be the memory of an operand of the same shape:
/// any operand of a pointwise operator or fused_map, the first of a norm, softmax or scatter,
/// the residual of matmul, conv2d and winograd_conv2d. Leaves and sugar are not evaluated here.
template <class T>
void evaluate_op(OpKind op, AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                 llvm::MutableArrayRef<WideOf<T>> scratch);

/// The same for a fused_map whose body is already parsed.
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
