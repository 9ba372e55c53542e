// Lowers attention to runtime/cpu/tile. Queries, keys and values are read in place
// with any strides, so that heads split off by a reshape and a transpose are not copied.
// The result is written in its reader's layout.
#include "runtime/cpu/tile/attention.h"
#include "runtime/cpu/lowering/tile_matmul.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/simd.h"

#include <optional>

namespace tg::cpu {

namespace {

struct AttentionPlaces {
  Place q, keys, values, y;
  std::optional<Place> mask, seen;
};

class AttentionKernel final : public Kernel {
public:
  AttentionKernel(tile::Attention attention, AttentionPlaces places, float otherwise,
                  const Threads& threads)
      : attention_(std::move(attention)), places_(std::move(places)), threads_(threads) {
    data_.otherwise = otherwise;
    data_.max = simd().max;
    data_.softmax = simd().softmax;
    data_.mask_row = simd().mask_row;
  }

  Result<void> bind(const Addresses& addresses) override {
    data_.q = addresses.of(places_.q);
    data_.keys = addresses.of(places_.keys);
    data_.values = addresses.of(places_.values);
    data_.y = addresses.of(places_.y);
    if (places_.mask) data_.mask = addresses.of(*places_.mask);
    if (places_.seen) data_.seen = reinterpret_cast<const uint8_t*>(addresses.bytes(*places_.seen));
    data_.scratch = reinterpret_cast<float*>(addresses.scratch);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    parallel_parts(threads_, attention_.parts(), [&](int part) { attention_.run(part, data_); });
    return dnnl_success;
  }

private:
  tile::Attention attention_;
  AttentionPlaces places_;
  Threads threads_;
  tile::AttentionData data_;
};

/// Returns the step along an axis that may broadcast, counted from the end (0 is the last):
/// 0 if the place has one element along it, or no such axis.
int64_t repeated_step(const Place& p, size_t from_end) {
  if (p.shape.size() <= from_end) return 0;
  size_t axis = p.shape.size() - 1 - from_end;
  return p.shape[axis] == 1 ? 0 : p.strides[axis];
}

tile::AttentionShape attention_shape(const AttentionPlaces& places) {
  auto step = [](const Place& p, size_t from_end) { return step_of(p, p.shape.size() - from_end); };
  const Shape& y = places.y.shape;
  tile::AttentionShape s;
  s.rows = y.end()[-2];
  s.value_width = y.back();
  s.width = places.q.shape.back();
  s.places = places.keys.shape.back();
  s.q_row = step(places.q, 2);
  s.q_width = step(places.q, 1);
  s.key_width = step(places.keys, 2);
  s.key_place = step(places.keys, 1);
  s.value_place = step(places.values, 2);
  s.value_column = step(places.values, 1);
  s.y_row = step(places.y, 2);
  if (places.mask) {
    s.mask_row = repeated_step(*places.mask, 1);
    s.mask_place = repeated_step(*places.mask, 0);
  }
  if (places.seen) {
    s.seen_row = repeated_step(*places.seen, 1);
    s.seen_place = repeated_step(*places.seen, 0);
  }
  int64_t heads = places.y.elements() / (s.rows * s.value_width);
  s.heads.clear();
  for (int64_t i = 0; i < heads; ++i)
    s.heads.push_back({start_of(places.q, y, i), start_of(places.keys, y, i),
                       start_of(places.values, y, i), start_of(places.y, y, i),
                       places.mask ? start_of(*places.mask, y, i) : 0,
                       places.seen ? start_of(*places.seen, y, i) : 0});
  return s;
}

} // namespace

Result<void> lower_attention(Lowering& l, const PlanStep& step) {
  AttentionPlaces places;
  places.q = l.place(operand(step, "q"));
  places.keys = l.place(operand(step, "keys"));
  places.values = l.place(operand(step, "values"));
  auto given = [&](const char* name, std::optional<Place>& place) {
    PlanValueId id = operand(step, name);
    if (id != kNoValue) place = l.place(id);
  };
  given("mask", places.mask);
  given("seen", places.seen);
  Shape strides = l.preferred_strides_after_reshape(step.result);
  const Shape& shape = l.type(step.result).shape;
  if (shape.back() != 1 && strides.back() != 1) strides = contiguous_strides(shape);
  places.y = l.new_result(step, strides);
  Op op = l.describe(step);
  op.threads = l.threads_for(op.flops / 60e3);
  const tile::TileKernels* tiles = best_tiles();
  tile::Attention attention(attention_shape(places), tiles, op.threads, tile::caches());
  op.implementation = llvm::formatv("tile:{0} {1}", tiles ? tile::isa_name(tiles->isa()) : "plain",
                                    attention.text());
  op.buffers = {places.q.buffer, places.keys.buffer, places.values.buffer, places.y.buffer};
  for (const std::optional<Place>& mask : {places.mask, places.seen})
    if (mask) op.buffers.push_back(mask->buffer);
  op.scratch_bytes = attention.scratch_elements() * dtype_size(DType::F32);
  op.kernel = std::make_unique<AttentionKernel>(std::move(attention), std::move(places),
                                                static_cast<float>(attr(step, "otherwise").real),
                                                op.threads);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
