#include "runtime/cpu/tile/attention.h"

#include "runtime/cpu/tile/in_place_rows.h"
#include "runtime/cpu/tile/pack.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tg::tile {

namespace {

constexpr int64_t kWhole = 16; // floats to a multiple of which rows of scores are padded, at least

/// Returns true if e to this power is 0 in floats.
bool vanishes(float exponent) { return !(exponent >= -110); }

/// A tile for processors without kernels: y = x * panels, for the existing columns.
void plain_tile(int64_t rows, int64_t panels, int64_t width, const TileCall& call) {
  constexpr int64_t kMostWidth = 16;
  assert(width <= kMostWidth && "panels without kernels have at most 16 columns");
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = static_cast<const float*>(call.x) + r * call.x_row / 4;
    float* y = static_cast<float*>(call.y) + r * call.y_row / 4;
    for (int64_t p = 0; p < panels; ++p) {
      const float* panel = call.panel + p * call.panel_step / 4;
      float sums[kMostWidth] = {};
      for (int64_t k = 0; k < call.depth; ++k)
        for (int64_t j = 0; j < width; ++j) sums[j] += x[k] * panel[k * width + j];
      for (int64_t j = p * width; j < (p + 1) * width; ++j)
        if (!call.mask || call.mask[j]) y[j] = sums[j - p * width];
    }
  }
}

/// Returns true if all numbers are finite: only then are their products with 0 all 0, not NaN.
bool all_finite(const float* x, int64_t count) {
  float sums[16] = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int64_t j = 0; j < 16; ++j) sums[j] += x[i + j] * 0.0F;
  for (; i < count; ++i) sums[0] += x[i] * 0.0F;
  return std::all_of(std::begin(sums), std::end(sums), [](float sum) { return sum == 0; });
}

/// Returns the range [first, last) that covers the set flags of a row; first == last: none is set.
void span_of(const uint8_t* flags, int64_t& first, int64_t& last) {
  auto eight_are_zero = [&](int64_t at) {
    uint64_t eight = 0;
    std::memcpy(&eight, flags + at, sizeof(eight));
    return eight == 0;
  };
  while (last - first >= 8 && eight_are_zero(last - 8)) last -= 8;
  while (last > first && !flags[last - 1]) --last;
  while (last - first >= 8 && eight_are_zero(first)) first += 8;
  while (last > first && !flags[first]) ++first;
}

} // namespace

Attention::Attention(AttentionShape shape, const TileKernels* kernels, int threads,
                     const Caches& caches)
    : shape_(std::move(shape)), kernels_(kernels),
      width_(kernels ? panel_columns(kernels->isa()) : 16),
      tile_rows_(kernels ? most_rows(kernels->isa()) : 6), query_row_(copied_row(shape_.width)),
      score_row_(copied_row(panel_count(shape_.places, width_) * width_)) {
  const AttentionShape& s = shape_;
  for (size_t i = 0; i < s.heads.size(); ++i) {
    const HeadOffsets* before = i > 0 ? &s.heads[i - 1] : nullptr;
    bool shares = before && before->keys == s.heads[i].keys && before->values == s.heads[i].values;
    if (!shares) groups_.push_back({i, i});
    groups_.back().last = i + 1;
  }
  int64_t most = 0; // rows of a group
  for (const Group& group : groups_)
    most = std::max(most, static_cast<int64_t>(group.last - group.first) * s.rows);
  few_ = kernels && most <= kFewRows && has_in_place_rows() && s.value_column == 1 &&
         (s.key_width == 1 || s.key_place == 1);
  // Scores fit in an eighth of the second-level cache: several tiles of rows,
  // but not more than needed to amortize the reading of panels.
  constexpr int64_t kTilesOfBlock = 8;
  int64_t fit = caches.second / 8 / (4 * score_row_) / tile_rows_;
  int64_t tiles = std::clamp<int64_t>(fit, 1, kTilesOfBlock);
  block_rows_ = few_ ? most : std::min(s.rows, tiles * tile_rows_);
  blocks_ = few_ ? 1 : ceil_div(s.rows, block_rows_);
  auto units = static_cast<int64_t>(few_ ? groups_.size() : s.heads.size() * blocks_);
  parts_ = static_cast<int>(std::clamp<int64_t>(threads, 1, units));
  queries_ = block_rows_ * query_row_;
  scores_ = block_rows_ * score_row_;
  if (!few_) {
    keys_ = panel_count(s.places, width_) * width_ * s.width;
    values_ = panel_count(s.value_width, width_) * width_ * s.places;
  }
  part_scratch_ = queries_ + scores_ + ceil_div(keys_, 16) * 16 + ceil_div(values_, 16) * 16;
  if (int64_t rest = s.value_width % width_; rest != 0 && !few_) {
    int64_t panels = kernels ? most_panels(kernels->isa(), 1) : 1;
    mask_.assign(static_cast<size_t>(panels * width_), -1);
    std::fill(mask_.end() - (width_ - rest), mask_.end(), 0);
  }
}

