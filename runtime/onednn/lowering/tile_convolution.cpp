#include "runtime/onednn/lowering/tile_convolution.h"

#include "runtime/onednn/lowering/geometry.h"
#include "runtime/onednn/lowering/images.h"
#include "runtime/onednn/lowering/pack_kernel.h"
#include "runtime/onednn/parallel.h"
#include "runtime/onednn/simd/act_instr.h"
#include "runtime/tile/depthwise.h"

#include <optional>

namespace tg::cpu {

namespace {

/// Operands and result; bias and residual may be absent.
struct DepthwisePlaces {
  Place x, weights, y;
  std::optional<Place> bias, residual;
};

class DepthwiseKernel final : public Kernel {
public:
  DepthwiseKernel(std::unique_ptr<tile::Depthwise> convolution, DepthwisePlaces places, Act act,
                  int threads)
      : convolution_(std::move(convolution)), places_(std::move(places)), act_(act),
        threads_(threads) {}

  Result<void> bind(const Addresses& addresses) override {
    data_.x = addresses.of(places_.x);
    data_.weights = addresses.of(places_.weights);
    data_.y = addresses.of(places_.y);
    if (places_.bias) data_.bias = addresses.of(*places_.bias);
    if (places_.residual) data_.residual = addresses.of(*places_.residual);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    auto activate = [this](const tile::FinishedBlock& block) {
      bool dense = block.y_row == block.columns;
      int64_t rows = dense ? 1 : block.rows,
              columns = dense ? block.rows * block.columns : block.columns;
      for (int64_t i = 0; i < rows; ++i) {
        float* row = block.y + i * block.y_row;
        simd().apply(instr_of(act_), row, row, nullptr, nullptr, columns);
      }
    };
    tile::DepthwiseData data = data_;
    if (is_finished(act_)) data.finish = activate;
    parallel_for(threads_, convolution_->parts(), [&](int64_t begin, int64_t end, int) {
      for (int64_t part = begin; part < end; ++part)
        convolution_->run(static_cast<int>(part), data);
    });
    return dnnl_success;
  }

