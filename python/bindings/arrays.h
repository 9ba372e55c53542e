// Converts Python tensors to views of the library, and back: NumPy arrays, and every object
// that supports DLPack on the CPU. Row-major elements are not copied.
#pragma once

#include "tangram/tangram.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string_view>

namespace tangram::python {

using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

/// Returns the elements of `value` in row-major order: its own if they are, else those of a copy.
/// Lists and numbers become arrays of the dtype `wanted`. Throws TypeError, naming `what`,
/// if the value is not a tensor or has an unsupported element type.
AnyArray array_of(nanobind::handle value, DType wanted, std::string_view what);

ConstTensorView view_of(const AnyArray& array);

/// Returns a new NumPy array, and a view of its memory. Not for bf16, which NumPy does not have.
nanobind::object new_array(const TensorSpec& spec, TensorView& view);

/// Returns the bf16 elements as a new f32 array.
nanobind::object widened(const uint16_t* elements, const std::vector<int64_t>& shape);

} // namespace tangram::python
