// Divides a Winograd convolution into blocks of tiles, blocks of output channels, and threads.
// Irregular parts (tiles across an edge, channels that do not fill a panel)
// go through a one-panel patch on the stack, so the transforms need not handle edges and tails.
#include "runtime/cpu/winograd/winograd.h"

#include "runtime/cpu/handles.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/act_instr.h"

#include <algorithm>
#include <optional>

namespace tg::cpu {

namespace {

/// The size of V and M of one block of tiles: half of a second-level cache of one megabyte;
/// weights stream through the other half.
constexpr int64_t kBlockBytes = 512 << 10;
/// With fewer tiles per thread, each thread would stream all weights for too little work.
/// Threads then share V and divide the output channels.
constexpr int64_t kFewTiles = 16;
constexpr int64_t kManyWeights = 4 << 20; // bytes

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
int64_t quotient_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

/// Returns the distance between positions with rows * width elements each.
/// It is not a power of two, which would map all positions to the same few sets of a cache.
int64_t position_step(int64_t rows, int64_t width) { return rows * width + kPanel; }

/// Returns the activation that is applied after a tile is written, while it is in cache;
/// relu is part of the transform.
std::optional<Instr> later_instr(Act act) {
  if (act == Act::None || act == Act::Relu) return std::nullopt;
  return instr_of(act);
}

} // namespace

IsaTables<WinogradTable> winograd_tables() {
  return isa_tables(kWinogradAvx512, kWinogradAvx2, kWinogradBase);
}

const WinogradTable& winograd_table() {
  static const WinogradTable& best = best_of(winograd_tables());
  return best;
}

WinogradCut default_cut(const WinogradShape& shape, int threads) {
  WinogradCut cut;
  int64_t tiles = shape.tiles(), panels = quotient_up(shape.outputs, kPanel);
  int64_t bytes = 4 * shape.positions() * shape.inputs * panels * kPanel;
  cut.by_channels = threads > 1 && shape.groups == 1 && tiles < kFewTiles * threads &&
                    bytes > kManyWeights && panels >= threads;
  if (cut.by_channels) {
    cut.panels = std::clamp(panels / threads, int64_t{1}, kMaxPanels);
    return cut;
  }
  int64_t row = round_up(shape.inputs, kPanel) + std::min(panels, kMaxPanels) * kPanel;
  int64_t fit = std::max(kFewTiles, kBlockBytes / (4 * shape.positions() * row));
  cut.cuts = quotient_up(tiles, fit);
  while (cut.cuts * shape.groups % threads != 0 && cut.cuts < tiles)
    ++cut.cuts; // the same number for each thread
  cut.cuts = quotient_up(tiles, quotient_up(tiles, cut.cuts));
  return cut;
}

bool suits(const WinogradShape& shape, int threads, const WinogradCut& cut) {
  int64_t tiles = shape.tiles(), panels = quotient_up(shape.outputs, kPanel);
  auto in_panels = [](int64_t channels) { return channels >= kPanel && channels % kPanel == 0; };
  if (cut.panels < 1 || cut.panels > kMaxPanels || cut.rows < 1 || cut.cuts < 1 ||
      cut.cuts > tiles || !in_panels(cut.packed) || !in_panels(cut.written))
    return false;
  if (cut.by_channels && (threads == 1 || shape.groups > 1 || cut.cuts > 1 || panels < threads))
    return false;
  int64_t row = round_up(shape.inputs, kPanel) + std::min(panels, cut.panels) * kPanel;
  return cut == default_cut(shape, threads) ||
         4 * shape.positions() * row * quotient_up(tiles, cut.cuts) <= kMostCutBytes;
}

WinogradSchedule::WinogradSchedule(const WinogradShape& shape, const Threads& threads,
                                   const WinogradCut& cut)
    : shape_(shape), threads_(threads), padded_inputs_(round_up(shape.inputs, kPanel)), cut_(cut) {
  int64_t panels = quotient_up(shape.outputs, kPanel);
  int64_t pieces = quotient_up(panels, cut.panels), weights = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    int64_t first = panels * i / pieces, last = panels * (i + 1) / pieces;
    int64_t count = std::min(last * kPanel, shape.outputs) - first * kPanel;
    blocks_.push_back({first * kPanel, count, last - first, weights});
    weights += shape.positions() * shape.inputs * (last - first) * kPanel;
  }
  group_weights_ = weights;
  find_tiles();
  tiles_at_once_ = quotient_up(shape.tiles(), cut.cuts);
}

