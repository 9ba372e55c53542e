#include "runtime/cpu/tile/depthwise.h"

#include "runtime/cpu/tile/grouped.h"

#if defined(__x86_64__)
#include "runtime/cpu/tile/convolution_emitter.h"
#endif

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cstddef>

namespace tg::tile {

struct StripCall {
  const float* x = nullptr; // as if a column was `before` to the left; first row that is read
  const float* w = nullptr; // of the first vector, and of the first row of the kernel
  float* y = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  int64_t vectors = 1;
  int64_t kernel_rows = 0;
  PlaneLoop planes;
  const int32_t* mask = nullptr; // of lanes, if a vector exists only in part
  float six = 6;
};

namespace {

/// Registers: sums, a pixel of x, weights of the active rows of the kernel, a mask.
bool keeps_weights(const DepthwiseShape& s) {
  return s.kernel.columns <= vector_registers(s.isa) / 2 - 1;
}
int64_t most_strip_columns(const DepthwiseShape& s, int64_t rows) {
  int64_t kept = keeps_weights(s) ? rows * s.kernel.columns : 0;
  int64_t most = s.isa == Isa::Avx2 ? 12 : 24, room = vector_registers(s.isa) - 2;
  return std::min(most, room - kept) / rows;
}
/// The default. With more sums, for which AVX-512 has registers, the end of a tile no longer
/// overlaps with the next tile.
int64_t usual_strip_columns(const DepthwiseShape& s, int64_t rows) {
  constexpr int64_t kOfOne = 12, kOfTwo = 8, kStrided = 7;
  bool strided = s.isa == Isa::Avx512 && s.stride.columns > 1;
  int64_t usual = rows == 2 ? kOfTwo : strided ? kStrided : kOfOne;
  return std::min(usual, most_strip_columns(s, rows));
}
/// Returns true if two adjacent rows of the result share the rows of x that both read.
bool pairs_rows(const DepthwiseShape& s) {
  return s.stride.rows == 1 && s.dilation.rows == 1 && s.kernel.rows > 1 && s.kernel.rows <= 3 &&
         s.kernel.columns <= 3;
}

/// The columns of one-row tiles, which a schedule of two rows uses if the second row
/// has other taps.
int64_t strip_columns(const DepthwiseShape& s, const ConvolutionSchedule& schedule, int64_t rows) {
  return rows == schedule.rows ? schedule.columns : usual_strip_columns(s, rows);
}

ConvolutionSchedule default_strips(const DepthwiseShape& s) {
  ConvolutionSchedule by_rule;
  by_rule.rows = pairs_rows(s) ? 2 : 1;
  by_rule.columns = usual_strip_columns(s, by_rule.rows);
  // With a kernel of one row, the lines of a tile should be in the first-level cache,
  // a quarter of which holds weights: a vector uses one line of each pixel, or half of one.
  constexpr int64_t kFewest = 4;
  if (s.taps() == s.kernel.columns)
    for (int64_t columns = by_rule.columns; columns >= kFewest; --columns)
      if (4 * (s.position(columns - 1, s.kernel.columns - 1) + 1 + columns) <=
          3 * s.pixels_in_first_level()) {
        by_rule.columns = columns;
        break;
      }
  return by_rule;
}

/// Returns an upper bound of emitted bytes: ten for an instruction with an address,
/// and a constant for the start and end of each tile.
int64_t code_bound(const DepthwiseShape& s, const ConvolutionSchedule& schedule) {
  int64_t bytes = 4096;
  for (int64_t rows = 1; rows <= schedule.rows; ++rows) {
    for (const ColumnTiles& t : column_tiles(s, strip_columns(s, schedule, rows))) {
      int64_t taps = s.kernel.columns * (rows == 1 ? 1 : s.kernel.rows);
      bytes += 20 * rows * t.columns * taps + 60 * rows * t.columns + 400;
    }
  }
  return 2 * bytes; // with and without a mask
}

} // namespace

#if defined(__x86_64__)

namespace {

class StripEmitter : public ConvolutionEmitter {
public:
  StripEmitter(const DepthwiseShape& shape, const ConvolutionTail& tail,
               const ConvolutionSchedule& schedule, size_t bytes)
      : ConvolutionEmitter(bytes, shape.isa), s_(shape), tail_(tail), schedule_(schedule) {}