  /// Whether it is applied to what lies in the cache, and not in registers.
  static bool is_finished(Act act) {
    return act != Act::None && act != Act::Relu && act != Act::Relu6;
  }

private:
  std::unique_ptr<tile::Depthwise> convolution_;
  DepthwisePlaces places_;
  Act act_;
  int threads_;
  tile::DepthwiseData data_;
};

tile::PixelSteps pixel_steps(const Shape& shape, const Shape& strides) {
  auto step = [&](size_t axis) { return shape[axis] == 1 ? 0 : strides[axis]; };
  return {step(0), step(2), step(3)};
}

/// Strides of x and residual are those that they will have; of y, those of a result of its own.
tile::DepthwiseShape depthwise_shape(const Lowering& l, const PlanStep& step) {
  PlanValueId x = operand(step, "x"), residual = operand(step, "residual");
  const Shape &image = l.type(x).shape, &filter = l.type(operand(step, "w")).shape;
  const Shape& result = l.type(step.result).shape;
  Geometry g = geometry(image, llvm::ArrayRef<int64_t>(filter).drop_front(2), attr(step, "stride"),
                        attr(step, "pad"), attr(step, "dilation").ints);
  tile::DepthwiseShape s;
  s.images = image[0];
  s.channels = image[1];
  s.image = {image[2], image[3]};
  s.result = {result[2], result[3]};
  s.kernel = {filter[2], filter[3]};
  s.stride = {g.strides[0], g.strides[1]};
  s.dilation = {g.dilates[0] + 1, g.dilates[1] + 1};
  s.before = {g.before[0], g.before[1]};
  s.x = pixel_steps(image, image_strides(l.place(x)));
  s.y = pixel_steps(result, nhwc_strides(result));
  if (residual != kNoValue) s.residual = pixel_steps(result, image_strides(l.place(residual)));
  return s;
}

tile::DepthwiseTail depthwise_tail(const PlanStep& step, Act act) {
  tile::DepthwiseTail tail;
  tail.bias = operand(step, "bias") != kNoValue;
  tail.residual = operand(step, "residual") != kNoValue;
  tail.clamp = act == Act::Relu    ? tile::Clamp::Relu
               : act == Act::Relu6 ? tile::Clamp::Relu6
                                   : tile::Clamp::None;
  tail.finish = DepthwiseKernel::is_finished(act);
  return tail;
}

bool is_depthwise(const Lowering& l, const PlanStep& step) {
  const Shape &x = l.type(operand(step, "x")).shape, &w = l.type(operand(step, "w")).shape;
  return w[1] == 1 && w[0] == x[1];
}

/// Whether our kernels may be asked at all.
bool may_be_ours(const Lowering& l, const PlanStep& step) {
  for (PlanValueId id : step.operands)
    if (id != kNoValue && l.place(id).dtype != DType::F32) return false;
  if (l.type(step.result).elements() == 0 || l.type(operand(step, "x")).elements() == 0)
    return false;
  if (l.products == Products::Library || !may_use_own("avx2")) return false;
  // Left to the rule, nothing is done that has not been measured.
  return l.products != Products::Chosen || !may_use_own("avx512");
}

// By rule, not by timing: one plan gives one result. With AVX2 depthwise convolutions are ours:
// each that was measured is faster, by 1.1 to 2.2 times. Of those of one tap, groups of many
// channels are; and of very few, for which oneDNN has no kernel but its product of matrices;
// between, and without groups, oneDNN's are as fast or faster (bench/results/convolutions.md).
bool pays(const Lowering& l, const PlanStep& step) {
  constexpr int64_t kFew = 8, kMany = 64;
  if (l.products != Products::Chosen) return true;
  const Shape &x = l.type(operand(step, "x")).shape, &w = l.type(operand(step, "w")).shape;
  if (!l.at_load(operand(step, "w")) || w[1] == x[1]) return false;
  int64_t inputs = w[1], outputs = w[0] / (x[1] / inputs);
  return is_depthwise(l, step) || inputs < kFew || outputs < kFew || outputs >= kMany;
}

Result<Place> packed_kernel(Lowering& l, const PlanStep& step, const tile::DepthwiseShape& shape) {
  PlanValueId w = operand(step, "w");
  TG_TRY(Place plain, l.operand_plain(w));
  Phase phase = l.at_load(w) ? Phase::Load : step.phase;
  Place to = l.new_temporary(4 * tile::Depthwise::weight_elements(shape), phase);
  Op op;
  op.name = "pack kernel";
  op.implementation = "tile";
  op.bytes = static_cast<double>(4 * (plain.elements() + tile::Depthwise::weight_elements(shape)));
  op.buffers = {plain.buffer, to.buffer};
  op.recipe = llvm::formatv("depthwise: {0} x {1} from {2}", shape.channels,
                            shape.kernel.rows * shape.kernel.columns, plain.offset);
  int64_t channels = shape.channels, taps = shape.kernel.rows * shape.kernel.columns;
  op.kernel = std::make_unique<PackKernel>(plain, to, [=](float* packed, const float* w) {
    tile::Depthwise::pack(packed, w, channels, taps);
  });
  l.add_op(phase, std::move(op));
  return to;
}

/// Multiply-adds at 60 GFLOP/s, or what is moved.
double depthwise_us(const Op& op) { return std::max(op.flops / 60e3, copy_us(op.bytes)); }

Result<void> lower_depthwise(Lowering& l, const PlanStep& step, tile::DepthwiseShape shape) {
  Act act = *parse_act(attr(step, "act").text);
  DepthwisePlaces places;
  PlanValueId bias = operand(step, "bias"), residual = operand(step, "residual");
  TG_TRY(places.x, operand_image(l, operand(step, "x")));
  if (residual != kNoValue) {
    TG_TRY(places.residual, operand_image(l, residual));
  }
  if (bias != kNoValue) {
    TG_TRY(places.bias, l.operand_plain(bias));
  }
  TG_TRY(places.weights, packed_kernel(l, step, shape));
  places.y = result_image(l, step);
  shape.y = pixel_steps(places.y.shape, places.y.strides);
  Op op = l.describe(step);
  op.threads = l.threads_for(depthwise_us(op));
  TG_TRY(std::unique_ptr<tile::Depthwise> made,
         tile::Depthwise::make(shape, depthwise_tail(step, act), op.threads, tile::caches()));
  op.implementation = "tile:avx2 depthwise " + made->text();
  op.buffers = {places.x.buffer, places.weights.buffer, places.y.buffer};
  if (places.bias) op.buffers.push_back(places.bias->buffer);
  if (places.residual) op.buffers.push_back(places.residual->buffer);
  op.kernel =
      std::make_unique<DepthwiseKernel>(std::move(made), std::move(places), act, op.threads);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace

Result<bool> lower_tile_conv2d(Lowering& l, const PlanStep& step) {
  if (!may_be_ours(l, step) || !pays(l, step)) return false;
  if (!is_depthwise(l, step)) {
    if (!is_pointwise(l, step) || !l.at_load(operand(step, "w"))) return false;
    TG_CHECK(lower_tile_pointwise(l, step));
    return true;
  }
  tile::DepthwiseShape shape = depthwise_shape(l, step);
  if (!tile::Depthwise::suits(shape)) return false;
  TG_CHECK(lower_depthwise(l, step, std::move(shape)));
  return true;
}

} // namespace tg::cpu
