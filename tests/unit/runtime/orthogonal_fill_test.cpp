// Tests orthogonal initial weights: which vectors are orthonormal, that all matrices
// are equally likely, and that the bits are a function of seed, path and shape.
#include "runtime/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tg {
namespace {

std::vector<float> filled(uint64_t seed, size_t rows, size_t columns, int threads = 1) {
  std::vector<float> out(rows * columns, NAN);
  fill_orthogonal(RandomStream(seed, "weight w"), 1, rows, columns, out, threads);
  return out;
}

/// Returns the largest difference between the products of columns (of rows,
/// if there are fewer) and those of orthonormal vectors times gain.
double error_of(llvm::ArrayRef<float> matrix, size_t rows, size_t columns, double gain = 1) {
  bool tall = rows >= columns;
  size_t few = tall ? columns : rows, many = tall ? rows : columns;
  auto at = [&](size_t i, size_t j) -> double { // element i of vector j
    return tall ? matrix[i * columns + j] : matrix[j * columns + i];
  };
  double worst = 0;
  for (size_t a = 0; a < few; ++a)
    for (size_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (size_t i = 0; i < many; ++i) dot += at(i, a) * at(i, b);
      worst = std::max(worst, std::abs(dot - (a == b ? gain * gain : 0)));
    }
  return worst;
}

/// Sizes near those of tiles (4), blocks (32) and chunks (128).
TEST(OrthogonalFill, TheFewerOnesAreOrthonormal) {
  for (auto [rows, columns] : std::initializer_list<std::pair<size_t, size_t>>{{1, 1},
                                                                               {2, 2},
                                                                               {5, 3},
                                                                               {7, 1},
                                                                               {31, 31},
                                                                               {32, 32},
                                                                               {33, 33},
                                                                               {65, 64},
                                                                               {127, 3},
                                                                               {129, 65},
                                                                               {300, 97},
                                                                               {4'000, 40}}) {
    EXPECT_LT(error_of(filled(1, rows, columns), rows, columns), 5e-7) << rows << " x " << columns;
    EXPECT_LT(error_of(filled(1, columns, rows), columns, rows), 5e-7) << columns << " x " << rows;
  }
}

/// For uniformly distributed orthogonal matrices, the mean of the trace is 0, of its square 1,
/// and of the square's trace 1 (Diaconis and Shahshahani 1994). Without the signs they
/// are -1.7, 3.4 and -0.7.
TEST(OrthogonalFill, NoMatrixIsPreferred) {
  constexpr size_t kCount = 4'000, kSize = 5;
  double trace_mean = 0, trace_square = 0, square_trace = 0, corner = 0;
  for (uint64_t seed = 0; seed < kCount; ++seed) {
    std::vector<float> q = filled(seed, kSize, kSize);
    double trace = 0;
    for (size_t i = 0; i < kSize; ++i) {
      trace += q[i * kSize + i];
      for (size_t j = 0; j < kSize; ++j) square_trace += q[i * kSize + j] * q[j * kSize + i];
    }
    trace_mean += trace;
    trace_square += trace * trace;
    corner += q.back() * q.back();
  }
  EXPECT_NEAR(trace_mean / kCount, 0, 0.08); // five standard deviations of this mean
  EXPECT_NEAR(trace_square / kCount, 1, 0.12);
  EXPECT_NEAR(square_trace / kCount, 1, 0.12);
  EXPECT_NEAR(corner / kCount, 1.0 / kSize, 0.02);
}

TEST(OrthogonalFill, ThreadsMakeNoDifference) {
  for (auto [rows, columns] : {std::pair<size_t, size_t>{3'000, 200}, {200, 3'000}}) {
    std::vector<float> one = filled(2, rows, columns);
    for (int threads : {0, 2, 3, 16}) EXPECT_EQ(filled(2, rows, columns, threads), one) << threads;
  }
}

Tensor weight(llvm::ArrayRef<int64_t> shape, const char* init, uint64_t seed = 1,
              const char* path = "w", DType dtype = DType::F32) {
  TensorType type = f32(shape);
  type.dtype = dtype;
  return *random_weight(path, type, init, seed);
}

/// In each kind of layer, the axis of results is one side of the matrix, and all others the other
/// side, as for fan-in.
TEST(OrthogonalFill, TreatsAWeightAsAMatrixOfInputsByOutputs) {
  EXPECT_LT(error_of(weight({48, 20}, "orthogonal(1)").floats(), 48, 20), 5e-7);
  EXPECT_LT(error_of(weight({3, 16, 20}, "orthogonal(1)").floats(), 48, 20), 5e-7);
  EXPECT_LT(error_of(weight({20, 4, 3, 3}, "orthogonal(1)").floats(), 20, 36), 5e-7);
  EXPECT_LT(error_of(weight({2, 2, 2, 3, 10}, "orthogonal(1)").floats(), 24, 10), 5e-7);
}

TEST(OrthogonalFill, TheGainScales) {
  Tensor one = weight({30, 20}, "orthogonal(1)"), some = weight({30, 20}, "orthogonal(0.01)");
  EXPECT_LT(error_of(some.floats(), 30, 20, 0.01), 5e-11);
  for (size_t i = 0; i < 600; ++i)
    EXPECT_NEAR(some.floats()[i], 0.01 * static_cast<double>(one.floats()[i]), 1e-9);
}

TEST(OrthogonalFill, AWeightDependsOnSeedPathAndShapeAlone) {
  auto checksum = [](uint64_t seed, const char* path) {
    return summarise(weight({30, 20}, "orthogonal(1)", seed, path)).checksum;
  };
  EXPECT_EQ(checksum(1, "a"), checksum(1, "a"));
  EXPECT_NE(checksum(1, "a"), checksum(2, "a"));
  EXPECT_NE(checksum(1, "a"), checksum(1, "b"));
  Tensor narrow = weight({30, 20}, "orthogonal(1)", 1, "w", DType::BF16);
  EXPECT_NEAR(summarise(narrow).std, summarise(weight({30, 20}, "orthogonal(1)")).std, 1e-3);
  EXPECT_EQ(summarise(weight({3, 2}, "orthogonal(1)", 1, "w", DType::I64)).std, 0);
}

TEST(OrthogonalFill, TheNumbersNeverChange) { // results in files and reports depend on them
  EXPECT_EQ(summarise(weight({300, 97}, "orthogonal(1)")).checksum, 17241472469122443146u);
  EXPECT_EQ(summarise(weight({97, 300}, "orthogonal(1)")).checksum, 8693178178059487742u);
}

} // namespace
} // namespace tg
