#include "runtime/tile/grouped.h"

#if defined(__x86_64__)
#include "runtime/tile/convolution_emitter.h"
#endif

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tg::tile {

struct GroupedCall {
  const float* x = nullptr; // as if a column lay `before` to the left; first row that is read
  const float* w = nullptr; // of the first set, and of the first row of the kernel
  float* y = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  int64_t rows = 1; // of the result, equal but for where they lie
  int64_t sets = 1;
  int64_t x_set = 0; // bytes from set to set
  int64_t kernel_rows = 0;
  const int32_t* mask = nullptr;         // of the lanes of the last vector
  const int32_t* x_mask = nullptr;       // of the inputs that one load brings
  const int32_t* permutations = nullptr; // [input][lane]
  float six = 6;
};

namespace {

constexpr int64_t kMostSums = 13; // what ends a tile needs three registers
constexpr int64_t kMostVectors = 6;

/// Columns of the kernel whose weights are in registers at once, for a set of one vector.
int64_t taps_at_once(const ConvolutionShape& s) {
  constexpr int64_t kMost = 4;
  return ceil_div(s.kernel.columns, ceil_div(s.kernel.columns, kMost));
}

/// Inputs of one iteration: a row of few taps alone would not hide what a loop costs.
int64_t unrolled_inputs(const GroupedShape& s) {
  constexpr int64_t kTaps = 4;
  return std::clamp<int64_t>(kTaps / s.kernel.columns, 1, s.inputs);
}

int64_t vectors_of(const GroupedShape& s) { return ceil_div(s.outputs, kConvolutionLanes); }

/// Groups that share a vector: as many as have their inputs within one load.
int64_t groups_of_vector(const GroupedShape& s) {
  int64_t fit = kConvolutionLanes / std::max(s.inputs, s.outputs);
  return std::max<int64_t>(1, std::min(fit, s.groups));
}

/// Groups whose inputs and outputs each fill half a vector: a permutation inside of halves serves.
bool are_halves(const GroupedShape& s, const GroupedTile& t) {
  return t.groups == 2 && s.inputs == 4 && s.outputs == 4;
}

/// The most columns that leave registers for what a step needs.
int64_t most_grouped_columns(const GroupedShape& s, int64_t groups, int64_t vectors) {
  if (vectors == 1) {
    int64_t others = taps_at_once(s) + 1;
    if (groups > 1 && !are_halves(s, {groups, 1, 1})) others += 2; // an order, a mask
    return std::min<int64_t>(kMostSums, 16 - others);
  }
  int64_t by_rows = (16 - vectors - 1) / vectors, by_vectors = (16 - 1) / (vectors + 1);
  return std::min(kMostSums / vectors, std::max(by_rows, by_vectors));
}

/// Pixels whose lines can be in the first level together: where they are a power of two apart, they
/// share a few sets of eight ways.
int64_t pixels_in_first_level(const ConvolutionShape& s) {
  constexpr int64_t kWay = 4096, kWays = 8;
  return kWays * kWay / std::clamp<int64_t>(std::gcd(4 * s.x.pixel, kWay), 64, kWay);
}

/// Bytes from a weight to the one that is asked for.
constexpr int64_t kAskedAhead = 2048;

constexpr int64_t kFewWeights = 16 << 10; // bytes that stay in the first level

/// Whether the weights of a set come from the second level, or further away.
bool streams_weights(const GroupedShape& s, int64_t vectors) {
  return 4 * s.taps() * s.inputs * vectors * kConvolutionLanes > kFewWeights;
}

/// Of one tap, without groups: a product of pixels by a matrix.
bool is_product(const GroupedShape& s) { return s.taps() == 1 && s.groups == 1; }

/// Pixels that a tile meets in a row.
int64_t pixels_of(const GroupedShape& s, int64_t columns) {
  int64_t taps = s.kernel.columns;
  return std::min(s.position(columns - 1, taps - 1) + 1, columns * taps);
}

/// Those of one vector, which meets some taps at once.
int64_t pixel_loads(const GroupedShape& s, int64_t columns) {
  int64_t loads = 0, most = taps_at_once(s);
  for (int64_t tap = 0; tap < s.kernel.columns; tap += most) {
    int64_t taps = std::min(most, s.kernel.columns - tap);
    loads += std::min(s.position(columns - 1, taps - 1) + 1, columns * taps);
  }
  return loads;
}

bool lines_stay(const GroupedShape& s, int64_t columns) {
  return s.inputs == 1 || pixels_of(s, columns) <= pixels_in_first_level(s);
}

/// Cycles of a tile for a row of the kernel and an input.
double tile_cycles(const GroupedShape& s, int64_t vectors, int64_t columns) {
  constexpr double kFromSecond = 3; // cycles for a line from the second
  int64_t taps = s.kernel.columns, pixels = pixels_of(s, columns);
  int64_t loads = vectors * taps + (vectors == 1 ? pixel_loads(s, columns) : columns * taps);
  auto products = static_cast<double>(columns * vectors * taps);
  double latency = 4 * static_cast<double>(taps), stream = 0, lines = 0;
  if (streams_weights(s, vectors)) stream = 2 * static_cast<double>(vectors * taps);
  if (!lines_stay(s, columns)) lines = kFromSecond * static_cast<double>(pixels);
  constexpr double kLoad = 0.02; // of two that are as fast, the one that loads less
  // What begins and ends a tile; a store of half a line is two of whole ones.
  constexpr double kTile = 20, kStore = 2;
  double ends = kTile + kStore * static_cast<double>(columns * (vectors + vectors % 2));
  return std::max({products / 2, static_cast<double>(loads) / 2, latency, stream, lines}) + 1 +
         kLoad * static_cast<double>(loads) + ends / static_cast<double>(s.kernel.rows * s.inputs);
}

/// The same of a product, where all sets follow each other in a tile: weights come from the second
/// level then, if they are many, a line in nearly four cycles.
double product_cycles(const GroupedShape& s, int64_t vectors, int64_t columns) {
  constexpr double kFromSecond = 3, kLatency = 4, kLoop = 0.25, kLoad = 0.02;
  auto products = static_cast<double>(columns * vectors);
  auto loads = static_cast<double>(columns + vectors);
  double stream = 4 * s.inputs * s.outputs > kFewWeights ? 2 * static_cast<double>(vectors) : 0;
  double lines = lines_stay(s, columns) ? 0 : kFromSecond * static_cast<double>(columns);
  // What ends a tile of twelve sums hardly overlaps with the next one.
  constexpr double kTile = 20, kStore = 2, kManySums = 16;
  double ends = kTile + kStore * static_cast<double>(columns * (vectors + vectors % 2));
  if (products >= 12) ends += kManySums;
  // One vector alone brings nearly as many pixels as it multiplies.
  return std::max({products / 2, 0.58 * loads, kLatency, stream, lines}) + kLoop + kLoad * loads +
         ends / static_cast<double>(s.inputs);
}

/// Of a row of the result, for all vectors of a group.
double row_cycles(const GroupedShape& s, int64_t vectors, int64_t most) {
  auto of_tile = is_product(s) ? product_cycles : tile_cycles;
  int64_t tiles = ceil_div(s.result.columns, most), columns = s.result.columns / tiles;
  int64_t wider = s.result.columns % tiles;
  double cycles = static_cast<double>(tiles - wider) * of_tile(s, vectors, columns);
  if (wider > 0) cycles += static_cast<double>(wider) * of_tile(s, vectors, columns + 1);
  return cycles * static_cast<double>(ceil_div(vectors_of(s), vectors));
}

/// Groups or their parts, side by side in y.
struct SetSteps {
  int64_t sets, in_group; // of all; of a group
  int64_t outputs;        // from set to set
  int64_t inputs;         // the same, where a group has but one
  int64_t last_outputs;   // of the last set of a group, or of all
  SetSteps(const GroupedShape& s, const GroupedTile& t) {
    if (t.groups > 1) {
      sets = ceil_div(s.groups, t.groups);
      in_group = 1;
      outputs = t.groups * s.outputs;
      inputs = t.groups * s.inputs;
      last_outputs = (s.groups - (sets - 1) * t.groups) * s.outputs;
      return;
    }
    in_group = ceil_div(vectors_of(s), t.vectors); // vectors of the last set may be zeros
    sets = s.groups * in_group;
    outputs = in_group > 1 ? t.vectors * kConvolutionLanes : s.outputs;
    inputs = in_group > 1 ? 0 : s.inputs;
    last_outputs = s.outputs - (in_group - 1) * outputs;
  }
  bool last_differs() const { return last_outputs != outputs; }
  /// Among all channels of y; of the one behind the last set, their number.
  int64_t first_output(int64_t set) const {
    if (set == sets) return (sets / in_group - 1) * group_outputs() + last_group_outputs();
    return set / in_group * group_outputs() + set % in_group * outputs;
  }
  /// From group to group, or from set to set where these hold several.
  int64_t group_outputs() const {
    return in_group > 1 ? (in_group - 1) * outputs + last_outputs : outputs;
  }
  int64_t last_group_outputs() const { return (in_group - 1) * outputs + last_outputs; }
};

/// Columns of the widest one.
int64_t widest_tile(const GroupedShape& s, const GroupedTile& t) {
  return ceil_div(s.result.columns, ceil_div(s.result.columns, t.columns));
}

int64_t set_weights(const GroupedShape& s, const GroupedTile& t) {
  return s.taps() * s.inputs * t.vectors * kConvolutionLanes;
}

/// An upper bound of emitted bytes: ten for an instruction with an address, and for each tile what
/// begins and ends it.
int64_t grouped_code_bound(const GroupedShape& s, const GroupedTile& t) {
  int64_t tiles = 0, unrolled = t.groups > 1 ? s.inputs : 2 * unrolled_inputs(s) - 1;
  for (const ColumnTiles& each : column_tiles(s, t.columns)) {
    int64_t taps = s.kernel.columns * unrolled;
    tiles += 20 * taps * (t.vectors + 1) * (each.columns + 1) +
             100 * t.vectors * (each.columns + 1) + 500;
  }
  return 4096 + 2 * tiles; // two kinds of sets
}

} // namespace

GroupedTile Grouped::tile(const GroupedShape& s) {
  GroupedTile best;
  best.groups = groups_of_vector(s);
  double least = INFINITY;
  for (int64_t vectors = 1; vectors <= std::min(kMostVectors, vectors_of(s)); ++vectors) {
    if (vectors_of(s) % vectors != 0 && !is_product(s)) continue;
    int64_t most = most_grouped_columns(s, best.groups, vectors);
    for (int64_t columns = most; columns > 0; --columns) {
      double cycles = row_cycles(s, vectors, columns);
      if (cycles >= least) continue;
      least = cycles;
      best.vectors = vectors;
      best.columns = columns;
    }
  }
  return best;
}

#if defined(__x86_64__)

namespace {

class GroupedEmitter : public ConvolutionEmitter {
public:
  GroupedEmitter(const GroupedShape& shape, const GroupedTile& tile, const ConvolutionTail& tail,
                 size_t size)
      : ConvolutionEmitter(size), s_(shape), t_(tile), tail_(tail), steps_(shape, tile),
        vectors_(static_cast<int>(tile.vectors)) {}

  /// Rows of sets that have so many outputs and, where several groups are one set, inputs.
  size_t emit(int64_t outputs, int64_t inputs) {
    outputs_ = static_cast<int>(outputs);
    inputs_ = inputs;
    align(64);
    size_t start = getSize();
    for (const Xbyak::Reg64& reg : saved_) push(reg);
    mov(x_, field(offsetof(GroupedCall, x)));
    mov(y_, field(offsetof(GroupedCall, y)));
    if (tail_.residual) mov(residual_, field(offsetof(GroupedCall, residual)));
    mov(rows_, field(offsetof(GroupedCall, rows)));
    Xbyak::Label next;
    L(next);
    for (const ColumnTiles& tiles : column_tiles(s_, t_.columns)) strip(tiles);
    int64_t columns = s_.result.columns;
    add(x_, bytes(s_.stride.rows * s_.x.row - columns * s_.stride.columns * s_.x.pixel));
    add(y_, bytes(s_.y.row - columns * s_.y.pixel));
    if (tail_.residual) add(residual_, bytes(s_.residual.row - columns * s_.residual.pixel));
    dec(rows_);
    jnz(next, T_NEAR);
    for (size_t i = std::size(saved_); i-- > 0;) pop(saved_[i]);
    vzeroupper();
    ret();
    return start;
  }

private:
  Xbyak::Address field(size_t offset) const { return ptr[rdi + static_cast<int>(offset)]; }

  // --- registers: sums first, column by column; behind them what a step needs -------------------
  Xbyak::Ymm sum(int64_t column, int vector) const {
    return Xbyak::Ymm(static_cast<int>(column) * vectors_ + vector);
  }
  Xbyak::Ymm spare(int64_t index) const {
    return Xbyak::Ymm(static_cast<int>(columns_ * vectors_ + index));
  }
  bool shares_vector() const { return t_.groups > 1; }

  // --- loops ------------------------------------------------------------------------------------
  void strip(const ColumnTiles& tiles) {
    first_ = tiles.first;
    columns_ = tiles.columns;
    Xbyak::Label next;
    if (tiles.repeats > 1) mov(repeat_, tiles.repeats);
    L(next);
    tile();
    add(x_, bytes(columns_ * s_.stride.columns * s_.x.pixel));
    add(y_, bytes(columns_ * s_.y.pixel));
    if (tail_.residual) add(residual_, bytes(columns_ * s_.residual.pixel));
    if (tiles.repeats == 1) return;
    dec(repeat_);
    jnz(next, T_NEAR);
  }

  void tile() {
    Xbyak::Label next;
    xor_(x_offset_, x_offset_);
    xor_(y_offset_, y_offset_);
    mov(w_set_, field(offsetof(GroupedCall, w)));
    mov(sets_, field(offsetof(GroupedCall, sets)));
    L(next);
    begin_sums();
    kernel_rows();
    end_sums();
    add(x_offset_, field(offsetof(GroupedCall, x_set)));
    add(y_offset_, bytes(steps_.outputs));
    add(w_set_, bytes(set_weights(s_, t_)));
    dec(sets_);
    jnz(next, T_NEAR);
  }

  void begin_sums() {
    if (tail_.bias) mov(at_, field(offsetof(GroupedCall, bias)));
    for (int v = 0; v < vectors_; ++v) {
      if (tail_.bias) load_lanes(sum(0, v), at_ + y_offset_ + v * kConvolutionVector, v);
      for (int64_t column = 0; column < columns_; ++column)
        if (!tail_.bias)
          vxorps(sum(column, v), sum(column, v), sum(column, v));
        else if (column > 0)
          vmovaps(sum(column, v), sum(0, v));
    }
  }

  /// 0: a vector of zeros behind the last outputs.
  int lanes_of(int vector) const {
    return std::clamp(outputs_ - vector * static_cast<int>(kConvolutionLanes), 0, 8);
  }
  void load_lanes(const Xbyak::Ymm& to, const Xbyak::RegExp& from, int vector) {
    if (lanes_of(vector) == 8) return vmovups(to, ptr[from]);
    if (lanes_of(vector) == 0) return vxorps(to, to, to);
    mov(count_, field(offsetof(GroupedCall, mask)));
    vmovups(to, ptr[count_]);
    vmaskmovps(to, to, ptr[from]);
  }

  /// As many rows of the kernel as the call says.
  void kernel_rows() {
    Xbyak::Label next, none;
    mov(kernel_rows_, field(offsetof(GroupedCall, kernel_rows)));
    lea(x_row_, ptr[x_ + x_offset_]);
    mov(w_, w_set_);
    if (has_permutations()) mov(count_, field(offsetof(GroupedCall, permutations)));
    if (has_mask()) {
      mov(at_, field(offsetof(GroupedCall, x_mask)));
      vmovups(x_mask(), ptr[at_]);
    }
    test(kernel_rows_, kernel_rows_);
    jz(none, T_NEAR);
    L(next);
    if (shares_vector())
      for (int64_t input = 0; input < s_.inputs; ++input) one_vector(input);
    else
      inputs();
    add(x_row_, bytes(s_.dilation.rows * s_.x.row));
    dec(kernel_rows_);
    jnz(next, T_NEAR);
    L(none);
  }

  void inputs() {
    int64_t unrolled = unrolled_inputs(s_), rounds = s_.inputs / unrolled;
    Xbyak::Label next;
    mov(at_, x_row_);
    if (asks_for_pixels()) add(x_row_, bytes(columns_ * s_.x.pixel));
    if (rounds > 1) mov(count_, rounds);
    L(next);
    ask_for_pixels();
    for (int64_t i = 0; i < unrolled; ++i) some_input(i);
    add(at_, bytes(unrolled));
    if (rounds > 1) {
      dec(count_);
      jnz(next, T_NEAR);
    }
    for (int64_t i = 0; i < s_.inputs % unrolled; ++i) some_input(i);
  }
  /// Of the next tile of a product, in the time of this one, where both fit into the first level.
  bool asks_for_pixels() const {
    constexpr int64_t kFewInputs = 16, kMost = 12 << 10;
    return is_product(s_) && s_.stride.columns == 1 && s_.inputs >= kFewInputs &&
           4 * columns_ * s_.inputs <= kMost;
  }
  /// Two lines for four inputs are as much as eight columns need.
  void ask_for_pixels() {
    if (!asks_for_pixels()) return;
    prefetcht1(ptr[x_row_]);
    prefetcht1(ptr[x_row_ + 64]);
    add(x_row_, 128);
  }
  /// Weights that do not stay in the first level, some lines before they are used: by itself the
  /// processor stops at the borders of pages.
  void ask_for_weights() {
    if (!streams_weights(s_, t_.vectors)) return;
    int64_t of_input = weight_bytes(s_.kernel.columns, 0);
    for (int64_t at = 0; at < of_input; at += 64)
      prefetcht0(ptr[w_ + static_cast<int>(kAskedAhead + at)]);
  }

  /// So many inputs behind at_.
  void some_input(int64_t ahead) {
    ahead_ = ahead;
    ask_for_weights();
    if (vectors_ == 1)
      one_vector(0);
    else if (columns_ > vectors_)
      by_columns();
    else
      by_vectors();
    ahead_ = 0;
  }

  /// All taps of a row of the kernel for an input; weights are at w_, which goes on.
  void one_vector(int64_t input) {
    if (has_permutations())
      vmovups(order(), ptr[count_ + static_cast<int>(input * kConvolutionVector)]);
    int64_t most = taps_at_once(s_);
    for (int64_t tap = 0; tap < s_.kernel.columns; tap += most)
      some_taps(input, tap, std::min(tap + most, s_.kernel.columns));
    add(w_, weight_bytes(s_.kernel.columns, 0));
  }
  void some_taps(int64_t input, int64_t begin, int64_t end) {
    for (int64_t tap = begin; tap < end; ++tap)
      vmovups(weight(tap - begin), ptr[w_ + weight_bytes(tap, 0)]);
    int64_t last = s_.position(columns_ - 1, end - 1);
    for (int64_t at = s_.position(0, begin); at <= last; ++at) {
      bool loaded = false;
      for (int64_t tap = begin; tap < end; ++tap) {
        int64_t rest = at - tap * s_.dilation.columns, column = rest / s_.stride.columns;
        if (rest < 0 || rest % s_.stride.columns != 0 || column >= columns_) continue;
        if (!s_.inside(first_ + column, tap)) continue;
        if (!loaded) load_pixel(input, at);
        loaded = true;
        vfmadd231ps(sum(column, 0), pixel(), weight(tap - begin));
      }
    }
  }

  Xbyak::Ymm pixel() const { return spare(0); }
  Xbyak::Ymm weight(int64_t tap) const { return spare(1 + tap); }
  Xbyak::Ymm order() const { return spare(1 + taps_at_once(s_)); }
  Xbyak::Ymm x_mask() const { return spare(2 + taps_at_once(s_)); }
  static int weight_bytes_of(int64_t vectors) {
    return static_cast<int>(kConvolutionVector * vectors);
  }
  int weight_bytes(int64_t tap, int vector) const {
    return weight_bytes_of(tap * vectors_ + vector);
  }
  bool in_halves() const { return are_halves(s_, t_); }
  bool has_permutations() const { return shares_vector() && !in_halves(); }
  /// Of inputs that are no whole load.
  bool has_mask() const { return has_permutations() && inputs_ != 8 && inputs_ != 4; }

  /// An input of the pixel at this column of the tile, in all lanes of its group.
  void load_pixel(int64_t input, int64_t at) {
    if (!shares_vector()) return vbroadcastss(pixel(), ptr[at_ + bytes(at * s_.x.pixel + ahead_)]);
    Xbyak::Address from = ptr[x_row_ + bytes(at * s_.x.pixel)];
    Xbyak::Xmm low(pixel().getIdx());
    if (in_halves()) {
      auto lane = static_cast<uint8_t>(0x55 * input);
      return inputs_ == 8 ? vpermilps(pixel(), from, lane) : vpermilps(low, from, lane);
    }
    if (inputs_ == 8) return vpermps(pixel(), order(), from);
    if (inputs_ == 4)
      vmovups(low, from);
    else
      vmaskmovps(pixel(), x_mask(), from);
    vpermps(pixel(), order(), pixel());
  }

  bool inside(int64_t column, int64_t tap) const { return s_.inside(first_ + column, tap); }
  Xbyak::Address x_at(int64_t column, int64_t tap) const {
    return ptr[at_ + bytes(s_.position(column, tap) * s_.x.pixel + ahead_)];
  }
  void by_columns() {
    for (int64_t tap = 0; tap < s_.kernel.columns; ++tap) {
      for (int v = 0; v < vectors_; ++v) vmovups(spare(1 + v), ptr[w_ + weight_bytes(tap, v)]);
      for (int64_t column = 0; column < columns_; ++column) {
        if (!inside(column, tap)) continue;
        vbroadcastss(spare(0), x_at(column, tap));
        for (int v = 0; v < vectors_; ++v) vfmadd231ps(sum(column, v), spare(0), spare(1 + v));
      }
    }
    add(w_, weight_bytes(s_.kernel.columns, 0));
  }
  void by_vectors() {
    for (int64_t tap = 0; tap < s_.kernel.columns; ++tap) {
      for (int64_t column = 0; column < columns_; ++column)
        if (inside(column, tap)) vbroadcastss(spare(1 + column), x_at(column, tap));
      for (int v = 0; v < vectors_; ++v) {
        vmovups(spare(0), ptr[w_ + weight_bytes(tap, v)]);
        for (int64_t column = 0; column < columns_; ++column)
          if (inside(column, tap)) vfmadd231ps(sum(column, v), spare(1 + column), spare(0));
      }
    }
    add(w_, weight_bytes(s_.kernel.columns, 0));
  }

  // --- behind the taps --------------------------------------------------------------------------
  void end_sums() {
    if (tail_.clamp != Clamp::None) vxorps(spare(0), spare(0), spare(0));
    if (tail_.clamp == Clamp::Relu6) vbroadcastss(spare(2), field(offsetof(GroupedCall, six)));
    for (int64_t column = 0; column < columns_; ++column)
      for (int v = 0; v < vectors_ && lanes_of(v) > 0; ++v) {
        Xbyak::Ymm value = sum(column, v);
        int vector = static_cast<int>(v * kConvolutionVector);
        if (tail_.residual) {
          load_lanes(spare(1), residual_ + y_offset_ + (bytes(column * s_.residual.pixel) + vector),
                     v);
          vaddps(value, value, spare(1));
        }
        clamp(tail_.clamp, value, spare(0), spare(1), spare(2));
        store_lanes(y_ + y_offset_ + (bytes(column * s_.y.pixel) + vector), value, lanes_of(v));
      }
  }

  const Xbyak::Reg64 saved_[6] = {rbx, rbp, r12, r13, r14, r15};
  const Xbyak::Reg64 x_ = rsi, y_ = rdx, residual_ = rcx, rows_ = rbp, repeat_ = r14; // of a tile
  const Xbyak::Reg64 x_offset_ = r8, y_offset_ = r9, w_set_ = r11, sets_ = r12;       // of a set
  const Xbyak::Reg64 x_row_ = rax, w_ = r10, kernel_rows_ = r13; // of a row of the kernel
  const Xbyak::Reg64 at_ = rbx, count_ = r15;                    // of an input

  const GroupedShape& s_;
  const GroupedTile& t_;
  const ConvolutionTail& tail_;
  SetSteps steps_;
  int vectors_;
  int outputs_ = 0;                 // of a set
  int64_t inputs_ = 0;              // of a set
  int64_t first_ = 0, columns_ = 1; // of the tile
  int64_t ahead_ = 0;               // of at_
};

} // namespace

struct Grouped::Emitted {
  GroupedEmitter emitter;
  GroupedFn usual = nullptr, last = nullptr; // the last set of a group, or of all
  Emitted(const GroupedShape& shape, const GroupedTile& tile, const ConvolutionTail& tail,
          size_t bytes)
      : emitter(shape, tile, tail, bytes) {}

  /// Errors: `device` where there is no memory that may be run.
  Result<void> emit(const GroupedShape& s, const GroupedTile& t) {
    SetSteps steps(s, t);
    auto inputs = [&](int64_t outputs) { return outputs / s.outputs * s.inputs; };
    bool both = steps.last_differs();
    size_t first = emitter.emit(steps.outputs, inputs(steps.outputs));
    size_t second = both ? emitter.emit(steps.last_outputs, inputs(steps.last_outputs)) : first;
    if (!emitter.seal()) return error(Code::device, "no memory for machine code of a convolution");
    usual = emitter.function<GroupedFn>(first);
    last = emitter.function<GroupedFn>(second);
    return {};
  }
};

size_t Grouped::code_bytes() const { return emitted_->emitter.getSize(); }

Result<std::unique_ptr<Grouped>> Grouped::make(const GroupedShape& shape,
                                               const ConvolutionTail& tail,
                                               const ConvolutionSchedule& schedule, int threads) {
  if (!processor_has(Isa::Avx2)) return error(Code::device, "this processor has no avx2");
  if (!suits(shape, tail, schedule))
    return error(Code::device, "no code for a convolution of this shape");
  Xbyak::ClearError();
  std::unique_ptr<Grouped> made(new Grouped(shape, tail, schedule, threads));
  auto bytes = static_cast<size_t>(grouped_code_bound(shape, made->tile_));
  made->emitted_ = std::make_unique<Emitted>(made->shape_, made->tile_, made->tail_, bytes);
  TG_CHECK(made->emitted_->emit(made->shape_, made->tile_));
  return made;
}

#else // no other processor yet

struct Grouped::Emitted {
  GroupedFn usual = nullptr, last = nullptr;
};
size_t Grouped::code_bytes() const { return 0; }
Result<std::unique_ptr<Grouped>> Grouped::make(const GroupedShape&, const ConvolutionTail&,
                                               const ConvolutionSchedule&, int) {
  return error(Code::device, "this processor has no avx2");
}

#endif

Result<std::unique_ptr<Grouped>> Grouped::make(const GroupedShape& shape,
                                               const ConvolutionTail& tail, int threads,
                                               const Caches& caches) {
  ConvolutionSchedule schedule; // of a shape that does not suit: refused
  if (suits(shape)) schedule = default_schedule(shape, tail, threads, caches);
  return make(shape, tail, schedule, threads);
}

Grouped::Grouped(const GroupedShape& shape, const ConvolutionTail& tail,
                 const ConvolutionSchedule& schedule, int threads)
    : shape_(shape), tail_(tail), tile_(tile(shape, schedule)), sets_(SetSteps(shape, tile_).sets),
      bands_(schedule.bands), spans_(schedule.spans), sets_at_once_(schedule.sets_at_once) {
  parts_ = static_cast<int>(std::min<int64_t>(threads, shape.images * bands_ * spans_));
  for (int64_t input = 0; input < shape.inputs && tile_.groups > 1; ++input)
    for (int64_t lane = 0; lane < kConvolutionLanes; ++lane) {
      int64_t group = std::min(lane / shape.outputs, tile_.groups - 1);
      permutations_.push_back(static_cast<int32_t>(group * shape.inputs + input));
    }
}
Grouped::~Grouped() = default;

bool Grouped::suits(const GroupedShape& s) {
  constexpr int64_t kMost = int64_t{1} << 24; // channels and taps: steps from set to set
  int64_t channels = s.groups * std::max(s.inputs, s.outputs);
  if (!s.steps_fit() || channels > kMost || s.taps() > kMost / (8 * s.inputs)) return false;
  return s.kernel.columns < 1024 && s.result.columns < 1 << 20 &&
         grouped_code_bound(s, tile(s)) <= kMostConvolutionCode;
}

GroupedTile Grouped::tile(const GroupedShape& s, const ConvolutionSchedule& schedule) {
  return {groups_of_vector(s), schedule.vectors, schedule.columns};
}
int64_t Grouped::group_vectors(const GroupedShape& s) { return vectors_of(s); }
int64_t Grouped::most_columns(const GroupedShape& s, int64_t vectors) {
  return vectors > kMostVectors ? 0 : most_grouped_columns(s, groups_of_vector(s), vectors);
}

bool Grouped::suits(const GroupedShape& s, const ConvolutionTail&,
                    const ConvolutionSchedule& schedule) {
  auto [rows, columns, vectors, bands, spans, at_once] = schedule;
  if (!suits(s) || rows != 1 || vectors < 1 || vectors > kMostVectors || vectors > vectors_of(s))
    return false;
  GroupedTile t = tile(s, schedule);
  if (columns < 1 || columns > most_columns(s, vectors)) return false;
  if (grouped_code_bound(s, t) > kMostConvolutionCode) return false;
  if (bands < 1 || bands > s.result.rows || spans < 1 || at_once < 1) return false;
  return spans <= ceil_div(SetSteps(s, t).sets, at_once);
}

bool Grouped::keeps_lines(const GroupedShape& s) { return lines_stay(s, widest_tile(s, tile(s))); }

int64_t Grouped::weight_elements(const GroupedShape& s, const GroupedTile& t) {
  return SetSteps(s, t).sets * set_weights(s, t);
}

void Grouped::pack(float* to, const float* w, const GroupedShape& s, const GroupedTile& t) {
  SetSteps steps(s, t);
  int64_t per_output = s.inputs * s.taps();
  for (int64_t set = 0; set < steps.sets; ++set) {
    bool last =
        set % steps.in_group == steps.in_group - 1 && (t.groups == 1 || set + 1 == steps.sets);
    int64_t first = t.groups > 1
                        ? set * steps.outputs
                        : set / steps.in_group * s.outputs + set % steps.in_group * steps.outputs;
    int64_t outputs = last ? steps.last_outputs : steps.outputs;
    for (int64_t row = 0; row < s.kernel.rows; ++row)
      for (int64_t input = 0; input < s.inputs; ++input)
        for (int64_t column = 0; column < s.kernel.columns; ++column)
          for (int64_t lane = 0; lane < t.vectors * kConvolutionLanes; ++lane)
            *to++ = lane < outputs ? w[(first + lane) * per_output + input * s.taps() +
                                       row * s.kernel.columns + column]
                                   : 0.0f;
  }
}

std::string Grouped::text() const {
  int64_t columns = widest_tile(shape_, tile_);
  std::string text = llvm::formatv("{0}x{1}", columns, tile_.vectors * kConvolutionLanes);
  if (tile_.groups > 1) text += llvm::formatv(" of {0} groups", tile_.groups);
  return text;
}

namespace {

/// How much longer threads take that share lines of pixels.
constexpr double kSharedLines = 0.04;

/// How much longer the largest share takes than an even one.
double unevenness(int64_t units, int64_t threads) {
  return static_cast<double>(ceil_div(units, threads) * threads) / static_cast<double>(units);
}

/// How much longer it takes where threads share out rows, or sets. What a core brings ahead of a
/// pixel's channels are lines that another one writes; weights that are too many for the second
/// level are brought by all of them.
double row_shares(const GroupedShape& s, int64_t threads, const Caches& caches) {
  bool many = 4 * s.inputs * s.outputs > caches.second / 2;
  return unevenness(s.images * s.result.rows, threads) + (threads > 1 && many ? kSharedLines : 0);
}
double set_shares(const GroupedShape& s, int64_t sets, int64_t threads, const Caches& caches) {
  bool few = 4 * s.inputs * s.outputs <= caches.second / 2;
  return unevenness(sets, threads) + (few ? kSharedLines : 0);
}
bool parts_sets(const GroupedShape& s, int64_t sets, int64_t threads, const Caches& caches) {
  return threads > 1 && sets >= threads &&
         set_shares(s, sets, threads, caches) < row_shares(s, threads, caches);
}

/// Of products. All sets meet a tile of pixels if their weights fit into half of the second level,
/// so that pixels come once and whole lines of the result are written one after the other; else as
/// many as fit into a quarter, and the pixels of a band wait there for the next ones.
ConvolutionSchedule product_schedule(const GroupedShape& s, const ConvolutionTail& tail,
                                     const GroupedTile& t, int64_t threads, const Caches& caches) {
  SetSteps steps(s, t);
  ConvolutionSchedule by_rule;
  by_rule.columns = t.columns;
  by_rule.vectors = t.vectors;
  bool by_sets = parts_sets(s, steps.sets, threads, caches);
  int64_t own = by_sets ? ceil_div(steps.sets, threads) : steps.sets;
  int64_t of_set = 4 * set_weights(s, t), room = caches.second / 2;
  if (own * of_set > room) room /= 2;
  int64_t fit = std::max<int64_t>(1, room / of_set);
  constexpr int64_t kFewInputs = 128, kFarApart = 2; // of whose results stores are many
  if (by_sets && s.inputs < kFewInputs) fit = std::min(fit, kFarApart);
  int64_t at_once = std::min(own, fit);
  if (by_sets) // equally many for each thread
    while (own % at_once != 0) --at_once;
  else
    at_once = ceil_div(own, ceil_div(own, at_once));
  by_rule.sets_at_once = at_once;
  int64_t row = 4 * s.result.columns * (at_once < own ? s.inputs : 0);
  if (tail.finish) row += 4 * s.result.columns * s.outputs;
  if (row > 0)
    by_rule.bands = ceil_div(s.result.rows, std::max<int64_t>(1, caches.second / 4 / row));
  if (by_sets)
    by_rule.spans = std::min(threads, ceil_div(steps.sets, by_rule.sets_at_once));
  else if (s.images * by_rule.bands % threads != 0)
    by_rule.bands = std::min(s.result.rows, ceil_div(by_rule.bands, threads) * threads);
  return by_rule;
}

} // namespace

double Grouped::cycles(const GroupedShape& s, int threads, const Caches& caches) {
  constexpr double kRow = 30;
  GroupedTile t = tile(s);
  int64_t rows = s.images * s.result.rows, sets = SetSteps(s, t).sets;
  bool by_sets = is_product(s) && parts_sets(s, sets, threads, caches);
  double shares = by_sets ? set_shares(s, sets, threads, caches) : row_shares(s, threads, caches);
  double row = static_cast<double>(s.groups * s.inputs) * row_cycles(s, t.vectors, t.columns);
  return static_cast<double>(rows) * (kRow + row) * shares;
}

// Sets side by side that share lines of x and y go together, if their weights stay in the first
// level meanwhile. All rows of a band meet them before the next ones do, so that weights come from
// further away once for a band; its x should stay in the second level, in which a line is found
// again by every row of the kernel.
ConvolutionSchedule Grouped::default_schedule(const GroupedShape& s, const ConvolutionTail& tail,
                                              int threads, const Caches& caches) {
  constexpr int64_t kLine = 16, kFewRows = 4;
  GroupedTile t = tile(s);
  if (is_product(s)) return product_schedule(s, tail, t, threads, caches);
  SetSteps steps(s, t);
  ConvolutionSchedule by_rule;
  by_rule.columns = t.columns;
  by_rule.vectors = t.vectors;
  int64_t weights = 4 * set_weights(s, t);
  int64_t narrow = std::max<int64_t>(1, std::min(steps.inputs, steps.outputs));
  by_rule.sets_at_once =
      std::clamp<int64_t>(kLine / narrow, 1, std::max<int64_t>(1, caches.first / 3 / weights));
  int64_t row = 4 * s.image.columns * s.groups * s.inputs * s.stride.rows;
  int64_t rows = std::max(kFewRows, caches.second / 2 / row);
  if (weights * steps.sets > caches.second / 4) rows = std::max(rows, 4 * kFewRows);
  by_rule.bands = ceil_div(s.result.rows, rows);
  // Threads get equally much, of whole bands where there are many, else of sets, if these have more
  // weights than results, or rows are few: lines of a pixel that two cores write wander between
  // them, since each brings some more than it was asked for.
  if (s.images * by_rule.bands < 4 * threads && s.images * by_rule.bands % threads != 0) {
    int64_t chunks = ceil_div(steps.sets, by_rule.sets_at_once);
    int64_t results = 4 * s.result.rows * s.result.columns * s.groups * s.outputs;
    bool by_sets = weights * steps.sets > results || s.result.rows < 8 * threads;
    if (chunks >= threads && by_sets)
      by_rule.spans = threads;
    else
      by_rule.bands = std::min(s.result.rows, ceil_div(by_rule.bands, threads) * threads);
  }
  return by_rule;
}

Grouped::Block Grouped::block(int64_t index) const {
  int64_t band = index % bands_, span = index / bands_ % spans_;
  int64_t chunks = ceil_div(sets_, sets_at_once_);
  return {index / bands_ / spans_, shape_.result.rows * band / bands_,
          shape_.result.rows * (band + 1) / bands_, chunks * span / spans_ * sets_at_once_,
          std::min(sets_, chunks * (span + 1) / spans_ * sets_at_once_)};
}

void Grouped::run(int part, const ConvolutionData& data) const {
  int64_t blocks = shape_.images * bands_ * spans_;
  for (int64_t i = blocks * part / parts_; i < blocks * (part + 1) / parts_; ++i)
    run_block(block(i), data);
}

/// By runs of sets of one kind, whose x is evenly apart.
void Grouped::run_block(const Block& block, const ConvolutionData& data) const {
  SetSteps steps(shape_, tile_);
  Block run = block;
  auto is_last = [&](int64_t set) {
    if (tile_.groups > 1) return set + 1 == steps.sets;
    return set % steps.in_group == steps.in_group - 1;
  };
  for (int64_t set = block.set_begin; set < block.set_end; set = run.set_end) {
    run.set_begin = set;
    run.set_end = set + 1;
    while (run.set_end < std::min(set + sets_at_once_, block.set_end) &&
           (steps.in_group == 1 || run.set_end % steps.in_group != 0) &&
           (!steps.last_differs() || is_last(run.set_end) == is_last(set)))
      ++run.set_end;
    run_sets(run, data);
  }
  if (!data.finish) return;
  int64_t first = steps.first_output(block.set_begin), last = steps.first_output(block.set_end);
  for (int64_t row = block.row_begin; row < block.row_end; ++row)
    data.finish({data.y + block.image * shape_.y.image + row * shape_.y.row + first, shape_.y.pixel,
                 shape_.result.columns, last - first});
}

/// Rows that see all of the kernel go together.
void Grouped::run_sets(const Block& block, const ConvolutionData& data) const {
  for (int64_t row = block.row_begin, rows; row < block.row_end; row += rows) {
    rows = 1;
    while (shape_.sees_all_rows(row) && row + rows < block.row_end &&
           shape_.sees_all_rows(row + rows))
      ++rows;
    run_rows(block, row, rows, data);
  }
}

void Grouped::run_rows(const Block& block, int64_t row, int64_t rows,
                       const ConvolutionData& data) const {
  constexpr int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  const GroupedShape& s = shape_;
  SetSteps steps(s, tile_);
  auto [first, count] = s.kernel_rows(row);
  int64_t x_row = row * s.stride.rows - s.before.rows + first * s.dilation.rows;
  if (count == 0) x_row = first = 0; // nothing is read
  int64_t group = block.set_begin / steps.in_group, part = block.set_begin % steps.in_group;
  int64_t input = steps.in_group > 1 ? group * s.inputs : block.set_begin * steps.inputs;
  int64_t output = steps.in_group > 1 ? group * s.outputs + part * steps.outputs
                                      : block.set_begin * steps.outputs;
  bool last = steps.last_differs() &&
              (tile_.groups > 1 ? block.set_begin + 1 == steps.sets : part + 1 == steps.in_group);
  int64_t outputs = last ? steps.last_outputs : steps.outputs;
  GroupedCall call;
  call.x =
      data.x + block.image * s.x.image + x_row * s.x.row - s.before.columns * s.x.pixel + input;
  call.w = data.weights + block.set_begin * set_weights(s, tile_) +
           first * s.inputs * s.kernel.columns * tile_.vectors * kConvolutionLanes;
  call.y = data.y + block.image * s.y.image + row * s.y.row + output;
  if (tail_.bias) call.bias = data.bias + output;
  if (tail_.residual)
    call.residual = data.residual + block.image * s.residual.image + row * s.residual.row + output;
  call.rows = rows;
  call.sets = block.set_end - block.set_begin;
  call.x_set = 4 * steps.inputs;
  call.kernel_rows = count;
  call.mask = kMask + kConvolutionLanes - ((outputs - 1) % kConvolutionLanes + 1);
  call.x_mask =
      kMask + kConvolutionLanes - std::min(kConvolutionLanes, outputs / s.outputs * s.inputs);
  call.permutations = permutations_.data();
  (last ? emitted_->last : emitted_->usual)(&call);
}

} // namespace tg::tile
