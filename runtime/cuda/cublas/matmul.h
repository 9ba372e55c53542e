// Matrix products by cuBLASLt: act(x @ y + bias + residual) as one call.
// The library's heuristics propose algorithms, and the executable measures which is fastest.
// cuBLASLt is column-major: a row-major product x @ y is its y' @ x',
// so the operands change places and the bias, along n, runs along its rows.
//
// Operands and results may be transposed and strided: transposes around a product
// are merged into it (lower_products.h).
// Unsupported parts are split off there (the library's gelu is the approximation by tanh,
// but the operator is exact) or stay with generated kernels: integers,
// and batches that broadcast on only some axes.
// f32 is multiplied in f32, or in tf32 if allowed.
#pragma once

#include "runtime/cuda/device/libraries.h"
#include "runtime/plan.h"

#include <functional>
#include <optional>

namespace tg::cuda {

/// The layout of the matrices of a batch, in elements: (r, c) of matrix b is at b * stride + r *
/// leading + c, or at b * stride + c * leading + r. A stride of 0 broadcasts.
struct MatrixLayout {
  int64_t leading = 0, stride = 0;
  bool transposed = false;
  auto operator<=>(const MatrixLayout&) const = default;
};

/// The product x[batch, m, k] @ y[batch, k, n].
struct MatmulProblem {
  DType dtype{};
  int64_t m = 0, n = 0, k = 0, batch = 1;
  MatrixLayout x, y, result; // the result is not transposed
  bool bias = false, residual = false, relu = false, tf32 = false;
  bool gelu = false; // by tanh, after bias and residual
  auto operator<=>(const MatmulProblem&) const = default;
};
/// Formats "matmul f32 128x768x3072 bias relu", with batch and layouts unless they are plain:
/// the key of stored plans.
std::string text(const MatmulProblem& problem);

/// Returns true for a single matrix with fewer rows than tiles share:
/// a generated kernel reads it once, too.
bool has_few_rows(const MatmulProblem& problem);

/// Strides of the operands and of the result; row-major if empty.
struct MatmulStrides {
  Shape x, y, result;
};
/// Returns nullopt if cuBLASLt does not support the step.
std::optional<MatmulProblem> matmul_problem(const Plan& plan, const PlanStep& step,
                                            const MatmulStrides& strides = {},
                                            bool allow_tf32 = false);

// Names and values are those of cublasLt.h; the binary interface is the same from version 11 to 13.
struct LtAlgorithm {
  uint64_t data[8] = {};
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace_bytes = 0;
  int state = 0; // 0: usable
  float waves = 0;
  int reserved[4] = {};
};

/// The functions used; tests provide their own.
#define TG_CUBLASLT(F)                                                                             \
  F(create, "cublasLtCreate", (void** handle))                                                     \
  F(destroy, "cublasLtDestroy", (void* handle))                                                    \
  F(desc_create, "cublasLtMatmulDescCreate", (void** desc, int compute, int scale))                \
  F(desc_destroy, "cublasLtMatmulDescDestroy", (void* desc))                                       \
  F(desc_set, "cublasLtMatmulDescSetAttribute",                                                    \
    (void* desc, int attribute, const void* value, size_t bytes))                                  \
  F(layout_create, "cublasLtMatrixLayoutCreate",                                                   \
    (void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                   \
  F(layout_destroy, "cublasLtMatrixLayoutDestroy", (void* layout))                                 \
  F(layout_set, "cublasLtMatrixLayoutSetAttribute",                                                \
    (void* layout, int attribute, const void* value, size_t bytes))                                \
  F(preference_create, "cublasLtMatmulPreferenceCreate", (void** preference))                      \
  F(preference_destroy, "cublasLtMatmulPreferenceDestroy", (void* preference))                     \
  F(preference_set, "cublasLtMatmulPreferenceSetAttribute",                                        \
    (void* preference, int attribute, const void* value, size_t bytes))                            \
  F(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                                   \
    (void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference, int wanted,   \
     LtHeuristic* found, int* count))                                                              \
  F(matmul, "cublasLtMatmul",                                                                      \
    (void* handle, void* desc, const void* alpha, const void* a, void* a_layout, const void* b,    \
     void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,     \
     const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream))

struct LtApi {
  TG_CUBLASLT(TG_LIBRARY_MEMBER)
};

inline constexpr int kLtBatchCount = 5, kLtBatchStride = 6; // of a layout
inline constexpr int kLtTransposeA = 3, kLtTransposeB = 4;  // of a product
inline constexpr int kLtEpilogue = 7, kLtBiasPointer = 8;
inline constexpr int kLtEpilogueNone = 1, kLtEpilogueRelu = 2, kLtEpilogueBias = 4,
                     kLtEpilogueGelu = 32;
inline constexpr int kLtMaxWorkspace = 1, kLtReductionSchemes = 3; // of a preference
/// Partial sums are added in the type of computation, in the workspace,
/// so that for f16 and bf16 nothing is rounded before its sum is complete.
inline constexpr uint32_t kLtReduceInComputeType = 2;
inline constexpr int kLtCompute32F = 68, kLtComputeTf32 = 77;
inline constexpr int kLtReal32F = 0, kLtReal16F = 2, kLtReal16BF = 14;

/// Addresses of the operands; 0 if absent.
struct MatmulAddresses {
  uint64_t x = 0, y = 0, bias = 0, residual = 0, result = 0, workspace = 0;
};

/// An owned object of the library.
using LtObject = std::unique_ptr<void, std::function<void(void*)>>;

/// One product, ready to be called.
class MatmulPlan {
public:
  size_t candidates() const { return found_.size(); }
  int64_t workspace_bytes(size_t candidate) const {
    return static_cast<int64_t>(found_[candidate].workspace_bytes);
  }
  /// Returns the candidate's algorithm in a form that a later process can look up.
  std::string name(size_t candidate) const;
  /// Returns the candidate of that name; nullopt if the library no longer offers it.
  std::optional<size_t> find(llvm::StringRef name) const;
  /// Errors: `device`.
  Result<void> run(size_t candidate, const MatmulAddresses& at, void* stream) const;

private:
  friend class BlasLt;
  const LtApi* api_ = nullptr;
  void* handle_ = nullptr;
  MatmulProblem problem_;
  LtObject desc_, x_, y_, result_;
  std::vector<LtHeuristic> found_;
};

class BlasLt {
public:
  /// Loads the library. Errors: `no_backend`.
  static Result<std::unique_ptr<BlasLt>> open();
  /// "cuBLASLt 13.0.1".
  std::string version() const { return version_; }
  /// Uses the given functions, which must outlive the object.
  static Result<std::unique_ptr<BlasLt>> over(const LtApi& api);
  ~BlasLt();

  /// Errors: `no_kernel` if the library has no algorithm; `device`.
  Result<std::unique_ptr<MatmulPlan>> plan(const MatmulProblem& problem,
                                           int64_t workspace_limit) const;

private:
  BlasLt() = default;
  Result<LtObject> layout(DType dtype, int64_t rows, int64_t columns, int64_t batch,
                          const MatrixLayout& how) const;
  Result<void> describe(void* desc, const MatmulProblem& problem) const;
  Result<void> find_algorithms(MatmulPlan& plan, int64_t workspace_limit) const;

  std::unique_ptr<SharedLibrary> file_;
  LtApi api_;
  void* handle_ = nullptr;
  std::string version_ = "cuBLASLt";
};

} // namespace tg::cuda
