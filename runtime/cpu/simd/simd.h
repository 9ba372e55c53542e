// Vector primitives of our own kernels: elementwise instructions and row functions over float
// arrays. One source (simd_impl.inc, rows_impl.inc) is built for AVX-512, for AVX2 with FMA,
// and for the base instruction set; simd() selects one at run time by the processor. Invariant:
// the results of the three differ only by rounding.
//
// Accuracy against float64, over all finite inputs (tests/unit/cpu/simd_test.cpp):
// exp and log 2 ulp, tanh and sigmoid 4 ulp, erf 4 ulp, atan 2 ulp,
// sin and cos 2 ulp or 1e-7 next to a zero; pow and mod are the C library's.
// NaN stays NaN everywhere except in comparisons.
#pragma once

#include "runtime/cpu/isa_tables.h"

#include <cstdint>
#include <utility> // for simd_impl.inc, which must not include headers

namespace tg::cpu {

/// The instruction of one pass over a block: first unary ones, then those of a and b,
/// then those of a, b and c (MulAdd: a * b + c; Select: b if a is not 0, else c).
/// Bools are 0.0 and 1.0.
enum class Instr : uint8_t {
  Copy,
  Neg,
  Relu,
  Sigmoid,
  Tanh,
  Gelu,
  Exp,
  Sqrt,
  Erf,
  Relu6,
  Abs,
  Sign,
  Floor,
  Round,
  Log,
  Log1p,
  Expm1,
  Sin,
  Cos,
  Atan,
  Rsqrt,
  Not,
  Hardswish,
  Swish,      // x * sigmoid(x)
  NearestF16, // rounded to f16, as a float
  Add,
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  Pow,
  Mod,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  Or,
  MulAdd,
  Select,
};
constexpr int arity(Instr instr) { return instr < Instr::Add ? 1 : instr < Instr::MulAdd ? 2 : 3; }

/// Rows of n numbers under windows: out[i] = the largest of from[rows[k] + i] for k < count,
/// for every window, one step after the last. `out` must not overlap the operands; count >= 1.
struct MaxRows {
  float* out;
  const float* from;
  const int64_t* rows;
  int64_t count, n;
  int64_t windows = 1, out_step = 0, from_step = 0;
};

struct SimdTable {
  const char* isa; // "avx512", "avx2", "base"
  /// Computes out[i] = instr(a[i], b[i], c[i]) for i < n. `out` may be a, b or c. Unused operands:
  /// null.
  void (*apply)(Instr instr, float* out, const float* a, const float* b, const float* c, int64_t n);
  /// Sets out[i] = value.
  void (*fill)(float* out, float value, int64_t n);
  /// Sets out[row * n + i] = a[row * step] for row < rows, i < n.
  void (*spread)(float* out, const float* a, int64_t step, int64_t rows, int64_t n);
  /// Sets out[i] = out[i] * factor.
  void (*scale)(float* out, float factor, int64_t n);
  /// Convert bf16 to floats, and round floats to bf16 (to nearest even; a NaN stays NaN).
  void (*from_bf16)(float* out, const uint16_t* a, int64_t n);
  void (*to_bf16)(uint16_t* out, const float* a, int64_t n);
  /// The same for floats that are exactly bf16.
  void (*cut_to_bf16)(uint16_t* out, const float* a, int64_t n);
  /// The same for f16, with the same bits as f16_to_float() and float_to_f16() (runtime/convert.h).
  void (*from_f16)(float* out, const uint16_t* a, int64_t n);
  void (*to_f16)(uint16_t* out, const float* a, int64_t n);
  /// Convert conditions to 0 and 1, and back: all but 0 is true.
  void (*from_bool)(float* out, const uint8_t* a, int64_t n);
  void (*to_bool)(uint8_t* out, const float* a, int64_t n);
  /// Return the sum, largest and smallest of n values; the sum uses independent lanes,
  /// so its error is within n * 2^-24 / lanes.
  float (*sum)(const float* a, int64_t n);
  float (*max)(const float* a, int64_t n); // n >= 1; NaN if any is NaN
  float (*min)(const float* a, int64_t n); // the same
  /// Gives NaN if any is NaN.
  void (*max_rows)(const MaxRows& m);
  /// The same for numbers, but faster. If a value is NaN, it raises the flag for invalid operands,
  /// and `out` must be recomputed.
  void (*max_rows_of_numbers)(const MaxRows& m);
  /// Adds row[i] += mask[i], then sets `otherwise` where seen[i] is 0; mask and seen may be null.
  void (*mask_row)(float* row, const float* mask, const uint8_t* seen, float otherwise, int64_t n);
  /// Computes softmax of one row of n values; out may be a.
  void (*softmax)(float* out, const float* a, int64_t n);
  /// Computes (a - mean) / sqrt(var + eps) * scale + bias of one row; out may be a.
  void (*layer_norm)(float* out, const float* a, const float* scale, const float* bias, float eps,
                     int64_t n);
  /// The two passes of layer_norm over a part of a row: the sum of squares of a[i] - mean,
  /// and (a - mean) * factor * scale + bias or, if scale is null, (a - mean) * factor + *bias.
  float (*squares_about)(const float* a, float mean, int64_t n);
  void (*normalise)(float* out, const float* a, const float* scale, const float* bias, float mean,
                    float factor, int64_t n);
  /// Adds out[i] += from[r * step + i] for i < n and every r < rows.
  void (*add_rows)(float* out, const float* from, int64_t step, int64_t rows, int64_t n);
};

/// Returns the best table that this processor can run and DNNL_MAX_CPU_ISA allows.
const SimdTable& simd();
/// Returns all tables that the processor can run, best first; for tests.
IsaTables<SimdTable> simd_tables();

extern const SimdTable kSimdAvx512, kSimdAvx2, kSimdBase;

} // namespace tg::cpu
