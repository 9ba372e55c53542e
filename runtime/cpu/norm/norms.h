// Sums of squares along rows of memory, and their roots: the Frobenius norm of each matrix of a
// batch, whose square, sum and root a plan has as three operators. One pass reads x once and writes
// nothing but the results.
//
// A row falls into pieces, which threads share; a piece is summed in so many independent vectors,
// of some rows side by side where a piece is a whole row. Sums of runs of kRun elements are joined
// in double, in their order: so no sum of floats is long, and which thread took which piece shows
// in no bit. How many pieces and vectors there are does: by rule they follow from the shape alone.
#pragma once

#include "runtime/cpu/isa_tables.h"
#include "runtime/thread_pool.h"

#include <cstdint>

namespace tg::cpu {

/// Elements of one row that are summed in floats.
inline constexpr int64_t kNormRun = 16384;
inline constexpr int64_t kMostNormRows = 8, kMostNormVectors = 8;

/// In elements.
struct NormShape {
  int64_t rows = 1, length = 0;
  int64_t row_step = 0; // from row to row of x
  bool root = true;     // of the sum
  bool operator==(const NormShape&) const = default;
};

/// Powers of two; their product is at most kMostNormVectors. Where rows go side by side, there is
/// one piece.
struct NormSchedule {
  int64_t rows = 1;    // that a thread takes side by side
  int64_t vectors = 8; // of each row
  int64_t pieces = 1;  // of a row
  bool operator==(const NormSchedule&) const = default;
};

struct NormTable {
  const char* isa; // "avx512", "avx2", "base"
  int64_t lanes;
  /// sums[r] = the sum of squares of `count` elements of row r, for so many rows.
  void (*squares)(float* sums, const float* x, int64_t row_step, int64_t count, int64_t rows,
                  int64_t vectors);
};

/// The best table that this processor can run, and DNNL_MAX_CPU_ISA allows.
const NormTable& norm_table();
/// Those that it can run, best first; for tests.
IsaTables<NormTable> norm_tables();

extern const NormTable kNormAvx512, kNormAvx2, kNormBase;

/// What the runtime takes where nothing was tuned; the same for any number of threads.
NormSchedule default_norm_schedule(const NormShape& shape);
/// Whether the schedule keeps the limits above, and its pieces are worth a thread.
bool suits(const NormShape& shape, const NormSchedule& schedule);

/// Of run()'s scratch.
int64_t norm_scratch_doubles(const NormShape& shape, const NormSchedule& schedule);
/// y[row] of rows that lie `y_step` apart. Requires that the schedule suits.
void run_norms(const NormTable& table, const NormShape& shape, const NormSchedule& schedule,
               const Threads& threads, const float* x, float* y, int64_t y_step, double* scratch);

} // namespace tg::cpu
