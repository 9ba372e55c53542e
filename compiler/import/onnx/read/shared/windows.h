// Windows that slide along the axes of an image, as described by attributes of convolutions and
// pools: their number, and how far they extend beyond the image.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Along one axis.
struct SlidingWindow {
  int64_t size = 1; // of the image
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0; // padding
  int64_t out = 1;               // number of windows

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Start of a window; negative in the padding before the image.
  int64_t start(int64_t window) const { return window * stride - before; }
  /// How far windows extend beyond the end of the image: more than the padding if their number
  /// was rounded up.
  int64_t reach() const { return std::max<int64_t>(start(out - 1) + extent() - size, 0); }
  /// Number of elements of a window from `begin` up to `end`, which is at or beyond the end
  /// of the image.
  int64_t count(int64_t window, int64_t begin, int64_t end) const;
  int64_t inside(int64_t window) const { return count(window, 0, size); }
  bool is_dilated() const { return dilation > 1 && kernel > 1; }
  /// Returns true if each element is a window.
  bool is_trivial() const {
    return kernel == 1 && stride == 1 && before == 0 && after == 0 && out == size;
  }
};
using SlidingWindows = llvm::SmallVector<SlidingWindow, 3>;

/// Returns windows of one element each.
inline SlidingWindow trivial_window(int64_t size) { return {size, 1, 1, 1, 0, 0, size}; }

enum class AutoPad : uint8_t { NotSet, SameUpper, SameLower, Valid };
AutoPad read_auto_pad(Call& call);

/// Reads an attribute with `count` numbers, each at least `least`; the default is `otherwise` for
/// all. Fails, and is empty, on a mismatch.
Shape read_numbers(Call& call, llvm::StringRef name, size_t count, int64_t least,
                   int64_t otherwise);

/// Reads kernel_shape, which must equal the weight's if given.
Shape read_kernel(Call& call, Ints of_weight);

/// Reads `strides`, `dilations`, `pads` and `auto_pad`. With `ceil_mode` a last window may extend
/// beyond the padding, but must start within the image or the padding before it. Fails, and is
/// empty, if no window fits.
SlidingWindows read_windows(Call& call, Ints image, Ints kernel, bool ceil_mode = false);

/// Formats "[3, 3]".
std::string text_of(Ints numbers);

} // namespace tg::onnx