std::string Attention::text() const {
  if (few_) return llvm::formatv("in place by {0} rows", block_rows_).str();
  return llvm::formatv("{0}x{1} by {2} rows", std::min(tile_rows_, block_rows_), width_,
                       block_rows_);
}

void Attention::run(int part, const AttentionData& data) const {
  float* scratch = data.scratch + part * part_scratch_;
  Work work{data, scratch, scratch + queries_, nullptr, nullptr};
  work.keys = work.scores + scores_;
  work.values = work.keys + ceil_div(keys_, 16) * 16;
  auto share = [&](size_t units, int index) {
    return static_cast<int64_t>(units) * index / parts_;
  };
  if (few_) {
    for (int64_t g = share(groups_.size(), part); g < share(groups_.size(), part + 1); ++g)
      run_few(groups_[static_cast<size_t>(g)], work);
    return;
  }
  size_t units = shape_.heads.size() * static_cast<size_t>(blocks_);
  int64_t begin = share(units, part), end = share(units, part + 1);
  for (const Group& group : groups_) {
    int64_t first = static_cast<int64_t>(group.first) * blocks_;
    int64_t last = static_cast<int64_t>(group.last) * blocks_;
    if (std::max(first, begin) < std::min(last, end))
      run_group(group, std::max(first, begin), std::min(last, end), work);
  }
}

void Attention::run_group(const Group& group, int64_t first_block, int64_t last_block,
                          Work& work) const {
  pack(shape_.heads[group.first], work);
  for (int64_t unit = first_block; unit < last_block; ++unit) {
    int64_t row = unit % blocks_ * block_rows_;
    run_block({shape_.heads[static_cast<size_t>(unit / blocks_)], row,
               std::min(block_rows_, shape_.rows - row), 0, shape_.places},
              work);
  }
}

void Attention::pack(const HeadOffsets& head, Work& work) const {
  const AttentionShape& s = shape_;
  const AttentionData& data = work.data;
  pack_panels(work.keys, {data.keys + head.keys, s.width, s.places, s.key_width, s.key_place},
              width_, 0, panel_count(s.places, width_));
  pack_panels(work.values,
              {data.values + head.values, s.places, s.value_width, s.value_place, s.value_column},
              width_, 0, panel_count(s.value_width, width_));
  work.finite_values = may_skip(data) && all_finite(work.values, values_);
}

void Attention::run_block(Block block, const Work& work) const {
  const AttentionShape& s = shape_;
  const float* q = work.data.q + block.head.q + block.row * s.q_row;
  copy_rows(work.queries, query_row_, {q, block.rows, s.width, s.q_row, s.q_width});
  if (may_skip(work.data)) find_seen(block, work);
  score(block, work);
  bool alone = soften(block, work); // true if only the seen places have a share
  if (!alone || !work.finite_values) {
    block.first = 0;
    block.last = s.places;
  }
  sum_values(block, work);
}

