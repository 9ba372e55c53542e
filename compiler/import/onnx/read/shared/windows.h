// Windows that slide along the axes of an image, as the attributes of convolutions and pools
// describe them: how many there are, and how far they reach beyond the image.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Along one axis.
struct SlidingWindow {
  int64_t size = 1; // of the image
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0; // padding
  int64_t out = 1;               // windows

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Where a window starts; negative in the padding before the image.
  int64_t start(int64_t window) const { return window * stride - before; }
  /// How far windows reach behind the image: beyond the padding, if their number was rounded up.
  int64_t reach() const { return std::max<int64_t>(start(out - 1) + extent() - size, 0); }
  /// Elements of a window before `end`, which is behind the image, and not before `begin`.
  int64_t count(int64_t window, int64_t begin, int64_t end) const;
  int64_t inside(int64_t window) const { return count(window, 0, size); }
  bool is_dilated() const { return dilation > 1 && kernel > 1; }
  /// Whether each element is a window.
  bool is_trivial() const {
    return kernel == 1 && stride == 1 && before == 0 && after == 0 && out == size;
  }
};
using SlidingWindows = llvm::SmallVector<SlidingWindow, 3>;

/// A window for each element of an axis.
inline SlidingWindow trivial_window(int64_t size) { return {size, 1, 1, 1, 0, 0, size}; }

enum class AutoPad : uint8_t { NotSet, SameUpper, SameLower, Valid };
AutoPad read_auto_pad(Call& call);

/// An attribute with so many numbers, each at least `least`; all of them `otherwise` where it is
/// not given. Fails, and is empty, for one that does not fit.
Shape read_numbers(Call& call, llvm::StringRef name, size_t count, int64_t least,
                   int64_t otherwise);

/// kernel_shape, which must be the weight's if it is given.
Shape read_kernel(Call& call, Ints of_weight);

/// By `strides`, `dilations`, `pads` and `auto_pad`. With `ceil_mode` a last window may reach
/// beyond the padding, but starts within the image or the padding before it. Fails, and is empty,
/// where no window fits.
SlidingWindows read_windows(Call& call, Ints image, Ints kernel, bool ceil_mode = false);

/// "[3, 3]".
std::string text_of(Ints numbers);

} // namespace tg::onnx
