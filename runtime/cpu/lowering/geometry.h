// Windows that slide over images, in oneDNN's form.
#pragma once

#include "lang/core/shape_rules.h"

#include <dnnl.h>

#include <cassert>

namespace tg::cpu {

/// The image axes are H and W, or D, H and W.
struct Geometry {
  dnnl_dims_t kernel, strides, dilates, before, after;
  size_t axes = 2;
};

inline Geometry geometry(const Shape& image, llvm::ArrayRef<int64_t> kernel, const Value& stride,
                         const Value& pad, llvm::ArrayRef<int64_t> dilation) {
  Geometry g{};
  for (int i = 0; i < 2; ++i) {
    auto axis = static_cast<size_t>(i);
    g.kernel[i] = kernel[axis];
    g.strides[i] = stride.ints[axis];
    g.dilates[i] = dilation[axis] - 1; // oneDNN counts the holes
    std::optional<Window> w =
        window(image[axis + 2], kernel[axis], stride.ints[axis], dilation[axis], pad, i);
    assert(w && "type inference checks that windows fit");
    g.before[i] = w->before;
    g.after[i] = w->after;
  }
  return g;
}

/// For conv3d, padding is three numbers before and three after.
inline Geometry geometry3d(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
                           llvm::ArrayRef<int64_t> pad, llvm::ArrayRef<int64_t> dilation) {
  Geometry g{};
  g.axes = 3;
  for (size_t i = 0; i < 3; ++i) {
    g.kernel[i] = kernel[i];
    g.strides[i] = stride[i];
    g.dilates[i] = dilation[i] - 1;
    g.before[i] = pad[i];
    g.after[i] = pad[3 + i];
  }
  return g;
}

/// Returns true if a tap of the kernel reads the image, of this size along the axis, for a result;
/// otherwise it reads the padding.
inline bool reads_image(const Geometry& g, size_t axis, int64_t size, int64_t result, int64_t tap) {
  int64_t at = result * g.strides[axis] - g.before[axis] + tap * (g.dilates[axis] + 1);
  return at >= 0 && at < size;
}

} // namespace tg::cpu
