// What convolutions have in common whose code is emitted for each shape: images channels last, how
// a tile of the result meets the padding, what happens to a sum before it is stored.
#pragma once

#include "runtime/cpu/tile/product.h"

#include <string>

namespace tg::tile {

/// Bytes of code for one convolution.
inline constexpr int64_t kMostConvolutionCode = 256 << 10;

/// For AVX2: -1 for each of the lowest lanes, 0 for the others.
const int32_t* lanes_mask(int64_t count);
constexpr int64_t vector_registers(Isa isa) { return isa == Isa::Avx2 ? 16 : 32; }
/// Multiply-adds with vectors of it that start in one cycle, which is also how many loads do: two,
/// but one where AVX-512 runs on units of half its width (Zen 4).
double vectors_a_cycle(Isa isa);
/// The instruction set that suits better, by the vectors that a pixel of the result has with
/// either: AVX-512, unless too many of its lanes stay empty.
Isa faster_isa(double avx2_vectors, double avx512_vectors);

/// Of rows and of columns.
struct Plane {
  int64_t rows = 1, columns = 1;
};

/// Planes of volumes, one behind the other; images are volumes of one plane.
struct Depth {
  int64_t image = 1, result = 1;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0; // padding in front
};

/// Where the pixels of a batch of images lie, in elements; channels lie side by side.
struct PixelSteps {
  int64_t image = 0, row = 0, pixel = 0;
  int64_t plane = 0; // of an image
};

/// All but the channels, and what code is emitted for.
struct ConvolutionShape {
  Isa isa = Isa::Avx2;
  int64_t images = 1;
  Plane image, result;
  Plane kernel, stride, dilation;
  Plane before; // padding above and to the left
  PixelSteps x, y, residual;
  Depth depth;

  int64_t taps() const { return depth.kernel * kernel.rows * kernel.columns; }
  /// Floats of a vector, and its bytes.
  int64_t lanes() const { return tile::lanes(isa); }
  int64_t vector_bytes() const { return 4 * lanes(); }
  /// Of all images of the result.
  int64_t planes() const { return images * depth.result; }
  /// Elements from the first one to that plane, of all images.
  int64_t plane_at(const PixelSteps& steps, int64_t plane) const {
    return plane / depth.result * steps.image + plane % depth.result * steps.plane;
  }
  /// Which taps along an axis lie inside the image.
  struct Taps {
    int64_t first, count;
  };
  /// Rows of the kernel, for a row of the result.
  Taps kernel_rows(int64_t row) const;
  /// Planes of it, for a plane among all images of the result.
  Taps kernel_planes(int64_t plane) const;
  bool sees_all_rows(int64_t row) const { return kernel_rows(row).count == kernel.rows; }
  /// Where a column of the result meets a tap, counted from where the first ones would; and whether
  /// that is inside the image.
  int64_t position(int64_t column, int64_t tap) const {
    return column * stride.columns + tap * dilation.columns;
  }
  bool inside(int64_t column, int64_t tap) const {
    int64_t at = position(column, tap) - before.columns;
    return at >= 0 && at < image.columns;
  }
  /// Whether all taps of these columns are inside.
  bool sees_all_columns(int64_t first, int64_t columns) const {
    return inside(first, 0) && inside(first + columns - 1, kernel.columns - 1);
  }
  /// Pixels of x whose lines can be in the first level together: where they are a power of two
  /// apart, they share a few sets of eight ways.
  int64_t pixels_in_first_level() const;
  /// Whether every step from an address fits into an instruction.
  bool steps_fit() const;
};

/// Columns of a result: tiles of one kind, side by side.
struct ColumnTiles {
  int64_t first, columns, repeats;
};
/// The columns of the result in tiles of at most so many, shared out evenly, the wider ones first;
/// equal ones that see no padding are one entry.
std::vector<ColumnTiles> column_tiles(const ConvolutionShape& shape, int64_t most);

/// What happens to a sum in registers; relu6 is min(max(sum, 0), 6). NaN stays NaN in both.
enum class Clamp : uint8_t { None, Relu, Relu6 };

/// What is fused into a convolution.
struct ConvolutionTail {
  bool bias = false, residual = false;
  Clamp clamp = Clamp::None;
  bool finish = false; // ConvolutionData::finish will be set
};

/// What may be chosen of how a convolution is computed; no bit of a result depends on it.
struct ConvolutionSchedule {
  int64_t rows = 1;         // of a tile: two share what both read, of depthwise ones alone
  int64_t columns = 1;      // of a tile, at most
  int64_t vectors = 1;      // of channels of a tile; of depthwise ones 1
  int64_t bands = 1;        // of rows: with the spans the blocks of an image, which threads part
  int64_t spans = 1;        // of channels
  int64_t sets_at_once = 1; // of channels that a band goes over together; of depthwise ones 1

  bool operator==(const ConvolutionSchedule&) const = default;
};

/// Addresses of one run; bias and residual where the tail has them; residual may be y.
struct ConvolutionData {
  const float *x = nullptr, *weights = nullptr, *bias = nullptr, *residual = nullptr;
  float* y = nullptr;
  /// Called with pixels (rows) by channels (columns) that are complete but for their activation.
  llvm::function_ref<void(const FinishedBlock&)> finish = {};
};

/// What a call says of the planes of a kernel.
struct PlaneLoop {
  int64_t count = 1;
  int64_t x = 0, w = 0; // bytes from behind the last row of a plane to the next plane
};
/// Where the taps of a row of the result begin, and which ones are inside.
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
  /// Parts in any order, on any threads, one after the other or at once.
  virtual void run(int part, const ConvolutionData& data) const = 0;
  /// The tile: "2x4".
  virtual std::string text() const = 0;
  virtual size_t code_bytes() const = 0;

protected:
  int parts_ = 1;
};

} // namespace tg::tile
