// Random weights and inputs. An element depends only on the seed,
// the weight's path (or the input's name) and its index, so neither evaluation order nor rewriting
// changes it.
#pragma once

#include "lang/core/support/random.h"
#include "runtime/plan.h"
#include "runtime/tensor.h"

#include <llvm/ADT/ArrayRef.h>

namespace tg {

/// How a weight is filled when no file provides it: the parsed `init` attribute.
struct WeightInit {
  enum class Kind : uint8_t { FanIn, Normal, Uniform, Orthogonal, Zeros, Ones };
  Kind kind = Kind::FanIn;
  double a = 0, b = 0; // Normal: standard deviation; Uniform: bounds; Orthogonal: gain
};
/// Parses "" or "fan_in", "normal(0.02)", "uniform(-1, 1)", "orthogonal(0.01)", "zeros", "ones".
/// Errors: `bad_attribute`.
Result<WeightInit> parse_init(llvm::StringRef text);

/// Returns the number of elements that contribute to one result:
/// I * kh * kw of a kernel [O, I, kh, kw], k of a matrix [.., k, n], all of a vector,
/// 1 of a scalar.
int64_t fan_in(llvm::ArrayRef<int64_t> shape);

/// Returns the weight at `path`, filled as `init` says.
/// FanIn draws from normal(1 / sqrt(fan_in)) (LeCun et al. 1998),
/// so that a layer preserves the variance of its input.
/// f16 and bf16 weights are the rounded f32 weight; f64 weights equal it.
/// Integers and bools are zeros or ones if `init` says so, else zeros.
/// Orthogonal treats a kernel [O, I, kh, kw] as the matrix O x (I * kh * kw),
/// and other weights as the product of all axes but the last x the last axis.
/// Errors: `bad_attribute`, `memory_limit`.
Result<Tensor> random_weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init,
                             uint64_t seed, int threads = 1, Tensor spare = {});

/// Floats are normal with mean 0 and variance 1. Integers are uniform from 0 to `below` - 1.
/// Bools are uniform.
/// Errors: `memory_limit`.
Result<Tensor> random_input(llvm::StringRef name, const TensorType& type, uint64_t seed,
                            int64_t below = 2);

/// Returns one tensor for each of Plan::inputs. Weights that runs update are filled as weights.
/// Integers used as indices of a gather are drawn from its range.
Result<std::vector<Tensor>> random_inputs(const Plan& plan, uint64_t seed);

/// Fills `out` with normal random numbers: out[i] = float(scale * stream.normal(i)).
/// The bits do not depend on the processor or the number of threads.
void fill_normal(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                 int threads = 1);

/// Fills a row-major matrix whose columns (or rows, whichever are fewer) are orthonormal,
/// times gain, drawn uniformly. The bits do not depend on the processor or the number of threads.
/// Needs about 8 more bytes per element.
void fill_orthogonal(const RandomStream& stream, double gain, size_t rows, size_t columns,
                     llvm::MutableArrayRef<float> out, int threads = 1);

} // namespace tg
