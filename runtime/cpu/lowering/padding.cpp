#include "runtime/cpu/lowering/padding.h"

#include "runtime/convert.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::cpu {

namespace {

/// A convolution's window over an image: its taps, and its results along the axes of the image.
struct WindowSizes {
  Geometry geometry;
  Shape image, result; // of the image axes

  int64_t taps() const {
    int64_t count = 1;
    for (size_t axis = 0; axis < geometry.axes; ++axis) count *= geometry.kernel[axis];
    return count;
  }
  /// Returns true if a tap reads the padding for the result at this position;
  /// both are row-major indices.
  bool in_padding(int64_t tap, int64_t position) const {
    for (size_t axis = geometry.axes; axis-- > 0;) {
      int64_t kernel = geometry.kernel[axis], size = result[axis];
      if (!reads_image(geometry, axis, image[axis], position % size, tap % kernel)) return true;
      tap /= kernel;
      position /= size;
    }
    return false;
  }
  bool has_padding() const {
    for (size_t axis = 0; axis < geometry.axes; ++axis)
      for (int64_t tap : {int64_t{0}, geometry.kernel[axis] - 1})
        for (int64_t at : {int64_t{0}, result[axis] - 1})
          if (!reads_image(geometry, axis, image[axis], at, tap)) return true;
    return false;
  }
};

/// Returns true if a number is infinite or NaN: all bits of its exponent are set.
template <class Bits> bool has_special(const Bits* numbers, int64_t count, Bits exponent) {
  Bits found = 0;
  for (int64_t i = 0; i < count; ++i) found |= (numbers[i] & exponent) == exponent;
  return found != 0;
}

bool has_special(DType dtype, const std::byte* numbers, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  constexpr uint16_t kExponentOfBf16 = 0x7f80;
  if (dtype == DType::F32)
    return has_special(reinterpret_cast<const uint32_t*>(numbers), count, kExponent);
  return has_special(reinterpret_cast<const uint16_t*>(numbers), count, kExponentOfBf16);
}

/// Reads the weights [outputs, inputs, taps]. Writes a byte that is nonzero if any weight
/// is not finite, and then, if so, one byte for each output and tap.
class SpecialTaps final : public Kernel {
public:
  SpecialTaps(Place weights, Place found, int64_t taps)
      : weights_(std::move(weights)), found_(std::move(found)), taps_(taps) {}

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(weights_);
    to_ = addresses.bytes(found_);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    bool any = has_special(weights_.dtype, from_, weights_.elements());
    *to_ = std::byte{any};
    if (!any) return dnnl_success;
    int64_t outputs = weights_.shape[0], inputs = weights_.shape[1];
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t tap = 0; tap < taps_; ++tap) {
        bool special = false;
        for (int64_t input = 0; input < inputs && !special; ++input)
          special = is_special((output * inputs + input) * taps_ + tap);
        to_[1 + output * taps_ + tap] = std::byte{special};
      }
    return dnnl_success;
  }

private:
  bool is_special(int64_t i) const {
    return has_special(weights_.dtype, from_ + i * dtype_size(weights_.dtype), 1);
  }

  Place weights_, found_;
  int64_t taps_;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
};

class PaddedKernel final : public Kernel {
public:
  /// `found` is the output of SpecialTaps; `result` has images, channels and the axes of the image.
  PaddedKernel(std::unique_ptr<Kernel> kernel, WindowSizes sizes, Place found, Place result)
      : kernel_(std::move(kernel)), sizes_(std::move(sizes)), found_(std::move(found)),
        result_(std::move(result)) {}

  Result<void> bind(const Addresses& addresses) override {
    special_ = addresses.bytes(found_);
    to_ = addresses.bytes(result_);
    return kernel_->bind(addresses);
  }
  dnnl_status_t run(dnnl_stream_t stream) override {
    dnnl_status_t status = kernel_->run(stream);
    if (status == dnnl_success) pad();
    return status;
  }
  Result<void> run_exact(dnnl_stream_t stream) override {
    TG_CHECK(kernel_->run_exact(stream));
    pad();
    return {};
  }
  bool may_lose_nan() const override { return kernel_->may_lose_nan(); }

private:
  void pad() const {
    if (special_[0] == std::byte{0}) return;
    for (int64_t tap = 0, taps = sizes_.taps(); tap < taps; ++tap)
      for (int64_t channel = 0; channel < result_.shape[1]; ++channel)
        if (special_[1 + channel * taps + tap] != std::byte{0}) pad_tap(channel, tap);
  }
  void pad_tap(int64_t channel, int64_t tap) const {
    int64_t positions = 1;
    for (int64_t size : sizes_.result) positions *= size;
    for (int64_t position = 0; position < positions; ++position)
      if (sizes_.in_padding(tap, position))
        for (int64_t image = 0; image < result_.shape[0]; ++image)
          set_nan(image, channel, position);
  }
  void set_nan(int64_t image, int64_t channel, int64_t position) const {
    int64_t offset = image * result_.strides[0] + channel * result_.strides[1];
    for (size_t axis = sizes_.result.size(); axis-- > 0; position /= sizes_.result[axis])
      offset += position % sizes_.result[axis] * result_.strides[2 + axis];
    double nan = __builtin_nan("");
    narrow(result_.dtype, &nan, to_ + offset * dtype_size(result_.dtype), 1);
  }

  std::unique_ptr<Kernel> kernel_;
  WindowSizes sizes_;
  Place found_, result_;
  const std::byte* special_ = nullptr;
  std::byte* to_ = nullptr;
};

} // namespace

Result<void> guard_padding(Lowering& l, const PlanStep& step, const Geometry& geometry) {
  auto image_axes = [](const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); };
  WindowSizes sizes{geometry, image_axes(l.type(operand(step, "x")).shape),
                    image_axes(l.type(step.result).shape)};
  if (l.type(step.result).elements() == 0 || !sizes.has_padding()) return {};
  PlanValueId w = operand(step, "w");
  TG_TRY(Place weights, l.operand_plain(w));
  Phase phase = l.at_load(w) ? Phase::Load : step.phase;
  int64_t taps = sizes.taps();
  Place found = l.new_temporary(1 + weights.shape[0] * taps, phase);
  Op look;
  look.name = "find special weights";
  look.implementation = "scalar";
  look.bytes = static_cast<double>(weights.elements() * dtype_size(weights.dtype));
  look.buffers = {weights.buffer, found.buffer};
  if (phase == Phase::Load)
    look.recipe = llvm::formatv("special taps of {0} from {1}", taps, weights.offset);
  look.kernel = std::make_unique<SpecialTaps>(weights, found, taps);
  std::vector<Op>& ops = l.program(step.phase).ops;
  Op last = std::move(ops.back());
  ops.pop_back();
  l.add_op(phase, std::move(look));
  const Place& result = l.place(step.result);
  last.buffers.append({found.buffer, result.buffer});
  last.recipe.clear();
  last.kernel =
      std::make_unique<PaddedKernel>(std::move(last.kernel), std::move(sizes), found, result);
  l.add_op(step.phase, std::move(last));
  return {};
}

} // namespace tg::cpu
