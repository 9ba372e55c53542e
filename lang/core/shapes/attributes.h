// The accepted values of each attribute kind, and their normal form.
#pragma once

#include "lang/core/shapes/inference.h"
#include "lang/core/support/round_number.h"

#include <cmath>

namespace tg::shapes {

/// Returns true if a literal is exactly representable in this dtype (floats are rounded).
inline bool literal_fits(const Value& number, DType dtype) {
  if (is_float(dtype)) return true;
  if (number.is(Value::Kind::Int)) return dtype == DType::I64; // normalized
  double x = number.real;
  if (dtype == DType::Bool) return x == 0 || x == 1;
  double limit = dtype == DType::I32 ? 0x1p31 : 0x1p63;
  return x == std::floor(x) && x >= -limit && x < limit;
}

/// Fails if a number is below `low`, or larger than any size.
template <class In, class Ints>
bool in_range(const In& in, const AttrInfo& attr, const Ints& ints, int64_t low) {
  constexpr int64_t kHigh = int64_t{1} << 40;
  for (const auto& n : ints)
    if (n < low || exceeds(n, kHigh))
      return in.fail("`{0}` must be at least {1}, got {2}", attr.name, low, n);
  return true;
}

template <class In>
bool expect(const In& in, const AttrInfo& attr, const typename In::Value& v, Value::Kind kind,
            const char* what) {
  if (v.is(kind)) return true;
  return in.fail("`{0}` must be {1}, got {2}", attr.name, what, v);
}

/// Reports `pad = "same"`: a quoted word.
template <class In>
bool quoted_word(const In& in, const AttrInfo& attr, const typename In::Value& v) {
  if (!v.is(Value::Kind::String) || !llvm::is_contained(enum_members(attr.kind), v.text))
    return false;
  (void)in.fail("`{0}` is a word without quotes: write `{0} = {1}`", attr.name, v.text);
  return true;
}

template <class In> bool normalise_pair(In& in, const AttrInfo& attr, size_t slot) {
  using V = typename In::Value;
  V v = in.attr(slot);
  if (v.is(Value::Kind::Int)) v = V::of_ints({v.number, v.number});
  if (!v.is(Value::Kind::Ints) || v.ints.size() != 2)
    return in.fail("`{0}` must be an int or [height, width], got {1}", attr.name, v);
  in.set(slot, v);
  return in_range(in, attr, v.ints, attr.default_text == "0" ? 0 : 1);
}

template <class In> bool normalise_pad(In& in, const AttrInfo& attr, size_t slot) {
  using V = typename In::Value;
  V v = in.attr(slot);
  if (v.is(Value::Kind::Enum)) {
    if (v.text == "same" || v.text == "valid") return true;
    return in.fail("`{0}` must be same, valid or a number, got {1}", attr.name, v.text);
  }
  if (v.is(Value::Kind::Int)) v = V::of_ints({v.number, v.number});
  if (v.is(Value::Kind::Ints) && v.ints.size() == 2)
    v = V::of_ints({v.ints[0], v.ints[1], v.ints[0], v.ints[1]});
  if (!v.is(Value::Kind::Ints) || v.ints.size() != 4)
    return in.fail("`{0}` must be same, valid, n, [h, w] or [top, left, bottom, right], got {1}",
                   attr.name, v);
  if (!in_range(in, attr, v.ints, 0)) return false;
  bool none = llvm::all_of(v.ints, [](const auto& n) { return n == 0; });
  in.set(slot, none ? V(Value::of_enum("valid")) : v);
  return true;
}

template <class In>
bool normalise_axis(const In& in, const AttrInfo& attr, typename In::Int& written) {
  int64_t axis = fixed(written);
  int64_t rank = in.operands.empty() ? 0 : in.type(0).rank();
  if (axis < -rank || axis >= rank)
    return in.fail("`{0}` = {1} is out of range for {2}", attr.name, axis, in.type(0));
  written = axis < 0 ? axis + rank : axis;
  return true;
}

/// Returns the dtype of an operator's numeric attributes: that of the operand's elements
/// if they are combined with those, else a float.
template <class In> DType number_dtype(const In& in) {
  bool elements = in.info.kind == OpKind::Pad || in.info.kind == OpKind::Clip;
  return elements ? in.type(0).dtype : DType::F64;
}

template <class In> bool normalise_attr(In& in, size_t slot) {
  using V = typename In::Value;
  const AttrInfo& attr = in.info.attrs()[slot];
  V v = in.attr(slot);
  if (quoted_word(in, attr, v)) return false;
  switch (attr.kind) {
  case AttrKind::integer: return expect(in, attr, v, Value::Kind::Int, "an int");
  case AttrKind::boolean: return expect(in, attr, v, Value::Kind::Bool, "true or false");
  case AttrKind::real:
    if (!v.is(Value::Kind::Int) && !expect(in, attr, v, Value::Kind::Float, "a number"))
      return false;
    if (Value number = normal_number(closed(v), number_dtype(in)); !number.is(v.kind))
      in.set(slot, number);
    return true;
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
    if (v.is(Value::Kind::Int)) v = V::of_ints({v.number});
    if (!expect(in, attr, v, Value::Kind::Ints, "a list of axes")) return false;
    for (auto& axis : v.ints)
      if (!normalise_axis(in, attr, axis)) return false;
    in.set(slot, v);
    return true;
  }
  return false;
}

} // namespace tg::shapes
