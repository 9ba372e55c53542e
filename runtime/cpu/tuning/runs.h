// Runs operators under the conditions of a plan: on the backend's threads,
// with weights in the memory level where a network of this size would have them,
// and x and y warm from neighbours.
#pragma once

#include "runtime/cpu/tile/convolution.h"
#include "runtime/cpu/tile/product.h"
#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::cpu {

/// One implementation of an operator: by a schedule, or by a library.
class Implementation {
public:
  virtual ~Implementation() = default;
  /// Returns the microseconds of one run. Errors: `memory_limit`,
  /// if the operator is the largest so far.
  virtual Result<double> run() = 0;
};

/// The numbers of floats that a convolution reads and writes.
struct ConvolutionExtents {
  int64_t x = 0, weights = 0, y = 0, residual = 0, bias = 0;
};

/// The same for any code, with its scratch; and the addresses.
struct RunExtents {
  int64_t x = 0, weights = 0, y = 0, scratch = 0;
};
struct RunPlaces {
  const float *x = nullptr, *weights = nullptr;
  float *y = nullptr, *scratch = nullptr;
};

/// Memory for operators of any shape, and the timer.
class Runs {
public:
  /// `weight_bytes`: the weights that a run of the network reads.
  /// Successive runs read weights from successive places in that much memory, up to kMostWeights.
  /// Errors: `memory_limit`.
  static Result<std::unique_ptr<Runs>> make(const tile::TileKernels& tiles, int64_t weight_bytes);

  /// Returns the microseconds of one run on `threads` threads. Errors:
  /// `memory_limit`, if the product is the largest so far.
  Result<double> run(const tile::Product& product, int threads);
  /// `finish`: applies a pass like an activation to the result in the cache.
  Result<double> run(const tile::Convolution& convolution, const ConvolutionExtents& extents,
                     bool finish, int threads);

  Result<double> run(const RunExtents& need, llvm::function_ref<void(const RunPlaces&)> work);

  const tile::TileKernels& tiles() const { return tiles_; }
  Threads threads(int count) const { return pool_->threads(count); }

private:
  static constexpr int64_t kMostWeights = int64_t{64} << 20;

  explicit Runs(const tile::TileKernels& tiles) : tiles_(tiles) {}

  /// The largest numbers of floats that an operator of the batch reads or writes.
  struct Extent {
    int64_t x = 0, w = 0, y = 0;
  };
  static Extent extent_of(const tile::ProductShape& shape, tile::Isa isa);
  static Result<void> grow(Tensor& tensor, int64_t floats);
  /// Returns the next place for `floats` floats.
  const float* next_weights(int64_t floats);

  const tile::TileKernels& tiles_;
  std::shared_ptr<ThreadPool> pool_ = ThreadPool::shared();
  Tensor x_, w_, y_, residual_, bias_, scratch_;
  int64_t next_ = 0; // start of the weights of the next run
};

/// Returns the flops per second of all threads, measured with the largest tile on operands
/// in the first-level cache: the fastest burst of each thread,
/// because other programs seldom disturb a single burst.
double tile_peak_flops(const tile::TileKernels& tiles, const Threads& threads, int bursts = 30);

} // namespace tg::cpu
