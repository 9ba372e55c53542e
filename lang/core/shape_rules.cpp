// One function per ShapeRule. Each gets attributes in normal form and types that are not all absent
// by mistake (arity and optional operands are checked before), and says what is wrong through
// Inference::fail, which costs nothing where nobody asks.
#include "lang/core/shape_rules.h"

#include "lang/core/extern_signature.h"
#include "lang/core/fused_body.h"
#include "lang/core/semantics/winograd_transforms.h"

#include <llvm/ADT/SmallBitVector.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// What a message shows of an argument; all else as it is.
template <class T> decltype(auto) shown(T&& x) {
  using Plain = std::decay_t<T>;
  if constexpr (std::is_same_v<Plain, TensorType>)
    return x.text();
  else if constexpr (std::is_same_v<Plain, Value>)
    return x.text_form();
  else if constexpr (std::is_base_of_v<llvm::SmallVectorImpl<int64_t>, Plain> ||
                     std::is_same_v<Plain, llvm::ArrayRef<int64_t>>)
    return Value::of_ints(x).text_form();
  else
    return std::forward<T>(x);
}

struct Inference {
  Symbols& symbols;
  const OpInfo& info;
  llvm::SmallVectorImpl<ValueId>& attrs;
  llvm::ArrayRef<TypeId> operands;
  std::string* why;
  TensorType result;

  const TensorType& type(size_t i) const { return symbols.type(operands[i]); }
  const Value& attr(size_t slot) const { return symbols.value(attrs[slot]); }
  void set(size_t slot, const Value& value) { attrs[slot] = symbols.value(value); }

  /// Types, values and lists of ints are given as such: most failures are of matches, which nobody
  /// reads of.
  template <class... Args> bool fail(const char* format, Args&&... args) const {
    if (why) *why = llvm::formatv(format, shown(std::forward<Args>(args))...).str();
    return false;
  }
};

// --- attributes -----------------------------------------------------------------------------

bool expect(const Inference& in, const AttrInfo& attr, const Value& v, Value::Kind kind,
            const char* what) {
  if (v.is(kind)) return true;
  return in.fail("`{0}` must be {1}, got {2}", attr.name, what, v);
}

/// `pad = "same"`: a word in quotes.
bool quoted_word(const Inference& in, const AttrInfo& attr, const Value& v) {
  if (!v.is(Value::Kind::String) || !llvm::is_contained(enum_members(attr.kind), v.text))
    return false;
  (void)in.fail("`{0}` takes a word without quotes: write `{0} = {1}`", attr.name, v.text);
  return true;
}

bool in_range(const Inference& in, const AttrInfo& attr, llvm::ArrayRef<int64_t> ints,
              int64_t low) {
  constexpr int64_t kHigh = int64_t{1} << 40;
  for (int64_t n : ints)
    if (n < low || n > kHigh)
      return in.fail("`{0}` must be at least {1}, got {2}", attr.name, low, n);
  return true;
}

bool normalise_pair(Inference& in, const AttrInfo& attr, size_t slot) {
  Value v = in.attr(slot);
  if (v.is(Value::Kind::Int)) v = Value::of_ints({v.number, v.number});
  if (!v.is(Value::Kind::Ints) || v.ints.size() != 2)
    return in.fail("`{0}` must be an int or [height, width], got {1}", attr.name, v);
  in.set(slot, v);
  return in_range(in, attr, v.ints, attr.default_text == "0" ? 0 : 1);
}

bool normalise_pad(Inference& in, const AttrInfo& attr, size_t slot) {
  Value v = in.attr(slot);
  if (v.is(Value::Kind::Enum)) {
    if (v.text == "same" || v.text == "valid") return true;
    return in.fail("`{0}` must be same, valid or a number, got {1}", attr.name, v.text);
  }
  if (v.is(Value::Kind::Int)) v = Value::of_ints({v.number, v.number});
  if (v.is(Value::Kind::Ints) && v.ints.size() == 2)
    v = Value::of_ints({v.ints[0], v.ints[1], v.ints[0], v.ints[1]});
  if (!v.is(Value::Kind::Ints) || v.ints.size() != 4)
    return in.fail("`{0}` must be same, valid, n, [h, w] or [top, left, bottom, right], got {1}",
                   attr.name, v);
  if (!in_range(in, attr, v.ints, 0)) return false;
  bool none = llvm::all_of(v.ints, [](int64_t n) { return n == 0; });
  in.set(slot, none ? Value::of_enum("valid") : v);
  return true;
}

bool normalise_axis(const Inference& in, const AttrInfo& attr, int64_t& axis) {
  int64_t rank = in.operands.empty() ? 0 : in.type(0).rank();
  if (axis < -rank || axis >= rank)
    return in.fail("`{0}` = {1} is out of range for {2}", attr.name, axis, in.type(0));
  if (axis < 0) axis += rank;
  return true;
}

