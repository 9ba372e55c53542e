// The transforms of minimal filtering, F(2x2, 3x3) and F(4x4, 3x3) (Lavin and Gray,
// Fast Algorithms for Convolutional Neural Networks, 2016, section 4).
// The interpolation points are 0, 1, -1 and infinity for m = 2, and 0, 5/8, -5/8, 3/2,
// -3/2 and infinity for m = 4. A tile of m x m results of a 3 x 3 kernel g over the t x t inputs d,
// t = m + 2, is
//
//   Y = A' [(G g G') o (B' d B)] A            o: element by element
//
// with t * t products, where the definition takes 9 m * m. Entries are stored
// as numerators over one denominator per matrix, which is exact over any field.
// Those of A' and B' are multiples of a power of two, which floats represent exactly;
// those of G are rounded once.
//
// The points determine how much larger than a result its terms are,
// and thus the growth of rounding errors. Sections 4.1 and 4.3 of the paper use 1, -1, 2, -2;
// powers of 5/8 and 3/2, whose product is near 1, stay closer together.
// (Barabasz et al., Error Analysis and Improving the Accuracy of Winograd Convolution
// for Deep Neural Networks, 2020, search for points; these are oneDNN's.)
// Over 64 channels of normal numbers, the root-mean-square error of f32 results is 0.4 times
// as large: bench/results/winograd.md.
#pragma once

#include <cassert>
#include <cstdint>

namespace tg {

struct Winograd {
  static constexpr int64_t kKernel = 3, kMaxTile = 6;

  int64_t results;                 // m: results of a tile along each axis
  int64_t tile;                    // t: inputs of a tile, and products, along each axis
  int denominator;                 // of G
  int weights[kMaxTile][kKernel];  // G times its denominator
  int inputs_denominator;          // of B', a power of two
  int inputs[kMaxTile][kMaxTile];  // B' times its denominator
  int outputs_denominator;         // of A', a power of two
  int outputs[kMaxTile][kMaxTile]; // A' times its denominator; m rows are used

  int64_t products() const { return tile * tile; }
};

// clang-format off
inline constexpr Winograd kWinograd2 = {
    2, 4, 2,
    {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
    1, {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    1, {{1, 1, 1, 0}, {0, 1, -1, -1}}};

inline constexpr Winograd kWinograd4 = {
    4, 6, 53550,
    {{60928, 0, 0}, {-36864, -23040, -14400}, {-36864, 23040, -14400}, {6400, 9600, 14400},
     {6400, -9600, 14400}, {0, 0, 53550}},
    256, {{225, 0, -676, 0, 256, 0}, {0, -360, -576, 160, 256, 0}, {0, 360, -576, -160, 256, 0},
          {0, -150, -100, 384, 256, 0}, {0, 150, -100, -384, 256, 0}, {0, 225, 0, -676, 0, 256}},
    512, {{512, 512, 512, 512, 512, 0}, {0, 320, -320, 768, -768, 0},
          {0, 200, 200, 1152, 1152, 0}, {0, 125, -125, 1728, -1728, 512}}};
// clang-format on

/// Looks up the transform by the number of results of a tile along each axis: 2 or 4.
constexpr const Winograd& winograd_of_results(int64_t results) {
  assert(results == 2 || results == 4);
  return results == 2 ? kWinograd2 : kWinograd4;
}
/// Looks up the transform by the number of products of a tile:
/// 16 or 36, the first axis of a transformed kernel.
constexpr const Winograd& winograd_of_products(int64_t products) {
  assert(products == 16 || products == 36);
  return products == 16 ? kWinograd2 : kWinograd4;
}

} // namespace tg