void Attention::find_seen(Block& block, const Work& work) const {
  block.first = shape_.places;
  block.last = 0;
  for (int64_t r = 0; r < block.rows; ++r) {
    int64_t first = 0, last = shape_.places;
    span_of(work.data.seen + block.head.seen + (block.row + r) * shape_.seen_row, first, last);
    if (first == last) continue;
    block.first = std::min(block.first, first);
    block.last = std::max(block.last, last);
  }
  if (block.first > block.last) block.first = block.last; // nothing
}

template <class Tile>
void Attention::each_tile(int64_t rows, int64_t first, int64_t last, Tile tile) const {
  int64_t tiles = ceil_div(rows, tile_rows_);
  int64_t most = tiles == 1 && kernels_ ? most_panels(kernels_->isa(), rows) : 1;
  for (int64_t panel = first, count; panel < last; panel += count) {
    count = std::min(last - panel, most);
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t row = rows * t / tiles;
      tile(row, rows * (t + 1) / tiles - row, panel, count);
    }
  }
}

/// `columns`: the existing ones, from the first panel on.
void Attention::call(int64_t rows, int64_t panels, int64_t columns, const TileCall& call) const {
  bool half = panels == 1 && columns <= width_ / 2;
  if (kernels_)
    kernels_->tile(rows, panels, half ? Reach::HalfPanel : Reach::Panels)(&call);
  else
    plain_tile(rows, panels, width_, call);
}

void Attention::score(const Block& block, const Work& work) const {
  int64_t first = block.first / width_, last = ceil_div(block.last, width_);
  each_tile(block.rows, first, last, [&](int64_t row, int64_t rows, int64_t panel, int64_t panels) {
    TileCall tile;
    tile.x = work.queries + row * query_row_;
    tile.x_row = query_row_ * 4;
    tile.panel = tile.ahead = work.keys + panel * width_ * shape_.width;
    tile.panel_step = width_ * shape_.width * 4;
    tile.depth = shape_.width;
    tile.y = work.scores + row * score_row_ + panel * width_; // rows have room for whole panels
    tile.y_row = score_row_ * 4;
    call(rows, panels, shape_.places - panel * width_, tile);
  });
}

bool Attention::soften(const Block& block, const Work& work) const {
  bool alone = true;
  for (int64_t r = 0; r < block.rows; ++r)
    alone &= soften_row(work.scores + r * score_row_, block.row + r, block, work);
  return alone;
}

void Attention::mask_row(float* row, int64_t index, const Block& block, const Work& work) const {
  const AttentionShape& s = shape_;
  const AttentionData& data = work.data;
  const float* mask = data.mask ? data.mask + block.head.mask + index * s.mask_row : nullptr;
  const uint8_t* seen = data.seen ? data.seen + block.head.seen + index * s.seen_row : nullptr;
  int64_t first = block.first, count = block.last - first;
  if (mask && s.mask_place != 1) {
    for (int64_t j = first; j < block.last; ++j) row[j] += mask[j * s.mask_place];
    mask = nullptr;
  }
  if (seen && s.seen_place != 1) {
    if (mask) data.mask_row(row + first, mask + first, nullptr, 0, count);
    for (int64_t j = first; j < block.last; ++j)
      row[j] = seen[j * s.seen_place] ? row[j] : data.otherwise;
    return;
  }
  if (mask || seen)
    data.mask_row(row + first, mask ? mask + first : nullptr, seen ? seen + first : nullptr,
                  data.otherwise, count);
}