bool normalise_attr(Inference& in, size_t slot) {
  const AttrInfo& attr = in.info.attrs()[slot];
  Value v = in.attr(slot);
  if (quoted_word(in, attr, v)) return false;
  switch (attr.kind) {
  case AttrKind::integer: return expect(in, attr, v, Value::Kind::Int, "an int");
  case AttrKind::boolean: return expect(in, attr, v, Value::Kind::Bool, "true or false");
  case AttrKind::real:
    if (v.is(Value::Kind::Int)) in.set(slot, v = Value::of_float(static_cast<double>(v.number)));
    return expect(in, attr, v, Value::Kind::Float, "a number");
  case AttrKind::ints: return expect(in, attr, v, Value::Kind::Ints, "a list of ints");
  case AttrKind::floats:
    return v.is(Value::Kind::Ints) || expect(in, attr, v, Value::Kind::Floats, "a list of numbers");
  case AttrKind::string: return expect(in, attr, v, Value::Kind::String, "text in quotes");
  case AttrKind::type: return expect(in, attr, v, Value::Kind::Type, "a type");
  case AttrKind::pair: return normalise_pair(in, attr, slot);
  case AttrKind::pad: return normalise_pad(in, attr, slot);
  case AttrKind::act:
    if (v.is(Value::Kind::Enum) && parse_act(v.text)) return true;
    return in.fail("`{0}` must be none, relu, tanh, sigmoid, gelu or relu6, got {1}", attr.name, v);
  case AttrKind::dtype:
    if (v.is(Value::Kind::Enum) && parse_dtype(v.text)) return true;
    return in.fail("`{0}` must be f32, f64, f16, bf16, i32, i64 or bool, got {1}", attr.name, v);
  case AttrKind::axis:
    if (!expect(in, attr, v, Value::Kind::Int, "an axis") || !normalise_axis(in, attr, v.number))
      return false;
    in.set(slot, v);
    return true;
  case AttrKind::axes:
    if (v.is(Value::Kind::Int)) v = Value::of_ints({v.number});
    if (!expect(in, attr, v, Value::Kind::Ints, "a list of axes")) return false;
    for (int64_t& axis : v.ints)
      if (!normalise_axis(in, attr, axis)) return false;
    in.set(slot, v);
    return true;
  }
  return false;
}

// --- shape rules ------------------------------------------------------------------------------

/// Whether a literal can be an element of this dtype without being changed (floats are rounded).
bool literal_fits(double x, DType dtype) {
  if (is_float(dtype)) return true;
  if (dtype == DType::Bool) return x == 0 || x == 1;
  double limit = dtype == DType::I32 ? 0x1p31 : 0x1p63;
  return x == std::floor(x) && x >= -limit && x < limit;
}

bool leaf(Inference& in) {
  in.result = in.attr(1).as_type();
  if (in.info.kind != OpKind::Constant) return true;
  // Integers where a double does not hold them all (Graph::whole_constant).
  size_t count = in.attr(0).ints.size() + in.attr(0).reals.size();
  if (count != 1 && static_cast<int64_t>(count) != in.result.elements())
    return in.fail("{0} values for {1}", count, in.result);
  if (in.attr(0).is(Value::Kind::Ints) && in.result.dtype != DType::I64)
    return in.fail("integers that only i64 holds, for {0}", in.result);
  llvm::ArrayRef<double> values = in.attr(0).reals;
  for (double x : values)
    if (!literal_fits(x, in.result.dtype))
      return in.fail("{0} is no {1}", Value::of_float(x), dtype_name(in.result.dtype));
  return true;
}

bool broadcast(Inference& in) {
  in.result.dtype = in.type(0).dtype;
  if (broadcast_shapes(in.type(0).shape, in.type(1).shape, in.result.shape)) return true;
  return in.fail("shapes {0} and {1} do not broadcast", in.type(0).shape, in.type(1).shape);
}

bool compare(Inference& in) {
  if (!broadcast(in)) return false;
  in.result.dtype = DType::Bool;
  return true;
}

bool select(Inference& in) {
  const TensorType &condition = in.type(0), &x = in.type(1), &y = in.type(2);
  if (condition.dtype != DType::Bool)
    return in.fail("the condition of select must be bool, got {0}", condition);
  if (x.dtype != y.dtype)
    return in.fail("dtypes differ: {0} and {1}", dtype_name(x.dtype), dtype_name(y.dtype));
  Shape shape;
  in.result.dtype = x.dtype;
  if (!broadcast_shapes(x.shape, y.shape, shape))
    return in.fail("shapes {0} and {1} do not broadcast", x.shape, y.shape);
  if (broadcast_shapes(condition.shape, shape, in.result.shape)) return true;
  return in.fail("shapes {0} and {1} do not broadcast", condition.shape, shape);
}

bool clip(Inference& in) {
  in.result = in.type(0);
  double low = in.attr(0).real, high = in.attr(1).real;
  if (!(low <= high)) // of NaN, too
    return in.fail("`low` = {0} is above `high` = {1}", in.attr(0), in.attr(1));
  if (literal_fits(low, in.result.dtype) && literal_fits(high, in.result.dtype)) return true;
  return in.fail("the limits {0} and {1} are no {2}", in.attr(0), in.attr(1),
                 dtype_name(in.result.dtype));
}

bool cast(Inference& in) {
  in.result = in.type(0);
  in.result.dtype = *parse_dtype(in.attr(0).text);
  return true;
}

bool bias_fits(const Inference& in, int64_t channels) {
  const TensorType& bias = in.type(2);
  if (bias.is_none() || (bias.rank() == 1 && bias[0] == channels)) return true;
  return in.fail("the bias must be {0}, got {1}", TensorType{in.result.dtype, Shape{channels}},
                 bias);
}

