// A fake of cuBLASLt, after its documentation, over host memory. Objects keep the attributes
// that are set, and a product is computed from the layouts alone. Of two algorithms,
// the first refuses to run and the second works. There is no algorithm for 13 columns.
// All algorithms refuse 17 columns, and the only one for 19 columns refuses, too.
// Those for 23 columns refuse if refuses_23_columns() returns true.
#pragma once

#include "runtime/cuda/cublas/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tg::test {

struct FakeLt {
  struct Desc {
    int32_t epilogue = 1, transpose_a = 0, transpose_b = 0;
    const float* bias = nullptr;
  };
  struct Layout {
    uint64_t rows, columns;
    int64_t leading;
    int32_t batch = 1;
    int64_t stride = 0;
  };

  /// The compute types of all products described so far.
  static std::vector<int>& computes() {
    static std::vector<int> seen;
    return seen;
  }

  static bool& refuses_23_columns() {
    static bool refuses = false;
    return refuses;
  }

  static int create(void** handle) { return *handle = new int(7), 0; }
  static int destroy(void* handle) { return delete static_cast<int*>(handle), 0; }
  static int desc_create(void** desc, int compute, int scale) {
    EXPECT_TRUE(compute == 68 || compute == 77);
    computes().push_back(compute);
    EXPECT_EQ(scale, 0);
    return *desc = new Desc, 0;
  }
  static int desc_destroy(void* desc) { return delete static_cast<Desc*>(desc), 0; }
  static int desc_set(void* desc, int attribute, const void* value, size_t bytes) {
    auto* d = static_cast<Desc*>(desc);
    if (attribute == 3 && bytes == 4) return std::memcpy(&d->transpose_a, value, bytes), 0;
    if (attribute == 4 && bytes == 4) return std::memcpy(&d->transpose_b, value, bytes), 0;
    if (attribute == 7 && bytes == 4) return std::memcpy(&d->epilogue, value, bytes), 0;
    if (attribute == 8 && bytes == 8) return std::memcpy(&d->bias, value, bytes), 0;
    return 7;
  }
  static int layout_create(void** layout, int type, uint64_t rows, uint64_t columns,
                           int64_t leading) {
    EXPECT_TRUE(type == 0 || type == 2 || type == 14) << "f32, f16, bf16";
    return *layout = new Layout{rows, columns, leading}, 0;
  }
  static int layout_destroy(void* layout) { return delete static_cast<Layout*>(layout), 0; }
  static int layout_set(void* layout, int attribute, const void* value, size_t bytes) {
    auto* l = static_cast<Layout*>(layout);
    if (attribute == 5 && bytes == 4) return std::memcpy(&l->batch, value, bytes), 0;
    if (attribute == 6 && bytes == 8) return std::memcpy(&l->stride, value, bytes), 0;
    return 7;
  }
  static int preference_create(void** preference) { return *preference = new uint64_t(0), 0; }
  static int preference_destroy(void* preference) {
    return delete static_cast<uint64_t*>(preference), 0;
  }
  static int preference_set(void* preference, int attribute, const void* value, size_t bytes) {
    uint32_t schemes = 0;
    if (attribute == 3 && bytes == 4) { // only CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
      std::memcpy(&schemes, value, bytes);
      return schemes == 2 ? 0 : 7;
    }
    EXPECT_EQ(attribute, 1);
    return std::memcpy(preference, value, bytes), 0;
  }
  static int heuristic(void*, void*, void* a, void*, void*, void*, void* preference, int wanted,
                       cuda::LtHeuristic* found, int* count) {
    *count = 0;
    if (static_cast<Layout*>(a)->rows == 13) return 15; // CUBLAS_STATUS_NOT_SUPPORTED
    EXPECT_GE(wanted, 2);
    for (uint64_t i = 0; i < 2; ++i) {
      found[i].algorithm.data[0] = i;
      found[i].workspace_bytes =
          std::min<uint64_t>(256 * (i + 1), *static_cast<uint64_t*>(preference));
    }
    return *count = static_cast<Layout*>(a)->rows == 19 ? 1 : 2, 0;
  }
  static int matmul(void*, void* desc, const void* alpha, const void* a, void* a_layout,
                    const void* b, void* b_layout, const void* beta, const void* c, void*, void* d,
                    void* d_layout, const cuda::LtAlgorithm* algorithm, void* workspace,
                    size_t workspace_bytes, void*) {
    uint64_t columns = static_cast<Layout*>(d_layout)->rows;
    if (algorithm->data[0] == 0 || columns == 17 || (columns == 23 && refuses_23_columns()))
      return 13; // CUBLAS_STATUS_EXECUTION_FAILED
    EXPECT_EQ(*static_cast<const float*>(alpha), 1);
    std::memset(workspace, 0xff, workspace_bytes);
    const auto &A = *static_cast<Layout*>(a_layout), &B = *static_cast<Layout*>(b_layout),
               &D = *static_cast<Layout*>(d_layout);
    const auto& how = *static_cast<Desc*>(desc);
    uint64_t inner = how.transpose_a ? A.rows : A.columns;
    EXPECT_EQ(how.transpose_a ? A.columns : A.rows, D.rows);
    EXPECT_EQ(how.transpose_b ? B.rows : B.columns, D.columns);
    EXPECT_EQ(how.transpose_b ? B.columns : B.rows, inner);
    EXPECT_TRUE(A.batch == D.batch && B.batch == D.batch);
    auto element = [](const void* at, const Layout& l, int64_t matrix, bool transposed,
                      uint64_t row, uint64_t column) -> double {
      if (transposed) std::swap(row, column);
      return static_cast<const float*>(at)[matrix * l.stride + row + column * l.leading];
    };
    for (int64_t i = 0; i < D.batch; ++i)
      for (uint64_t column = 0; column < D.columns; ++column)
        for (uint64_t row = 0; row < D.rows; ++row) {
          double sum = 0;
          for (uint64_t k = 0; k < inner; ++k)
            sum += element(a, A, i, how.transpose_a, row, k) *
                   element(b, B, i, how.transpose_b, k, column);
          uint64_t at = i * D.stride + row + column * D.leading;
          float scale = *static_cast<const float*>(beta);
          if (scale != 0) sum += scale * static_cast<const float*>(c)[at];
          if (how.epilogue & 4) sum += how.bias[row];
          if (how.epilogue & 2) sum = std::max(sum, 0.0);
          if (how.epilogue & 32)
            sum = 0.5 * sum * (1 + std::tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum)));
          static_cast<float*>(d)[at] = static_cast<float>(sum);
        }
    return 0;
  }

  static cuda::LtApi api() {
    return {create,         destroy,        desc_create, desc_destroy,      desc_set,
            layout_create,  layout_destroy, layout_set,  preference_create, preference_destroy,
            preference_set, heuristic,      matmul};
  }
};

} // namespace tg::test