/// Returns true if no place outside the block's range has a share; their shares are then 0.
bool Attention::soften_row(float* row, int64_t index, const Block& block, const Work& work) const {
  const AttentionShape& s = shape_;
  const AttentionData& data = work.data;
  mask_row(row, index, block, work);
  int64_t first = block.first, last = block.last;
  bool alone = first == 0 && last == s.places;
  if (!alone && first < last)
    alone = vanishes(data.otherwise - data.max(row + first, last - first));
  if (!alone) {
    std::fill(row, row + first, data.otherwise);
    std::fill(row + last, row + s.places, data.otherwise);
    first = 0;
    last = s.places;
  }
  // Uses whole vectors: added places have no share, like all places outside.
  int64_t begin = first / kWhole * kWhole, end = ceil_div(last, kWhole) * kWhole;
  std::fill(row, row + begin, 0.0F);
  std::fill(row + begin, row + first, -std::numeric_limits<float>::infinity());
  std::fill(row + last, row + end, -std::numeric_limits<float>::infinity());
  if (end < s.places) std::fill(row + end, row + s.places, 0.0F);
  data.softmax(row + begin, row + begin, end - begin);
  return alone;
}

void Attention::sum_values(const Block& block, const Work& work) const {
  int64_t panels = panel_count(shape_.value_width, width_);
  each_tile(block.rows, 0, panels, [&](int64_t row, int64_t rows, int64_t panel, int64_t count) {
    TileCall tile;
    tile.x = work.scores + row * score_row_ + block.first;
    tile.x_row = score_row_ * 4;
    tile.panel = tile.ahead = work.values + (panel * shape_.places + block.first) * width_;
    tile.panel_step = width_ * shape_.places * 4;
    tile.depth = block.last - block.first;
    tile.y = work.data.y + block.head.y + (block.row + row) * shape_.y_row + panel * width_;
    tile.y_row = shape_.y_row * 4;
    if (!mask_.empty() && panel + count == panels)
      tile.mask = mask_.data() + mask_.size() - static_cast<size_t>(count * width_);
    tile.last_columns = shape_.value_width % width_;
    call(rows, count, shape_.value_width - panel * width_, tile);
  });
}

// Keys are read once for all rows, and so are values: a few rows of each at a time,
// which all rows of the group use while they are in the first-level cache.
void Attention::run_few(const Group& group, Work& work) const {
  const AttentionShape& s = shape_;
  const AttentionData& data = work.data;
  const HeadOffsets& shared = s.heads[group.first];
  auto count = static_cast<int64_t>(group.last - group.first);
  int64_t first = may_skip(data) ? s.places : 0, last = may_skip(data) ? 0 : s.places;
  for (int64_t i = 0; i < count; ++i) {
    const HeadOffsets& head = s.heads[group.first + static_cast<size_t>(i)];
    copy_rows(work.queries + i * s.rows * query_row_, query_row_,
              {data.q + head.q, s.rows, s.width, s.q_row, s.q_width});
    if (!may_skip(data)) continue;
    Block seen{head, 0, s.rows, 0, s.places};
    find_seen(seen, work);
    first = std::min(first, seen.first);
    last = std::max(last, seen.last);
  }
  first = std::min(first, last);
  InPlaceRows scores{work.queries, query_row_, work.scores, score_row_, count * s.rows};
  const float* keys = data.keys + shared.keys;
  if (s.key_width == 1)
    dot_rows(scores, keys, s.key_place, s.width, first, last);
  else
    add_rows(scores, keys, s.key_width, s.width, first, last);
  for (int64_t i = 0; i < count; ++i) {
    const HeadOffsets& head = s.heads[group.first + static_cast<size_t>(i)];
    Block block{head, 0, s.rows, first, last};
    for (int64_t r = 0; r < s.rows; ++r)
      soften_row(work.scores + (i * s.rows + r) * score_row_, r, block, work);
  }
  for (int64_t i = 0; i < count; ++i) {
    const HeadOffsets& head = s.heads[group.first + static_cast<size_t>(i)];
    InPlaceRows sums{work.scores + i * s.rows * score_row_, score_row_, data.y + head.y, s.y_row,
                     s.rows};
    add_rows(sums, data.values + shared.values, s.value_place, s.places, 0, s.value_width);
  }
}

} // namespace tg::tile
