// Lowers winograd_conv2d to the kernel of winograd.h. The transformed kernel is packed once,
// at load. Images are read and written in place if their channels are adjacent,
// including as channels of a concat; bias, residual and activation are applied when a tile
// is written.
#include "runtime/cpu/winograd/winograd.h"

#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/images.h"
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/pack_kernel.h"
#include "runtime/cpu/tile_schedules.h"

namespace tg::cpu {

namespace {

/// Operands and result of a convolution; the optional ones may be absent.
struct WinogradPlaces {
  Place x, weights, y;
  std::optional<Place> bias, residual;
};

class WinogradKernel final : public Kernel {
public:
  WinogradKernel(std::shared_ptr<const WinogradSchedule> schedule, WinogradPlaces places, Act act)
      : schedule_(std::move(schedule)), places_(std::move(places)) {
    data_.act = act;
  }

  Result<void> bind(const Addresses& addresses) override {
    data_.x = addresses.of(places_.x);
    data_.weights = addresses.of(places_.weights);
    data_.y = addresses.of(places_.y);
    if (places_.bias) data_.bias = addresses.of(*places_.bias);
    if (places_.residual) data_.residual = addresses.of(*places_.residual);
    data_.scratch = reinterpret_cast<float*>(addresses.scratch);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    schedule_->run(winograd_table(), data_);
    return dnnl_success;
  }

private:
  std::shared_ptr<const WinogradSchedule> schedule_;
  WinogradPlaces places_;
  WinogradData data_;
};

ImageSteps steps(const Place& p) { return {p.strides[0], p.strides[2], p.strides[3]}; }

WinogradShape shape_of(const Lowering& l, const PlanStep& step) {
  const Shape &x = l.type(operand(step, "x")).shape, &u = l.type(operand(step, "u")).shape;
  const Shape& y = l.type(step.result).shape;
  Value one = Value::of_ints({1, 1});
  Geometry g = geometry(x, {3, 3}, one, attr(step, "pad"), {1, 1});
  WinogradShape s;
  s.tile = u[0] == 16 ? 2 : 4;
  s.images = x[0];
  s.height = x[2];
  s.width = x[3];
  s.out_height = y[2];
  s.out_width = y[3];
  s.groups = x[1] / u[2];
  s.inputs = u[2];
  s.outputs = u[1] / s.groups;
  s.above = g.before[0];
  s.left = g.before[1];
  return s;
}

/// Returns the estimated microseconds on one thread at 150 GFLOP/s, to choose the number
/// of threads.
double winograd_us(const WinogradShape& s) {
  auto multiply_adds = static_cast<double>(s.tiles() * s.positions()) *
                       static_cast<double>(s.groups * s.inputs * s.outputs);
  return 2 * multiply_adds / 150e3;
}

/// Packs u from the layout of winograd_weight to blocks of output channels.
void add_packing(Lowering& l, const std::shared_ptr<const WinogradSchedule>& schedule,
                 const Place& from, const Place& to, Phase phase) {
  Op op;
  op.name = "pack kernel";
  op.implementation = "winograd";
  op.bytes = 4 * static_cast<double>(from.elements() + schedule->weight_elements());
  op.buffers = {from.buffer, to.buffer};
  op.kernel = std::make_unique<PackKernel>(
      from, to, [schedule](float* packed, const float* u) { schedule->pack(packed, u); });
  l.add_op(phase, std::move(op));
}

} // namespace

Result<void> lower_winograd_conv2d(Lowering& l, const PlanStep& step) {
  PlanValueId u = operand(step, "u"), bias = operand(step, "bias");
  PlanValueId residual = operand(step, "residual");
  WinogradPlaces places;
  TG_TRY(places.x, operand_image(l, operand(step, "x")));
  TG_TRY(Place plain, l.operand_plain(u));
  if (bias != kNoValue) {
    TG_TRY(places.bias, l.operand_plain(bias));
  }
  if (residual != kNoValue) {
    TG_TRY(places.residual, operand_image(l, residual));
  }
  places.y = result_image(l, step);
  WinogradShape shape = shape_of(l, step);
  shape.x = steps(places.x);
  shape.y = steps(places.y);
  if (places.residual) shape.residual = steps(*places.residual);
  Threads threads = l.threads_for(winograd_us(shape));
  std::optional<WinogradCut> tuned;
  if (TileSchedules* schedules = schedules_of(l, step); schedules && shape.groups == 1)
    tuned = schedules->find_winograd(shape, threads);
  auto schedule = std::make_shared<const WinogradSchedule>(
      shape, threads, tuned.value_or(default_cut(shape, threads)));
  Phase packing = l.at_load(u) ? Phase::Load : step.phase;
  places.weights = l.new_temporary(4 * schedule->weight_elements(), packing);
  add_packing(l, schedule, plain, places.weights, packing);

  Op op = l.describe(step);
  op.implementation = "winograd" + std::to_string(shape.tile) + ":" + winograd_table().isa +
                      (tuned ? " tuned" : "");
  op.threads = threads;
  op.scratch_bytes = 4 * schedule->scratch_elements();
  op.buffers = {places.x.buffer, places.weights.buffer, places.y.buffer};
  if (places.bias) op.buffers.push_back(places.bias->buffer);
  if (places.residual) op.buffers.push_back(places.residual->buffer);
  Act act = *parse_act(attr(step, "act").text);
  op.kernel = std::make_unique<WinogradKernel>(schedule, std::move(places), act);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
