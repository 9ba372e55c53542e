// Tensors of Python as views of the library, and back: NumPy arrays, and whatever speaks DLPack on
// the processor. Nothing is copied where elements lie in row-major order.
#pragma once

#include "tangram/tangram.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string_view>

namespace tangram::python {

using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

/// The elements of `value`, in row-major order: its own where it has them so, else of a copy. Lists
/// and numbers become arrays of the dtype `wanted`. Throws TypeError, naming `what`, for what is no
/// tensor, or of elements that Tangram does not have.
AnyArray array_of(nanobind::handle value, DType wanted, std::string_view what);

ConstTensorView view_of(const AnyArray& array);

/// A new NumPy array, and its memory as a view. Not of bf16, which NumPy does not have.
nanobind::object new_array(const TensorSpec& spec, TensorView& view);

/// The elements of bf16 as a new array of f32.
nanobind::object widened(const uint16_t* elements, const std::vector<int64_t>& shape);

} // namespace tangram::python
