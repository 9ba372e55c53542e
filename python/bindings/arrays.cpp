#include "python/bindings/arrays.h"

#include <nanobind/stl/string.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace tangram::python {

namespace nb = nanobind;

namespace {

using Code = nb::dlpack::dtype_code;

nb::dlpack::dtype dlpack_type(DType dtype) {
  auto of = [](Code code, uint8_t bits) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), bits, 1};
  };
  switch (dtype) {
  case DType::F32: return of(Code::Float, 32);
  case DType::F16: return of(Code::Float, 16);
  case DType::BF16: return of(Code::Bfloat, 16);
  case DType::I32: return of(Code::Int, 32);
  case DType::I64: return of(Code::Int, 64);
  case DType::Bool: return of(Code::Bool, 8);
  case DType::F64: return of(Code::Float, 64);
  }
  return {};
}

constexpr DType kAll[] = {DType::F32, DType::F16,  DType::BF16, DType::I32,
                          DType::I64, DType::Bool, DType::F64};

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  for (DType dtype : kAll)
    if (dlpack_type(dtype) == type) return dtype;
  return std::nullopt;
}

/// Returns NumPy's name of the dtype.
const char* numpy_name(DType dtype) {
  switch (dtype) {
  case DType::F16: return "float16";
  case DType::I32: return "int32";
  case DType::I64: return "int64";
  case DType::Bool: return "bool";
  case DType::F64: return "float64";
  case DType::F32:
  case DType::BF16: break;
  }
  return "float32";
}

/// Returns true for integer types that Tangram does not have, if a tensor of this dtype
/// can represent all their values.
bool widens(nb::dlpack::dtype from, DType wanted) {
  bool is_whole =
      from.code == static_cast<uint8_t>(Code::Int) || from.code == static_cast<uint8_t>(Code::UInt);
  return is_whole && from.lanes == 1 && !dtype_of(from) &&
         ((wanted == DType::I32 && from.bits <= 16) || wanted == DType::I64);
}

bool is_list(nb::handle value) {
  return nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value) ||
         nb::isinstance<nb::int_>(value) || nb::isinstance<nb::float_>(value) ||
         nb::isinstance<nb::bool_>(value);
}

/// Converts values without a direct view: lists, arrays with other layouts,
/// tensors that require gradients.
nb::object contiguous(nb::handle value, DType wanted) {
  nb::module_ numpy = nb::module_::import_("numpy");
  if (is_list(value)) return numpy.attr("asarray")(value, numpy_name(wanted));
  nb::object plain = nb::borrow(value);
  if (nb::hasattr(value, "detach")) plain = plain.attr("detach")();
  if (nb::hasattr(plain, "contiguous")) return plain.attr("contiguous")();
  // Also a NumPy scalar, and an array with the other byte order.
  plain = numpy.attr("asarray")(plain);
  return numpy.attr("ascontiguousarray")(plain, plain.attr("dtype").attr("newbyteorder")("="))
      .attr("reshape")(plain.attr("shape"));
}

/// Returns a view of a bf16 array of ml_dtypes for NumPy, which DLPack does not support;
/// nullopt for other objects.
std::optional<AnyArray> view_of_bf16(nb::handle value) {
  nb::object dtype = nb::getattr(value, "dtype", nb::none());
  nb::object name = nb::getattr(dtype, "name", nb::none()); // PyTorch's dtypes have none
  if (!nb::isinstance<nb::str>(name) || nb::cast<std::string>(name) != "bfloat16")
    return std::nullopt;
  nb::object bits = contiguous(value, DType::BF16).attr("view")("uint16");
  AnyArray array = nb::cast<AnyArray>(bits);
  std::vector<size_t> shape;
  for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
  return AnyArray(array.data(), shape.size(), shape.data(), bits, nullptr,
                  dlpack_type(DType::BF16));
}

[[noreturn]] void refuse(nb::handle value, std::string_view what) {
  std::string type = nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr()))).attr("__name__")));
  nb::object dtype = nb::getattr(value, "dtype", nb::none());
  if (!dtype.is_none()) type += " of " + nb::cast<std::string>(nb::str(dtype));
  throw nb::type_error((std::string(what) + ": expected a tensor on the CPU with a dtype that " +
                        "Tangram supports, not " + type)
                           .c_str());
}

} // namespace

AnyArray array_of(nb::handle value, DType wanted, std::string_view what) {
  AnyArray array;
  // NumPy scalars have no DLPack and, for some types, a buffer without a format.
  bool exports = !is_list(value) && nb::hasattr(value, "__dlpack__");
  if (exports && nb::try_cast(value, array, /*convert=*/false) && dtype_of(array.dtype()))
    return array;
  nb::object other;
  try {
    if (std::optional<AnyArray> bf16 = view_of_bf16(value)) return *bf16;
    other = contiguous(value, wanted);
  } catch (const nb::python_error&) {
    refuse(value, what);
  }
  if (!nb::try_cast(other, array, /*convert=*/false)) refuse(value, what);
  if (widens(array.dtype(), wanted)) {
    other = nb::module_::import_("numpy").attr("asarray")(other).attr("astype")(numpy_name(wanted));
    if (!nb::try_cast(other, array, /*convert=*/false)) refuse(value, what);
  }
  if (!dtype_of(array.dtype())) refuse(value, what);
  return array;
}

ConstTensorView view_of(const AnyArray& array) {
  ConstTensorView view{array.data(), *dtype_of(array.dtype()), {}};
  for (size_t i = 0; i < array.ndim(); ++i)
    view.shape.push_back(static_cast<int64_t>(array.shape(i)));
  return view;
}

namespace {

constexpr size_t kAlignment = 64;

size_t element_count(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

nb::object owned_array(void* memory, DType dtype, const std::vector<int64_t>& shape) {
  nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  std::vector<size_t> sizes(shape.begin(), shape.end());
  nb::ndarray<nb::numpy> array(memory, sizes.size(), sizes.data(), owner, nullptr,
                               dlpack_type(dtype));
  return nb::cast(array);
}

void* allocate(DType dtype, const std::vector<int64_t>& shape) {
  size_t bytes = element_count(shape) * dlpack_type(dtype).bits / 8;
  void* memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

} // namespace

nb::object new_array(const TensorSpec& spec, TensorView& view) {
  view = {allocate(spec.dtype, spec.shape), spec.dtype, spec.shape};
  return owned_array(view.data, spec.dtype, spec.shape);
}

nb::object widened(const uint16_t* elements, const std::vector<int64_t>& shape) {
  void* memory = allocate(DType::F32, shape);
  auto* to = static_cast<uint32_t*>(memory);
  for (size_t i = 0, count = element_count(shape); i < count; ++i)
    to[i] = static_cast<uint32_t>(elements[i]) << 16; // the upper half of an f32
  return owned_array(memory, DType::F32, shape);
}

} // namespace tangram::python