  /// Emits strips of one row of the result, or of two; with a mask, a call has one vector.
  size_t emit(int64_t rows, bool masked) {
    rows_ = static_cast<int>(rows);
    masked_ = masked;
    align(64);
    size_t start = getSize();
    for (const Xbyak::Reg64& reg : saved_) push(reg);
    load_call();
    for (const ColumnTiles& tiles : column_tiles(s_, strip_columns(s_, schedule_, rows)))
      strip(tiles);
    for (size_t i = std::size(saved_); i-- > 0;) pop(saved_[i]);
    vzeroupper();
    ret();
    return start;
  }

private:
  Xbyak::Address field(size_t offset) const { return ptr[rdi + static_cast<int>(offset)]; }

  void load_call() {
    mov(x_, field(offsetof(StripCall, x)));
    mov(w_, field(offsetof(StripCall, w)));
    mov(y_, field(offsetof(StripCall, y)));
    if (tail_.bias) mov(bias_, field(offsetof(StripCall, bias)));
    if (tail_.residual) mov(residual_, field(offsetof(StripCall, residual)));
    if (!masked_) return;
    if (is_wide()) return set_mask(rest_, static_cast<int>(s_.channels % s_.lanes()), offset_);
    mov(offset_, field(offsetof(StripCall, mask)));
    vmovups(mask_, ptr[offset_]);
  }

  // --- registers: sums first, row by row; a pixel of x; weights ---------------------------------
  Xbyak::Ymm sum(int64_t row, int64_t column) const { return vec(row * columns_ + column); }
  Xbyak::Ymm spare(int64_t index) const { return vec(rows_ * columns_ + index); }
  Xbyak::Ymm pixel() const { return spare(0); }
  /// Two rows of the result use two rows of the kernel at a time.
  Xbyak::Ymm weight(int64_t row, int64_t column) const {
    return spare(1 + row % rows_ * s_.kernel.columns + column);
  }

  void load(const Xbyak::Ymm& to, const Xbyak::Address& at) {
    if (!masked_) return vmovups(to, at);
    if (is_wide())
      vmovups(to | rest_ | T_z, at);
    else
      vmaskmovps(to, mask_, at);
  }

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
    xor_(offset_, offset_);
    mov(w_vector_, w_);
    if (!masked_) mov(vectors_, field(offsetof(StripCall, vectors)));
    L(next);
    begin_sums();
    taps();
    end_sums();
    if (masked_) return;
    add(offset_, vector_bytes());
    add(w_vector_, static_cast<int>(s_.vector_bytes() * s_.taps()));
    dec(vectors_);
    jnz(next, T_NEAR);
  }

  void begin_sums() {
    if (tail_.bias) load(sum(0, 0), ptr[bias_ + offset_]);
    for (int i = 0; i < rows_ * columns_; ++i)
      if (!tail_.bias)
        clear(vec(i));
      else if (i > 0)
        vmovaps(vec(i), sum(0, 0));
  }

  /// Two rows of the result use all rows of the kernel.
  void taps() {
    Xbyak::Label none;
    lea(x_row_, ptr[x_ + offset_]);
    mov(w_row_, w_vector_);
    mov(kernel_rows_, field(offsetof(StripCall, kernel_rows)));
    test(kernel_rows_, kernel_rows_);
    if (rows_ == 1) jz(none, T_NEAR);
    kernel_planes(s_, rdi, offsetof(StripCall, planes), x_row_, w_row_, [&] {
      if (rows_ == 1)
        one_row();
      else
        two_rows();
    });
    L(none);
  }

