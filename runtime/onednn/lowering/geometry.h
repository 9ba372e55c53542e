// Windows that slide over images, in the form that oneDNN wants them.
#pragma once

#include "lang/core/shape_rules.h"

#include <dnnl.h>

#include <cassert>

namespace tg::cpu {

/// Of the two image axes, H and W.
struct Geometry {
  dnnl_dims_t kernel, strides, dilates, before, after;
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
    assert(w && "infer admits only windows that fit");
    g.before[i] = w->before;
    g.after[i] = w->after;
  }
  return g;
}

} // namespace tg::cpu
