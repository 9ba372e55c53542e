#include "compiler/import/onnx/read/shared/windows.h"

namespace tg::onnx {
namespace {

/// Limit on numbers of an attribute, far beyond useful values; products of these fit in 64 bits.
constexpr int64_t kMostSize = int64_t{1} << 24;

int64_t round_down(int64_t x, int64_t y) { return x / y - (x % y != 0 && x < 0 ? 1 : 0); }
int64_t round_up(int64_t x, int64_t y) { return round_down(x + y - 1, y); }

/// Adds the padding that gives ceil(size / stride) windows.
void pad_to_same(SlidingWindow& window, bool more_before) {
  int64_t out = round_up(window.size, window.stride);
  int64_t total = std::max<int64_t>((out - 1) * window.stride + window.extent() - window.size, 0);
  window.before = more_before ? (total + 1) / 2 : total / 2;
  window.after = total - window.before;
}

bool count_windows(Call& call, SlidingWindow& window, AutoPad pad, bool ceil_mode) {
  int64_t room = window.size + window.before + window.after - window.extent();
  if (pad == AutoPad::Valid && ceil_mode && room % window.stride != 0) {
    call.fail(
        "runtimes disagree on `ceil_mode` with `auto_pad` = VALID: some round up and some down");
    return false;
  }
  window.out = (ceil_mode ? round_up(room, window.stride) : round_down(room, window.stride)) + 1;
  if (ceil_mode && (window.out - 1) * window.stride >= window.size + window.before) --window.out;
  if (window.out >= 1) return true;
  call.fail("a window of " + llvm::Twine(window.extent()) + " does not fit " +
            llvm::Twine(window.size) + " elements between padding of " +
            llvm::Twine(window.before) + " and " + llvm::Twine(window.after));
  return false;
}

} // namespace

int64_t SlidingWindow::count(int64_t window, int64_t begin, int64_t end) const {
  int64_t first = std::max<int64_t>(round_up(begin - start(window), dilation), 0);
  int64_t last = std::min(round_down(end - 1 - start(window), dilation), kernel - 1);
  return std::max<int64_t>(last - first + 1, 0);
}

AutoPad read_auto_pad(Call& call) {
  std::string given = call.text("auto_pad", "NOTSET");
  if (given == "SAME_UPPER") return AutoPad::SameUpper;
  if (given == "SAME_LOWER") return AutoPad::SameLower;
  if (given == "VALID") return AutoPad::Valid;
  if (given != "NOTSET" && !given.empty()) call.fail("its `auto_pad` is `" + given + "`");
  return AutoPad::NotSet;
}

std::string text_of(Ints numbers) { return Value::of_ints(numbers).text_form(); }

Shape read_numbers(Call& call, llvm::StringRef name, size_t count, int64_t least,
                   int64_t otherwise) {
  std::optional<Shape> given = call.wholes(name);
  if (!given || given->empty()) return Shape(count, otherwise);
  if (given->size() != count) {
    call.fail("its attribute `" + name + "` has " + llvm::Twine(given->size()) +
              " numbers, expected " + llvm::Twine(count));
    return {};
  }
  for (int64_t number : *given)
    if (number < least || number > kMostSize) {
      call.fail("its attribute `" + name + "` is " + text_of(*given));
      return {};
    }
  return *given;
}

Shape read_kernel(Call& call, Ints of_weight) {
  std::optional<Shape> given = call.wholes("kernel_shape");
  if (given && !given->empty() && Ints(*given) != of_weight)
    call.fail("its attribute `kernel_shape` is " + text_of(*given) +
              ", but the weight's kernel is " + text_of(of_weight));
  return Shape(of_weight.begin(), of_weight.end());
}

SlidingWindows read_windows(Call& call, Ints image, Ints kernel, bool ceil_mode) {
  size_t axes = image.size();
  Shape strides = read_numbers(call, "strides", axes, 1, 1);
  Shape dilations = read_numbers(call, "dilations", axes, 1, 1);
  Shape pads = read_numbers(call, "pads", 2 * axes, 0, 0);
  AutoPad pad = read_auto_pad(call);
  if (call.failed()) return {};
  if (pad != AutoPad::NotSet && llvm::any_of(pads, [](int64_t n) { return n != 0; })) {
    call.fail("it has both `pads` and `auto_pad`");
    return {};
  }
  SlidingWindows windows;
  for (size_t i = 0; i < axes; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMostSize) {
      call.fail("its kernel is " + text_of(kernel));
      return {};
    }
    SlidingWindow window{image[i], kernel[i], strides[i], dilations[i], pads[i], pads[axes + i], 0};
    if (pad == AutoPad::SameUpper || pad == AutoPad::SameLower)
      pad_to_same(window, pad == AutoPad::SameLower);
    if (!count_windows(call, window, pad, ceil_mode)) return {};
    windows.push_back(window);
  }
  return windows;
}

} // namespace tg::onnx
