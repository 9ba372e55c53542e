// Convolutions in groups, of all channels, too, images channels last: machine code emitted with
// Xbyak for each shape when a program is loaded, as for depthwise ones (depthwise.h).
//
// Lanes are output channels of a group, eight to a vector; where groups have few of them, those of
// several groups side by side. A tile is some columns of a row of the result by a set: the vectors
// of a group or an even part of them. Its sums stay in registers over rows of the kernel, input
// channels and columns of the kernel, in this order. For a set of one vector a pixel is brought
// into all lanes once for all taps of a row of the kernel that it meets; else weights are loaded
// once for all columns. Groups that share a vector get their input channel by a permutation of what
// one load brings.
//
// What it must cost, for a vector of a result of a 3 x 3 kernel with n inputs in a group: 9 n
// multiply-adds, two in a cycle: 18 cycles for n = 4, 36 for 8. Loads, two in a cycle as well, are
// (3 + 14) / 36 of these with one vector and 12 columns, 8 / 12 with two vectors and 6 columns, and
// 7 / 12 with four vectors and 3 columns. Permutations (n = 4) are 14 / 36, on two units of which
// one multiplies: no more than the third unit takes. Eight sums or more keep two units busy: 7
// columns of one vector reach 7 / 8. From the second level x comes as many times as the kernel has
// rows: for n = 4 a line, which two sets share, for each row of the kernel, 3 * 64 bytes for 36
// cycles, where 32 a cycle are to be had. From the third level or memory x, y and weights come
// once: 4 * (8 + 8) bytes for 18 cycles or more, less than a quarter of what memory gives. So 80%
// of the peak should be reached, 70% with stride 2 (n = 4: (3 + 23) / 33 permutations and more
// loads) or 7 columns.
//
// Invariant: the code reads and writes no element outside of image and result, and multiplies by no
// padding; every sum begins with the bias and goes over taps and inputs in one order, so that no
// bit depends on tiles, sets or threads.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/convolution.h"

#include <memory>

namespace tg::tile {

struct GroupedShape : ConvolutionShape {
  int64_t groups = 1, inputs = 1, outputs = 1; // channels of a group
};

/// How channels and columns become tiles.
struct GroupedTile {
  int64_t groups = 1;  // of a set: more than one share its only vector
  int64_t vectors = 1; // of a set
  int64_t columns = 1; // at most
};

/// One call of emitted code, which reads this struct.
struct GroupedCall;
using GroupedFn = void (*)(const GroupedCall*);

class Grouped final : public Convolution {
public:
  ~Grouped() override;
  /// Whether there can be code for it: kernels of very many columns would take too much, and steps
  /// of images must fit into instructions.
  static bool suits(const GroupedShape& shape);
  /// Whether there can be code for this schedule of a shape that suits, and every block has work.
  static bool suits(const GroupedShape& shape, const ConvolutionTail& tail,
                    const ConvolutionSchedule& schedule);
  /// The one that the counts above and measurements speak for.
  static ConvolutionSchedule default_schedule(const GroupedShape& shape,
                                              const ConvolutionTail& tail, int threads,
                                              const Caches& caches);
  /// Errors: `device` where the processor lacks the instruction set, or gives no memory for code,
  /// or shape or schedule do not suit.
  static Result<std::unique_ptr<Grouped>> make(const GroupedShape& shape,
                                               const ConvolutionTail& tail,
                                               const ConvolutionSchedule& schedule, int threads);
  /// By default_schedule().
  static Result<std::unique_ptr<Grouped>>
  make(const GroupedShape& shape, const ConvolutionTail& tail, int threads, const Caches& caches);
  /// Where both may be used: the instruction set that suits the channels better.
  static Isa faster_isa(GroupedShape shape);
  /// The one whose tiles take the fewest cycles by the counts above.
  static GroupedTile tile(const GroupedShape& shape);

  /// About how long it takes where rows, or sets of one tap, are shared out among threads: to
  /// compare ways to see one convolution.
  static double cycles(const GroupedShape& shape, int threads, const Caches& caches);

  /// Whether the lines of x that a tile meets again stay in the first level until then: pixels a
  /// large power of two apart share too few of them.
  static bool keeps_lines(const GroupedShape& shape);

  /// The tile of a schedule, and how many vectors of channels a group has, one where groups share.
  static GroupedTile tile(const GroupedShape& shape, const ConvolutionSchedule& schedule);
  static int64_t group_vectors(const GroupedShape& shape);
  /// The most columns of a tile of so many vectors; 0: there is none.
  static int64_t most_columns(const GroupedShape& shape, int64_t vectors);

  /// Of packed weights.
  static int64_t weight_elements(const GroupedShape& shape, const GroupedTile& tile);
  static int64_t weight_elements(const GroupedShape& shape) {
    return weight_elements(shape, tile(shape));
  }
  static int64_t weight_elements(const GroupedShape& shape, const ConvolutionSchedule& schedule) {
    return weight_elements(shape, tile(shape, schedule));
  }
  /// w[groups * outputs][inputs][plane][row][column], as it lies, to [set][plane][row][input]
  /// [column][vector][lane], zero where there is no output; sets are those of the tile.
  static void pack(float* to, const float* w, const GroupedShape& shape, const GroupedTile& tile);
  static void pack(float* to, const float* w, const GroupedShape& shape) {
    pack(to, w, shape, tile(shape));
  }

  void run(int part, const ConvolutionData& data) const override;
  /// "12 x 1 of 2 groups": columns and vectors of the tile.
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
  std::vector<int32_t> permutations_; // of inputs, where groups share a vector
  int64_t sets_;
  int64_t bands_, spans_; // of rows, and of sets: the blocks of an image
  int64_t sets_at_once_;
};

} // namespace tg::tile