void WinogradSchedule::find_tiles() {
  const WinogradShape& s = shape_;
  int64_t side = s.tile + 2;
  for (int64_t image = 0; image < s.images; ++image)
    for (int64_t row = 0; row < s.out_height; row += s.tile)
      for (int64_t column = 0; column < s.out_width; column += s.tile) {
        int64_t top = row - s.above, left = column - s.left;
        auto at = [&](const ImageSteps& steps, int64_t i, int64_t j) {
          return image * steps.image + i * steps.row + j * steps.pixel;
        };
        Box read{std::max<int64_t>(0, -top), std::max<int64_t>(0, -left),
                 std::min(side, s.height - top), std::min(side, s.width - left)};
        Box write{0, 0, std::min(s.tile, s.out_height - row),
                  std::min(s.tile, s.out_width - column)};
        tiles_.push_back(
            {at(s.x, top, left), at(s.y, row, column), at(s.residual, row, column), read, write});
      }
}

int64_t WinogradSchedule::position_of_v() const {
  return position_step(tiles_at_once_, padded_inputs_);
}
int64_t WinogradSchedule::position_of_m() const {
  return position_step(tiles_at_once_, kMaxPanels * kPanel);
}

int64_t WinogradSchedule::weight_elements() const { return shape_.groups * group_weights_; }

int64_t WinogradSchedule::scratch_elements() const {
  int64_t v = shape_.positions() * position_of_v(), m = shape_.positions() * position_of_m();
  return (cut_.by_channels ? v : v * threads_) + m * threads_;
}

void WinogradSchedule::pack(float* packed, const float* u) const {
  int64_t inputs = shape_.inputs, all_outputs = shape_.groups * shape_.outputs;
  for (int64_t group = 0; group < shape_.groups; ++group)
    for (const Block& block : blocks_) {
      float* to = packed + group * group_weights_ + block.weights;
      int64_t width = block.panels * kPanel, first = group * shape_.outputs + block.first;
      for (int64_t p = 0; p < shape_.positions(); ++p)
        for (int64_t i = 0; i < inputs; ++i, to += width) {
          const float* from = u + (p * all_outputs + first) * inputs + i;
          for (int64_t o = 0; o < width; ++o) to[o] = o < block.count ? from[o * inputs] : 0.0f;
        }
    }
}

void WinogradSchedule::run(const WinogradTable& table, const WinogradData& data) const {
  int64_t v_size = shape_.positions() * position_of_v(), cuts = cut_.cuts;
  int64_t m_size = shape_.positions() * position_of_m(), tiles = shape_.tiles();
  if (cut_.by_channels) {
    float *v = data.scratch, *m = v + v_size;
    parallel_for(threads_, tiles, [&](int64_t begin, int64_t end, int) {
      read_tiles(table, data, 0, begin, end, v + begin * padded_inputs_);
    });
    parallel_for(threads_, static_cast<int64_t>(blocks_.size()),
                 [&](int64_t first, int64_t last, int part) {
                   for (int64_t i = first; i < last; ++i)
                     make_block(table, data, 0, blocks_[static_cast<size_t>(i)], 0, tiles, v,
                                m + part * m_size);
                 });
    return;
  }
  parallel_for(threads_, cuts * shape_.groups, [&](int64_t first, int64_t last, int part) {
    float *v = data.scratch + part * (v_size + m_size), *m = v + v_size;
    for (int64_t i = first; i < last; ++i) {
      int64_t group = i % shape_.groups, cut = i / shape_.groups;
      int64_t begin = tiles * cut / cuts, end = tiles * (cut + 1) / cuts;
      read_tiles(table, data, group, begin, end, v);
      for (const Block& block : blocks_) make_block(table, data, group, block, begin, end, v, m);
    }
  });
}

void WinogradSchedule::read_tiles(const WinogradTable& table, const WinogradData& data,
                                  int64_t group, int64_t begin, int64_t end, float* v) const {
  const float* x = data.x + group * shape_.inputs;
  for (int64_t first = 0; first < padded_inputs_; first += cut_.packed) {
    int64_t count = std::min(cut_.packed, padded_inputs_ - first);
    float* to = v;
    for (int64_t i = begin; i < end; ++i, to += padded_inputs_)
      read_tile(table, x, tiles_[static_cast<size_t>(i)], to, first, count);
  }
}

