// Operators: the contents of ops.def as data. OpInfo rows are built at compile time.
#pragma once

#include "lang/core/symbols.h"
#include "lang/core/type.h"

#include <array>
#include <optional>
#include <string_view>

namespace tg {

enum class OpKind : uint8_t {
#define TG_OP(kind, ...) kind,
#include "lang/core/ops.def"
};

inline constexpr size_t kOpCount = 0
#define TG_OP(...) +1
#include "lang/core/ops.def"
    ;

/// Properties that rules and passes quantify over.
struct Trait {
  enum : uint32_t {
    Leaf = 1 << 0,      // no operands
    Pointwise = 1 << 1, // each result element depends on the same element of each operand
    Commutes = 1 << 2,
    Rational = 1 << 3, // computed with +, -, *, / and moves: exact over a prime field
    Layout = 1 << 4,   // moves elements, computes nothing
    View = 1 << 5,     // never needs a copy if operands are contiguous
    Sugar = 1 << 6,    // only in the language: never a node of a graph
    Fused = 1 << 7,
    Opaque = 1 << 8, // calls a function of Math (semantics.h) that is not rational
    Yields = 1 << 9, // to a function of a program that has its name: it came later than programs
    Exact = 1 << 10, // adds no rounding: results are elements of operands, or have their digits
    InDoubles = 1 << 11,  // its definition computes in float64, whatever the scalar is
    Own = 1 << 12,        // only our runtime has it: others run its definition, at another price
    Strided = 1 << 13,    // a view where a backend's tensors may have any strides
    Pole = 1 << 14,       // infinite at a point
    SignedPole = 1 << 15, // at 0, of whose sign that infinity is; -log(0) is not
    // Which dtypes the operands may have (dtype_fits);
    // without one of these, numbers: floats, i32 and i64.
    Floating = 1 << 16, // f32, f64, f16, bf16
    Logical = 1 << 17,  // bool
    AnyType = 1 << 18,  // numbers and bool
  };
};

enum class ShapeRule : uint8_t {
#define TG_OP(...)
#define TG_SHAPE(shape, ...) shape,
#include "lang/core/ops.def"
};

/// The shape of a result, as far as its rule knows it before there are types.
enum class ResultShape : uint8_t {
  unknown,
  as_x, // that of the first operand
  rank_of_x,
  widest,  // the highest rank of the operands that must be given
  reduced, // with `keepdims`, the second attribute, the rank of the first operand
  listed,  // in the first attribute, where -1 is inferred
  rank2,
  rank3,
  rank4,
  rank5,
};

/// The dtype of a result.
enum class ResultDType : uint8_t {
  alike, // that of the operands that do not choose
  boolean,
  i64,
  own, // by another rule
};

/// Classes of kernels that reach alike shares of peak arithmetic and bandwidth.
enum class PriceClass : uint8_t {
  map, // element by element, fused or not
  product,
  attention,
  convolution,
  filtering, // winograd_conv2d
  window,    // pooling
  normalising,
  reduction,
  copy,    // whole rows
  shuffle, // elements one by one
};

/// Returns true for sums of products, which take most of the time of a network.
constexpr bool is_product(PriceClass price) {
  return price == PriceClass::product || price == PriceClass::attention ||
         price == PriceClass::convolution || price == PriceClass::filtering;
}

struct ShapeInfo {
  ResultShape result{};
  ResultDType dtype{};
  PriceClass price{};
};
inline constexpr ShapeInfo kShapeRules[] = {
#define TG_OP(...)
#define TG_SHAPE(shape, result, dtype, price, proof)                                               \
  {ResultShape::result, ResultDType::dtype, PriceClass::price},
#include "lang/core/ops.def"
};
constexpr const ShapeInfo& shape_info(ShapeRule rule) {
  return kShapeRules[static_cast<size_t>(rule)];
}

/// How flops are counted (op_work).
enum class Work : uint8_t {
  none,
  elements,
  transcendental,
  copy,
  mnk2,
  attention,
  conv,
  conv_transpose,
  winograd,
  window,
  resize, // the taps of each axis
  fused,
  formula, // the flops of its steps (formulas.h); the table gives `elements` or `transcendental`
};

/// Flops of one transcendental function, in multiply-adds of a polynomial kernel.
inline constexpr double kTranscendentalFlops = 20;

enum class AttrKind : uint8_t {
  integer, // int
  boolean, // bool
  real,    // float
  ints,    // list of int
  floats,  // list of float
  string,  // quoted text
  type,    // a tensor type
  act,     // none | relu | tanh | sigmoid | gelu | relu6
  pad,   // same | valid | n | [h, w] | [top, left, bottom, right]; normal form: same, valid or four
         // ints
  pair,  // n | [h, w]; normal form: two ints, at least 1, or 0 where that is the default
  axis,  // int; normal form: counted from the front
  axes,  // list of axes; normal form: counted from the front
  dtype, // f32 | f64 | f16 | bf16 | i32 | i64 | bool
};

struct AttrInfo {
  std::string_view name;
  AttrKind kind{};
  std::string_view default_text; // as written in ops.def
  bool required = true;
};

/// The dtype of an operand: that of the others, or its own where it chooses among elements.
enum class OperandKind : uint8_t { alike, condition, index, any };

struct OperandInfo {
  std::string_view name;
  bool optional = false;
  bool variadic = false;
  bool overwritable = false; // a kernel may write the result over it
  OperandKind kind{};
};

inline constexpr size_t kMaxAttrs = 9;
inline constexpr size_t kMaxOperands = 5;

struct OpInfo {
  OpKind kind{};
  std::string_view name;
  std::array<OperandInfo, kMaxOperands> operand_rows{};
  size_t operand_count = 0;
  std::array<AttrInfo, kMaxAttrs> attr_rows{};
  size_t attr_count = 0;
  ShapeRule shape{};
  uint32_t traits = 0;
  Work work{};
  double flops = 0; // per element of the result, if work is `elements` or `transcendental`
  std::string_view doc;