/// The activation of a product of integers must be one on integers.
bool act_fits(const Inference& in, size_t slot) {
  std::optional<OpKind> op = act_op(parse_act(in.attr(slot).text).value_or(Act::None));
  if (!op || dtype_fits(op_info(*op), in.result.dtype)) return true;
  return in.fail("{0} takes floats, got {1}", op_info(*op).name, in.result);
}

/// Bias and residual of products: operands 2 and 3.
bool epilogue(const Inference& in, int64_t channels) {
  if (!act_fits(in, in.info.attr_count - 1)) return false;
  const TensorType& residual = in.type(3);
  if (!bias_fits(in, channels)) return false;
  if (!residual.is_none() && !(residual == in.result))
    return in.fail("the residual must be {0}, got {1}", in.result, residual);
  return true;
}

bool matmul(Inference& in) {
  const TensorType &x = in.type(0), &y = in.type(1);
  if (x.rank() < 2 || y.rank() < 2)
    return in.fail("matmul needs two dimensions or more, got {0} and {1}", x, y);
  int64_t m = x.shape[x.rank() - 2], k = x.shape.back(), l = y.shape[y.rank() - 2],
          n = y.shape.back();
  if (k != l) return in.fail("inner dimensions differ: {0} and {1}", k, l);
  llvm::ArrayRef<int64_t> batch_x = llvm::ArrayRef<int64_t>(x.shape).drop_back(2);
  llvm::ArrayRef<int64_t> batch_y = llvm::ArrayRef<int64_t>(y.shape).drop_back(2);
  in.result.dtype = x.dtype;
  if (!broadcast_shapes(batch_x, batch_y, in.result.shape))
    return in.fail("batch dimensions {0} and {1} do not broadcast", batch_x, batch_y);
  in.result.shape.append({m, n});
  return epilogue(in, n);
}

bool spatial(Inference& in, llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
             const Value& pad, llvm::ArrayRef<int64_t> dilation) {
  const TensorType& x = in.type(0);
  for (int i = 0; i < 2; ++i) {
    std::optional<Window> w = window(x[2 + i], kernel[i], stride[i], dilation[i], pad, i);
    if (!w) return in.fail("a window of {0} does not fit {1} (pad = {2})", kernel, x, pad);
    in.result.shape.push_back(w->out);
  }
  return true;
}

/// Channels of x[N, C, ..] and w[O, C / groups, ..], and the first axes of the result.
bool grouped_channels(Inference& in) {
  const TensorType &x = in.type(0), &w = in.type(1);
  if (x[1] % w[1] != 0)
    return in.fail("{0} input channels are no multiple of the kernel's {1}", x[1], w[1]);
  int64_t groups = x[1] / w[1];
  if (w[0] % groups != 0)
    return in.fail("{0} output channels do not divide into {1} groups", w[0], groups);
  in.result = {x.dtype, Shape{x[0], w[0]}};
  return true;
}

bool conv2d(Inference& in) {
  const TensorType &x = in.type(0), &w = in.type(1);
  if (x.rank() != 4 || w.rank() != 4)
    return in.fail("conv2d needs x[N, C, H, W] and w[O, C / groups, kh, kw], got {0} and {1}", x,
                   w);
  if (!grouped_channels(in)) return false;
  if (!spatial(in, {w[2], w[3]}, in.attr(0).ints, in.attr(1), in.attr(2).ints)) return false;
  return epilogue(in, w[0]);
}

bool winograd_weight(Inference& in) {
  const TensorType& w = in.type(0);
  int64_t tile = in.attr(0).number;
  if (tile != 2 && tile != 4) return in.fail("`tile` must be 2 or 4, got {0}", tile);
  if (w.rank() != 4 || w[2] != Winograd::kKernel || w[3] != Winograd::kKernel)
    return in.fail("winograd_weight needs w[O, I, 3, 3], got {0}", w);
  in.result = {w.dtype, Shape{winograd_of_results(tile).products(), w[0], w[1]}};
  return true;
}

/// conv2d's rule for the kernel that u stands for.
bool winograd_conv2d(Inference& in) {
  const TensorType &x = in.type(0), &u = in.type(1);
  if (x.rank() != 4 || u.rank() != 3 || (u[0] != 16 && u[0] != 36))
    return in.fail("winograd_conv2d needs x[N, C, H, W] and u[16 or 36, O, C / groups], got {0} "
                   "and {1}",
                   x, u);
  if (x[1] % u[2] != 0)
    return in.fail("{0} input channels are no multiple of the kernel's {1}", x[1], u[2]);
  int64_t groups = x[1] / u[2];
  if (u[1] % groups != 0)
    return in.fail("{0} output channels do not divide into {1} groups", u[1], groups);
  in.result = {x.dtype, Shape{x[0], u[1]}};
  if (!spatial(in, {3, 3}, {1, 1}, in.attr(0), {1, 1})) return false;
  return epilogue(in, u[1]);
}

/// One number for all axes, or one for each; padding before and behind each.
bool of_three_axes(Inference& in, size_t slot, int64_t least) {
  const AttrInfo& attr = in.info.attrs()[slot];
  Value v = in.attr(slot);
  bool pads = least == 0;
  if (v.ints.size() == 1) v.ints.assign(3, int64_t{v.ints[0]});
  if (pads && v.ints.size() == 3)
    for (int i = 0; i < 3; ++i) v.ints.push_back(int64_t{v.ints[i]});
  if (v.ints.size() != (pads ? 6 : 3))
    return in.fail(pads ? "`{0}` must be n, [d, h, w] or six numbers, three before and three "
                          "behind, got {1}"
                        : "`{0}` must be n or [d, h, w], got {1}",
                   attr.name, in.attr(slot));
  in.set(slot, v);
  return in_range(in, attr, v.ints, least);
}

