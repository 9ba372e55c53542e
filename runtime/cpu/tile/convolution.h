// Shared by all convolutions whose code is emitted for each shape: channels-last images,
// tiles of the result at the padding, and operations on a sum before it is stored.
#pragma once

#include "runtime/cpu/tile/product.h"

#include <string>

namespace tg::tile {

/// The limit of code for one convolution, in bytes.
inline constexpr int64_t kMostConvolutionCode = 256 << 10;

/// For AVX2: -1 for each of the lowest lanes, 0 for the others.
const int32_t* lanes_mask(int64_t count);
constexpr int64_t vector_registers(Isa isa) { return isa == Isa::Avx2 ? 16 : 32; }
/// Returns the number of vector multiply-adds, and of loads, that start in one cycle: two, but one
/// if AVX-512 runs on units of half its width (Zen 4).
double vectors_a_cycle(Isa isa);
/// Returns the better instruction set, given the vectors per pixel of the result with either:
/// AVX-512, unless too many of its lanes stay empty.
Isa faster_isa(double avx2_vectors, double avx512_vectors);

/// A size along rows and columns.
struct Plane {
  int64_t rows = 1, columns = 1;
};

/// The consecutive planes of volumes; images are volumes of one plane.
struct Depth {
  int64_t image = 1, result = 1;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0; // padding in front
};

/// The steps between the pixels of a batch of images, in elements; channels are adjacent.
struct PixelSteps {
  int64_t image = 0, row = 0, pixel = 0;
  int64_t plane = 0; // of an image
};

/// Everything except the channels, and the target of the emitted code.
struct ConvolutionShape {
  Isa isa = Isa::Avx2;
  int64_t images = 1;
  Plane image, result;
  Plane kernel, stride, dilation;
  Plane before; // padding above and to the left
  PixelSteps x, y, residual;
  Depth depth;

  int64_t taps() const { return depth.kernel * kernel.rows * kernel.columns; }
  /// The number of floats and of bytes in a vector.
  int64_t lanes() const { return tile::lanes(isa); }
  int64_t vector_bytes() const { return 4 * lanes(); }
  /// The planes of all images of the result.
  int64_t planes() const { return images * depth.result; }
  /// Returns the elements from the first plane to this one, counted over all images.
  int64_t plane_at(const PixelSteps& steps, int64_t plane) const {
    return plane / depth.result * steps.image + plane % depth.result * steps.plane;
  }
  /// The taps along an axis that are inside the image.
  struct Taps {
    int64_t first, count;
  };
  /// The rows of the kernel inside the image, for a row of the result.
  Taps kernel_rows(int64_t row) const;
  /// The planes of the kernel inside the volume, for a plane counted over all images of the result.
  Taps kernel_planes(int64_t plane) const;
  bool sees_all_rows(int64_t row) const { return kernel_rows(row).count == kernel.rows; }
  /// Returns the position that a tap reads for a column of the result, relative to the first tap
  /// of the first column; and whether it is inside the image.
  int64_t position(int64_t column, int64_t tap) const {
    return column * stride.columns + tap * dilation.columns;
  }
  bool inside(int64_t column, int64_t tap) const {
    int64_t at = position(column, tap) - before.columns;
    return at >= 0 && at < image.columns;
  }
  /// Returns true if all taps of these columns are inside.
  bool sees_all_columns(int64_t first, int64_t columns) const {
    return inside(first, 0) && inside(first + columns - 1, kernel.columns - 1);
  }
  /// Returns the number of pixels of x whose lines fit in the first-level cache together:
  /// pixels that are a power of two apart share a few eight-way sets.
  int64_t pixels_in_first_level() const;
  /// Returns true if every step from an address fits in an instruction.
  bool steps_fit() const;
};

/// Columns of a result: adjacent tiles of one kind.
struct ColumnTiles {
  int64_t first, columns, repeats;
};
/// Returns the columns of the result as tiles of at most `most` columns, divided evenly,
/// the wider ones first; equal tiles without padding are one entry.
std::vector<ColumnTiles> column_tiles(const ConvolutionShape& shape, int64_t most);

/// The operation on a sum in registers; relu6 is min(max(sum, 0), 6). NaN stays NaN in both.
enum class Clamp : uint8_t { None, Relu, Relu6 };

/// The operations fused into a convolution.
struct ConvolutionTail {
  bool bias = false, residual = false;
  Clamp clamp = Clamp::None;
  bool finish = false; // ConvolutionData::finish will be set
};

/// The tunable choices of how a convolution is computed; the bits of the result do not depend
/// on them.
struct ConvolutionSchedule {
  int64_t rows = 1;         // of a tile: two share the rows that both read; only for depthwise
  int64_t columns = 1;      // of a tile, at most
  int64_t vectors = 1;      // of channels of a tile; 1 for depthwise
  int64_t bands = 1;        // of rows: with the spans, the blocks of an image, which threads share
  int64_t spans = 1;        // of channels
  int64_t sets_at_once = 1; // of channels that a band processes together; 1 for depthwise

  bool operator==(const ConvolutionSchedule&) const = default;
};

/// The addresses of one run; bias and residual only if the tail has them; residual may be y.
struct ConvolutionData {
  const float *x = nullptr, *weights = nullptr, *bias = nullptr, *residual = nullptr;
  float* y = nullptr;
  /// Called with pixels (rows) by channels (columns) that are complete except for their activation.
  llvm::function_ref<void(const FinishedBlock&)> finish = {};
};

/// The parameters of a call for the planes of a kernel.
struct PlaneLoop {
  int64_t count = 1;
  int64_t x = 0, w = 0; // bytes from the end of a plane's last row to the next plane
};
/// The start of the taps of a row of the result, and those that are inside.
struct TapBlock {
  int64_t x = 0, w = 0; // elements from the first pixel of all images, and from the first tap
  int64_t kernel_rows = 0;
  PlaneLoop planes;
};
/// `tap_row`: elements of packed weights for a row of the kernel.
TapBlock tap_block(const ConvolutionShape& shape, int64_t plane, int64_t row, int64_t tap_row);

class Convolution {
public:
  virtual ~Convolution();
  int parts() const { return parts_; }
  /// Parts may run in any order, on any threads, sequentially or concurrently.
  virtual void run(int part, const ConvolutionData& data) const = 0;
  /// Returns the tile: "2x4".
  virtual std::string text() const = 0;
  virtual size_t code_bytes() const = 0;

protected:
  int parts_ = 1;
};

} // namespace tg::tile
