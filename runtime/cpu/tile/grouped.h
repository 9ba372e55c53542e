// Grouped convolutions of channels-last images, including those with one group of all channels.
// Machine code is emitted with Xbyak for each shape when a program is loaded,
// as for depthwise convolutions (depthwise.h).
//
// Lanes are output channels of a group, eight per vector; if groups have few of them,
// those of several adjacent groups. A tile is some columns of a row of the result by a set:
// the vectors of a group, or an even part of them. Its sums stay in registers over rows
// of the kernel, input channels and columns of the kernel, in this order.
// For a set of one vector, a pixel is broadcast once for all taps of a kernel row that use it;
// otherwise weights are loaded once for all columns. Groups that share a vector get their input
// channel by a permutation of one load.
//
// Minimum cost of a vector of a result of a 3 x 3 kernel with n inputs per group:
// 9 n multiply-adds, two per cycle: 18 cycles for n = 4, 36 for 8.
// Loads, also two per cycle, are (3 + 14) / 36 of these with one vector and 12 columns,
// 8 / 12 with two vectors and 6 columns, and 7 / 12 with four vectors and 3 columns.
// Permutations (n = 4) are 14 / 36, on two units, one of which multiplies: no more
// than the third unit can run. Eight or more sums keep two units busy: 7 columns
// of one vector reach 7 / 8.
// x comes from the second level once per row of the kernel: for n = 4 a line, which two sets share,
// for each row of the kernel, 3 * 64 bytes for 36 cycles, where 32 per cycle are available.
// From the third level or memory, x, y and weights come once: 4 * (8 + 8) bytes for 18 cycles
// or more, less than a quarter of the memory bandwidth.
// So 80% of the peak should be reached, and 70% with stride 2 (n = 4: (3 + 23)
// / 33 permutations and more loads) or 7 columns.
//
// Invariants: the code reads and writes no element outside image and result,
// and multiplies by no padding. Every sum begins with the bias and runs over taps and inputs
// in one order, so the bits do not depend on tiles, sets or threads.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/convolution.h"

#include <memory>

namespace tg::tile {

struct GroupedShape : ConvolutionShape {
  int64_t groups = 1, inputs = 1, outputs = 1; // channels of a group
};

/// The division of channels and columns into tiles.
struct GroupedTile {
  int64_t groups = 1;  // of a set: several groups share its only vector
  int64_t vectors = 1; // of a set
  int64_t columns = 1; // at most
};

/// The arguments of one call of emitted code, which reads this struct.
struct GroupedCall;
using GroupedFn = void (*)(const GroupedCall*);

class Grouped final : public Convolution {
public:
  ~Grouped() override;
  /// Returns true if code can be emitted: kernels with very many columns would need too much,
  /// and steps of images must fit in instructions.
  static bool suits(const GroupedShape& shape);
  /// Returns true if code can be emitted for this schedule of a suitable shape,
  /// and every block has work.
  static bool suits(const GroupedShape& shape, const ConvolutionTail& tail,
                    const ConvolutionSchedule& schedule);
  /// Returns the schedule that the cost model above and measurements suggest.
  static ConvolutionSchedule default_schedule(const GroupedShape& shape,
                                              const ConvolutionTail& tail, int threads,
                                              const Caches& caches);
  /// Errors: `device` if the processor lacks the instruction set, no memory for code is available,
  /// or shape or schedule do not suit.
  static Result<std::unique_ptr<Grouped>> make(const GroupedShape& shape,
                                               const ConvolutionTail& tail,
                                               const ConvolutionSchedule& schedule, int threads);
  /// Uses default_schedule().
  static Result<std::unique_ptr<Grouped>>
  make(const GroupedShape& shape, const ConvolutionTail& tail, int threads, const Caches& caches);
  /// Requires both instruction sets: returns the one that suits the channels better.
  static Isa faster_isa(GroupedShape shape);
  /// Returns the tile with the fewest cycles by the cost model above.
  static GroupedTile tile(const GroupedShape& shape);

  /// Returns an estimate of the time if rows, or sets of one tap, are divided among threads,
  /// for comparing forms of one convolution.
  static double cycles(const GroupedShape& shape, int threads, const Caches& caches);

  /// Returns true if the lines of x that a tile uses again stay in the first-level cache until
  /// then: pixels a large power of two apart share too few sets.
  static bool keeps_lines(const GroupedShape& shape);

  /// The tile of a schedule, and the vectors of channels of a group: one if groups share it.
  static GroupedTile tile(const GroupedShape& shape, const ConvolutionSchedule& schedule);
  static int64_t group_vectors(const GroupedShape& shape);
  /// Returns the maximum columns of a tile with this number of vectors; 0: there is no tile.
  static int64_t most_columns(const GroupedShape& shape, int64_t vectors);

  /// The size of packed weights.
  static int64_t weight_elements(const GroupedShape& shape, const GroupedTile& tile);
  static int64_t weight_elements(const GroupedShape& shape) {
    return weight_elements(shape, tile(shape));
  }
  static int64_t weight_elements(const GroupedShape& shape, const ConvolutionSchedule& schedule) {
    return weight_elements(shape, tile(shape, schedule));
  }
  /// Packs w[groups * outputs][inputs][plane][row][column], in its memory order,
  /// to [set][plane][row][input][column][vector][lane], with zeros where there is no output;
  /// sets are those of the tile.
  static void pack(float* to, const float* w, const GroupedShape& shape, const GroupedTile& tile);
  static void pack(float* to, const float* w, const GroupedShape& shape) {
    pack(to, w, shape, tile(shape));
  }

  void run(int part, const ConvolutionData& data) const override;
  /// Returns "12 x 1 of 2 groups": columns and vectors of the tile.
  std::string text() const override;
  size_t code_bytes() const override;

private:
  struct Emitted;
  /// Rows of the result and sets of one plane, counted over all images.
  struct Block {
    int64_t plane, row_begin, row_end, set_begin, set_end;
  };
  Grouped(const GroupedShape& shape, const ConvolutionTail& tail,
          const ConvolutionSchedule& schedule, int threads);
  Block block(int64_t index) const;
  void run_block(const Block& block, const ConvolutionData& data) const;
  void run_sets(const Block& block, const ConvolutionData& data) const;
  void run_rows(const Block& block, int64_t row, int64_t rows, const ConvolutionData& data) const;

  GroupedShape shape_;
  ConvolutionTail tail_;
  GroupedTile tile_;
  std::unique_ptr<Emitted> emitted_;
  std::vector<int32_t> permutations_; // of inputs, if groups share a vector
  int64_t sets_;
  int64_t bands_, spans_; // of rows, and of sets: the blocks of an image
  int64_t sets_at_once_;
};

} // namespace tg::tile