bool conv3d(Inference& in) {
  const TensorType &x = in.type(0), &w = in.type(1);
  if (x.rank() != 5 || w.rank() != 5)
    return in.fail("conv3d needs x[N, C, D, H, W] and w[O, C / groups, kd, kh, kw], got {0} and "
                   "{1}",
                   x, w);
  if (!of_three_axes(in, 0, 1) || !of_three_axes(in, 1, 0) || !of_three_axes(in, 2, 1) ||
      !grouped_channels(in))
    return false;
  llvm::ArrayRef<int64_t> pad = in.attr(1).ints;
  for (size_t i = 0; i < 3; ++i) {
    std::optional<Window> along =
        window(x[2 + i], w[2 + i], in.attr(0).ints[i], in.attr(2).ints[i], pad[i], pad[3 + i]);
    if (!along)
      return in.fail("a window of {0} does not fit {1} (pad = {2})",
                     llvm::ArrayRef<int64_t>(w.shape).drop_front(2), x, pad);
    in.result.shape.push_back(along->out);
  }
  return bias_fits(in, w[0]);
}

bool conv_transpose2d(Inference& in) {
  const TensorType &x = in.type(0), &w = in.type(1);
  if (x.rank() != 4 || w.rank() != 4)
    return in.fail("conv_transpose2d needs x[N, C, H, W] and w[C, O / groups, kh, kw], got {0} and "
                   "{1}",
                   x, w);
  if (x[1] != w[0]) return in.fail("x has {0} channels, and the kernel is for {1}", x[1], w[0]);
  int64_t groups = in.attr(4).number;
  if (groups < 1 || x[1] % groups != 0)
    return in.fail("{0} channels do not divide into {1} groups", x[1], groups);
  if (w[1] > kMaxElements / groups) return in.fail("{0} groups of {1} are too many", groups, w[1]);
  in.result = {x.dtype, Shape{x[0], w[1] * groups}};
  const Value& pad = in.attr(1);
  for (int i = 0; i < 2; ++i) {
    int64_t kernel = w[2 + i], stride = in.attr(0).ints[i];
    std::optional<Window> along =
        transposed_window(x[2 + i], kernel, stride, in.attr(3).ints[i], pad, in.attr(2).ints[i], i);
    if (!along && pad.text == "same")
      return in.fail("`pad` = same needs windows that reach from one to the next, got a kernel of "
                     "{0} and a stride of {1}",
                     kernel, stride);
    if (!along) return in.fail("`pad` = {0} leaves nothing of {1} under {2}", pad, x, w);
    in.result.shape.push_back(along->out);
  }
  return bias_fits(in, w[1] * groups);
}

bool pool2d(Inference& in) {
  const TensorType& x = in.type(0);
  if (x.rank() != 4) return in.fail("{0} needs x[N, C, H, W], got {1}", in.info.name, x);
  llvm::ArrayRef<int64_t> kernel = in.attr(0).ints;
  const Value& pad = in.attr(2);
  if (pad.is(Value::Kind::Ints))
    for (int i = 0; i < 4; ++i)
      if (pad.ints[i] >= kernel[i % 2])
        return in.fail("padding {0} is not smaller than the window {1}", pad.ints, kernel);
  in.result = {x.dtype, Shape{x[0], x[1]}};
  return spatial(in, kernel, in.attr(1).ints, pad, {1, 1});
}

bool batch_norm(Inference& in) {
  const TensorType& x = in.type(0);
  if (x.rank() < 2) return in.fail("batch_norm needs x[N, C, ..], got {0}", x);
  for (size_t i = 1; i < 5; ++i)
    if (in.type(i).rank() != 1 || in.type(i)[0] != x[1])
      return in.fail("`{0}` must be {1}, got {2}", in.info.operands()[i].name,
                     TensorType{x.dtype, Shape{x[1]}}, in.type(i));
  in.result = x;
  return true;
}

bool layer_norm(Inference& in) {
  const TensorType& x = in.type(0);
  if (x.rank() < 1) return in.fail("layer_norm needs an axis, got {0}", x);
  for (size_t i = 1; i < 3; ++i)
    if (in.type(i).rank() != 1 || in.type(i)[0] != x.shape.back())
      return in.fail("`{0}` must be {1}, got {2}", in.info.operands()[i].name,
                     TensorType{x.dtype, Shape{x.shape.back()}}, in.type(i));
  in.result = x;
  return true;
}

bool reduce(Inference& in) {
  const TensorType& x = in.type(0);
  Value axes = in.attr(0);
  llvm::sort(axes.ints);
  if (axes.ints.empty()) return in.fail("no axis to reduce");
  if (std::adjacent_find(axes.ints.begin(), axes.ints.end()) != axes.ints.end())
    return in.fail("an axis occurs twice in {0}", axes);
  in.set(0, axes);
  bool keep = in.attr(1).number != 0;
  in.result.dtype = x.dtype;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    bool reduced = llvm::is_contained(axes.ints, axis);
    if (!reduced) in.result.shape.push_back(x[axis]);
    if (reduced && keep) in.result.shape.push_back(1);
  }
  return true;
}