void WinogradSchedule::read_tile(const WinogradTable& table, const float* x, const Tile& tile,
                                 float* v, int64_t first, int64_t count) const {
  const WinogradShape& s = shape_;
  int64_t side = s.tile + 2, whole = std::min(count, s.inputs / kPanel * kPanel - first);
  Pixels<const float> from{x + tile.x, s.x.row, s.x.pixel};
  if (whole > 0)
    table.input(s.tile, v + first, position_of_v(), {from.at + first, from.row, from.pixel},
                tile.read, whole);
  if (whole == count) return;
  int64_t last = first + whole; // channels that do not fill a panel
  alignas(64) float patch[kMaxPositions * kPanel] = {};
  for (int64_t i = tile.read.top; i < tile.read.bottom; ++i)
    for (int64_t j = tile.read.left; j < tile.read.right; ++j)
      std::copy_n(from.at + i * from.row + j * from.pixel + last, s.inputs - last,
                  patch + (i * side + j) * kPanel);
  table.input(s.tile, v + last, position_of_v(), {patch, side * kPanel, kPanel}, tile.read, kPanel);
}

void WinogradSchedule::make_block(const WinogradTable& table, const WinogradData& data,
                                  int64_t group, const Block& block, int64_t begin, int64_t end,
                                  const float* v, float* m) const {
  int64_t width = block.panels * kPanel;
  const float* weights = data.weights + group * group_weights_ + block.weights;
  for (int64_t p = 0; p < shape_.positions(); ++p, weights += shape_.inputs * width)
    table.product(m + p * position_of_m(), width, v + p * position_of_v(), padded_inputs_, weights,
                  end - begin, shape_.inputs, block.panels, cut_.rows);
  int64_t channel = group * shape_.outputs + block.first;
  for (int64_t first = 0; first < block.count; first += cut_.written) {
    int64_t count = std::min(cut_.written, block.count - first);
    const float* from = m + first;
    for (int64_t i = begin; i < end; ++i, from += width)
      write_tile(table, data, channel + first, count, tiles_[static_cast<size_t>(i)], from);
  }
}

void WinogradSchedule::write_tile(const WinogradTable& table, const WinogradData& data,
                                  int64_t channel, int64_t count, const Tile& tile,
                                  const float* m) const {
  const WinogradShape& s = shape_;
  Pixels<float> y{data.y + tile.y + channel, s.y.row, s.y.pixel};
  WinogradTail tail{data.bias ? data.bias + channel : nullptr, {}, data.act == Act::Relu};
  if (data.residual)
    tail.residual = {data.residual + tile.residual + channel, s.residual.row, s.residual.pixel};
  int64_t whole = count / kPanel * kPanel, rest = count - whole;
  if (whole > 0) table.output(s.tile, y, tile.write, m, position_of_m(), tail, whole);
  if (rest > 0) write_rest(table, y, tile.write, m + whole, tail, whole, rest);
  if (std::optional<Instr> instr = later_instr(data.act))
    for (int64_t i = 0; i < tile.write.bottom; ++i)
      for (int64_t j = 0; j < tile.write.right; ++j) {
        float* at = y.at + i * y.row + j * y.pixel;
        simd().apply(*instr, at, at, nullptr, nullptr, count);
      }
}

void WinogradSchedule::write_rest(const WinogradTable& table, Pixels<float> y, const Box& box,
                                  const float* m, const WinogradTail& tail, int64_t first,
                                  int64_t count) const {
  alignas(64) float out[kMaxPositions * kPanel], also[kMaxPositions * kPanel] = {};
  alignas(64) float bias[kPanel] = {};
  Pixels<float> patch{out, shape_.tile * kPanel, kPanel};
  auto each_pixel = [&](auto&& action) {
    for (int64_t i = 0; i < box.bottom; ++i)
      for (int64_t j = 0; j < box.right; ++j) action(i, j, i * patch.row + j * patch.pixel);
  };
  if (tail.bias) std::copy_n(tail.bias + first, count, bias);
  WinogradTail part{bias, {}, tail.relu};
  if (const Pixels<const float>& from = tail.residual; from.at) {
    each_pixel([&](int64_t i, int64_t j, int64_t at) {
      std::copy_n(from.at + i * from.row + j * from.pixel + first, count, also + at);
    });
    part.residual = {also, patch.row, patch.pixel};
  }
  table.output(shape_.tile, patch, box, m, position_of_m(), part, kPanel);
  each_pixel([&](int64_t i, int64_t j, int64_t at) {
    std::copy_n(out + at, count, y.at + i * y.row + j * y.pixel + first);
  });
}

} // namespace tg::cpu
