#include "compiler/import/onnx/file/elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tg::onnx {

static_assert(std::endian::native == std::endian::little, "raw data is little-endian");

namespace {

// Indexed by their numbers in the specification.
constexpr ElementType kTypes[] = {
    {"undefined", 0, DataList::None, false, false},
    {"float", 32, DataList::Float, false, false},
    {"uint8", 8, DataList::Int32, true, false},
    {"int8", 8, DataList::Int32, true, true},
    {"uint16", 16, DataList::Int32, true, false},
    {"int16", 16, DataList::Int32, true, true},
    {"int32", 32, DataList::Int32, true, true},
    {"int64", 64, DataList::Int64, true, true},
    {"string", 0, DataList::String, false, false},
    {"bool", 8, DataList::Int32, true, false},
    {"float16", 16, DataList::Int32, false, false},
    {"double", 64, DataList::Double, false, false},
    {"uint32", 32, DataList::Uint64, true, false},
    {"uint64", 64, DataList::Uint64, true, false},
    {"complex64", 64, DataList::Float, false, false, 2},
    {"complex128", 128, DataList::Double, false, false, 2},
    {"bfloat16", 16, DataList::Int32, false, false},
    {"float8e4m3fn", 8, DataList::Int32, false, false},
    {"float8e4m3fnuz", 8, DataList::Int32, false, false},
    {"float8e5m2", 8, DataList::Int32, false, false},
    {"float8e5m2fnuz", 8, DataList::Int32, false, false},
    {"uint4", 4, DataList::Int32, true, false},
    {"int4", 4, DataList::Int32, true, true},
    {"float4e2m1", 4, DataList::Int32, false, false},
    {"float8e8m0", 8, DataList::Int32, false, false},
    {"uint2", 2, DataList::Int32, true, false},
    {"int2", 2, DataList::Int32, true, true},
};
static_assert(std::size(kTypes) == schema::Tensor::DataType_ARRAYSIZE,
              "every type of the schema has a row");

/// Returns the number of list entries for `count` elements.
uint64_t entries_of(const ElementType& type, uint64_t count) {
  if (type.bits < 8) return bytes_of(type, count);
  return count * static_cast<uint64_t>(type.per_element);
}

Diagnostic wrong_count(const char* list, uint64_t has, uint64_t wanted) {
  return error(Code::bad_data_file, "its {0} has {1} numbers, but its type requires {2}", list, has,
               wanted);
}

/// Returns the list's own memory, if its numbers are as wide as the parts of elements.
template <class List>
Result<Elements> in_place(const List& list, const char* name, uint64_t entries) {
  auto size = static_cast<uint64_t>(list.size());
  if (size != entries) return wrong_count(name, size, entries);
  return Elements{{reinterpret_cast<const char*>(list.data()), size * sizeof(*list.data())},
                  nullptr};
}

/// Converts numbers of a wider list to elements of `bytes` bytes. Errors: a number outside [min,
/// max].
template <class List>
Result<Elements> narrowed(const List& list, const char* name, uint64_t entries, size_t bytes,
                          int64_t min, uint64_t max) {
  auto size = static_cast<uint64_t>(list.size());
  if (size != entries) return wrong_count(name, size, entries);
  Elements elements{{}, std::make_unique<char[]>(size * bytes)};
  char* to = elements.owned.get();
  for (auto value : list) {
    if (value < 0 ? static_cast<int64_t>(value) < min : static_cast<uint64_t>(value) > max)
      return error(Code::bad_data_file,
                   "its {0} has the number {1}, which its type cannot represent", name, value);
    std::memcpy(to, &value, bytes); // little-endian: the low bytes
    to += bytes;
  }
  elements.bytes = {elements.owned.get(), size * bytes};
  return elements;
}

Result<Elements> from_int32_data(const schema::Tensor& tensor, const ElementType& type,
                                 uint64_t count) {
  uint64_t entries = entries_of(type, count);
  if (type.bits == 32) return in_place(tensor.int32_data(), "int32_data", entries);
  int bits = std::max(type.bits, 8);
  int64_t min = type.is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  uint64_t max = (uint64_t{1} << (bits - (type.is_signed ? 1 : 0))) - 1;
  if (type.bits < 8) max = 255; // two or four elements; the byte has no sign
  if (tensor.data_type() == schema::Tensor::BOOL) max = 1;
  return narrowed(tensor.int32_data(), "int32_data", entries, static_cast<size_t>(bits / 8), min,
                  max);
}

double half_to_double(uint16_t h) {
  int exponent = h >> 10 & 0x1f, fraction = h & 0x3ff;
  double value = exponent == 0      ? std::ldexp(fraction, -24)
                 : exponent != 0x1f ? std::ldexp(fraction + 0x400, exponent - 25)
                 : fraction != 0    ? std::numeric_limits<double>::quiet_NaN()
                                    : std::numeric_limits<double>::infinity();
  return h >> 15 ? -value : value;
}

template <class T, class F>
std::vector<double> each(llvm::StringRef bytes, uint64_t count, F to_double) {
  std::vector<double> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = to_double(element);
  }
  return values;
}

