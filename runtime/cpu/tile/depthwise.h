// Depthwise convolutions of channels-last images. Machine code is emitted with Xbyak
// for each shape when a program is loaded, because the kernel, strides and steps between pixels
// are then constants in it.
//
// One call computes a strip of the result: one or two rows with all columns.
// It iterates over tiles of columns, and in a tile over vectors of channels.
// Sums stay in registers over all taps, and so do the weights of a row of the kernel.
// A pixel of x is loaded once for all taps of the tile that use it.
// Taps in the padding beside the image are omitted when the code is emitted.
// Those above and below are omitted by the call, which gives the number of rows of the kernel.
// So nothing is multiplied by padding zeros, and no padded copy of x is made.
//
// Minimum cost of a vector of 8 channels of a result: one multiply-add per tap, two per cycle:
// 4.5 cycles for 3 x 3, 12.5 for 5 x 5, 24.5 for 7 x 7. There are no more loads than multiply-adds,
// also two per cycle: a tile of 2 x 4 results of a 3 x 3 kernel loads 9 weights and 24 pixels
// for 72 multiply-adds.
// x comes from the second level once per row of the kernel, 3 * 32 bytes for 4.5 cycles,
// which is the bandwidth of that level; so two rows of the result share what they read,
// 2 * 32 bytes. From the third level or memory, x and y come once, 4 + 4 bytes (and 4 more
// for a line of y that is read before it is written) for 2 * taps flops.
// A 3 x 3 convolution at 100 GFLOP/s would move 67 GB/s, so large images run at memory bandwidth.
//
// Invariants: the code reads and writes no element outside image and result.
// Every sum begins with the bias and runs over rows of the kernel, then its columns,
// so the bits do not depend on tiles, strips or threads.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/convolution.h"

namespace tg::tile {

struct DepthwiseShape : ConvolutionShape {
  int64_t channels = 1;
};
/// Returns the shape of a convolution whose channels are groups of one.
struct GroupedShape;
DepthwiseShape depthwise_shape(const GroupedShape& shape);

/// The arguments of one call of emitted code, which reads this struct.
struct StripCall;
using StripFn = void (*)(const StripCall*);

class Depthwise final : public Convolution {
public:
  ~Depthwise() override;
  /// Returns true if code can be emitted: kernels with very many taps would need too much,
  /// and steps of images must fit in instructions.
  static bool suits(const DepthwiseShape& shape);
  /// Returns true if code can be emitted for this schedule of a suitable shape,
  /// and every block has work.
  static bool suits(const DepthwiseShape& shape, const ConvolutionTail& tail,
                    const ConvolutionSchedule& schedule);
  /// Requires both instruction sets: returns the one that suits the channels better.
  static Isa faster_isa(const DepthwiseShape& shape);
  static ConvolutionSchedule default_schedule(const DepthwiseShape& shape,
                                              const ConvolutionTail& tail, int threads,
                                              const Caches& caches);
  /// Errors: `device` if the processor lacks the instruction set, no memory for code is available,
  /// or shape or schedule do not suit.
  static Result<std::unique_ptr<Depthwise>> make(const DepthwiseShape& shape,
                                                 const ConvolutionTail& tail,
                                                 const ConvolutionSchedule& schedule, int threads);
  /// Uses default_schedule().
  static Result<std::unique_ptr<Depthwise>>
  make(const DepthwiseShape& shape, const ConvolutionTail& tail, int threads, const Caches& caches);
  /// The limits of a tile: columns for a number of rows, and rows.
  static int64_t most_columns(const DepthwiseShape& shape, int64_t rows);
  static int64_t most_rows(const DepthwiseShape& shape);

  /// The size of packed weights.
  static int64_t weight_elements(const DepthwiseShape& shape);
  static int64_t weight_elements(const DepthwiseShape& shape, const ConvolutionSchedule&) {
    return weight_elements(shape);
  }
  /// Packs w[channel][tap], in its memory order, to [vector of channels][tap][lane],
  /// with zeros beyond the last channel. Taps are ordered by plane of the kernel, then by row.
  static void pack(float* to, const float* w, const DepthwiseShape& shape);

  void run(int part, const ConvolutionData& data) const override;
  /// Returns the rows and columns of the tile.
  std::string text() const override;
  size_t code_bytes() const override;

private:
  struct Emitted;
  /// Rows of the result and vectors of channels of one plane, counted over all images.
  struct Block {
    int64_t plane, row_begin, row_end, vector_begin, vector_end;
  };
  Depthwise(const DepthwiseShape& shape, const ConvolutionTail& tail,
            const ConvolutionSchedule& schedule, int threads);
  Block block(int64_t index) const;
  void run_block(const Block& block, const ConvolutionData& data) const;
  void run_strip(const Block& block, int64_t row, bool two, const ConvolutionData& data) const;

  DepthwiseShape shape_;
  ConvolutionTail tail_;
  ConvolutionSchedule schedule_; // its bands and spans are the blocks of an image
  std::unique_ptr<Emitted> emitted_;
  int64_t vectors_; // of channels, the last one perhaps partial
};

} // namespace tg::tile
