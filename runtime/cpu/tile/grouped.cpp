#include "runtime/cpu/tile/grouped.h"

#include "runtime/cpu/tile/grouped_sets.h"

#if defined(__x86_64__)
#include "runtime/cpu/tile/grouped_emitter.h"
#endif

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg::tile {

#if defined(__x86_64__)

struct Grouped::Emitted {
  GroupedEmitter emitter;
  GroupedFn usual = nullptr, last = nullptr; // the last set of a group, or of all
  Emitted(const GroupedShape& shape, const GroupedTile& tile, const ConvolutionTail& tail,
          size_t bytes)
      : emitter(shape, tile, tail, bytes) {}

  /// Errors: `device` if no executable memory is available.
  Result<void> emit(const GroupedShape& s, const GroupedTile& t) {
    SetSteps steps(s, t);
    auto inputs = [&](int64_t outputs) { return outputs / s.outputs * s.inputs; };
    bool both = steps.last_differs();
    size_t first = emitter.emit(steps.outputs, inputs(steps.outputs));
    size_t second = both ? emitter.emit(steps.last_outputs, inputs(steps.last_outputs)) : first;
    if (!emitter.seal()) return error(Code::device, "no memory for machine code of a convolution");
    usual = emitter.function<GroupedFn>(first);
    last = emitter.function<GroupedFn>(second);
    return {};
  }
};

size_t Grouped::code_bytes() const { return emitted_->emitter.getSize(); }

Result<std::unique_ptr<Grouped>> Grouped::make(const GroupedShape& shape,
                                               const ConvolutionTail& tail,
                                               const ConvolutionSchedule& schedule, int threads) {
  if (!processor_has(shape.isa))
    return error(Code::device, "this processor has no {0}", isa_name(shape.isa));
  if (!suits(shape, tail, schedule))
    return error(Code::device, "no code for a convolution of this shape");
  Xbyak::ClearError();
  std::unique_ptr<Grouped> made(new Grouped(shape, tail, schedule, threads));
  auto bytes = static_cast<size_t>(grouped_code_bound(shape, made->tile_));
  made->emitted_ = std::make_unique<Emitted>(made->shape_, made->tile_, made->tail_, bytes);
  TG_CHECK(made->emitted_->emit(made->shape_, made->tile_));
  return made;
}

#else // other processors are not supported yet

struct Grouped::Emitted {
  GroupedFn usual = nullptr, last = nullptr;
};
size_t Grouped::code_bytes() const { return 0; }
Result<std::unique_ptr<Grouped>> Grouped::make(const GroupedShape& shape, const ConvolutionTail&,
                                               const ConvolutionSchedule&, int) {
  return error(Code::device, "this processor has no {0}", isa_name(shape.isa));
}

#endif

Result<std::unique_ptr<Grouped>> Grouped::make(const GroupedShape& shape,
                                               const ConvolutionTail& tail, int threads,
                                               const Caches& caches) {
  ConvolutionSchedule schedule; // refused for an unsuitable shape
  if (suits(shape)) schedule = default_schedule(shape, tail, threads, caches);
  return make(shape, tail, schedule, threads);
}

Grouped::Grouped(const GroupedShape& shape, const ConvolutionTail& tail,
                 const ConvolutionSchedule& schedule, int threads)
    : shape_(shape), tail_(tail), tile_(tile(shape, schedule)), sets_(SetSteps(shape, tile_).sets),
      bands_(schedule.bands), spans_(schedule.spans), sets_at_once_(schedule.sets_at_once) {
  parts_ = static_cast<int>(std::min<int64_t>(threads, shape.planes() * bands_ * spans_));
  for (int64_t input = 0; input < shape.inputs && tile_.groups > 1; ++input)
    for (int64_t lane = 0; lane < shape.lanes(); ++lane) {
      int64_t group = std::min(lane / shape.outputs, tile_.groups - 1);
      permutations_.push_back(static_cast<int32_t>(group * shape.inputs + input));
    }
}
Grouped::~Grouped() = default;

int64_t Grouped::weight_elements(const GroupedShape& s, const GroupedTile& t) {
  return SetSteps(s, t).sets * set_weights(s, t);
}

void Grouped::pack(float* to, const float* w, const GroupedShape& s, const GroupedTile& t) {
  SetSteps steps(s, t);
  int64_t per_output = s.inputs * s.taps();
  for (int64_t set = 0; set < steps.sets; ++set) {
    bool last =
        set % steps.in_group == steps.in_group - 1 && (t.groups == 1 || set + 1 == steps.sets);
    int64_t first = t.groups > 1
                        ? set * steps.outputs
                        : set / steps.in_group * s.outputs + set % steps.in_group * steps.outputs;
    int64_t outputs = last ? steps.last_outputs : steps.outputs;
    for (int64_t row = 0; row < s.depth.kernel * s.kernel.rows; ++row)
      for (int64_t input = 0; input < s.inputs; ++input)
        for (int64_t column = 0; column < s.kernel.columns; ++column)
          for (int64_t lane = 0; lane < t.vectors * s.lanes(); ++lane)
            *to++ = lane < outputs ? w[(first + lane) * per_output + input * s.taps() +
                                       row * s.kernel.columns + column]
                                   : 0.0f;
  }
}

std::string Grouped::text() const {
  int64_t columns = widest_tile(shape_, tile_);
  std::string text = llvm::formatv("{0}x{1}", columns, tile_.vectors * shape_.lanes());
  if (tile_.groups > 1) text += llvm::formatv(" of {0} groups", tile_.groups);
  return text;
}

Grouped::Block Grouped::block(int64_t index) const {
  int64_t band = index % bands_, span = index / bands_ % spans_;
  int64_t chunks = ceil_div(sets_, sets_at_once_);
  return {index / bands_ / spans_, shape_.result.rows * band / bands_,
          shape_.result.rows * (band + 1) / bands_, chunks * span / spans_ * sets_at_once_,
          std::min(sets_, chunks * (span + 1) / spans_ * sets_at_once_)};
}

void Grouped::run(int part, const ConvolutionData& data) const {
  int64_t blocks = shape_.planes() * bands_ * spans_;
  for (int64_t i = blocks * part / parts_; i < blocks * (part + 1) / parts_; ++i)
    run_block(block(i), data);
}

/// Runs sequences of sets of one kind, whose x is evenly spaced.
void Grouped::run_block(const Block& block, const ConvolutionData& data) const {
  SetSteps steps(shape_, tile_);
  Block run = block;
  auto is_last = [&](int64_t set) {
    if (tile_.groups > 1) return set + 1 == steps.sets;
    return set % steps.in_group == steps.in_group - 1;
  };
  for (int64_t set = block.set_begin; set < block.set_end; set = run.set_end) {
    run.set_begin = set;
    run.set_end = set + 1;
    while (run.set_end < std::min(set + sets_at_once_, block.set_end) &&
           (steps.in_group == 1 || run.set_end % steps.in_group != 0) &&
           (!steps.last_differs() || is_last(run.set_end) == is_last(set)))
      ++run.set_end;
    run_sets(run, data);
  }
  if (!data.finish) return;
  int64_t first = steps.first_output(block.set_begin), last = steps.first_output(block.set_end);
  for (int64_t row = block.row_begin; row < block.row_end; ++row)
    data.finish({data.y + shape_.plane_at(shape_.y, block.plane) + row * shape_.y.row + first,
                 shape_.y.pixel, shape_.result.columns, last - first});
}

/// Rows that use all of the kernel run together.
void Grouped::run_sets(const Block& block, const ConvolutionData& data) const {
  for (int64_t row = block.row_begin, rows; row < block.row_end; row += rows) {
    rows = 1;
    while (shape_.sees_all_rows(row) && row + rows < block.row_end &&
           shape_.sees_all_rows(row + rows))
      ++rows;
    run_rows(block, row, rows, data);
  }
}

void Grouped::run_rows(const Block& block, int64_t row, int64_t rows,
                       const ConvolutionData& data) const {
  const GroupedShape& s = shape_;
  SetSteps steps(s, tile_);
  int64_t tap_row = s.inputs * s.kernel.columns * tile_.vectors * s.lanes();
  TapBlock taps = tap_block(s, block.plane, row, tap_row);
  int64_t group = block.set_begin / steps.in_group, part = block.set_begin % steps.in_group;
  int64_t input = steps.in_group > 1 ? group * s.inputs : block.set_begin * steps.inputs;
  int64_t output = steps.in_group > 1 ? group * s.outputs + part * steps.outputs
                                      : block.set_begin * steps.outputs;
  bool last = steps.last_differs() &&
              (tile_.groups > 1 ? block.set_begin + 1 == steps.sets : part + 1 == steps.in_group);
  int64_t outputs = last ? steps.last_outputs : steps.outputs;
  GroupedCall call;
  call.x = data.x + taps.x - s.before.columns * s.x.pixel + input;
  call.w = data.weights + block.set_begin * set_weights(s, tile_) + taps.w;
  call.y = data.y + s.plane_at(s.y, block.plane) + row * s.y.row + output;
  if (tail_.bias) call.bias = data.bias + output;
  if (tail_.residual)
    call.residual =
        data.residual + s.plane_at(s.residual, block.plane) + row * s.residual.row + output;
  call.rows = rows;
  call.sets = block.set_end - block.set_begin;
  call.x_set = 4 * steps.inputs;
  call.kernel_rows = taps.kernel_rows;
  call.planes = taps.planes;
  if (s.isa == Isa::Avx2) {
    call.mask = lanes_mask((outputs - 1) % s.lanes() + 1);
    call.x_mask = lanes_mask(std::min(s.lanes(), outputs / s.outputs * s.inputs));
  }
  call.permutations = permutations_.data();
  (last ? emitted_->last : emitted_->usual)(&call);
}

} // namespace tg::tile
