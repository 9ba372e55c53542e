// Emits the code of a grouped convolution: loops over rows of the result, tiles of columns,
// sets of output channels, rows of the kernel, and inputs. Only for grouped.cpp: it includes Xbyak.
#pragma once

#include "runtime/cpu/tile/convolution_emitter.h"
#include "runtime/cpu/tile/grouped_sets.h"

#include <cstddef>

namespace tg::tile {

/// The prefetch distance of weights, in bytes.
inline constexpr int64_t kAskedAhead = 2048;

class GroupedEmitter : public ConvolutionEmitter {
public:
  GroupedEmitter(const GroupedShape& shape, const GroupedTile& tile, const ConvolutionTail& tail,
                 size_t size)
      : ConvolutionEmitter(size, shape.isa), s_(shape), t_(tile), tail_(tail), steps_(shape, tile),
        vectors_(static_cast<int>(tile.vectors)) {}

  /// Emits rows of sets with this number of outputs and, if several groups are one set, inputs.
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
    if (is_wide()) set_masks();
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

  // --- registers: sums first, column by column; then the registers of a step --------------------
  Xbyak::Ymm sum(int64_t column, int vector) const { return vec(column * vectors_ + vector); }
  Xbyak::Ymm spare(int64_t index) const { return vec(columns_ * vectors_ + index); }
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
      if (tail_.bias) load_lanes(sum(0, v), at_ + y_offset_ + v * vector_bytes(), v);
      for (int64_t column = 0; column < columns_; ++column)
        if (!tail_.bias)
          clear(sum(column, v));
        else if (column > 0)
          vmovaps(sum(column, v), sum(0, v));
    }
  }

  /// 0: a vector of zeros after the last outputs.
  int lanes_of(int vector) const {
    return std::clamp(outputs_ - vector * vector_lanes(), 0, vector_lanes());
  }
  void load_lanes(const Xbyak::Ymm& to, const Xbyak::RegExp& from, int vector) {
    if (lanes_of(vector) == vector_lanes()) return vmovups(to, ptr[from]);
    if (lanes_of(vector) == 0) return clear(to);
    if (is_wide()) return vmovups(to | rest_ | T_z, ptr[from]);
    mov(count_, field(offsetof(GroupedCall, mask)));
    vmovups(to, ptr[count_]);
    vmaskmovps(to, to, ptr[from]);
  }

  /// Emits as many rows of the kernel as the call says.
  void kernel_rows() {
    Xbyak::Label none;
    mov(kernel_rows_, field(offsetof(GroupedCall, kernel_rows)));
    lea(x_row_, ptr[x_ + x_offset_]);
    mov(w_, w_set_);
    if (has_permutations()) mov(count_, field(offsetof(GroupedCall, permutations)));
    if (has_mask() && !is_wide()) {
      mov(at_, field(offsetof(GroupedCall, x_mask)));
      vmovups(x_mask(), ptr[at_]);
    }
    test(kernel_rows_, kernel_rows_);
    jz(none, T_NEAR);
    kernel_planes(s_, rdi, offsetof(GroupedCall, planes), x_row_, w_, [&] { rows_of_plane(); });
    L(none);
  }
  void rows_of_plane() {
    Xbyak::Label next;
    if (s_.depth.kernel > 1) mov(kernel_rows_, field(offsetof(GroupedCall, kernel_rows)));
    L(next);
    if (shares_vector())
      for (int64_t input = 0; input < s_.inputs; ++input) one_vector(input);
    else
      inputs();
    add(x_row_, bytes(s_.dilation.rows * s_.x.row));
    dec(kernel_rows_);
    jnz(next, T_NEAR);
  }

  void inputs() {
    int64_t unrolled = unrolled_inputs(s_), rounds = s_.inputs / unrolled;
    Xbyak::Label next;
    mov(at_, x_row_);
    if (prefetches_pixels()) add(x_row_, bytes(columns_ * s_.x.pixel));
    if (rounds > 1) mov(count_, rounds);
    L(next);
    prefetch_pixels();
    for (int64_t i = 0; i < unrolled; ++i) some_input(i);
    add(at_, bytes(unrolled));
    if (rounds > 1) {
      dec(count_);
      jnz(next, T_NEAR);
    }
    for (int64_t i = 0; i < s_.inputs % unrolled; ++i) some_input(i);
    if (prefetches_pixels())
      sub(x_row_, bytes(columns_ * s_.x.pixel + 16 * prefetched_lines() * rounds));
  }
  /// Returns true if the pixels of the next tile of a plane are prefetched during this tile:
  /// if both fit in the first-level cache (with AVX-512, in a part of the second),
  /// and each is used once.
  bool prefetches_pixels() const {
    constexpr int64_t kFewInputs = 16;
    int64_t most = (is_wide() ? 64 : 12) << 10;
    return is_product_of_planes(s_) && s_.stride.columns == 1 && s_.inputs >= kFewInputs &&
           4 * columns_ * s_.inputs <= most;
  }
  /// Two lines for four inputs are as much as eight columns need.
  int64_t prefetched_lines() const { return std::max<int64_t>(2, ceil_div(columns_, 4)); }
  void prefetch_pixels() {
    if (!prefetches_pixels()) return;
    int lines = static_cast<int>(prefetched_lines());
    for (int line = 0; line < lines; ++line) prefetcht1(ptr[x_row_ + 64 * line]);
    add(x_row_, 64 * lines);
  }
  /// Prefetches weights that do not stay in the first-level cache, some lines ahead:
  /// the hardware prefetcher stops at page boundaries.
  void prefetch_weights() {
    if (!streams_weights(s_, t_.vectors)) return;
    int64_t of_input = weight_bytes(s_.kernel.columns, 0);
    for (int64_t at = 0; at < of_input; at += 64)
      prefetcht0(ptr[w_ + static_cast<int>(kAskedAhead + at)]);
  }

  /// Processes the input that is `ahead` after at_.
  void some_input(int64_t ahead) {
    ahead_ = ahead;
    prefetch_weights();
    if (vectors_ == 1)
      one_vector(0);
    else if (columns_ > vectors_)
      by_columns();
    else
      by_vectors();
    ahead_ = 0;
  }

  /// Emits all taps of a row of the kernel for an input; weights are at w_, which is advanced.
  void one_vector(int64_t input) {
    if (has_permutations())
      vmovups(order(), ptr[count_ + static_cast<int>(input) * vector_bytes()]);
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
      llvm::SmallVector<std::pair<int64_t, int64_t>, 4> met; // column, tap
      for (int64_t tap = begin; tap < end; ++tap) {
        int64_t rest = at - tap * s_.dilation.columns, column = rest / s_.stride.columns;
        if (rest < 0 || rest % s_.stride.columns != 0 || column >= columns_) continue;
        if (inside(column, tap)) met.push_back({column, tap});
      }
      bool once = met.size() == 1 && is_wide() && !shares_vector(); // needs no register
      if (!met.empty() && !once) load_pixel(input, at);
      for (auto [column, tap] : met)
        if (once)
          vfmadd231ps(sum(column, 0), weight(tap - begin),
                      ptr_b[at_ + bytes(at * s_.x.pixel + ahead_)]);
        else
          vfmadd231ps(sum(column, 0), pixel(), weight(tap - begin));
    }
  }

  Xbyak::Ymm pixel() const { return spare(0); }
  Xbyak::Ymm weight(int64_t tap) const { return spare(1 + tap); }
  Xbyak::Ymm order() const { return spare(1 + taps_at_once(s_)); }
  Xbyak::Ymm x_mask() const { return spare(2 + taps_at_once(s_)); }
  int weight_bytes(int64_t tap, int vector) const {
    return static_cast<int>(tap * vectors_ + vector) * vector_bytes();
  }
  bool in_quarters() const { return are_quarters(s_, t_); }
  bool has_permutations() const { return shares_vector() && !in_quarters(); }
  /// For inputs that do not fill a whole load.
  bool has_mask() const {
    bool loaded = inputs_ == 4 || inputs_ == 8 || inputs_ == vector_lanes();
    return shares_vector() && !loaded;
  }
  /// Sets the masks of the lanes of the last vector, and of the inputs of groups
  /// that share a vector.
  void set_masks() {
    if (outputs_ % vector_lanes() != 0) set_mask(rest_, outputs_ % vector_lanes(), count_);
    if (has_mask()) set_mask(x_rest_, static_cast<int>(inputs_), count_);
  }

  /// Loads an input of the pixel at this column of the tile into all lanes of its group.
  void load_pixel(int64_t input, int64_t at) {
    if (!shares_vector()) return vbroadcastss(pixel(), ptr[at_ + bytes(at * s_.x.pixel + ahead_)]);
    Xbyak::Address from = ptr[x_row_ + bytes(at * s_.x.pixel)];
    auto lane = static_cast<uint8_t>(0x55 * input);
    Xbyak::Xmm low = part_of(pixel(), static_cast<int>(inputs_));
    if (in_quarters() && !has_mask()) return vpermilps(low, from, lane);
    if (has_permutations() && inputs_ == vector_lanes()) return vpermps(pixel(), order(), from);
    if (!has_mask())
      vmovups(low, from);
    else if (is_wide())
      vmovups(pixel() | x_rest_ | T_z, from);
    else
      vmaskmovps(pixel(), x_mask(), from);
    if (in_quarters())
      vpermilps(pixel(), pixel(), lane);
    else
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

  // --- after the taps ---------------------------------------------------------------------------
  void end_sums() {
    begin_clamp(tail_.clamp, spare(0), at_);
    if (tail_.clamp == Clamp::Relu6) vbroadcastss(spare(2), field(offsetof(GroupedCall, six)));
    for (int64_t column = 0; column < columns_; ++column)
      for (int v = 0; v < vectors_ && lanes_of(v) > 0; ++v) {
        Xbyak::Ymm value = sum(column, v);
        int vector = v * vector_bytes();
        if (tail_.residual) {
          load_lanes(spare(1), residual_ + y_offset_ + (bytes(column * s_.residual.pixel) + vector),
                     v);
          vaddps(value, value, spare(1));
        }
        clamp(tail_.clamp, value, spare(0), spare(1), spare(2));
        store_lanes(y_ + y_offset_ + (bytes(column * s_.y.pixel) + vector), value, lanes_of(v),
                    rest_);
      }
  }

  const Xbyak::Reg64 saved_[6] = {rbx, rbp, r12, r13, r14, r15};
  const Xbyak::Reg64 x_ = rsi, y_ = rdx, residual_ = rcx, rows_ = rbp, repeat_ = r14; // of a tile
  const Xbyak::Reg64 x_offset_ = r8, y_offset_ = r9, w_set_ = r11, sets_ = r12;       // of a set
  const Xbyak::Reg64 x_row_ = rax, w_ = r10, kernel_rows_ = r13; // of a row of the kernel
  const Xbyak::Reg64 at_ = rbx, count_ = r15;                    // of an input
  const Xbyak::Opmask rest_ = k1, x_rest_ = k2;                  // lanes, with AVX-512

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

} // namespace tg::tile
