#include "runtime/tile/convolution.h"

#include <algorithm>

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

Plane ConvolutionShape::kernel_rows(int64_t row) const {
  int64_t top = row * stride.rows - before.rows, step = dilation.rows;
  int64_t begin = top < 0 ? ceil_div(-top, step) : 0;
  int64_t end = top < image.rows ? ceil_div(image.rows - top, step) : 0;
  begin = std::min(begin, kernel.rows);
  return {begin, std::max<int64_t>(0, std::min(end, kernel.rows) - begin)};
}

bool ConvolutionShape::steps_fit() const {
  constexpr int64_t kMost = int64_t{1} << 28; // elements
  int64_t across = stride.columns * 32 + kernel.columns * dilation.columns;
  for (const PixelSteps* p : {&x, &y, &residual})
    if (p->row > kMost / 4 || p->pixel > kMost / std::max<int64_t>(32, across) ||
        p->pixel * result.columns * stride.columns > kMost)
      return false;
  return std::max(dilation.rows, stride.rows) <= kMost / std::max<int64_t>(1, x.row) &&
         kernel.rows <= kMost / 64 / kernel.columns;
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