  /// Emits as many rows of the kernel as the call says.
  void one_row() {
    Xbyak::Label next;
    if (s_.depth.kernel > 1) mov(kernel_rows_, field(offsetof(StripCall, kernel_rows)));
    L(next);
    if (keeps_weights(s_)) load_weights(0, w_row_, 0);
    for (int64_t at = 0; at <= last_position(); ++at) taps_of(at, 0, {0});
    add(x_row_, bytes(s_.dilation.rows * s_.x.row));
    add(w_row_, static_cast<int>(s_.vector_bytes() * s_.kernel.columns));
    dec(kernel_rows_);
    jnz(next, T_NEAR);
  }

  /// Emits all rows of the kernel for both rows of the result: a row of x is multiplied
  /// by one row of the kernel for the upper result, and by the previous one for the lower.
  void two_rows() {
    for (int64_t row = 0; row <= s_.kernel.rows; ++row) {
      if (row < s_.kernel.rows)
        load_weights(row, w_row_, static_cast<int>(row * s_.kernel.columns));
      llvm::SmallVector<int64_t, 2> kernel_rows = {row, row - 1};
      for (int64_t at = 0; at <= last_position(); ++at)
        taps_of(at, bytes(row * s_.x.row), kernel_rows);
    }
    if (s_.depth.kernel == 1) return;
    add(x_row_, bytes(s_.kernel.rows * s_.x.row));
    add(w_row_, static_cast<int>(s_.vector_bytes() * s_.kernel.rows * s_.kernel.columns));
  }

  void load_weights(int64_t row, const Xbyak::Reg64& from, int tap) {
    for (int64_t j = 0; j < s_.kernel.columns; ++j)
      vmovups(weight(row, j), ptr[from + static_cast<int>(s_.vector_bytes() * (tap + j))]);
  }

  int64_t last_position() const { return s_.position(columns_ - 1, s_.kernel.columns - 1); }

  /// Emits all products of the pixel at this column of the tile;
  /// kernel_rows[r] is the row of the kernel by which row r of the result uses it.
  void taps_of(int64_t at, int row_bytes, llvm::ArrayRef<int64_t> kernel_rows) {
    bool loaded = false;
    for (size_t r = 0; r < kernel_rows.size(); ++r) {
      if (kernel_rows[r] < 0 || kernel_rows[r] >= s_.kernel.rows) continue;
      for (int64_t j = 0; j < s_.kernel.columns; ++j) {
        int64_t rest = at - j * s_.dilation.columns, column = rest / s_.stride.columns;
        if (rest < 0 || rest % s_.stride.columns != 0 || column >= columns_) continue;
        if (!s_.inside(first_ + column, j)) continue;
        if (!loaded) load(pixel(), ptr[x_row_ + row_bytes + bytes(at * s_.x.pixel)]);
        loaded = true;
        if (keeps_weights(s_))
          vfmadd231ps(sum(static_cast<int64_t>(r), column), pixel(), weight(kernel_rows[r], j));
        else
          vfmadd231ps(sum(static_cast<int64_t>(r), column), pixel(),
                      ptr[w_row_ + static_cast<int>(s_.vector_bytes() * j)]);
      }
    }
  }

  // --- after the taps ---------------------------------------------------------------------------
  void end_sums() {
    begin_clamp(tail_.clamp, spare(0), x_row_);
    if (tail_.clamp == Clamp::Relu6) vbroadcastss(spare(2), field(offsetof(StripCall, six)));
    for (int64_t row = 0; row < rows_; ++row)
      for (int64_t column = 0; column < columns_; ++column) {
        Xbyak::Ymm value = sum(row, column);
        if (tail_.residual) {
          load(
              spare(1),
              ptr[residual_ + offset_ + bytes(row * s_.residual.row + column * s_.residual.pixel)]);
          vaddps(value, value, spare(1));
        }
        clamp(tail_.clamp, value, spare(0), spare(1), spare(2));
        store_lanes(y_ + offset_ + bytes(row * s_.y.row + column * s_.y.pixel), value,
                    static_cast<int>(masked_ ? s_.channels % s_.lanes() : s_.lanes()), rest_);
      }
  }