  llvm::ArrayRef<OperandInfo> operands() const { return {operand_rows.data(), operand_count}; }
  llvm::ArrayRef<AttrInfo> attrs() const { return {attr_rows.data(), attr_count}; }
  bool has(uint32_t trait) const { return (traits & trait) != 0; }
  /// Result and prices, as the shape rule has them.
  const ShapeInfo& shape_row() const { return shape_info(shape); }
  PriceClass price() const { return shape_row().price; }
  /// True if the dtype of the operand is its own: a condition, indices.
  bool chooses(size_t operand) const {
    return operand_rows[variadic() ? 0 : operand].kind != OperandKind::alike;
  }
  /// Position of the operand that holds indices along the axis, the first attribute; -1 if none.
  int index_operand() const;
  bool variadic() const { return operand_count == 1 && operand_rows[0].variadic; }
  /// Returns the slot of an attribute or position of an operand by name; -1 if there is none.
  int attr_slot(llvm::StringRef name) const;
  int operand_index(llvm::StringRef name) const;
};

/// Returns true if the operator accepts operands of this dtype.
/// Indices and conditions (gather, select, fused_map) have rules of their own.
bool dtype_fits(const OpInfo& op, DType dtype);

/// Returns true for the rows of TG_POINTWISE: an element of the result depends on one element
/// of each operand, and on attributes.
constexpr bool is_pointwise(OpKind op) {
  switch (op) {
#define TG_OP(...)
#define TG_POINTWISE(kind, ...) case OpKind::kind:
#include "lang/core/ops.def"
    return true;
  default: return false;
  }
}

/// Inputs and weights, whose values are not known.
constexpr bool is_variable(OpKind op) { return op == OpKind::Input || op == OpKind::Weight; }

const OpInfo& op_info(OpKind kind);
llvm::ArrayRef<OpInfo> all_ops();
std::optional<OpKind> find_op(llvm::StringRef name);

enum class Act : uint8_t { None, Relu, Tanh, Sigmoid, Gelu, Relu6 };
std::optional<Act> parse_act(llvm::StringRef name);
llvm::StringRef act_name(Act act);
/// Returns the pointwise operator that an activation applies; nullopt for Act::None.
std::optional<OpKind> act_op(Act act);

/// How scatter combines an update with the existing element: `reduce` "none", "add", "mul", "max",
/// "min".
enum class ScatterReduce : uint8_t { None, Add, Mul, Max, Min };
std::optional<ScatterReduce> parse_scatter_reduce(llvm::StringRef name);
/// Returns the pointwise operator that combines; nullopt if updates overwrite the element.
std::optional<OpKind> reduce_op(ScatterReduce reduce);

/// Returns the members of an attribute enumeration ("none", "relu", …; "same", "valid"; "f32", …);
/// empty for other kinds.
llvm::ArrayRef<llvm::StringRef> enum_members(AttrKind kind);

/// Returns the permutation of `transpose(x)` without an argument, which swaps the last two axes.
Shape last_axes_swapped(int64_t rank);

/// Returns the default value of a slot, normalized if that needs no operand.
/// The slot must not be required.
Value default_value(const AttrInfo& attr);

} // namespace tg

template <> struct llvm::DenseMapInfo<tg::ValueId> {
  static tg::ValueId getEmptyKey() { return {UINT32_MAX}; }
  static tg::ValueId getTombstoneKey() { return {UINT32_MAX - 1}; }
  static unsigned getHashValue(tg::ValueId id) { return id.index * 2654435761u; }
  static bool isEqual(tg::ValueId a, tg::ValueId b) { return a == b; }
};
template <> struct llvm::DenseMapInfo<tg::TypeId> {
  static tg::TypeId getEmptyKey() { return {UINT32_MAX}; }
  static tg::TypeId getTombstoneKey() { return {UINT32_MAX - 1}; }
  static unsigned getHashValue(tg::TypeId id) { return id.index * 2654435761u; }
  static bool isEqual(tg::TypeId a, tg::TypeId b) { return a == b; }
};
template <> struct llvm::DenseMapInfo<tg::AttrsId> {
  static tg::AttrsId getEmptyKey() { return {UINT32_MAX}; }
  static tg::AttrsId getTombstoneKey() { return {UINT32_MAX - 1}; }
  static unsigned getHashValue(tg::AttrsId id) { return id.index * 2654435761u; }
  static bool isEqual(tg::AttrsId a, tg::AttrsId b) { return a == b; }
};
