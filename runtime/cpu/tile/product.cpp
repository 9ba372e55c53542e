#include "runtime/cpu/tile/product.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <optional>

namespace tg::tile {

namespace {

int64_t quotient_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
int64_t whole_lines(int64_t floats) { return quotient_up(floats, 16) * 16; }

/// Divides whole products if these divide evenly, or there are many;
/// else columns, because every part then reads only its own part of w; else rows.
/// With few results the depth is divided, by the shape alone, so that the bits do not depend
/// on the number of threads.
void set_parts(Schedule& s, const ProductShape& shape, int64_t threads, int64_t tiles,
               int64_t panels) {
  constexpr int64_t kFewTiles = 2, kMostDepthParts = 8;
  constexpr int64_t kLeastDepth = 2048; // of a part: joining them takes a parallel region
  auto products = static_cast<int64_t>(shape.batch.size());
  if (products % threads == 0 || products > 4 * threads)
    s.batch_parts = static_cast<int>(threads);
  else if (panels >= 2 * threads || panels >= tiles)
    s.column_parts = static_cast<int>(std::min(threads, panels));
  else
    s.row_parts = static_cast<int>(std::min(threads, tiles));
  if (shape.w_is_packed && products * tiles * panels <= kFewTiles)
    s.depth_parts =
        static_cast<int>(std::clamp<int64_t>(shape.depth / kLeastDepth, 1, kMostDepthParts));
}

} // namespace

std::string tile_text(const Schedule& s, Isa isa) {
  return llvm::formatv("{0}x{1}", s.tile_rows, s.tile_panels * panel_columns(isa)).str();
}

std::string text(const Schedule& s, Isa isa) {
  std::string out = llvm::formatv("{0} rows {1} columns {2} depth {3}", tile_text(s, isa),
                                  s.row_block * s.tile_rows, s.column_block * panel_columns(isa),
                                  s.depth_block * cell_elements(isa));
  out += s.rows_outside ? ", rows outside" : ", panels outside";
  if (s.copy_x) out += ", x copied";
  if (s.panels_ahead != 1) out += llvm::formatv(", {0} ahead", s.panels_ahead);
  if (s.batch_parts > 1) out += llvm::formatv(", {0} by products", s.batch_parts);
  if (s.row_parts > 1) out += llvm::formatv(", {0} by rows", s.row_parts);
  if (s.column_parts > 1) out += llvm::formatv(", {0} by columns", s.column_parts);
  if (s.depth_parts > 1) out += llvm::formatv(", {0} by depth", s.depth_parts);
  return out;
}

Product::Product(ProductShape shape, const Schedule& schedule, const TileKernels& kernels)
    : shape_(std::move(shape)), schedule_(schedule), kernels_(kernels),
      width_(panel_columns(kernels.isa())), element_(element_bytes(kernels.isa())),
      steps_(quotient_up(shape_.depth, cell_elements(kernels.isa()))),
      tiles_(quotient_up(shape_.rows, schedule.tile_rows)),
      panels_(panel_count(shape_.columns, width_)) {
  const Schedule& s = schedule_;
  assert(s.tile_panels <= most_panels(kernels.isa(), s.tile_rows) && "too many panels for a tile");
  assert((s.copy_x || shape_.x_depth == 1) && "a tile reads x by rows");
  assert((s.depth_parts == 1 || !is_narrow()) && "parts of the depth are summed in f32");
  for (int64_t tile = 0; tile <= tiles_; ++tile)
    first_rows_.push_back(shape_.rows * tile / tiles_); // divided evenly
  int64_t block_rows = std::min(s.row_block, tiles_) * s.tile_rows;
  if (s.copy_x) copied_ = whole_lines(block_rows * copied_row(steps_));
  int64_t own_panels = quotient_up(panels_, s.column_parts);
  if (!shape_.w_is_packed) packed_ = own_panels * width_ * steps_;
  int64_t block = block_rows * std::min(s.column_block, own_panels) * width_;
  if (s.depth_block < steps_) sums_ = block;
  if (is_narrow()) unrounded_ = block;
  part_scratch_ = whole_lines(copied_ + packed_ + sums_ + unrounded_);
  if (s.depth_parts > 1)
    partial_ = static_cast<int64_t>(shape_.batch.size()) * shape_.rows * panels_ * width_;
  if (int64_t rest = shape_.columns % width_; rest != 0) {
    mask_.assign(static_cast<size_t>(s.tile_panels * width_), -1);
    std::fill(mask_.end() - (width_ - rest), mask_.end(), 0);
  }
}

void Product::run(const ProductData& data, Each each) const {
  each(schedule_.parts(), [&](int part) { run_part(part, data); });
  if (schedule_.depth_parts == 1) return;
  int64_t rows = static_cast<int64_t>(shape_.batch.size()) * shape_.rows;
  auto parts = static_cast<int>(std::min<int64_t>(rows, schedule_.parts()));
  each(parts, [&](int part) {
    Span span = share(rows, part, parts);
    for (int64_t row = span.begin; row < span.end; ++row)
      join_row(data, row / shape_.rows, row % shape_.rows);
  });
}

void Product::run_part(int part, const ProductData& data) const {
  const Schedule& s = schedule_;
  int64_t column = part % s.column_parts, rest = part / s.column_parts;
  int64_t row = rest % s.row_parts, depth_part = rest / s.row_parts / s.batch_parts;
  Span products = share(static_cast<int64_t>(shape_.batch.size()),
                        rest / s.row_parts % s.batch_parts, s.batch_parts);
  float* scratch = data.scratch + part * part_scratch_;
  Work work{data,
            {},
            share(tiles_, row, s.row_parts),
            share(panels_, column, s.column_parts),
            share(steps_, depth_part, s.depth_parts),
            nullptr,
            scratch,
            scratch + copied_ + packed_,
            scratch + copied_ + packed_ + sums_,
            nullptr};
  float* packed = scratch + copied_;
  std::optional<int64_t> last; // start of the w that is in `packed`
  for (int64_t i = products.begin; i < products.end; ++i) {
    work.start = shape_.batch[static_cast<size_t>(i)];
    if (s.depth_parts > 1) work.partial = partial(data, depth_part, i);
    if (shape_.w_is_packed) {
      work.panel = static_cast<const float*>(data.w) + work.panels.begin * width_ * steps_;
    } else if (work.start.w != last) {
      is_narrow() ? pack_w<uint16_t>(packed, work) : pack_w<float>(packed, work);
      last = work.start.w;
      work.panel = packed;
    }
    run_rows(work);
  }
}

template <class T> void Product::pack_w(float* packed, const Work& work) const {
  const T* w = static_cast<const T*>(work.data.w) + work.start.w;
  pack_panels(packed, MatrixOf<T>{w, shape_.depth, shape_.columns, shape_.w_depth, shape_.w_column},
              width_, work.panels.begin, work.panels.end);
}

void Product::run_rows(const Work& work) const {
  for (int64_t tile = work.tiles.begin; tile < work.tiles.end; tile += schedule_.row_block) {
    Span tiles{tile, std::min(tile + schedule_.row_block, work.tiles.end)};
    int64_t first = first_rows_[static_cast<size_t>(tiles.begin)],
            count = first_rows_[static_cast<size_t>(tiles.end)] - first;
    auto x = static_cast<const std::byte*>(work.data.x);
    RowBlock rows{tiles, x + (work.start.x + first * shape_.x_row) * element_,
                  shape_.x_row * element_};
    if (schedule_.copy_x)
      is_narrow() ? copy_x<uint16_t>(work, rows, count) : copy_x<float>(work, rows, count);
    for (int64_t panel = work.panels.begin; panel < work.panels.end;
         panel += schedule_.column_block)
      run_columns(work, rows, {panel, std::min(panel + schedule_.column_block, work.panels.end)});
  }
}

template <class T> void Product::copy_x(const Work& work, RowBlock& rows, int64_t count) const {
  int64_t step = copied_row(steps_) * sizeof(float);
  copy_rows(reinterpret_cast<T*>(work.copied), step / static_cast<int64_t>(sizeof(T)),
            MatrixOf<T>{reinterpret_cast<const T*>(rows.x), count, shape_.depth, shape_.x_row,
                        shape_.x_depth});
  rows.x = reinterpret_cast<const std::byte*>(work.copied);
  rows.x_row = step;
}

void Product::run_columns(const Work& work, const RowBlock& rows, Span panels) const {
  for (int64_t k = work.depth.begin; k < work.depth.end; k += schedule_.depth_block)
    run_tiles(work, rows, panels, {k, std::min(k + schedule_.depth_block, work.depth.end)});
  if (work.data.finish && !work.partial) finish(work, rows.tiles, panels);
}

void Product::run_tiles(const Work& work, const RowBlock& rows, Span panels, Span depth) const {
  if (schedule_.rows_outside) {
    for (int64_t tile = rows.tiles.begin; tile < rows.tiles.end; ++tile)
      for (int64_t panel = panels.begin, count; panel < panels.end; panel += count) {
        count = panels_at(panel, panels);
        run_tile({work, rows, panels, depth}, tile, panel,
                 call_of(work, panel, count, panels, depth));
      }
    return;
  }
  for (int64_t panel = panels.begin, count; panel < panels.end; panel += count) {
    count = panels_at(panel, panels);
    TileCall call = call_of(work, panel, count, panels, depth);
    for (int64_t tile = rows.tiles.begin; tile < rows.tiles.end; ++tile)
      run_tile({work, rows, panels, depth}, tile, panel, call);
  }
}

/// Returns a call with its columns and product set; rows are set later.
TileCall Product::call_of(const Work& work, int64_t panel, int64_t count, Span panels,
                          Span depth) const {
  const ProductData& data = work.data;
  int64_t column = panel * width_;
  TileCall call;
  call.panel = work.panel + ((panel - work.panels.begin) * steps_ + depth.begin) * width_;
  call.panel_step = width_ * steps_ * 4;
  call.alone = depth.end == steps_ ? steps_ * cell_elements(kernels_.isa()) - shape_.depth : 0;
  call.depth = depth.size() - call.alone;
  if (work.partial) { // whole panels; join_row does the rest
    call.y = work.partial + column;
    call.y_row = panels_ * width_ * 4;
    return call;
  }
  call.relu = data.relu;
  if (data.bias) call.bias = data.bias + work.start.bias + column;
  if (data.residual)
    call.residual =
        static_cast<const std::byte*>(data.residual) + (work.start.residual + column) * element_;
  call.residual_row = shape_.residual_row * element_;
  if (!mask_.empty() && panel + count == panels_)
    call.mask = mask_.data() + (schedule_.tile_panels - count) * width_;
  call.last_columns = shape_.columns % width_;
  call.narrow = is_narrow() && !data.finish;
  if (is_narrow() && data.finish) {
    call.y = work.unrounded + (panel - panels.begin) * width_;
    call.y_row = panels.size() * width_ * 4;
  } else {
    call.y = static_cast<std::byte*>(data.y) + (work.start.y + column) * element_;
    call.y_row = shape_.y_row * element_;
  }
  return call;
}

// While the first tiles of a panel are computed, the next panel is prefetched
// from the third level or memory into the second: the hardware prefetcher stops at page boundaries.
void Product::run_tile(const Block& block, int64_t tile, int64_t panel, TileCall call) const {
  const auto& [work, rows, panels, depth] = block;
  int64_t row = first_rows_[static_cast<size_t>(tile)], index = tile - rows.tiles.begin;
  int64_t count = panels_at(panel, panels);
  int64_t next = index * prefetched_cells(call.depth), ahead = schedule_.panels_ahead * count;
  bool more = ahead > 0 && panel + ahead < work.panels.end && next < call.depth * width_;
  call.ahead = more ? call.panel + ahead * width_ * steps_ + next : call.panel;
  int64_t of_block = row - first_rows_[static_cast<size_t>(rows.tiles.begin)];
  call.x = rows.x + of_block * rows.x_row + depth.begin * 4;
  call.x_row = rows.x_row;
  bool in_scratch = is_narrow() && !call.narrow;
  call.y = static_cast<std::byte*>(call.y) + (in_scratch ? of_block : row) * call.y_row;
  if (call.residual)
    call.residual = static_cast<const std::byte*>(call.residual) + row * call.residual_row;
  int64_t sums = (panel - panels.begin) * rows.tiles.size() + index * count;
  float* at = work.sums + sums * schedule_.tile_rows * width_;
  if (depth.begin > work.depth.begin) call.sums_in = at;
  if (depth.end < work.depth.end) call.sums_out = at;
  bool half = count == 1 && panel + 1 == panels_ && shape_.columns - panel * width_ <= width_ / 2;
  kernels_.tile(first_rows_[static_cast<size_t>(tile) + 1] - row, count,
                half ? Reach::HalfPanel : Reach::Panels)(&call);
}

void Product::finish(const Work& work, Span tiles, Span panels) const {
  int64_t row = first_rows_[static_cast<size_t>(tiles.begin)], column = panels.begin * width_;
  int64_t rows = first_rows_[static_cast<size_t>(tiles.end)] - row;
  int64_t columns = std::min(panels.end * width_, shape_.columns) - column;
  int64_t at = work.start.y + row * shape_.y_row + column;
  if (is_narrow())
    work.data.finish({work.unrounded, panels.size() * width_, rows, columns,
                      static_cast<uint16_t*>(work.data.y) + at, shape_.y_row});
  else
    work.data.finish({static_cast<float*>(work.data.y) + at, shape_.y_row, rows, columns});
}

float* Product::partial(const ProductData& data, int64_t depth_part, int64_t product) const {
  return data.scratch + schedule_.parts() * part_scratch_ + depth_part * partial_ +
         product * shape_.rows * panels_ * width_;
}

void Product::join_row(const ProductData& data, int64_t product, int64_t row) const {
  const BatchStart& start = shape_.batch[static_cast<size_t>(product)];
  float* y = static_cast<float*>(data.y) + start.y + row * shape_.y_row;
  const float* bias = data.bias ? data.bias + start.bias : nullptr;
  const float* residual = data.residual ? static_cast<const float*>(data.residual) +
                                              start.residual + row * shape_.residual_row
                                        : nullptr;
  const float* parts = partial(data, 0, product) + row * panels_ * width_;
  for (int64_t j = 0; j < shape_.columns; ++j) {
    float sum = parts[j];
    for (int64_t part = 1; part < schedule_.depth_parts; ++part) sum += parts[part * partial_ + j];
    if (bias) sum += bias[j];
    if (residual) sum += residual[j];
    y[j] = data.relu && sum < 0 ? 0 : sum;
  }
  if (data.finish) data.finish({y, shape_.y_row, 1, shape_.columns});
}

Schedule default_schedule(const ProductShape& shape, Isa isa, int threads, const Caches& caches) {
  Schedule s;
  int64_t width = panel_columns(isa), panels = panel_count(shape.columns, width);
  int64_t tiles = quotient_up(shape.rows, most_rows(isa));
  // Rows of x that are a multiple of 2 KiB apart share a few sets of the first level.
  // Six of them fit there: with two panels, such tiles of AVX-512 are as fast as others,
  // and nothing is copied.
  bool alike = tiles > 2 && shape.x_row * element_bytes(isa) % 2048 == 0;
  bool six = alike && isa != Isa::Avx2 && shape.x_depth == 1 && tiles > 4;
  if (six) tiles = quotient_up(shape.rows, 6);
  s.tile_rows = quotient_up(shape.rows, tiles);
  s.tile_panels = tiles == 1 ? most_panels(isa, s.tile_rows) : six ? 2 : 1;
  s.copy_x = shape.x_depth != 1 || (alike && !six);
  // The start and end of a tile cost some 40 cycles. A panel need not fit in the first level,
  // because it streams from the second fast enough. A few rows read it once, at any depth.
  set_parts(s, shape, threads, tiles, panels);
  if (isa == Isa::Avx512Bf16) s.depth_parts = 1;
  int64_t depth = quotient_up(quotient_up(shape.depth, cell_elements(isa)), s.depth_parts);
  int64_t of_panel = six ? caches.second * 3 / 8 : caches.second / 8;
  int64_t cuts = tiles == 1 ? 1 : quotient_up(depth * width * 4, of_panel);
  s.depth_block = quotient_up(depth, cuts);
  // x of a block takes five eighths of the second level or, with six rows at a time, any size;
  // its sums and results take a quarter.
  int64_t own = quotient_up(tiles, s.row_parts);
  int64_t fit = std::max<int64_t>(1, caches.second * 5 / 8 / (4 * s.depth_block * s.tile_rows));
  s.row_block = six ? own : quotient_up(own, quotient_up(own, fit));
  int64_t rows = s.row_block * s.tile_rows, own_panels = quotient_up(panels, s.column_parts);
  int64_t columns = std::max<int64_t>(s.tile_panels, caches.second / 4 / (4 * rows * width));
  s.column_block = quotient_up(own_panels, quotient_up(own_panels, columns));
  s.column_block = quotient_up(s.column_block, s.tile_panels) * s.tile_panels;
  return s;
}

} // namespace tg::tile
