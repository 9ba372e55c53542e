// Copies between layouts, and fills. Rows that are contiguous on both sides are copied row by row.
// Transpositions of floats are done in blocks in registers. Those of bf16, and of two
// or three rows, use oneDNN's reorder, which generates code for the strides.
// Other copies, of scattered scalars, are done element by element.
#include "runtime/convert.h"
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/lowering/slices.h"
#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <cstring>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tg::cpu {

namespace {

/// Iterates over the outer loops from the index-th element on: a step adds strides,
/// whereas computing an arbitrary element takes one division per loop.
class Odometer {
public:
  Odometer(llvm::ArrayRef<Loop> outer, int64_t index) : outer_(outer), at_(outer.size()) {
    for (size_t i = outer.size(); i-- > 0; index /= outer[i].extent) {
      at_[i] = index % outer[i].extent;
      move(outer[i], at_[i]);
    }
  }
  void step() {
    for (size_t i = outer_.size(); i-- > 0;) {
      move(outer_[i], 1);
      if (++at_[i] < outer_[i].extent) return;
      move(outer_[i], -at_[i]);
      at_[i] = 0;
    }
  }
  int64_t dst() const { return dst_; }
  int64_t src() const { return src_; }

private:
  void move(const Loop& loop, int64_t by) {
    dst_ += by * loop.strides[0];
    src_ += by * loop.strides[1];
  }

  llvm::ArrayRef<Loop> outer_;
  llvm::SmallVector<int64_t, 6> at_;
  int64_t dst_ = 0, src_ = 0;
};

class StridedCopy final : public Kernel {
public:
  StridedCopy(const Place& src, const Place& dst, const Threads& threads)
      : src_(src), dst_(dst), nest_(loops({&dst, &src})), threads_(threads) {
    inner_ = nest_.pop_back_val();
    bool contiguous = inner_.strides[0] == 1 && inner_.strides[1] == 1;
    // One long row is divided, so that threads can share it.
    constexpr int64_t kPiece = 16384;
    if (contiguous && nest_.empty() && inner_.extent > kPiece) {
      int64_t pieces = 1;
      while (inner_.extent % 2 == 0 && inner_.extent > kPiece) {
        inner_.extent /= 2;
        pieces *= 2;
      }
      nest_.push_back({pieces, {inner_.extent, inner_.extent}});
    }
    constexpr int64_t kWorthACall = 32; // bytes
    whole_rows_ = contiguous && inner_.extent * size_ >= kWorthACall;
    if (!nest_.empty()) rows_ = nest_.pop_back_val();
    for (const Loop& loop : nest_) planes_ *= loop.extent;
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(src_);
    to_ = addresses.bytes(dst_);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    parallel_for(threads_, planes_ * rows_.extent, [&](int64_t begin, int64_t end, int) {
      Odometer plane(nest_, begin / rows_.extent);
      for (int64_t row = begin; row < end; plane.step()) {
        int64_t first = row % rows_.extent, count = std::min(rows_.extent - first, end - row);
        copy_rows(to_ + (plane.dst() + first * rows_.strides[0]) * size_,
                  from_ + (plane.src() + first * rows_.strides[1]) * size_, count);
        row += count;
      }
    });
    return dnnl_success;
  }

private:
  void copy_rows(std::byte* to, const std::byte* from, int64_t count) const {
    if (!whole_rows_) return copy_elements(to, from, count);
    for (int64_t row = 0; row < count; ++row)
      std::memcpy(to + row * rows_.strides[0] * size_, from + row * rows_.strides[1] * size_,
                  static_cast<size_t>(inner_.extent * size_));
  }
  void copy_elements(std::byte* to, const std::byte* from, int64_t count) const {
    switch (size_) {
    case 1: return copy_typed<uint8_t>(to, from, count);
    case 2: return copy_typed<uint16_t>(to, from, count);
    case 4: return copy_typed<uint32_t>(to, from, count);
    default: return copy_typed<uint64_t>(to, from, count);
    }
  }
  /// Rows of two and four occur when enlarging a picture; their loop is unrolled.
  template <class T> void copy_typed(std::byte* to, const std::byte* from, int64_t count) const {
    T* target = reinterpret_cast<T*>(to);
    const T* source = reinterpret_cast<const T*>(from);
    if (inner_.extent == 2) return copy_rows_of<T, 2>(target, source, count);
    if (inner_.extent == 4) return copy_rows_of<T, 4>(target, source, count);
    copy_rows_of<T, 0>(target, source, count);
  }
  template <class T, int64_t kExtent>
  void copy_rows_of(T* target, const T* source, int64_t count) const {
    const auto [to_row, from_row] = std::pair(rows_.strides[0], rows_.strides[1]);
    const auto [to_next, from_next] = std::pair(inner_.strides[0], inner_.strides[1]);
    const int64_t extent = kExtent > 0 ? kExtent : inner_.extent;
    for (int64_t row = 0; row < count; ++row, target += to_row, source += from_row)
      for (int64_t i = 0; i < extent; ++i) target[i * to_next] = source[i * from_next];
  }

