// Sums of squares along rows of memory, and their roots: the Frobenius norm of each matrix
// of a batch, which a plan has as three operators (square, sum, root).
// One pass reads x once and writes only the results.
//
// A row is divided into pieces, which threads share. A piece is summed in several independent
// vectors, together with pieces of other rows if a piece is a whole row.
// Sums of runs of kRun elements are joined in double, in order, so no sum of floats is long,
// and the bits do not depend on which thread computes which piece.
// They do depend on the numbers of pieces and vectors, which by default follow
// from the shape alone.
#pragma once

#include "runtime/cpu/isa_tables.h"
#include "runtime/thread_pool.h"

#include <cstdint>

namespace tg::cpu {

/// The number of elements of one row that are summed in floats.
inline constexpr int64_t kNormRun = 16384;
inline constexpr int64_t kMostNormRows = 8, kMostNormVectors = 8;

/// Sizes in elements.
struct NormShape {
  int64_t rows = 1, length = 0;
  int64_t row_step = 0; // between rows of x
  bool root = true;     // of the sum
  bool operator==(const NormShape&) const = default;
};

/// Powers of two, with a product of at most kMostNormVectors. If rows are summed together,
/// there is one piece.
struct NormSchedule {
  int64_t rows = 1;    // that a thread sums together
  int64_t vectors = 8; // of each row
  int64_t pieces = 1;  // of a row
  bool operator==(const NormSchedule&) const = default;
};

struct NormTable {
  const char* isa; // "avx512", "avx2", "base"
  int64_t lanes;
  /// Computes sums[r] = the sum of squares of `count` elements of row r, for `rows` rows.
  void (*squares)(float* sums, const float* x, int64_t row_step, int64_t count, int64_t rows,
                  int64_t vectors);
};

/// Returns the best table that this processor can run and DNNL_MAX_CPU_ISA allows.
const NormTable& norm_table();
/// Returns all tables that the processor can run, best first; for tests.
IsaTables<NormTable> norm_tables();

extern const NormTable kNormAvx512, kNormAvx2, kNormBase;

/// Returns the schedule that is used without tuning; the same for any number of threads.
NormSchedule default_norm_schedule(const NormShape& shape);
/// Returns true if the schedule respects the limits above and its pieces are worth a thread.
bool suits(const NormShape& shape, const NormSchedule& schedule);

/// The size of run()'s scratch.
int64_t norm_scratch_doubles(const NormShape& shape, const NormSchedule& schedule);
/// Computes y[row] for rows that are `y_step` apart. Requires a schedule that suits.
void run_norms(const NormTable& table, const NormShape& shape, const NormSchedule& schedule,
               const Threads& threads, const float* x, float* y, int64_t y_step, double* scratch);

} // namespace tg::cpu