bool argmax(Inference& in) {
  in.result = in.type(0);
  in.result.dtype = DType::I64;
  auto axis = in.result.shape.begin() + in.attr(0).number;
  if (in.attr(1).number != 0)
    *axis = 1;
  else
    in.result.shape.erase(axis);
  return true;
}

bool top_k(Inference& in) {
  in.result = in.type(0);
  in.result.dtype = DType::I64;
  int64_t k = in.attr(1).number, &size = in.result.shape[static_cast<size_t>(in.attr(0).number)];
  if (k < 1 || k > size)
    return in.fail("`k` = {0} must be from 1 to {1}, the size of axis {2} of {3}", k, size,
                   in.attr(0).number, in.type(0));
  size = k;
  return true;
}

bool gather(Inference& in) {
  const TensorType &x = in.type(0), &indices = in.type(1);
  if (!is_integer(indices.dtype)) return in.fail("indices must be i32 or i64, got {0}", indices);
  size_t axis = static_cast<size_t>(in.attr(0).number);
  llvm::ArrayRef<int64_t> shape = x.shape;
  in.result = {x.dtype, Shape(shape.begin(), shape.begin() + axis)};
  in.result.shape.append(indices.shape.begin(), indices.shape.end());
  in.result.shape.append(shape.begin() + axis + 1, shape.end());
  return true;
}

bool scatter(Inference& in) {
  const TensorType &x = in.type(0), &indices = in.type(1), &updates = in.type(2);
  if (!is_integer(indices.dtype)) return in.fail("indices must be i32 or i64, got {0}", indices);
  if (indices.rank() != 1) return in.fail("indices must be a vector, got {0}", indices);
  TensorType wanted = x;
  wanted.shape[static_cast<size_t>(in.attr(0).number)] = indices[0];
  if (!(updates == wanted)) return in.fail("updates must be {0}, got {1}", wanted, updates);
  llvm::StringRef reduce = in.attr(1).text;
  if (!parse_scatter_reduce(reduce))
    return in.fail("`reduce` must be none, add, mul, max or min, in quotes, got {0}", in.attr(1));
  if (x.dtype == DType::Bool && reduce != "none")
    return in.fail("`reduce` = {0} takes numbers, got {1}", in.attr(1), x);
  in.result = x;
  return true;
}

bool broadcast_to(Inference& in) {
  const TensorType& x = in.type(0);
  llvm::ArrayRef<int64_t> shape = in.attr(0).ints;
  in.result = {x.dtype, Shape(shape.begin(), shape.end())};
  Shape both;
  if (broadcast_shapes(x.shape, shape, both) && both == in.result.shape) return true;
  return in.fail("{0} does not broadcast to {1}", x, shape);
}

bool non_max_suppression(Inference& in) {
  const TensorType &boxes = in.type(0), &scores = in.type(1);
  bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes[2] == 4 && boxes[0] == scores[0] &&
              boxes[1] == scores[2];
  if (!fits)
    return in.fail("non_max_suppression needs boxes[B, N, 4] and scores[B, C, N], got {0} and {1}",
                   boxes, scores);
  int64_t most = in.attr(0).number;
  if (most < 1) return in.fail("`max_output` must be at least 1, got {0}", most);
  for (size_t slot : {1, 2})
    if (std::isnan(in.attr(slot).real))
      return in.fail("`{0}` must be a number, got {1}", in.info.attrs()[slot].name, in.attr(slot));
  int64_t rows = scores[0] * scores[1] * std::min(most, scores[2]);
  in.result = {DType::I64, Shape{rows, 3}};
  return true;
}

bool iota(Inference& in) {
  in.result = in.attr(0).as_type();
  int64_t axis = in.attr(1).number;
  if (!dtype_fits(in.info, in.result.dtype))
    return in.fail("iota takes numbers, got {0}", in.result);
  if (axis < -in.result.rank() || axis >= in.result.rank())
    return in.fail("`axis` = {0} is out of range for {1}", axis, in.result);
  if (axis < 0) in.set(1, Value::of_int(axis + in.result.rank()));
  return true;
}

bool concat(Inference& in) {
  int64_t axis = in.attr(0).number;
  in.result = in.type(0);
  for (size_t i = 1; i < in.operands.size(); ++i) {
    const TensorType& x = in.type(i);
    bool fits = x.rank() == in.result.rank();
    for (int64_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || x[d] == in.result[d];
    if (!fits) return in.fail("{0} and {1} differ outside of axis {2}", in.type(0), x, axis);
    in.result.shape[axis] += x[axis];
  }
  return true;
}

bool slice(Inference& in) {
  in.result = in.type(0);
  int64_t axis = in.attr(0).number, size = in.result[axis];
  int64_t start = in.attr(1).number, stop = in.attr(2).number;
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  if (start < 0 || start >= stop || stop > size)
    return in.fail("{0}:{1} is no piece of axis {2} of {3}", in.attr(1).number, in.attr(2).number,
                   axis, in.type(0));
  in.set(1, Value::of_int(start));
  in.set(2, Value::of_int(stop));
  in.result.shape[axis] = stop - start;
  return true;
}

bool reshape(Inference& in) {
  const TensorType& x = in.type(0);
  Value shape = in.attr(0);
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < shape.ints.size(); ++i) {
    int64_t dim = shape.ints[i];
    if (dim == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(i);
    } else if (dim < 1 || dim > kMaxElements / known) {
      return in.fail("{0} is no shape", shape);
    } else {
      known *= dim;
    }
  }
  if (unknown >= 0) shape.ints[unknown] = x.elements() / known;
  in.result = {x.dtype, Shape(shape.ints.begin(), shape.ints.end())};
  if (unknown >= 0 ? known * shape.ints[unknown] != x.elements() || shape.ints[unknown] < 1
                   : known != x.elements())
    return in.fail("{0} has {1} elements, which do not fill {2}", x, x.elements(), in.attr(0));
  in.set(0, shape);
  return true;
}