/// Returns the bits of element i; the first element of a byte has its low bits.
uint64_t bits_at(llvm::StringRef bytes, const ElementType& type, uint64_t i) {
  uint64_t value = 0;
  if (type.bits >= 8) {
    auto size = static_cast<uint64_t>(type.bits / 8);
    std::memcpy(&value, bytes.data() + i * size, size);
    return value;
  }
  auto bits = static_cast<uint64_t>(type.bits), place = i * bits;
  value = static_cast<unsigned char>(bytes[place / 8]);
  return value >> place % 8 & ((uint64_t{1} << bits) - 1);
}

} // namespace

const ElementType* element_type(int32_t data_type) {
  bool known = data_type >= 0 && data_type < static_cast<int32_t>(std::size(kTypes));
  return known ? &kTypes[data_type] : nullptr;
}

WholeRange range_of(const ElementType& type) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = -(kLeast + 1);
  if (type.bits >= 64) return {kLeast, kMost}; // of u64 as its bits
  int64_t size = int64_t{1} << (type.is_signed ? type.bits - 1 : type.bits);
  return {type.is_signed ? -size : 0, size - 1};
}

const char* other_list(const schema::Tensor& tensor, DataList wanted) {
  if (wanted != DataList::Float && tensor.float_data_size() > 0) return "float_data";
  if (wanted != DataList::Int32 && tensor.int32_data_size() > 0) return "int32_data";
  if (wanted != DataList::Int64 && tensor.int64_data_size() > 0) return "int64_data";
  if (wanted != DataList::Double && tensor.double_data_size() > 0) return "double_data";
  if (wanted != DataList::Uint64 && tensor.uint64_data_size() > 0) return "uint64_data";
  if (wanted != DataList::String && tensor.string_data_size() > 0) return "string_data";
  return nullptr;
}

Result<Elements> elements_from_list(const schema::Tensor& tensor, const ElementType& type,
                                    uint64_t count) {
  uint64_t entries = entries_of(type, count);
  switch (type.list) {
  case DataList::Float: return in_place(tensor.float_data(), "float_data", entries);
  case DataList::Double: return in_place(tensor.double_data(), "double_data", entries);
  case DataList::Int64: return in_place(tensor.int64_data(), "int64_data", entries);
  case DataList::Int32: return from_int32_data(tensor, type, count);
  case DataList::Uint64:
    if (type.bits == 64) return in_place(tensor.uint64_data(), "uint64_data", entries);
    return narrowed(tensor.uint64_data(), "uint64_data", entries, 4, 0, UINT32_MAX);
  case DataList::None:
  case DataList::String: break;
  }
  assert(false && "element types without bits are refused before");
  return Elements{};
}

/// Converts bits to an integer; unsigned types of 64 bits keep their bits.
static int64_t whole_of(uint64_t bits, const ElementType& type) {
  auto shift = static_cast<unsigned>(64 - type.bits); // extends the sign
  return type.is_signed ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits);
}

Elements as_carried(llvm::StringRef bytes, const ElementType& type, uint64_t count, DType carrier) {
  auto width = static_cast<uint64_t>(dtype_size(carrier));
  Elements made{{}, std::make_unique<char[]>(count * width)};
  for (uint64_t i = 0; i < count; ++i) {
    int64_t number = whole_of(bits_at(bytes, type, i), type);
    std::memcpy(made.owned.get() + i * width, &number, width); // little-endian: the low bytes
  }
  made.bytes = {made.owned.get(), count * width};
  return made;
}

Result<std::vector<int64_t>> as_integers(llvm::StringRef bytes, const ElementType& type,
                                         uint64_t count) {
  if (!type.is_integer)
    return error(Code::unsupported, "its elements must be integers, got type {0}", type.name);
  std::vector<int64_t> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = bits_at(bytes, type, i);
    if (!type.is_signed && bits > INT64_MAX)
      return error(Code::unsupported, "its element {0} does not fit a signed 64-bit integer", bits);
    values[i] = whole_of(bits, type);
  }
  return values;
}

Result<std::vector<double>> as_doubles(llvm::StringRef bytes, int32_t data_type, uint64_t count) {
  switch (data_type) {
  case schema::Tensor::FLOAT: return each<float>(bytes, count, [](float x) { return double{x}; });
  case schema::Tensor::DOUBLE: return each<double>(bytes, count, [](double x) { return x; });
  case schema::Tensor::FLOAT16: return each<uint16_t>(bytes, count, half_to_double);
  case schema::Tensor::BFLOAT16:
    return each<uint16_t>(
        bytes, count, [](uint16_t h) { return double{std::bit_cast<float>(uint32_t{h} << 16)}; });
  case schema::Tensor::UINT64:
    return each<uint64_t>(bytes, count, [](uint64_t x) { return static_cast<double>(x); });
  default: break;
  }
  const ElementType& type = *element_type(data_type);
  if (!type.is_integer)
    return error(Code::unsupported, "its elements must be numbers, got type {0}", type.name);
  TG_TRY(std::vector<int64_t> integers, as_integers(bytes, type, count));
  return std::vector<double>(integers.begin(), integers.end());
}

} // namespace tg::onnx
