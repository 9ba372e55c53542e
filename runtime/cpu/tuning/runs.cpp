// Memory for operands, and timed runs.
#include "runtime/cpu/tuning/runs.h"

#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tg::cpu {

namespace {

using RunClock = std::chrono::steady_clock;

double us_from(RunClock::time_point start) {
  return std::chrono::duration<double, std::micro>(RunClock::now() - start).count();
}

} // namespace

Result<std::unique_ptr<Runs>> Runs::make(const tile::TileKernels& tiles, int64_t weight_bytes) {
  std::unique_ptr<Runs> runs(new Runs(tiles));
  TG_CHECK(grow(runs->w_, std::clamp<int64_t>(weight_bytes, 4096, kMostWeights) / 4));
  return runs;
}

// Fills with numbers of ordinary size, because kernels are slow on denormal ones.
Result<void> Runs::grow(Tensor& tensor, int64_t floats) {
  if (tensor.capacity() > 0 && tensor.bytes() >= floats * 4) return {};
  TG_TRY(tensor, Tensor::zeros({DType::F32, {floats}}));
  llvm::MutableArrayRef<float> at = tensor.floats();
  constexpr size_t kPeriod = 251, kCopied = 64 * kPeriod; // copying runs at memory bandwidth
  size_t begun = std::min(kCopied, at.size());
  for (size_t i = 0; i < begun; ++i) at[i] = 0.5f + static_cast<float>(i % kPeriod) / 256;
  for (size_t i = begun; i < at.size(); i += begun)
    std::copy_n(at.begin(), std::min(begun, at.size() - i), at.begin() + i);
  return {};
}

Runs::Extent Runs::extent_of(const tile::ProductShape& s, tile::Isa isa) {
  Extent most;
  int64_t packed = tile::packed_cells(s.depth, s.columns, isa);
  for (const tile::BatchStart& at : s.batch) {
    most.x = std::max(most.x, at.x + (s.rows - 1) * s.x_row + (s.depth - 1) * s.x_depth + 1);
    most.w = std::max(most.w, at.w + (s.w_is_packed ? packed
                                                    : (s.depth - 1) * s.w_depth +
                                                          (s.columns - 1) * s.w_column + 1));
    most.y = std::max(most.y, at.y + (s.rows - 1) * s.y_row + s.columns);
  }
  return most;
}

Result<double> Runs::run(const tile::Product& product, int threads) {
  const tile::ProductShape& shape = product.shape();
  Extent need = extent_of(shape, tiles_.isa());
  TG_CHECK(grow(x_, need.x));
  TG_CHECK(grow(y_, need.y));
  TG_CHECK(grow(w_, need.w));
  TG_CHECK(grow(scratch_, std::max<int64_t>(1, product.scratch_elements())));
  // A w that is packed during the run was written by a neighbour and is warm.
  if (!shape.w_is_packed) next_ = 0;
  tile::ProductData data;
  data.x = x_.floats().data();
  data.w = next_weights(need.w);
  data.y = y_.floats().data();
  data.scratch = scratch_.floats().data();
  RunClock::time_point start = RunClock::now();
  product.run(data, [&](int count, const auto& work) {
    parallel_parts(this->threads(threads), count, work);
  });
  return us_from(start);
}

const float* Runs::next_weights(int64_t floats) {
  if (next_ + floats > w_.bytes() / 4) next_ = 0;
  const float* at = w_.floats().data() + next_;
  next_ += tile::ceil_div(floats, 16) * 16;
  return at;
}

Result<double> Runs::run(const tile::Convolution& convolution, const ConvolutionExtents& extents,
                         bool finish, int threads) {
  TG_CHECK(grow(x_, extents.x));
  TG_CHECK(grow(y_, extents.y));
  TG_CHECK(grow(w_, extents.weights));
  TG_CHECK(grow(residual_, std::max<int64_t>(1, extents.residual)));
  TG_CHECK(grow(bias_, std::max<int64_t>(1, extents.bias)));
  tile::ConvolutionData data;
  data.x = x_.floats().data();
  data.weights = next_weights(extents.weights);
  data.y = y_.floats().data();
  data.residual = residual_.floats().data();
  data.bias = bias_.floats().data();
  auto halve = [](const tile::FinishedBlock& block) {
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t i = 0; i < block.columns; ++i) block.y[row * block.y_row + i] *= 0.5f;
  };
  if (finish) data.finish = halve;
  RunClock::time_point start = RunClock::now();
  parallel_parts(this->threads(threads), convolution.parts(),
                 [&](int part) { convolution.run(part, data); });
  return us_from(start);
}

Result<double> Runs::run(const RunExtents& need, llvm::function_ref<void(const RunPlaces&)> work) {
  TG_CHECK(grow(x_, need.x));
  TG_CHECK(grow(y_, need.y));
  TG_CHECK(grow(w_, need.weights));
  TG_CHECK(grow(scratch_, std::max<int64_t>(1, need.scratch)));
  RunPlaces at;
  at.x = x_.floats().data();
  at.weights = next_weights(need.weights);
  at.y = y_.floats().data();
  at.scratch = scratch_.floats().data();
  RunClock::time_point start = RunClock::now();
  work(at);
  return us_from(start);
}

double tile_peak_flops(const tile::TileKernels& tiles, const Threads& threads, int bursts) {
  constexpr int64_t kDepth = 256; // start and end of a tile are a fortieth
  constexpr int kCalls = 300;
  int64_t rows = tile::most_rows(tiles.isa()), columns = tile::panel_columns(tiles.isa());
  std::vector<double> least_us(static_cast<size_t>(threads), HUGE_VAL); // of each part
  auto work = [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part) {
      auto floats = [](int64_t count) {
        return std::vector<float>(static_cast<size_t>(count), 0.5f);
      };
      std::vector<float> x = floats(rows * kDepth), y = floats(rows * columns);
      std::vector<float> w = floats(columns * kDepth + tile::prefetched_cells(kDepth));
      tile::TileCall call;
      call.x = x.data();
      call.x_row = kDepth * 4;
      call.panel = call.ahead = w.data();
      call.depth = kDepth;
      call.y = y.data();
      call.y_row = columns * 4;
      RunClock::time_point start = RunClock::now();
      for (int i = 0; i < kCalls; ++i) tiles.tile(rows, 1)(&call);
      double& least = least_us[static_cast<size_t>(part)];
      least = std::min(least, us_from(start));
    }
  };
  for (int burst = 0; burst < bursts; ++burst) parallel_for(threads, threads, work);
  double flops = 2.0 * static_cast<double>(rows * columns * kDepth) * kCalls * threads;
  return flops / *std::min_element(least_us.begin(), least_us.end()) * 1e6;
}

} // namespace tg::cpu