bool transpose(Inference& in) {
  const TensorType& x = in.type(0);
  const Value& perm = in.attr(0);
  llvm::SmallBitVector seen(static_cast<unsigned>(x.rank()));
  for (int64_t axis : perm.ints) seen.set(static_cast<unsigned>(axis));
  if (static_cast<int64_t>(perm.ints.size()) != x.rank() || !seen.all())
    return in.fail("{0} is no permutation of the {1} axes of {2}", perm, x.rank(), x);
  in.result.dtype = x.dtype;
  for (int64_t axis : perm.ints) in.result.shape.push_back(x[axis]);
  return true;
}

bool pad(Inference& in) {
  in.result = in.type(0);
  const Value &before = in.attr(0), &after = in.attr(1);
  size_t rank = in.result.shape.size();
  if (before.ints.size() != rank || after.ints.size() != rank)
    return in.fail("`before` and `after` need one number for each of the {0} axes", rank);
  for (size_t i = 0; i < rank; ++i) {
    if (std::min(before.ints[i], after.ints[i]) < 0 ||
        std::max(before.ints[i], after.ints[i]) > kMaxElements)
      return in.fail("padding must not be negative, got {0} and {1}", before, after);
    in.result.shape[i] += before.ints[i] + after.ints[i];
  }
  if (literal_fits(in.attr(2).real, in.result.dtype)) return true;
  return in.fail("{0} is no {1}", in.attr(2), dtype_name(in.result.dtype));
}

bool enlarge(Inference& in) {
  in.result = in.type(0);
  if (in.result.rank() != 4) return in.fail("enlarge needs w[O, I, kh, kw], got {0}", in.result);
  for (int i = 0; i < 2; ++i) {
    int64_t from = in.result[2 + i], to = in.attr(0).ints[i];
    if (to < from || (to - from) % 2 != 0)
      return in.fail(
          "a window of {0} cannot be enlarged to {1}: the difference must be even and not negative",
          from, to);
    in.result.shape[2 + i] = to;
  }
  return true;
}

bool merge_gconv(Inference& in) {
  in.result = in.type(0);
  int64_t count = in.attr(0).number, groups = in.attr(1).number;
  if (in.result.rank() != 4)
    return in.fail("merge_gconv needs w[O, I, kh, kw], got {0}", in.result);
  if (count < 1 || groups < 1 || groups % count != 0 || in.result[0] % groups != 0)
    return in.fail("{0} groups of {1} cannot be merged by {2}", groups, in.result, count);
  if (count > kMaxElements / in.result.elements()) return in.fail("the merged kernel is too large");
  in.result.shape[1] *= count;
  return true;
}

/// The dtype of the body's result, operators applied to what they take; None (and the reason) where
/// they are not.
DType body_dtype(const Inference& in, const FusedBody& body) {
  llvm::SmallVector<DType, 8> stack;
  for (const FusedInstr& instr : body.code) {
    if (instr.is_operand) {
      stack.push_back(in.type(instr.operand).dtype);
      continue;
    }
    const OpInfo& op = op_info(instr.op);
    llvm::ArrayRef<DType> args = llvm::makeArrayRef(stack).take_back(op.operand_count);
    if (op.shape == ShapeRule::select) {
      if (args[0] != DType::Bool) return in.fail("the condition of select must be bool"), DType{};
      args = args.drop_front();
    }
    DType dtype = args[0];
    for (DType arg : args)
      if (arg != dtype)
        return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(arg)), DType{};
    if (!dtype_fits(op, dtype))
      return in.fail("{0} does not take {1}", op.name, dtype_name(dtype)), DType{};
    if (instr.op == OpKind::Div && is_integer(dtype))
      return in.fail("a fused_map does not divide integers"), DType{};
    stack.truncate(stack.size() - op.operand_count);
    stack.push_back(op.shape == ShapeRule::compare ? DType::Bool : dtype);
  }
  return stack.back();
}

bool fused_map(Inference& in) {
  std::optional<FusedBody> body = parse_fused_body(in.attr(0).text);
  if (!body) return in.fail("{0} is no body of a fused_map", in.attr(0));
  llvm::SmallBitVector used(static_cast<unsigned>(in.operands.size()));
  for (const FusedInstr& instr : body->code) {
    if (!instr.is_operand) continue;
    if (instr.operand >= in.operands.size())
      return in.fail("the body names operand ${0} of {1}", instr.operand, in.operands.size());
    used.set(instr.operand);
  }
  if (!used.all()) return in.fail("the body does not use operand ${0}", used.find_first_unset());
  in.set(0, Value::of_string(body->text()));
  in.result = in.type(0);
  if ((in.result.dtype = body_dtype(in, *body)) == DType::None) return false;
  for (size_t i = 1; i < in.operands.size(); ++i) {
    Shape shape = in.result.shape;
    if (!broadcast_shapes(shape, in.type(i).shape, in.result.shape))
      return in.fail("shapes {0} and {1} do not broadcast", shape, in.type(i).shape);
  }
  return true;
}

