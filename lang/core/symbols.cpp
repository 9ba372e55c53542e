#include "lang/core/symbols.h"

#include "lang/core/diagnostics/escape.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace tg {

namespace {

Value make(Value::Kind kind) {
  Value v;
  v.kind = kind;
  return v;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

uint64_t hash_of(const Value& v) {
  llvm::hash_code h =
      llvm::hash_combine(static_cast<uint8_t>(v.kind), v.number, std::bit_cast<uint64_t>(v.real),
                         v.text, llvm::hash_combine_range(v.ints.begin(), v.ints.end()));
  for (double x : v.reals) h = llvm::hash_combine(h, std::bit_cast<uint64_t>(x));
  return static_cast<uint64_t>(h);
}

/// DenseMap reserves the two largest keys.
uint64_t key(uint64_t hash) { return hash >> 2; }

std::string float_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

} // namespace

Value Value::of_int(int64_t n) {
  Value v = make(Kind::Int);
  v.number = n;
  return v;
}
Value Value::of_bool(bool b) {
  Value v = make(Kind::Bool);
  v.number = b;
  return v;
}
Value Value::of_float(double x) {
  Value v = make(Kind::Float);
  v.real = std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; // one unsigned NaN
  return v;
}
Value Value::of_ints(llvm::ArrayRef<int64_t> ints) {
  Value v = make(Kind::Ints);
  v.ints.assign(ints.begin(), ints.end());
  return v;
}
Value Value::of_floats(std::vector<double> reals) {
  Value v = make(Kind::Floats);
  v.reals = std::move(reals);
  return v;
}
Value Value::of_enum(llvm::StringRef text) {
  Value v = make(Kind::Enum);
  v.text = text.str();
  return v;
}
Value Value::of_string(llvm::StringRef text) {
  Value v = make(Kind::String);
  v.text = text.str();
  return v;
}
Value Value::of_type(const TensorType& type) {
  Value v = make(Kind::Type);
  v.number = static_cast<int64_t>(type.dtype);
  v.ints.assign(type.shape.begin(), type.shape.end());
  return v;
}

TensorType Value::as_type() const {
  return {static_cast<DType>(number), Shape(ints.begin(), ints.end())};
}

bool Value::operator==(const Value& o) const {
  return kind == o.kind && number == o.number && same_bits(real, o.real) && ints == o.ints &&
         text == o.text &&
         std::equal(reals.begin(), reals.end(), o.reals.begin(), o.reals.end(), same_bits);
}

std::string Value::text_form() const {
  switch (kind) {
  case Kind::Int: return std::to_string(number);
  case Kind::Bool: return number ? "true" : "false";
  case Kind::Float: return float_text(real);
  case Kind::Ints: return llvm::formatv("[{0:$[, ]}]", llvm::make_range(ints.begin(), ints.end()));
  case Kind::Floats: {
    std::string out = "[";
    for (double x : reals) out += (out.size() > 1 ? ", " : "") + float_text(x);
    return out + "]";
  }
  case Kind::Enum: return text;
  case Kind::String: return "\"" + escaped(text) + "\"";
  case Kind::Type: return as_type().text();
  }
  return {};
}

Symbols::Symbols() {
  (void)attrs({});
  (void)type(TensorType{});
}

ValueId Symbols::value(const Value& v) {
  auto& bucket = value_index_[key(hash_of(v))];
  for (uint32_t index : bucket)
    if (values_[index] == v) return {index};
  bucket.push_back(static_cast<uint32_t>(values_.size()));
  values_.push_back(v);
  return {bucket.back()};
}

AttrsId Symbols::attrs(llvm::ArrayRef<ValueId> list) {
  uint64_t hash = list.size();
  for (ValueId id : list) hash = static_cast<uint64_t>(llvm::hash_combine(hash, id.index));
  auto& bucket = attrs_index_[key(hash)];
  for (uint32_t index : bucket)
    if (llvm::ArrayRef<ValueId>(attr_lists_[index]) == list) return {index};
  bucket.push_back(static_cast<uint32_t>(attr_lists_.size()));
  attr_lists_.emplace_back(list.begin(), list.end());
  return {bucket.back()};
}

TypeId Symbols::type(const TensorType& t) {
  uint64_t hash = static_cast<uint64_t>(llvm::hash_combine(
      static_cast<uint8_t>(t.dtype), llvm::hash_combine_range(t.shape.begin(), t.shape.end())));
  auto& bucket = type_index_[key(hash)];
  for (uint32_t index : bucket)
    if (types_[index] == t) return {index};
  bucket.push_back(static_cast<uint32_t>(types_.size()));
  types_.push_back(t);
  return {bucket.back()};
}

} // namespace tg
