// Random weights and inputs. An element depends on the seed, the weight's path (or the input's
// name) and its index alone, so that neither order nor rewriting changes it.
#pragma once

#include "lang/core/support/random.h"
#include "runtime/plan.h"
#include "runtime/tensor.h"

#include <llvm/ADT/ArrayRef.h>

namespace tg {

/// How a weight is filled when no file gives it: the text of its `init` attribute.
struct WeightInit {
  enum class Kind : uint8_t { FanIn, Normal, Uniform, Orthogonal, Zeros, Ones };
  Kind kind = Kind::FanIn;
  double a = 0, b = 0; // Normal: standard deviation; Uniform: bounds; Orthogonal: gain
};
/// "" or "fan_in", "normal(0.02)", "uniform(-1, 1)", "orthogonal(0.01)", "zeros", "ones".
/// Errors: `bad_attribute`.
Result<WeightInit> parse_init(llvm::StringRef text);

/// Elements that one result sums: I * kh * kw of a kernel [O, I, kh, kw], k of a matrix [.., k, n],
/// all of a vector, 1 of a scalar.
int64_t fan_in(llvm::ArrayRef<int64_t> shape);

/// FanIn draws from normal(1 / sqrt(fan_in)) (LeCun et al. 1998): a layer keeps the variance of
/// what it is given. f16 and bf16 are the f32 weight, rounded, f64 is that weight. Integers and
/// bools are zeros or ones as `init` says, else zeros. Orthogonal: as the matrix O x (I * kh * kw)
/// of a kernel [O, I, kh, kw], the product of all axes but the last x the last of others. Errors:
/// `bad_attribute`, `memory_limit`.
Result<Tensor> random_weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init,
                             uint64_t seed, int threads = 1, Tensor spare = {});

/// Floats: normal of mean 0 and variance 1. Integers: uniform from 0 to `below` - 1. Bools: a coin.
/// Errors: `memory_limit`.
Result<Tensor> random_input(llvm::StringRef name, const TensorType& type, uint64_t seed,
                            int64_t below = 2);

/// One for each of Plan::inputs; those that are weights which runs update as weights are. Integers
/// that are indices of a gather are drawn from its range.
Result<std::vector<Tensor>> random_inputs(const Plan& plan, uint64_t seed);

/// Normal random numbers, several at a time: out[i] = float(scale * stream.normal(i)), bit for bit,
/// whatever the processor and however many threads.
void fill_normal(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                 int threads = 1);

/// A matrix, row by row, whose columns (or rows, whichever are fewer) are orthonormal, times gain;
/// all such are equally likely. The bits are the same whatever the processor and however many
/// threads. Needs about 8 bytes for each element beside them.
void fill_orthogonal(const RandomStream& stream, double gain, size_t rows, size_t columns,
                     llvm::MutableArrayRef<float> out, int threads = 1);

} // namespace tg