bool extern_op(Inference& in) {
  std::optional<ExternSignature> signature = ExternSignature::parse(in.attr(1).text);
  if (!signature) return in.fail("`{0}` is no type of an operator", in.attr(1).text);
  llvm::SmallVector<TensorType, 4> operands;
  for (size_t i = 0; i < in.operands.size(); ++i) operands.push_back(in.type(i));
  std::string why;
  return signature->infer(operands, in.result, why) || in.fail("{0}", why);
}

bool apply_rule(Inference& in) {
  switch (in.info.shape) {
  case ShapeRule::none: return true;
  case ShapeRule::leaf: return leaf(in);
  case ShapeRule::same:
  case ShapeRule::softmax: in.result = in.type(0); return true;
  case ShapeRule::broadcast: return broadcast(in);
  case ShapeRule::compare: return compare(in);
  case ShapeRule::select: return select(in);
  case ShapeRule::clip: return clip(in);
  case ShapeRule::cast: return cast(in);
  case ShapeRule::matmul: return matmul(in);
  case ShapeRule::conv2d: return conv2d(in);
  case ShapeRule::winograd_weight: return winograd_weight(in);
  case ShapeRule::winograd_conv2d: return winograd_conv2d(in);
  case ShapeRule::conv_transpose2d: return conv_transpose2d(in);
  case ShapeRule::conv3d: return conv3d(in);
  case ShapeRule::pool2d: return pool2d(in);
  case ShapeRule::batch_norm: return batch_norm(in);
  case ShapeRule::layer_norm: return layer_norm(in);
  case ShapeRule::reduce: return reduce(in);
  case ShapeRule::argmax: return argmax(in);
  case ShapeRule::top_k: return top_k(in);
  case ShapeRule::concat: return concat(in);
  case ShapeRule::split: return in.fail("split has no single result");
  case ShapeRule::slice: return slice(in);
  case ShapeRule::reshape: return reshape(in);
  case ShapeRule::transpose: return transpose(in);
  case ShapeRule::pad: return pad(in);
  case ShapeRule::enlarge: return enlarge(in);
  case ShapeRule::merge_gconv: return merge_gconv(in);
  case ShapeRule::gather: return gather(in);
  case ShapeRule::iota: return iota(in);
  case ShapeRule::broadcast_to: return broadcast_to(in);
  case ShapeRule::scatter: return scatter(in);
  case ShapeRule::non_max_suppression: return non_max_suppression(in);
  case ShapeRule::fused_map: return fused_map(in);
  case ShapeRule::extern_op: return extern_op(in);
  }
  return false;
}

/// What the table says of dtypes, in words.
const char* dtypes_taken(const OpInfo& op) {
  if (op.has(Trait::Floating)) return "floats";
  return op.has(Trait::Logical) ? "bool" : "numbers";
}

/// Arity, absent operands, one dtype that the operator takes. Shape rules with a condition or with
/// indices look at dtypes themselves.
bool check_operands(const Inference& in) {
  size_t want = in.info.operand_count, got = in.operands.size();
  if (in.info.variadic() ? got == 0 : got != want)
    return in.fail("{0} takes {1} operands, got {2}", in.info.name, want, got);
  ShapeRule rule = in.info.shape;
  bool mixed = rule == ShapeRule::select || rule == ShapeRule::gather ||
               rule == ShapeRule::scatter || rule == ShapeRule::fused_map ||
               rule == ShapeRule::extern_op;
  DType dtype = DType::None;
  for (size_t i = 0; i < got; ++i) {
    const TensorType& type = in.type(i);
    bool optional = !in.info.variadic() && in.info.operands()[i].optional;
    if (type.is_none()) {
      if (!optional) return in.fail("operand {0} of {1} is missing", i + 1, in.info.name);
      continue;
    }
    if (llvm::is_contained(type.shape, 0))
      return in.fail("{0} takes no tensor without elements, got {1}", in.info.name, type);
    if (mixed) continue;
    if (dtype == DType::None) dtype = type.dtype;
    if (type.dtype != dtype)
      return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(type.dtype));
    if (!dtype_fits(in.info, dtype))
      return in.fail("{0} takes {1}, got {2}", in.info.name, dtypes_taken(in.info), type);
  }
  return true;
}

/// Every dimension positive, and no more elements than any size computation can hold. What only
/// goes in or out may have no elements; no operator takes or gives that.
bool check_size(const Inference& in) {
  bool may_be_empty = in.info.kind == OpKind::Input || in.info.kind == OpKind::Constant;

  if (in.result.rank() > kMaxRank)
    return in.fail("a rank of {0} is over the limit of {1}", in.result.rank(), kMaxRank);
  int64_t elements = 1;
  for (int64_t dim : in.result.shape) {
    if (dim < 0 || (dim == 0 && !may_be_empty))
      return in.fail("a dimension of {0} is not positive", in.result.shape);
    if (dim > kMaxElements / elements) return in.fail("{0} has too many elements", in.result.shape);
    elements *= std::max<int64_t>(dim, 1);
  }
  return true;
}

} // namespace

