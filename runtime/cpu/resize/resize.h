// Resampling of f32 by weighted sums (lang/core/resample.h), one or two adjacent axes per pass:
// x[outer, height, width, inner] to y[outer, height', width', inner], both dense.
//
// Bytes and operations: y is written once and x is read once. Along the columns (width),
// a vector of results gets its elements from one or two loaded vectors by permutations
// if the axis grows, else by gathers; for a larger `inner`, pixels are summed as rows of channels.
// Along the rows, whole rows are summed, with t multiply-adds per vector for t taps.
// If the height grows, each input row is resampled along its columns once,
// into a ring of as many rows as an output row reads, which stays in the first-level cache.
// If it shrinks, input rows are summed first, so that columns are resampled only for output rows.
//
// If both axes select, one call computes many rows, so that small images need no call per row;
// the stores of y are most of the work.
//
// A weight of 0 reads nothing, so an infinity at such a tap does not become NaN.
#pragma once

#include "lang/core/resample.h"
#include "runtime/cpu/isa_tables.h"
#include "runtime/thread_pool.h"

#include <vector>

namespace tg::cpu {

/// The method by which a vector of column results gets its elements.
enum class ColumnReads : uint8_t {
  Loop,       // one by one
  OneVector,  // permuted from one loaded vector
  TwoVectors, // from two neighbours
  Dots,       // each result is the dot product of consecutive elements and its weights
};

/// The taps of all columns, for vectors of results. The last vector ends with the last result,
/// so it may overlap the previous one; if there are fewer results than a vector has,
/// they are stored one by one.
struct ColumnTaps {
  ColumnReads reads{};
  bool selects = false; // one tap of weight 1 each
  int64_t results = 0, taps = 0, vectors = 0;
  const int32_t* base = nullptr;  // [vectors]: the first loaded element; Dots: [results]
  const int32_t* index = nullptr; // [vectors, taps, lanes]: elements from the base; not for Dots
  const float* weights = nullptr; // [vectors, taps, lanes]; Dots: [results, taps], whole vectors
};

/// For each row of results, the row of x that it copies.
struct SelectedRows {
  const int64_t* places = nullptr;
  int64_t count = 0, elements = 0; // of a row of x
};

/// The taps of all pixels of a row, each of `channels` elements.
struct PixelTaps {
  int64_t results = 0, channels = 0;
  const int64_t* first = nullptr;
  const int64_t* places = nullptr;
  const float* weights = nullptr;
};

struct ResizeTable {
  const char* isa; // "avx512", "avx2", "base"
  int64_t lanes;
  bool permutes; // vectors by runtime indices
  /// Computes y[i] = the sum of weights[t] * rows[t][i].
  void (*sum_rows)(float* y, const float* const* rows, const float* weights, int64_t taps,
                   int64_t count);
  void (*columns)(float* y, const float* x, const ColumnTaps& taps);
  /// Computes rows of columns that select, in order. May read whole vectors beyond a row of x and,
  /// if there are fewer results than a vector has, write one beyond the last row.
  void (*select_rows)(float* y, const float* x, const ColumnTaps& taps, const SelectedRows& rows);
  /// `rows` is scratch for as many pointers as a pixel has taps.
  void (*pixels)(float* y, const float* x, const PixelTaps& taps, const float** rows);
};

/// Returns the best table that this processor can run and DNNL_MAX_CPU_ISA allows.
const ResizeTable& resize_table();
/// Returns all tables that the processor can run, best first; for tests.
IsaTables<ResizeTable> resize_tables();

extern const ResizeTable kResizeAvx512, kResizeAvx2, kResizeBase;

struct ResizeShape {
  int64_t outer = 1, height = 1, width = 1, inner = 1; // of x
};

class ResizePass {
public:
  /// The taps of an unchanged axis select every element.
  ResizePass(const ResizeTable& table, const ResizeShape& shape, AxisTaps rows, AxisTaps columns);

  int64_t results() const { return shape_.outer * rows_.results() * out_row_; }
  int64_t operands() const { return shape_.outer * shape_.height * in_row_; }
  int64_t scratch_bytes(int threads) const { return threads * scratch_bytes_; }
  /// `scratch` is aligned for pointers.
  void run(const Threads& threads, const float* x, float* y, std::byte* scratch) const;

private:
  struct Scratch {
    float* rows;              // ring_ rows, or one row of x
    float* padded;            // a row of x that is shorter than the loaded elements
    const float** taps;       // of a row
    const float** pixel_taps; // of a pixel, while those of a row are collected
    int64_t* held;            // by ring row: its row of x; -1: none
    int64_t plane = -1;
  };

  void choose_reads(const AxisTaps& columns);
  void set_vectors(const AxisTaps& columns);
  bool set_dots(const AxisTaps& columns);
  Scratch scratch_of(std::byte* memory) const;
  void rows_between(int64_t begin, int64_t end, const float* x, float* y, Scratch& s) const;
  void row(int64_t i, const float* plane, float* y, Scratch& s) const;
  void resample_columns(float* y, const float* x, Scratch& s) const;
  const float* ring_row(int64_t place, const float* plane, Scratch& s) const;
  bool repeats(int64_t i) const;
  int64_t selected_rows(int64_t begin, int64_t end, const float* x, float* y) const;

  const ResizeTable& table_;
  ResizeShape shape_;
  AxisTaps rows_;
  std::vector<float> row_weights_;
  bool columns_kept_ = false, sums_rows_first_ = false;
  bool selects_ = false;             // along rows and columns, of single elements
  int64_t in_row_ = 0, out_row_ = 0; // elements
  int64_t ring_ = 0, most_taps_ = 1;
  int64_t scratch_bytes_ = 0;
  // For columns of single elements.
  ColumnTaps columns_;
  std::vector<int32_t> base_, index_;
  std::vector<float> weights_;
  std::vector<int64_t> outside_; // results without taps
  int64_t loaded_ = 0;           // number of elements loaded from a base
  // For columns of pixels.
  AxisTaps pixel_taps_;
  PixelTaps pixels_;
};

} // namespace tg::cpu
