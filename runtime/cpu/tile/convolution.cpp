#include "runtime/cpu/tile/convolution.h"

#include <algorithm>
#include <numeric>

namespace tg::tile {

Convolution::~Convolution() = default;

const int32_t* lanes_mask(int64_t count) {
  static constexpr int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return kMask + lanes(Isa::Avx2) - count;
}

double vectors_a_cycle(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx512 && __builtin_cpu_is("amdfam19h")) return 1;
#endif
  return 2;
}

Isa faster_isa(double avx2_vectors, double avx512_vectors) {
  constexpr double kGain = 1.06; // by larger tiles and fewer instructions
  double avx2 = avx2_vectors / vectors_a_cycle(Isa::Avx2);
  double avx512 = avx512_vectors / vectors_a_cycle(Isa::Avx512);
  return avx512 <= kGain * avx2 ? Isa::Avx512 : Isa::Avx2;
}

namespace {

/// Returns the taps inside an image of that size, given the position of the first tap,
/// which may be outside.
ConvolutionShape::Taps taps_inside(int64_t at, int64_t dilation, int64_t kernel, int64_t image) {
  int64_t begin = at < 0 ? ceil_div(-at, dilation) : 0;
  int64_t end = at < image ? ceil_div(image - at, dilation) : 0;
  begin = std::min(begin, kernel);
  return {begin, std::max<int64_t>(0, std::min(end, kernel) - begin)};
}

} // namespace

ConvolutionShape::Taps ConvolutionShape::kernel_rows(int64_t row) const {
  return taps_inside(row * stride.rows - before.rows, dilation.rows, kernel.rows, image.rows);
}

ConvolutionShape::Taps ConvolutionShape::kernel_planes(int64_t plane) const {
  return taps_inside(plane % depth.result * depth.stride - depth.before, depth.dilation,
                     depth.kernel, depth.image);
}

TapBlock tap_block(const ConvolutionShape& s, int64_t plane, int64_t row, int64_t tap_row) {
  auto [first, count] = s.kernel_rows(row);
  auto [first_plane, planes] = s.kernel_planes(plane);
  TapBlock taps;
  taps.x = plane / s.depth.result * s.x.image;
  if (count == 0 || planes == 0) return taps; // nothing is read
  int64_t x_row = row * s.stride.rows - s.before.rows + first * s.dilation.rows;
  int64_t x_plane =
      plane % s.depth.result * s.depth.stride - s.depth.before + first_plane * s.depth.dilation;
  taps.x += x_plane * s.x.plane + x_row * s.x.row;
  taps.w = (first_plane * s.kernel.rows + first) * tap_row;
  taps.kernel_rows = count;
  taps.planes = {planes, 4 * (s.depth.dilation * s.x.plane - count * s.dilation.rows * s.x.row),
                 4 * (s.kernel.rows - count) * tap_row};
  return taps;
}

int64_t ConvolutionShape::pixels_in_first_level() const {
  constexpr int64_t kWay = 4096, kWays = 8;
  return kWays * kWay / std::clamp<int64_t>(std::gcd(4 * x.pixel, kWay), 64, kWay);
}

bool ConvolutionShape::steps_fit() const {
  constexpr int64_t kMost = int64_t{1} << 28; // elements
  int64_t across = stride.columns * 32 + kernel.columns * dilation.columns;
  for (const PixelSteps* p : {&x, &y, &residual})
    if (p->row > kMost / 4 || p->pixel > kMost / std::max<int64_t>(32, across) ||
        p->pixel * result.columns * stride.columns > kMost)
      return false;
  return std::max(dilation.rows, stride.rows) <= kMost / std::max<int64_t>(1, x.row) &&
         depth.kernel * kernel.rows <= kMost / 64 / kernel.columns;
}

std::vector<ColumnTiles> column_tiles(const ConvolutionShape& s, int64_t most) {
  std::vector<ColumnTiles> tiles;
  int64_t count = ceil_div(s.result.columns, most), first = 0;
  for (int64_t i = 0, columns; i < count; ++i, first += columns) {
    columns = s.result.columns / count + (i < s.result.columns % count);
    bool same = !tiles.empty() && tiles.back().columns == columns &&
                s.sees_all_columns(tiles.back().first, columns) &&
                s.sees_all_columns(first, columns);
    if (same)
      ++tiles.back().repeats;
    else
      tiles.push_back({first, columns, 1});
  }
  return tiles;
}

} // namespace tg::tile
