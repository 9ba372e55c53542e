// Depthwise convolutions, images channels last: machine code emitted with Xbyak for each shape when
// a program is loaded, since kernel, strides and steps between pixels are then constants of it.
//
// A strip of the result, one row or two of all columns, is made by one call. It goes from tile to
// tile of columns, and in a tile from vector to vector of channels: sums stay in registers over all
// taps, the weights of a row of the kernel, too. A pixel of x is loaded once for all taps of the
// tile that it meets. Taps that lie in the padding beside the image are left out when the code is
// emitted, those above and below by the call, which says how many rows of the kernel there are; so
// nothing is multiplied by a zero that is not there, and no padded copy of x is made.
//
// What it must cost, for a vector of 8 channels of a result: as many multiply-adds as the kernel
// has taps, two in a cycle: 4.5 cycles for 3 x 3, 12.5 for 5 x 5, 24.5 for 7 x 7. Loads are no more
// than these, two in a cycle as well: a tile of 2 x 4 results of a 3 x 3 kernel loads 9 weights and
// 24 pixels for 72 multiply-adds. x comes from the second level as many times as the kernel has
// rows, 3 * 32 bytes for 4.5 cycles, which is what that level gives: so two rows of the result
// share what they read, 2 * 32 bytes. From the third level or memory x and y come once, 4 + 4 bytes
// (and 4 more for a line of y that is read before it is written) for 2 * taps flops: a 3 x 3 of 100
// GFLOP/s would move 67 GB/s, so large images run at the speed of memory.
//
// Invariant: the code reads and writes no element outside of image and result; every sum begins
// with the bias and goes over rows of the kernel, then its columns, so that no bit depends on
// tiles, strips or threads.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/convolution.h"

namespace tg::tile {

struct DepthwiseShape : ConvolutionShape {
  int64_t channels = 1;
};
/// Of a convolution whose channels are groups of one.
struct GroupedShape;
DepthwiseShape depthwise_shape(const GroupedShape& shape);

/// One call of emitted code, which reads this struct.
struct StripCall;
using StripFn = void (*)(const StripCall*);

class Depthwise final : public Convolution {
public:
  ~Depthwise() override;
  /// Whether there can be code for it: kernels of very many taps would take too much, and steps of
  /// images must fit into instructions.
  static bool suits(const DepthwiseShape& shape);
  /// Whether there can be code for this schedule of a shape that suits, and every block has work.
  static bool suits(const DepthwiseShape& shape, const ConvolutionTail& tail,
                    const ConvolutionSchedule& schedule);
  /// Where both may be used: the instruction set that suits the channels better.
  static Isa faster_isa(const DepthwiseShape& shape);
  static ConvolutionSchedule default_schedule(const DepthwiseShape& shape,
                                              const ConvolutionTail& tail, int threads,
                                              const Caches& caches);
  /// Errors: `device` where the processor lacks the instruction set, or gives no memory for code,
  /// or shape or schedule do not suit.
  static Result<std::unique_ptr<Depthwise>> make(const DepthwiseShape& shape,
                                                 const ConvolutionTail& tail,
                                                 const ConvolutionSchedule& schedule, int threads);
  /// By default_schedule().
  static Result<std::unique_ptr<Depthwise>>
  make(const DepthwiseShape& shape, const ConvolutionTail& tail, int threads, const Caches& caches);
  /// Of a tile: columns at so many rows, and rows.
  static int64_t most_columns(const DepthwiseShape& shape, int64_t rows);
  static int64_t most_rows(const DepthwiseShape& shape);

  /// Of packed weights.
  static int64_t weight_elements(const DepthwiseShape& shape);
  static int64_t weight_elements(const DepthwiseShape& shape, const ConvolutionSchedule&) {
    return weight_elements(shape);
  }
  /// w[channel][tap], as it lies, to [vector of channels][tap][lane], zero beyond the last channel;
  /// taps are those of a plane of the kernel behind those of the one before, row by row.
  static void pack(float* to, const float* w, const DepthwiseShape& shape);

  void run(int part, const ConvolutionData& data) const override;
  /// Rows and columns of the tile.
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
  int64_t vectors_; // of channels, the last one perhaps in part
};

} // namespace tg::tile
