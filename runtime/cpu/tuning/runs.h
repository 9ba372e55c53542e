// Runs operators as a plan would: on the backend's threads, weights where a network of such a size
// would leave them, x and y warm from neighbours.
#pragma once

#include "runtime/cpu/tile/convolution.h"
#include "runtime/cpu/tile/product.h"
#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::cpu {

/// One way to compute an operator: by a schedule, or as a library does.
class Way {
public:
  virtual ~Way() = default;
  /// Microseconds of one run. Errors: `memory_limit` where the operator is the largest so far.
  virtual Result<double> run() = 0;
};

/// Floats that a convolution reads and writes.
struct ConvolutionExtents {
  int64_t x = 0, weights = 0, y = 0, residual = 0, bias = 0;
};

/// The same of any code, and its scratch; and where it finds them.
struct RunExtents {
  int64_t x = 0, weights = 0, y = 0, scratch = 0;
};
struct RunPlaces {
  const float *x = nullptr, *weights = nullptr;
  float *y = nullptr, *scratch = nullptr;
};

/// Memory for operators of any shape, and the clock.
class Runs {
public:
  /// `weight_bytes`: that a run of the network reads. Successive runs read weights from successive
  /// places in so much memory, up to kMostWeights. Errors: `memory_limit`.
  static Result<std::unique_ptr<Runs>> make(const tile::TileKernels& tiles, int64_t weight_bytes);

  /// Microseconds of one run, on so many threads. Errors: `memory_limit` where the product is the
  /// largest so far.
  Result<double> run(const tile::Product& product, int threads);
  /// `finish`: as an activation would be, on what is in the cache.
  Result<double> run(const tile::Convolution& convolution, const ConvolutionExtents& extents,
                     bool finish, int threads);

  Result<double> run(const RunExtents& need, llvm::function_ref<void(const RunPlaces&)> work);

  const tile::TileKernels& tiles() const { return tiles_; }
  Threads threads(int count) const { return pool_->threads(count); }

private:
  static constexpr int64_t kMostWeights = int64_t{64} << 20;

  explicit Runs(const tile::TileKernels& tiles) : tiles_(tiles) {}

  /// Floats that any of the batch reads or writes.
  struct Extent {
    int64_t x = 0, w = 0, y = 0;
  };
  static Extent extent_of(const tile::ProductShape& shape, tile::Isa isa);
  static Result<void> grow(Tensor& tensor, int64_t floats);
  /// The next place for so many.
  const float* next_weights(int64_t floats);

  const tile::TileKernels& tiles_;
  std::shared_ptr<ThreadPool> pool_ = ThreadPool::shared();
  Tensor x_, w_, y_, residual_, bias_, scratch_;
  int64_t next_ = 0; // where the weights of the next run begin
};

/// Flops of a second of so many threads, by the largest tile on operands in the first level: as
/// many times the fastest burst of one, which others who compute seldom disturb.
double tile_peak_flops(const tile::TileKernels& tiles, const Threads& threads, int bursts = 30);

} // namespace tg::cpu
