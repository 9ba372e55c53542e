#include "runtime/cpu/lowering/tile_matmul.h"

#include "runtime/cpu/lowering/kernel_choice.h"
#include "runtime/cpu/pack_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/act_instr.h"
#include "runtime/cpu/tile_schedules.h"

#include <algorithm>

namespace tg::cpu {

int64_t step_of(const Place& p, size_t axis) { return p.shape[axis] == 1 ? 1 : p.strides[axis]; }

int64_t start_of(const Place& p, const Shape& shape, int64_t index) {
  int64_t offset = 0;
  size_t missing = shape.size() - p.shape.size();
  for (size_t axis = shape.size() - 2; axis-- > 0;) {
    int64_t at = index % shape[axis];
    index /= shape[axis];
    if (axis >= missing && p.shape[axis - missing] != 1) offset += at * p.strides[axis - missing];
  }
  return offset;
}

const tile::TileKernels* tiles_of(tile::Isa isa) {
  auto make = [](tile::Isa which) {
    Result<std::unique_ptr<tile::TileKernels>> made = tile::TileKernels::make(which);
    return made ? std::move(*made) : nullptr;
  };
  using Made = const std::unique_ptr<tile::TileKernels>;
  switch (isa) {
  case tile::Isa::Avx2: {
    static Made avx2 = make(isa);
    return avx2.get();
  }
  case tile::Isa::Avx512: {
    static Made avx512 = make(isa);
    return avx512.get();
  }
  case tile::Isa::Avx512Bf16: {
    static Made bf16 = make(isa);
    return bf16.get();
  }
  }
  return nullptr;
}

const tile::TileKernels* best_tiles(DType dtype) {
  for (tile::Isa isa : {tile::Isa::Avx512Bf16, tile::Isa::Avx512, tile::Isa::Avx2})
    if ((isa == tile::Isa::Avx512Bf16) == (dtype == DType::BF16) &&
        may_use_own(tile::isa_name(isa)))
      return tiles_of(isa);
  return nullptr;
}

namespace {

class TileKernel final : public Kernel {
public:
  TileKernel(tile::Product product, ProductPlaces places, Act act, const Threads& threads)
      : product_(std::move(product)), places_(std::move(places)), act_(act), threads_(threads) {}