  Place src_, dst_;
  llvm::SmallVector<Loop, 4> nest_; // without the two innermost loops
  Loop rows_{1, {0, 0}}, inner_;
  int64_t planes_ = 1;
  int64_t size_ = dtype_size(dst_.dtype); // of an element
  bool whole_rows_ = false;
  Threads threads_;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
};

class Fill final : public Kernel {
public:
  Fill(const Place& dst, const Value& value, const Threads& threads)
      : dst_(dst), threads_(threads) {
    if (value.is(Value::Kind::Int)) {
      Integer whole(value.number);
      narrow(dst.dtype, &whole, value_, 1);
    } else {
      narrow(dst.dtype, &value.real, value_, 1);
    }
  }
  Result<void> bind(const Addresses& addresses) override {
    to_ = addresses.bytes(dst_);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    parallel_for(threads_, dst_.elements(), [&](int64_t begin, int64_t end, int) {
      switch (dtype_size(dst_.dtype)) {
      case 1: return fill<uint8_t>(begin, end);
      case 2: return fill<uint16_t>(begin, end);
      case 4: return fill<uint32_t>(begin, end);
      default: return fill<uint64_t>(begin, end);
      }
    });
    return dnnl_success;
  }

private:
  template <class T> void fill(int64_t begin, int64_t end) const {
    T value;
    std::memcpy(&value, value_, sizeof(T));
    std::fill(reinterpret_cast<T*>(to_) + begin, reinterpret_cast<T*>(to_) + end, value);
  }

  Place dst_; // dense
  alignas(8) std::byte value_[8] = {};
  Threads threads_;
  std::byte* to_ = nullptr;
};

/// Transposes each plane by blocks of 4 x 4 in registers. Per element, a block costs 1/4 load,
/// 1/2 shuffle and 1/4 store, while oneDNN's generated code moves one element at a time.
/// Tiles have as many rows as a cache line of the source has elements, so that each line
/// is read once. Three columns, such as the colours of a picture, are stored as four,
/// and the next pixel overwrites the fourth.
class Transposition final : public Kernel {
public:
  Transposition(const Place& src, const Place& dst, const Threads& threads)
      : src_(src), dst_(dst), nest_(loops({&dst, &src})), threads_(threads) {
    columns_ = nest_.pop_back_val();
    size_t rows = rows_of(nest_);
    rows_ = nest_[rows];
    nest_.erase(nest_.begin() + rows);
    for (const Loop& loop : nest_) planes_ *= loop.extent;
    if (columns_.extent == kColours) row_tile_ = 2048;
    constexpr int64_t kFarApart = 512; // floats: half a page, lines of which share a few sets
    by_rows_ = rows_.strides[0] % kFarApart == 0;
    if (by_rows_) column_tile_ = 64;
    row_tiles_ = std::max<int64_t>(1, rows_.extent / row_tile_);
    column_tiles_ = std::max<int64_t>(1, columns_.extent / column_tile_);
  }
  /// Requires adjacent rows in the source and adjacent columns in the result.
  static bool suits(llvm::ArrayRef<Loop> nest) {
    const Loop& columns = nest.back();
    size_t at = rows_of(nest.drop_back());
    if (at + 1 >= nest.size() || columns.strides[0] != 1) return false;
    const Loop& rows = nest[at];
    if (rows.extent < kBlock || rows.strides[0] == 0 || columns.strides[1] == 0) return false;
    return columns.extent >= kBlock || (columns.extent == kColours && rows.strides[0] == kColours);
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.of(src_);
    to_ = addresses.of(dst_);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    int64_t tiles = row_tiles_ * column_tiles_;
    parallel_for(threads_, planes_ * tiles, [&](int64_t begin, int64_t end, int) {
      Odometer plane(nest_, begin / tiles);
      for (int64_t i = begin; i < end; ++i) {
        transpose(to_ + plane.dst(), from_ + plane.src(), i % tiles);
        if ((i + 1) % tiles == 0) plane.step();
      }
    });
    return dnnl_success;
  }

private:
  static constexpr int64_t kBlock = 4, kColours = 3, kAhead = 16;