  const Xbyak::Reg64 saved_[4] = {rbx, r12, r13, r14};
  const Xbyak::Reg64 x_ = rsi, y_ = rdx, residual_ = rcx, bias_ = r8, w_ = r9; // of a tile
  const Xbyak::Reg64 offset_ = r10, w_vector_ = r11, vectors_ = r12;           // of a vector
  const Xbyak::Reg64 x_row_ = rax, w_row_ = rbx, kernel_rows_ = r13, repeat_ = r14;
  const Xbyak::Ymm mask_ = ymm15; // of lanes, with AVX2
  const Xbyak::Opmask rest_ = k1; // the same with AVX-512

  const DepthwiseShape& s_;
  const ConvolutionTail& tail_;
  const ConvolutionSchedule& schedule_;
  int rows_ = 1;
  bool masked_ = false;
  int64_t first_ = 0, columns_ = 1; // of the tile
};

} // namespace

struct Depthwise::Emitted {
  StripEmitter emitter;
  StripFn one = nullptr, two = nullptr, one_masked = nullptr, two_masked = nullptr;
  Emitted(const DepthwiseShape& shape, const ConvolutionTail& tail,
          const ConvolutionSchedule& schedule, size_t bytes)
      : emitter(shape, tail, schedule, bytes) {}

  /// Errors: `device` if no executable memory is available.
  Result<void> emit(const DepthwiseShape& s, bool two_rows) {
    constexpr size_t kNone = SIZE_MAX;
    bool whole = s.channels >= s.lanes(), masked = s.channels % s.lanes() != 0;
    size_t starts[4] = {kNone, kNone, kNone, kNone};
    if (whole) starts[0] = emitter.emit(1, false);
    if (whole && two_rows) starts[1] = emitter.emit(2, false);
    if (masked) starts[2] = emitter.emit(1, true);
    if (masked && two_rows) starts[3] = emitter.emit(2, true);
    if (!emitter.seal()) return error(Code::device, "no memory for machine code of a convolution");
    StripFn* fns[4] = {&one, &two, &one_masked, &two_masked};
    for (int i = 0; i < 4; ++i)
      if (starts[i] != kNone) *fns[i] = emitter.function<StripFn>(starts[i]);
    return {};
  }
};

size_t Depthwise::code_bytes() const { return emitted_->emitter.getSize(); }

Result<std::unique_ptr<Depthwise>> Depthwise::make(const DepthwiseShape& shape,
                                                   const ConvolutionTail& tail,
                                                   const ConvolutionSchedule& schedule,
                                                   int threads) {
  if (!processor_has(shape.isa))
    return error(Code::device, "this processor has no {0}", isa_name(shape.isa));
  if (!suits(shape, tail, schedule))
    return error(Code::device, "no code for a convolution of this shape");
  auto bytes = static_cast<size_t>(code_bound(shape, schedule));
  Xbyak::ClearError();
  std::unique_ptr<Depthwise> made(new Depthwise(shape, tail, schedule, threads));
  made->emitted_ = std::make_unique<Emitted>(made->shape_, made->tail_, made->schedule_, bytes);
  TG_CHECK(made->emitted_->emit(made->shape_, schedule.rows == 2));
  return made;
}

#else // other processors are not supported yet

struct Depthwise::Emitted {
  StripFn one = nullptr, two = nullptr, one_masked = nullptr, two_masked = nullptr;
};
size_t Depthwise::code_bytes() const { return 0; }
Result<std::unique_ptr<Depthwise>> Depthwise::make(const DepthwiseShape& shape,
                                                   const ConvolutionTail&,
                                                   const ConvolutionSchedule&, int) {
  return error(Code::device, "this processor has no {0}", isa_name(shape.isa));
}

#endif

Result<std::unique_ptr<Depthwise>> Depthwise::make(const DepthwiseShape& shape,
                                                   const ConvolutionTail& tail, int threads,
                                                   const Caches& caches) {
  return make(shape, tail, default_schedule(shape, tail, threads, caches), threads);
}