  Result<void> bind(const Addresses& addresses) override {
    data_.x = addresses.bytes(places_.x);
    data_.w = addresses.bytes(places_.w);
    data_.y = addresses.bytes(places_.y);
    if (places_.bias) data_.bias = addresses.of(*places_.bias);
    if (places_.residual) data_.residual = addresses.bytes(*places_.residual);
    data_.scratch = reinterpret_cast<float*>(addresses.scratch);
    data_.relu = act_ == Act::Relu;
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    auto activate = [this](const tile::FinishedBlock& block) {
      for (int64_t i = 0; i < block.rows; ++i) {
        float* row = block.y + i * block.y_row;
        simd().apply(instr_of(act_), row, row, nullptr, nullptr, block.columns);
        if (block.rounded)
          simd().to_bf16(block.rounded + i * block.rounded_row, row, block.columns);
      }
    };
    tile::ProductData data = data_;
    if (act_ != Act::None && act_ != Act::Relu) data.finish = activate;
    product_.run(data, [&](int count, const auto& work) { parallel_parts(threads_, count, work); });
    return dnnl_success;
  }

private:
  tile::Product product_;
  ProductPlaces places_;
  Act act_;
  Threads threads_;
  tile::ProductData data_;
};

/// Returns the operand in place if one of its last two axes has stride 1, else a copy.
Result<Place> matrix_operand(Lowering& l, PlanValueId value) {
  const Place& now = l.place(value);
  size_t last = now.shape.size() - 1;
  if (step_of(now, last) == 1 || step_of(now, last - 1) == 1) return now;
  return l.operand_plain(value);
}

/// Sets the places of the result and the residual, and the source of the residual:
/// columns have stride 1 in all.
Result<void> place_results(Lowering& l, const PlanStep& step, ProductPlaces& places) {
  PlanValueId residual = operand(step, "residual");
  if (residual != kNoValue) {
    const Place& now = l.place(residual);
    if (step_of(now, now.shape.size() - 1) == 1) {
      places.residual = now;
    } else {
      TG_TRY(places.residual, l.operand_plain(residual));
    }
  }
  Shape strides = l.preferred_strides(step.result);
  const Shape& shape = l.type(step.result).shape;
  if (shape.back() != 1 && strides.back() != 1) strides = contiguous_strides(shape);
  std::optional<Place> place;
  if (residual != kNoValue && step.in_place == residual) place = l.take_over(step, strides, false);
  places.y = place ? *place : l.new_result(step, strides);
  return {};
}

/// If all rows of x use one matrix and are evenly spaced, merges them into one product.
bool merge_rows(const Lowering& l, const PlanStep& step, ProductPlaces& places) {
  const Shape& result = l.type(step.result).shape;
  int64_t depth = places.x.shape.back(), columns = result.back();
  int64_t rows = 1;
  for (int64_t extent : llvm::makeArrayRef(result).drop_back()) rows *= extent;
  if (places.w.elements() != depth * columns || places.x.elements() != rows * depth) return false;
  std::optional<Place> x = reshape(places.x, {rows, depth}), y = reshape(places.y, {rows, columns});
  std::optional<Place> w = reshape(places.w, {depth, columns}), residual;
  if (places.residual) residual = reshape(*places.residual, {rows, columns});
  if (!x || !y || !w || (places.residual && !residual)) return false;
  places = {std::move(*x), std::move(*w), std::move(*y), std::move(places.bias),
            std::move(residual)};
  return true;
}

tile::ProductShape shape_of(const ProductPlaces& places) {
  const Shape& y = places.y.shape;
  size_t rank = y.size();
  size_t x = places.x.shape.size(), w = places.w.shape.size();
  tile::ProductShape s;
  s.rows = y[rank - 2];
  s.columns = y[rank - 1];
  s.depth = places.x.shape.back();
  s.x_row = step_of(places.x, x - 2);
  s.x_depth = step_of(places.x, x - 1);
  s.w_depth = step_of(places.w, w - 2);
  s.w_column = step_of(places.w, w - 1);
  s.y_row = places.y.strides[rank - 2];
  if (places.residual) s.residual_row = places.residual->strides[places.residual->shape.size() - 2];
  int64_t products = 1;
  for (int64_t extent : llvm::makeArrayRef(y).drop_back(2)) products *= extent;
  s.batch.clear();
  for (int64_t i = 0; i < products; ++i)
    s.batch.push_back({start_of(places.x, y, i), start_of(places.w, y, i), start_of(places.y, y, i),
                       places.residual ? start_of(*places.residual, y, i) : 0, 0});
  return s;
}

/// The number of products of one matrix from which on it is packed once for them in each run.
constexpr size_t kEnoughProducts = 3;

/// Returns true if all rows use one matrix that is packed when the program is loaded;
/// or in each run, if it is an input that no step overwrites and that several products use:
/// a weight in training that the steps of a recurrent network share.
bool has_packed_matrix(const Lowering& l, const PlanStep& step) {
  PlanValueId id = operand(step, "y");
  const Shape& y = l.type(id).shape;
  if (l.type(id).elements() != y[y.size() - 2] * y.back()) return false;
  if (l.at_load(id)) return true;
  BufferId buffer = l.place(id).buffer;
  bool is_input = buffer != kNoBuffer && l.buffers[buffer].kind == Buffer::Kind::Input;
  return is_input && products_of(l, id) >= kEnoughProducts;
}

/// Returns true for products of bf16 that oneDNN runs on the processor's matrix unit (AMX):
/// from 8 rows on, twice as fast as our tiles, and from 128 rows on, ten times
/// (bench/results/narrow_floats.md). With fewer rows, which are limited by reading the matrix,
/// our tiles are faster.
bool suits_matrix_unit(const Lowering& l, const PlanStep& step) {
  constexpr int64_t kLeastRows = 8;
  const TensorType& result = l.type(step.result);
  return result.dtype == DType::BF16 && may_use(dnnl_cpu_isa_avx512_core_amx) &&
         result.elements() / result.shape.back() >= kLeastRows;
}

} // namespace

// Chooses by rule, unless the other kernel was measured to be faster on this machine.
// Packed matrices use our tiles: of the products of BERT, ViT, GPT-2 and Llama,
// none was faster on oneDNN beyond noise, and with AVX2 oneDNN was up to 3 times
// as slow (bench/results/products.md, products_avx512.md). If both operands
// are activations (attention), both kernels have to pack, and oneDNN is as fast or up to twice
// as fast.
const tile::TileKernels* tiles_for(const Lowering& l, const PlanStep& step) {
  DType dtype = l.place(operand(step, "x")).dtype;
  for (PlanValueId id : step.operands)
    if (id != kNoValue && l.place(id).dtype != dtype) return nullptr;
  if (dtype != DType::F32 && dtype != DType::BF16) return nullptr;
  if (l.type(step.result).elements() == 0) return nullptr;
  switch (l.products) {
  case Products::Library:
  case Products::Reference: return nullptr;
  case Products::Tiles: return best_tiles(dtype);
  case Products::Avx2Tiles:
    return dtype == DType::F32 && may_use_own("avx2") ? tiles_of(tile::Isa::Avx2) : nullptr;
  case Products::Chosen: break;
  }
  const tile::TileKernels* tiles = best_tiles(dtype);
  bool by_rule = has_packed_matrix(l, step) && !suits_matrix_unit(l, step);
  return tiles && chooses_own_kernel(l, step, by_rule) ? tiles : nullptr;
}

ChosenSchedule product_schedule(const Lowering& l, const PlanStep& step,
                                const tile::ProductShape& shape, tile::Isa isa, int threads) {
  TileSchedules* schedules = schedules_of(l, step);
  if (schedules && isa != tile::Isa::Avx512Bf16) // bf16 is not tuned
    if (std::optional<tile::Schedule> tuned = schedules->find(shape, isa, threads))
      return {*tuned, true};
  return {tile::default_schedule(shape, isa, threads, tile::caches())};
}

Result<void> lower_tile_matmul(Lowering& l, const PlanStep& step, const tile::TileKernels& tiles) {
  ProductPlaces places;
  TG_TRY(places.x, matrix_operand(l, operand(step, "x")));
  TG_TRY(places.w, matrix_operand(l, operand(step, "y")));
  if (PlanValueId bias = operand(step, "bias"); bias != kNoValue) {
    TG_TRY(Place plain, l.operand_plain(bias));
    places.bias = as_floats(l, step.phase, plain);
  }
  TG_CHECK(place_results(l, step, places));
  bool one_matrix = merge_rows(l, step, places);
  tile::ProductShape shape = shape_of(places);
  if (one_matrix && has_packed_matrix(l, step)) {
    Phase phase = l.at_load(places.w) ? Phase::Load : step.phase;
    places.w = l.packed_panels(places.w, tiles.isa(), phase);
    shape.w_is_packed = true;
  }
  Op op = l.describe(step);
  op.threads = l.threads_for(matmul_us(op));
  ChosenSchedule chosen = product_schedule(l, step, shape, tiles.isa(), op.threads);
  op.implementation =
      llvm::formatv("tile:{0} {1}", tile::isa_name(tiles.isa()), chosen.text(tiles.isa()));
  add_product(l, step, std::move(op), tile::Product(std::move(shape), chosen.schedule, tiles),
              std::move(places));
  return {};
}

void add_product(Lowering& l, const PlanStep& step, Op op, tile::Product product,
                 ProductPlaces places) {
  op.buffers = {places.x.buffer, places.w.buffer, places.y.buffer};
  if (places.bias) op.buffers.push_back(places.bias->buffer);
  if (places.residual) op.buffers.push_back(places.residual->buffer);
  op.scratch_bytes = product.scratch_elements() * dtype_size(DType::F32);
  Act act = *parse_act(attr(step, "act").text);
  op.kernel = std::make_unique<TileKernel>(std::move(product), std::move(places), act, op.threads);
  l.add_op(step.phase, std::move(op));
}

Place Lowering::packed_panels(const Place& w, tile::Isa isa, Phase phase) {
  int64_t width = tile::panel_columns(isa), depth = w.shape[0], columns = w.shape[1];
  for (const Panels& one : panels_)
    if (one.from == w && one.width == width) return one.to;
  int64_t cells = tile::ceil_div(depth, tile::cell_elements(isa));
  int64_t bytes = tile::packed_cells(depth, columns, isa) * dtype_size(DType::F32);
  Place to = new_temporary(bytes, phase);
  Op op;
  op.name = "pack matrix";
  op.implementation = "tile";
  op.bytes = static_cast<double>(w.elements() * dtype_size(w.dtype) + bytes);
  op.threads = threads_for(copy_us(op.bytes), phase);
  op.buffers = {w.buffer, to.buffer};
  op.recipe = llvm::formatv("panels {0}: {1} x {2} from {3} by {4} and {5}", width, depth, columns,
                            w.offset, w.strides[0], w.strides[1]);
  if (w.dtype != DType::F32) op.recipe += (" of " + dtype_name(w.dtype)).str();
  auto pack = [=, row_step = w.strides[0], column_step = w.strides[1], dtype = w.dtype,
               threads = op.threads](float* panels, const float* from) {
    parallel_for(threads, tile::panel_count(columns, width), [&](int64_t begin, int64_t end, int) {
      float* first = panels + begin * width * cells;
      auto pack_from = [&]<class T>(const T* at) {
        tile::MatrixOf<T> matrix{at, depth, columns, row_step, column_step};
        tile::pack_panels(first, matrix, width, begin, end);
      };
      dtype == DType::BF16 ? pack_from(reinterpret_cast<const uint16_t*>(from)) : pack_from(from);
    });
  };
  op.kernel = std::make_unique<PackKernel>(w, to, pack);
  add_op(phase, std::move(op));
  panels_.push_back({w, to, width});
  return to;
}

} // namespace tg::cpu