  /// Returns the loop whose elements are adjacent in the source;
  /// the number of loops if there is none.
  static size_t rows_of(llvm::ArrayRef<Loop> nest) {
    size_t at = 0;
    while (at < nest.size() && nest[at].strides[1] != 1) ++at;
    return at;
  }
  /// Returns the range of the index-th of `tiles` tiles of an axis;
  /// the last tile includes the remainder.
  static std::pair<int64_t, int64_t> range(int64_t index, int64_t tile, int64_t tiles,
                                           int64_t extent) {
    return {index * tile, index + 1 == tiles ? extent : (index + 1) * tile};
  }
  void transpose(float* to, const float* from, int64_t tile) const {
    auto [row, row_end] = range(tile / column_tiles_, row_tile_, row_tiles_, rows_.extent);
    if (columns_.extent == kColours) return colours(to + row * kColours, from + row, row_end - row);
    auto [column, column_end] =
        range(tile % column_tiles_, column_tile_, column_tiles_, columns_.extent);
    if (by_rows_)
      for (int64_t next = row; next < row_end; next += kBlock)
        for (int64_t c = column; c < column_end; c += kBlock)
          block_at(to, from, std::min(next, row_end - kBlock), std::min(c, column_end - kBlock));
    else
      for (int64_t next = column; next < column_end; next += kBlock) {
        for (int64_t ahead = next + kAhead; ahead < next + kAhead + kBlock; ++ahead)
          if (ahead < column_end) __builtin_prefetch(from + ahead * columns_.strides[1] + row);
        for (int64_t r = row; r < row_end; r += kBlock)
          block_at(to, from, std::min(r, row_end - kBlock), std::min(next, column_end - kBlock));
      }
  }
  /// The last block of an axis ends with the tile and writes some elements twice.
  void block_at(float* to, const float* from, int64_t row, int64_t column) const {
    block(to + row * rows_.strides[0] + column, from + column * columns_.strides[1] + row,
          rows_.strides[0]);
  }
  void block(float* to, const float* from, int64_t to_row) const {
    int64_t from_column = columns_.strides[1];
#if defined(__SSE__)
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_column),
           c = _mm_loadu_ps(from + 2 * from_column), d = _mm_loadu_ps(from + 3 * from_column);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + to_row, b);
    _mm_storeu_ps(to + 2 * to_row, c);
    _mm_storeu_ps(to + 3 * to_row, d);
#else
    for (int64_t row = 0; row < kBlock; ++row)
      for (int64_t column = 0; column < kBlock; ++column)
        to[row * to_row + column] = from[column * from_column + row];
#endif
  }
  void colours(float* to, const float* from, int64_t rows) const {
    int64_t row = 0, from_column = columns_.strides[1];
#if defined(__SSE__)
    for (; row + kBlock < rows; row += kBlock) { // the next pixel overwrites the fourth
      __m128 a = _mm_loadu_ps(from + row), b = _mm_loadu_ps(from + row + from_column),
             c = _mm_loadu_ps(from + row + 2 * from_column), d = c;
      _MM_TRANSPOSE4_PS(a, b, c, d);
      float* pixel = to + row * kColours;
      _mm_storeu_ps(pixel, a);
      _mm_storeu_ps(pixel + kColours, b);
      _mm_storeu_ps(pixel + 2 * kColours, c);
      _mm_storeu_ps(pixel + 3 * kColours, d);
    }
#endif
    for (; row < rows; ++row)
      for (int64_t colour = 0; colour < kColours; ++colour)
        to[row * kColours + colour] = from[colour * from_column + row];
  }

  Place src_, dst_;
  llvm::SmallVector<Loop, 4> nest_; // of planes
  Loop rows_, columns_;
  int64_t planes_ = 1, row_tile_ = 16, row_tiles_ = 1, column_tile_ = 256, column_tiles_ = 1;
  bool by_rows_ = false; // four whole rows of the result at a time, else columns
  Threads threads_;
  const float* from_ = nullptr;
  float* to_ = nullptr;
};

/// Returns true for a transposition of dense rows for which generated code pays off.
bool is_transposition(llvm::ArrayRef<Loop> nest) {
  if (nest.size() < 2 || nest.size() > 6) return false;
  Place to, from;
  for (const Loop& loop : nest) {
    for (Place* place : {&to, &from}) place->shape.push_back(loop.extent);
    to.strides.push_back(loop.strides[0]);
    from.strides.push_back(loop.strides[1]);
  }
  if (interleaves(to) || interleaves(from)) return false;
  return nest.back().strides[0] == 1 && nest.back().strides[1] != 1;
}