Depthwise::Depthwise(const DepthwiseShape& shape, const ConvolutionTail& tail,
                     const ConvolutionSchedule& schedule, int threads)
    : shape_(shape), tail_(tail), schedule_(schedule),
      vectors_(ceil_div(shape.channels, shape.lanes())) {
  int64_t blocks = shape.planes() * schedule.bands * schedule.spans;
  parts_ = static_cast<int>(std::min<int64_t>(threads, blocks));
}
Depthwise::~Depthwise() = default;

DepthwiseShape depthwise_shape(const GroupedShape& shape) {
  DepthwiseShape s;
  static_cast<ConvolutionShape&>(s) = shape;
  s.channels = shape.groups;
  return s;
}

int64_t Depthwise::most_columns(const DepthwiseShape& shape, int64_t rows) {
  return most_strip_columns(shape, rows);
}
int64_t Depthwise::most_rows(const DepthwiseShape& shape) { return pairs_rows(shape) ? 2 : 1; }

Isa Depthwise::faster_isa(const DepthwiseShape& s) {
  auto vectors = [&](Isa isa) {
    return static_cast<double>(ceil_div(s.channels, tile::lanes(isa)));
  };
  return tile::faster_isa(vectors(Isa::Avx2), vectors(Isa::Avx512));
}

bool Depthwise::suits(const DepthwiseShape& shape) {
  return shape.steps_fit() && code_bound(shape, default_strips(shape)) <= kMostConvolutionCode;
}

bool Depthwise::suits(const DepthwiseShape& s, const ConvolutionTail& tail,
                      const ConvolutionSchedule& schedule) {
  auto [rows, columns, vectors, bands, spans, at_once] = schedule;
  if (!s.steps_fit() || rows < 1 || rows > most_rows(s) || vectors != 1 || at_once != 1)
    return false;
  if (columns < 1 || columns > most_columns(s, rows)) return false;
  if (code_bound(s, schedule) > kMostConvolutionCode || bands < 1 || bands > s.result.rows)
    return false;
  int64_t most_spans = tail.finish ? 1 : ceil_div(s.channels, s.lanes());
  return spans >= 1 && spans <= most_spans;
}

int64_t Depthwise::weight_elements(const DepthwiseShape& s) {
  return ceil_div(s.channels, s.lanes()) * s.lanes() * s.taps();
}

void Depthwise::pack(float* to, const float* w, const DepthwiseShape& s) {
  for (int64_t first = 0; first < s.channels; first += s.lanes())
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      for (int64_t lane = 0; lane < s.lanes(); ++lane)
        *to++ = first + lane < s.channels ? w[(first + lane) * s.taps() + tap] : 0.0f;
}

std::string Depthwise::text() const {
  int64_t rows = std::min(schedule_.rows, shape_.result.rows);
  int64_t columns = std::min(strip_columns(shape_, schedule_, rows), shape_.result.columns);
  columns = ceil_div(shape_.result.columns, ceil_div(shape_.result.columns, columns));
  return llvm::formatv("{0}x{1}", rows, columns).str();
}

// Rows of x that the next strip reads again should be in a near cache.
// With a 3 x 3 kernel these are two of four rows, which may come from the second level;
// processing all channels together is then best, because it loads lines from further away in order.
// With larger kernels most rows are read again, and come from the first level if few channels
// are processed at a time. The same holds for AVX-512, which stalls on lines sooner,
// if every second row of an image that is not large is used.
ConvolutionSchedule Depthwise::default_schedule(const DepthwiseShape& s,
                                                const ConvolutionTail& tail, int threads,
                                                const Caches& caches) {
  constexpr int64_t kBandRows = 8, kFewVectors = 4;
  ConvolutionSchedule by_rule = default_strips(s);
  int64_t &bands = by_rule.bands, &spans = by_rule.spans;
  int64_t vectors = ceil_div(s.channels, s.lanes());
  int64_t strip = 4 * (s.kernel.rows + 1) * s.image.columns * s.channels;
  int64_t image = 4 * s.image.rows * s.image.columns * s.channels;
  bool read_again = s.taps() > s.kernel.columns; // by the next strip
  bool strided = s.isa == Isa::Avx512 && s.stride.rows > 1 && image <= 2 * caches.second;
  bool few =
      !tail.finish && read_again && (s.kernel.rows > 3 || strided || strip > caches.second / 2);
  spans = few ? ceil_div(vectors, kFewVectors) : 1;
  bands = ceil_div(s.result.rows, few ? 2 * kBandRows : kBandRows);
  // Threads get equal work: in whole bands if there are many, else by channels.
  if (s.planes() * bands * spans < 4 * threads) {
    if (s.result.rows >= 2 * threads)
      bands = ceil_div(bands, threads) * threads;
    else if (!tail.finish)
      spans = std::min<int64_t>(vectors, ceil_div(spans, threads) * threads);
  }
  return by_rule;
}

