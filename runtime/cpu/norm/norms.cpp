// Divides rows and pieces among threads, and joins sums.
#include "runtime/cpu/norm/norms.h"

#include "runtime/cpu/handles.h"
#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tg::cpu {

namespace {

/// A smaller piece is not worth a thread.
constexpr int64_t kLeastPiece = 4096;
/// The default number of elements of a piece: half of a second-level cache of 256 KiB.
constexpr int64_t kPiece = 32768;

bool is_power(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }

float finished(double sum, bool root) {
  auto narrow = static_cast<float>(sum);
  return root ? std::sqrt(narrow) : narrow;
}

/// Sums `count` elements of each of `rows` neighbouring rows, run by run.
void sum_rows(const NormTable& table, double* sums, const float* x, int64_t row_step, int64_t count,
              int64_t rows, int64_t vectors) {
  float part[kMostNormRows];
  std::fill_n(sums, rows, 0.0);
  for (int64_t at = 0; at < count; at += kNormRun) {
    table.squares(part, x + at, row_step, std::min(kNormRun, count - at), rows, vectors);
    for (int64_t r = 0; r < rows; ++r) sums[r] += static_cast<double>(part[r]);
  }
}

} // namespace

IsaTables<NormTable> norm_tables() { return isa_tables(kNormAvx512, kNormAvx2, kNormBase); }

const NormTable& norm_table() {
  static const NormTable& best = best_of(norm_tables());
  return best;
}

NormSchedule default_norm_schedule(const NormShape& shape) {
  NormSchedule s;
  while (shape.length / (2 * s.pieces) >= kPiece) s.pieces *= 2;
  return s;
}

bool suits(const NormShape& shape, const NormSchedule& s) {
  bool powers = is_power(s.rows) && is_power(s.vectors) && is_power(s.pieces);
  return powers && s.rows * s.vectors <= kMostNormVectors && s.rows <= shape.rows &&
         (s.rows == 1 || s.pieces == 1) &&
         (s.pieces == 1 || shape.length / s.pieces >= kLeastPiece);
}

int64_t norm_scratch_doubles(const NormShape& shape, const NormSchedule& schedule) {
  return shape.rows * schedule.pieces;
}

void run_norms(const NormTable& table, const NormShape& shape, const NormSchedule& schedule,
               const Threads& threads, const float* x, float* y, int64_t y_step, double* scratch) {
  int64_t pieces = schedule.pieces, blocks = (shape.rows + schedule.rows - 1) / schedule.rows;
  parallel_for(threads, blocks * pieces, [&](int64_t first, int64_t last, int) {
    for (int64_t i = first; i < last; ++i) {
      int64_t row = i / pieces * schedule.rows, piece = i % pieces;
      int64_t begin = shape.length * piece / pieces, end = shape.length * (piece + 1) / pieces;
      const float* from = x + row * shape.row_step + begin;
      int64_t left = std::min(schedule.rows, shape.rows - row), vectors = schedule.vectors;
      double* sums = scratch + row * pieces + piece;
      if (left == schedule.rows)
        sum_rows(table, sums, from, shape.row_step, end - begin, left, vectors);
      else
        for (int64_t r = 0; r < left; ++r)
          sum_rows(table, sums + r, from + r * shape.row_step, 0, end - begin, 1, vectors);
    }
  });
  for (int64_t row = 0; row < shape.rows; ++row) {
    double sum = 0;
    for (int64_t piece = 0; piece < pieces; ++piece) sum += scratch[row * pieces + piece];
    y[row * y_step] = finished(sum, shape.root);
  }
}

} // namespace tg::cpu