Result<void> set_reorder_of(Op& op, const Place& src, const Place& dst, llvm::ArrayRef<Loop> nest,
                            dnnl_engine_t engine) {
  Shape extents, to, from;
  for (const Loop& loop : nest) {
    extents.push_back(loop.extent);
    to.push_back(loop.strides[0]);
    from.push_back(loop.strides[1]);
  }
  return set_reorder(op, src, memory_desc(extents, from, src.dtype), dst,
                     memory_desc(extents, to, dst.dtype), engine);
}

/// Threads divide the outermost loop.
Result<void> set_transposition(Op& op, const Place& src, const Place& dst,
                               llvm::ArrayRef<Loop> nest, dnnl_engine_t engine) {
  TG_CHECK(set_reorder_of(op, src, dst, nest, engine));
  int64_t extent = nest.front().extent, count = std::min<int64_t>(op.threads, extent);
  if (count <= 1) return {};
  std::vector<Slice> slices;
  for (int64_t i = 0; i < count; ++i) {
    llvm::SmallVector<Loop, 4> part(nest.begin(), nest.end());
    int64_t begin = extent * i / count;
    part.front().extent = extent * (i + 1) / count - begin;
    Place from = src, to = dst;
    to.offset += begin * part.front().strides[0];
    from.offset += begin * part.front().strides[1];
    Op one;
    one.step = op.step;
    TG_CHECK(set_reorder_of(one, from, to, part, engine));
    slices.emplace_back().push_back(std::move(one));
  }
  return set_slices(op, std::move(slices), engine);
}

} // namespace

namespace {

/// Descriptors are plain structs without pointers.
std::string reorder_recipe(const Place& from, const dnnl_memory_desc_t& from_md, const Place& to,
                           const dnnl_memory_desc_t& to_md) {
  std::string recipe = llvm::formatv("{0} {1} ", from.offset, to.offset);
  for (const dnnl_memory_desc_t* md : {&from_md, &to_md})
    recipe.append(reinterpret_cast<const char*>(md), sizeof *md);
  return recipe;
}

} // namespace

Result<void> set_reorder(Op& op, const Place& from, const dnnl_memory_desc_t& from_md,
                         const Place& to, const dnnl_memory_desc_t& to_md, dnnl_engine_t engine) {
  TG_TRY(AttrHandle attr, make_attr({}));
  dnnl_primitive_desc_t pd = nullptr;
  if (dnnl_status_t s =
          dnnl_reorder_primitive_desc_create(&pd, &from_md, engine, &to_md, engine, attr.get());
      s != dnnl_success)
    return device_error(s, "describing a reorder");
  PrimitiveDescHandle handle(pd);
  op.implementation = implementation(handle);
  op.buffers = {from.buffer, to.buffer};
  op.recipe = reorder_recipe(from, from_md, to, to_md);
  TG_TRY(op.kernel, make_primitive_kernel(
                        handle, engine, {{DNNL_ARG_FROM, from_md, from}, {DNNL_ARG_TO, to_md, to}},
                        op.scratch_bytes));
  return {};
}

Result<void> set_copy_kernel(Op& op, const Place& src, const Place& dst, const Threads& threads,
                             dnnl_engine_t engine) {
  if (src.dtype != dst.dtype)
    return error(Code::internal, "a copy of {0} gives {1}", dtype_name(src.dtype),
                 dtype_name(dst.dtype));
  op.threads = threads;
  op.buffers = {src.buffer, dst.buffer};
  auto nest = loops({&dst, &src});
  if (src.dtype == DType::F32 && Transposition::suits(nest)) {
    op.implementation = "copy:blocks";
    op.kernel = std::make_unique<Transposition>(src, dst, threads);
    return {};
  }
  bool generated = src.dtype == DType::F32 || src.dtype == DType::BF16;
  if (generated && is_transposition(nest)) {
    TG_CHECK(set_transposition(op, src, dst, nest, engine));
    // For bf16 there is generated code from AVX-512 on; oneDNN's plain loops
    // for older processors turn -0 into +0.
    if (src.dtype == DType::F32 || llvm::StringRef(op.implementation).contains("jit")) return {};
    op.recipe.clear();
    op.scratch_bytes = 0;
  }
  op.implementation =
      nest.back().strides[1] == 1 || nest.back().extent == 1 ? "copy:rows" : "copy:elements";
  op.kernel = std::make_unique<StridedCopy>(src, dst, threads);
  return {};
}

void set_fill_kernel(Op& op, const Place& dst, const Value& value, const Threads& threads) {
  assert(is_dense(dst) && "fill requires a dense buffer");
  op.threads = threads;
  op.buffers = {dst.buffer};
  op.implementation = "fill";
  op.kernel = std::make_unique<Fill>(dst, value, threads);
}

} // namespace tg::cpu