Depthwise::Block Depthwise::block(int64_t index) const {
  int64_t bands = schedule_.bands, spans = schedule_.spans;
  int64_t span = index % spans, band = index / spans % bands;
  return {index / spans / bands, shape_.result.rows * band / bands,
          shape_.result.rows * (band + 1) / bands, vectors_ * span / spans,
          vectors_ * (span + 1) / spans};
}

void Depthwise::run(int part, const ConvolutionData& data) const {
  int64_t blocks = shape_.planes() * schedule_.bands * schedule_.spans;
  for (int64_t i = blocks * part / parts_; i < blocks * (part + 1) / parts_; ++i)
    run_block(block(i), data);
}

void Depthwise::run_block(const Block& block, const ConvolutionData& data) const {
  bool pairs = schedule_.rows == 2;
  for (int64_t row = block.row_begin; row < block.row_end;) {
    bool two = pairs && row + 1 < block.row_end && shape_.sees_all_rows(row) &&
               shape_.sees_all_rows(row + 1) && shape_.kernel_planes(block.plane).count > 0;
    run_strip(block, row, two, data);
    row += two ? 2 : 1;
  }
}

void Depthwise::run_strip(const Block& block, int64_t row, bool two,
                          const ConvolutionData& data) const {
  const DepthwiseShape& s = shape_;
  int64_t channel = block.vector_begin * s.lanes();
  TapBlock block_taps = tap_block(s, block.plane, row, s.kernel.columns * s.lanes());
  StripCall call;
  call.x = data.x + (block_taps.x - s.before.columns * s.x.pixel) + channel;
  int64_t taps = s.taps();
  call.w = data.weights + block.vector_begin * taps * s.lanes() + block_taps.w;
  call.y = data.y + s.plane_at(s.y, block.plane) + row * s.y.row + channel;
  if (tail_.bias) call.bias = data.bias + channel;
  if (tail_.residual)
    call.residual =
        data.residual + s.plane_at(s.residual, block.plane) + row * s.residual.row + channel;
  call.kernel_rows = block_taps.kernel_rows;
  call.planes = block_taps.planes;
  call.vectors = std::min(block.vector_end, s.channels / s.lanes()) - block.vector_begin;
  if (call.vectors > 0) (two ? emitted_->two : emitted_->one)(&call);
  if (int64_t rest = s.channels % s.lanes(); rest != 0 && block.vector_end == vectors_) {
    int64_t whole = call.vectors * s.lanes();
    call.x += whole;
    call.w += whole * taps;
    call.y += whole;
    if (call.bias) call.bias += whole;
    if (call.residual) call.residual += whole;
    if (s.isa == Isa::Avx2) call.mask = lanes_mask(rest);
    (two ? emitted_->two_masked : emitted_->one_masked)(&call);
  }
  if (!data.finish) return;
  int64_t channels = std::min(block.vector_end * s.lanes(), s.channels) - channel;
  for (int64_t i = row; i < row + (two ? 2 : 1); ++i)
    data.finish({data.y + s.plane_at(s.y, block.plane) + i * s.y.row + channel, s.y.pixel,
                 s.result.columns, channels});
}

} // namespace tg::tile
