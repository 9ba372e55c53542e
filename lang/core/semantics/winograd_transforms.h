// The transforms of minimal filtering, F(2x2, 3x3) and F(4x4, 3x3) (Lavin and Gray, Fast Algorithms
// for Convolutional Neural Networks, 2016, sections 4.1 and 4.3; interpolation points 0, 1, -1,
// then 2, -2, and infinity). A tile of m x m results of a 3 x 3 kernel g over the t x t inputs d,
// t = m + 2, is
//
//   Y = A' [(G g G') o (B' d B)] A            o: element by element
//
// with t * t products where the definition takes 9 m * m. All entries are integers but those of G,
// which are kept as numerators over one denominator: exact over any field, and over floats rounded
// once.
#pragma once

#include <cassert>
#include <cstdint>

namespace tg {

struct Winograd {
  static constexpr int64_t kKernel = 3, kMaxTile = 6;

  int64_t results;                 // m: results of a tile, along each axis
  int64_t tile;                    // t: inputs of a tile, and products, along each axis
  int denominator;                 // of G
  int weights[kMaxTile][kKernel];  // G times its denominator
  int inputs[kMaxTile][kMaxTile];  // B'
  int outputs[kMaxTile][kMaxTile]; // A', of which m rows are in use

  int64_t products() const { return tile * tile; }
};

// clang-format off
inline constexpr Winograd kWinograd2 = {
    2, 4, 2,
    {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
    {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    {{1, 1, 1, 0}, {0, 1, -1, -1}}};

inline constexpr Winograd kWinograd4 = {
    4, 6, 24,
    {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 24}},
    {{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
     {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
    {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
// clang-format on

/// By the number of results of a tile along each axis: 2 or 4.
constexpr const Winograd& winograd_of_results(int64_t results) {
  assert(results == 2 || results == 4);
  return results == 2 ? kWinograd2 : kWinograd4;
}
/// By the number of products of a tile: 16 or 36, the first axis of a transformed kernel.
constexpr const Winograd& winograd_of_products(int64_t products) {
  assert(products == 16 || products == 36);
  return products == 16 ? kWinograd2 : kWinograd4;
}

} // namespace tg