bool infer(Symbols& symbols, OpKind op, llvm::SmallVectorImpl<ValueId>& attrs,
           llvm::ArrayRef<TypeId> operands, TypeId& result, std::string* why) {
  Inference in{symbols, op_info(op), attrs, operands, why, {}};
  if (!check_operands(in)) return false;
  if (attrs.size() != in.info.attr_count)
    return in.fail("{0} has {1} attributes, got {2}", in.info.name, in.info.attr_count,
                   attrs.size());
  for (size_t slot = 0; slot < attrs.size(); ++slot)
    if (!normalise_attr(in, slot)) return false;
  if (!apply_rule(in) || !check_size(in)) return false;
  result = symbols.type(in.result);
  return true;
}

namespace {

/// From the first to the last of so many elements, both included; nullopt if wider than any tensor.
std::optional<int64_t> extent_of(int64_t count, int64_t apart) {
  int64_t extent = 0;
  if (__builtin_mul_overflow(count - 1, apart, &extent) || extent > kMaxElements)
    return std::nullopt;
  return extent + 1;
}

} // namespace

std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             int64_t before, int64_t after) {
  std::optional<int64_t> extent = extent_of(kernel, dilation);
  if (!extent) return std::nullopt;
  int64_t room = size + before + after - *extent;
  if (room < 0) return std::nullopt;
  return Window{room / stride + 1, before, after};
}

std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             const Value& pad, int axis) {
  std::optional<int64_t> extent = extent_of(kernel, dilation);
  if (!extent) return std::nullopt;
  Window w;
  if (pad.is(Value::Kind::Ints)) {
    w.before = pad.ints[axis];
    w.after = pad.ints[2 + axis];
  } else if (pad.text == "same") {
    int64_t out = (size + stride - 1) / stride;
    int64_t total = std::max<int64_t>((out - 1) * stride + *extent - size, 0);
    w.before = total / 2;
    w.after = total - w.before;
  }
  return window(size, kernel, stride, dilation, w.before, w.after);
}

std::optional<Window> transposed_window(int64_t size, int64_t kernel, int64_t stride,
                                        int64_t dilation, const Value& pad, int64_t extra,
                                        int axis) {
  std::optional<int64_t> extent = extent_of(kernel, dilation), apart = extent_of(size, stride);
  if (!extent || !apart) return std::nullopt;
  int64_t whole = *apart - 1 + *extent + extra;
  Window w;
  if (pad.is(Value::Kind::Ints)) {
    w.before = pad.ints[axis];
    w.after = pad.ints[2 + axis];
  } else if (pad.text == "same") {
    int64_t cut = whole - size * stride;
    if (cut < 0) return std::nullopt;
    w.before = cut / 2;
    w.after = cut - w.before;
  }
  w.out = whole - w.before - w.after;
  return w.out < 1 ? std::nullopt : std::optional(w);
}

bool broadcast_shapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b, Shape& out) {
  size_t rank = std::max(a.size(), b.size());
  Shape result(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) return false;
    result[rank - 1 - i] = da == 1 ? db : da;
  }
  out = std::move(result);
  return true;
}

namespace {

double flops_of(const Symbols& symbols, OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands,
                TypeId result) {
  double out = static_cast<double>(symbols.type(result).elements());
  switch (op_info(op).work) {
  case Work::none:
  case Work::copy: return 0;
  case Work::elements: // reductions read more than they write
    return op_info(op).flops *
           std::max(out, operands.empty()
                             ? 0.0
                             : static_cast<double>(symbols.type(operands[0]).elements()));
  case Work::formula: // of rows alone
  case Work::transcendental: return op_info(op).flops * out;
  case Work::mnk2: return 2 * out * static_cast<double>(symbols.type(operands[0]).shape.back());
  case Work::conv: {
    const TensorType& w = symbols.type(operands[1]);
    return 2 * out * static_cast<double>(w.elements() / w[0]);
  }
  case Work::conv_transpose: {
    const TensorType &x = symbols.type(operands[0]), &w = symbols.type(operands[1]);
    return 2 * static_cast<double>(x.elements()) * static_cast<double>(w.elements() / w[0]);
  }
  case Work::winograd: // of the convolution that it is, so that speeds compare
    return 2 * out * static_cast<double>(symbols.type(operands[1])[2] * 9);
  case Work::window: {
    const Value& kernel = symbols.attr(attrs, 0);
    return out * static_cast<double>(kernel.ints[0] * kernel.ints[1]);
  }
  case Work::fused: {
    std::optional<FusedBody> body = parse_fused_body(symbols.attr(attrs, 0).text);
    double flops = 0;
    for (const FusedInstr& instr : body->code)
      if (!instr.is_operand) flops += std::max(1.0, op_info(instr.op).flops);
    return flops * out;
  }
  }
  return 0;
}

} // namespace

OpWork op_work(const Symbols& symbols, OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands,
               TypeId result) {
  OpWork work;
  work.flops = flops_of(symbols, op, attrs, operands, result);
  if (op_info(op).has(Trait::View)) return work; // moves nothing
  work.bytes = static_cast<double>(symbols.type(result).bytes());
  if (op == OpKind::Slice || op == OpKind::Gather) { // reads only the piece, or the rows named
    work.bytes *= 2;
    return work;
  }
  for (TypeId operand : operands) work.bytes += static_cast<double>(symbols.type(operand).bytes());
  return work;
}

} // namespace tg
