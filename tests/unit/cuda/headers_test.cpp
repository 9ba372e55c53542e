// Checks the declarations of NVIDIA's libraries in runtime/cuda (numbers, functions,
// layouts of structures) against the headers of the installed toolkit, in any version.
// Without a toolkit the test is not built.
#ifdef TG_CUDA_HEADERS

#include "runtime/cuda/cublas/matmul.h"
#include "runtime/cuda/cudnn/graph.h"
#include "runtime/cuda/device/driver_api.h"
#include "tests/unit/cuda/described_gpu.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>

#include <gtest/gtest.h>

namespace tg::test {
namespace {

// --- functions ----------------------------------------------------------------------------------

/// Returns true if the types are passed in the same way: both are pointers, or have the same size.
template <class A, class B> constexpr bool alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_same_v<A, B>;
  else
    return std::is_pointer_v<A> == std::is_pointer_v<B> && sizeof(A) == sizeof(B);
}
template <class A, class B> struct SameShape : std::false_type {};
template <class RA, class... A, class RB, class... B> struct SameShape<RA (*)(A...), RB (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B)) return alike<RA, RB>() && (alike<A, B>() && ...);
    return false;
  }();
};
/// Compares only types, so that no library is linked.
#define TG_SAME(ours, theirs) (SameShape<decltype(Api::ours), decltype(&theirs)>::value)

#define TG_TEXT_(x) #x
#define TG_TEXT(x) TG_TEXT_(x)

/// The header names the newest version of a function by a macro. Tangram's may be older.
TEST(CudaHeaders, FunctionsOfTheDriver) {
  using Api = cuda::DriverApi;
  int held = 0;
#define TG_HOLD(name, symbol, parameters)                                                          \
  if (llvm::StringRef(TG_TEXT(cu##name)) == symbol) {                                              \
    ++held;                                                                                        \
    EXPECT_TRUE(TG_SAME(name, ::cu##name)) << symbol;                                              \
  }
  TG_CUDA_DRIVER(TG_HOLD)
#undef TG_HOLD
  EXPECT_GE(held, 30);
  EXPECT_EQ(cuda::kAttributeMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(cuda::kAttributeL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(cuda::kAttributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(cuda::kAttributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(cuda::kStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(cuda::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST(CudaHeaders, FunctionsOfCublasLt) {
  using Api = cuda::LtApi;
  EXPECT_TRUE(TG_SAME(create, cublasLtCreate));
  EXPECT_TRUE(TG_SAME(destroy, cublasLtDestroy));
  EXPECT_TRUE(TG_SAME(desc_create, cublasLtMatmulDescCreate));
  EXPECT_TRUE(TG_SAME(desc_destroy, cublasLtMatmulDescDestroy));
  EXPECT_TRUE(TG_SAME(desc_set, cublasLtMatmulDescSetAttribute));
  EXPECT_TRUE(TG_SAME(layout_create, cublasLtMatrixLayoutCreate));
  EXPECT_TRUE(TG_SAME(layout_destroy, cublasLtMatrixLayoutDestroy));
  EXPECT_TRUE(TG_SAME(layout_set, cublasLtMatrixLayoutSetAttribute));
  EXPECT_TRUE(TG_SAME(preference_create, cublasLtMatmulPreferenceCreate));
  EXPECT_TRUE(TG_SAME(preference_destroy, cublasLtMatmulPreferenceDestroy));
  EXPECT_TRUE(TG_SAME(preference_set, cublasLtMatmulPreferenceSetAttribute));
  EXPECT_TRUE(TG_SAME(heuristic, cublasLtMatmulAlgoGetHeuristic));
  EXPECT_TRUE(TG_SAME(matmul, cublasLtMatmul));
  EXPECT_FALSE(TG_SAME(create, cublasLtMatmul)) << "the check can fail";
}

TEST(CudaHeaders, FunctionsOfCudnn) {
  using Api = cuda::DnnApi;
  EXPECT_TRUE(TG_SAME(version, cudnnGetVersion));
  EXPECT_TRUE(TG_SAME(create, cudnnCreate));
  EXPECT_TRUE(TG_SAME(destroy, cudnnDestroy));
  EXPECT_TRUE(TG_SAME(set_stream, cudnnSetStream));
  EXPECT_TRUE(TG_SAME(descriptor_create, cudnnBackendCreateDescriptor));
  EXPECT_TRUE(TG_SAME(descriptor_destroy, cudnnBackendDestroyDescriptor));
  EXPECT_TRUE(TG_SAME(finalize, cudnnBackendFinalize));
  EXPECT_TRUE(TG_SAME(set, cudnnBackendSetAttribute));
  EXPECT_TRUE(TG_SAME(get, cudnnBackendGetAttribute));
  EXPECT_TRUE(TG_SAME(execute, cudnnBackendExecute));
  EXPECT_TRUE(TG_SAME(error_text, cudnnGetErrorString));
#if CUDNN_VERSION >= 90000
  EXPECT_TRUE(TG_SAME(last_error, cudnnGetLastErrorString));
#endif
}

// --- numbers ------------------------------------------------------------------------------------

TEST(CudaHeaders, NumbersOfCublasLt) {
  EXPECT_EQ(cuda::kLtBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(cuda::kLtBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(cuda::kLtTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(cuda::kLtTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(cuda::kLtEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(cuda::kLtBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(cuda::kLtEpilogueNone, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(cuda::kLtEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
  EXPECT_EQ(cuda::kLtEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(cuda::kLtEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
  EXPECT_EQ(cuda::kLtEpilogueRelu | cuda::kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(cuda::kLtEpilogueGelu | cuda::kLtEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
  EXPECT_EQ(cuda::kLtMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(cuda::kLtReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(cuda::kLtReduceInComputeType, unsigned{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  EXPECT_EQ(cuda::kLtCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cuda::kLtComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(cuda::kLtReal32F, CUDA_R_32F);
  EXPECT_EQ(cuda::kLtReal16F, CUDA_R_16F);
  EXPECT_EQ(cuda::kLtReal16BF, CUDA_R_16BF);
  EXPECT_EQ(CUBLAS_OP_T, 1);
  using Theirs = cublasLtMatmulHeuristicResult_t;
  EXPECT_EQ(sizeof(cuda::LtHeuristic), sizeof(Theirs));
  EXPECT_EQ(offsetof(cuda::LtHeuristic, workspace_bytes), offsetof(Theirs, workspaceSize));
  EXPECT_EQ(offsetof(cuda::LtHeuristic, state), offsetof(Theirs, state));
}

TEST(CudaHeaders, DescriptorsOfCudnn) {
  using K = cuda::DnnKind;
  const std::pair<K, int> kinds[] = {
    {K::Pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR},
    {K::Convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR},
    {K::Engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR},
    {K::EngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
    {K::Heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR},
    {K::Plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR},
    {K::OpConvolution, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR},
    {K::OpPointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR},
    {K::Graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
    {K::VariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR},
    {K::Tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR},
#if CUDNN_VERSION >= 91300
    {K::OpAttention, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR},
#endif
  };
  for (auto [ours, theirs] : kinds)
    EXPECT_EQ(static_cast<int>(ours), theirs) << cuda::dnn_name(ours).str();
}

struct Attribute {
  cuda::DnnAttr ours;
  int theirs;
};

void hold(llvm::ArrayRef<Attribute> attributes) {
  for (const Attribute& a : attributes)
    EXPECT_EQ(static_cast<int>(a.ours), a.theirs) << cuda::dnn_name(a.ours).str();
}

TEST(CudaHeaders, AttributesOfCudnnsPlans) {
  using A = cuda::DnnAttr;
  hold({{A::HeuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE},
        {A::HeuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH},
        {A::HeuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS},
        {A::EngineConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE},
        {A::PlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE},
        {A::PlanEngineConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG},
        {A::PlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE},
        {A::PlanText, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION},
        {A::GraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE},
        {A::GraphOps, CUDNN_ATTR_OPERATIONGRAPH_OPS},
        {A::TensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT},
        {A::TensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE},
        {A::TensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS},
        {A::TensorStrides, CUDNN_ATTR_TENSOR_STRIDES},
        {A::TensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID},
        {A::TensorVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL},
        {A::TensorByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE},
        {A::PackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS},
        {A::PackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS},
        {A::PackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE},
        {A::EngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX},
        {A::EngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE},
        {A::EngineBehaviourNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE}});
#if CUDNN_VERSION >= 90800
  EXPECT_EQ(DescribedDevice::kProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  EXPECT_EQ(DescribedDevice::kHeuristicsDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  EXPECT_EQ(DescribedDevice::kPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  EXPECT_EQ(DescribedDevice::kText, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
#endif
}

TEST(CudaHeaders, AttributesOfCudnnsOperations) {
  using A = cuda::DnnAttr;
  hold({{A::PointwiseMode, CUDNN_ATTR_POINTWISE_MODE},
        {A::PointwiseCompute, CUDNN_ATTR_POINTWISE_MATH_PREC},
        {A::PointwiseNan, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION},
        {A::PointwiseLowerClip, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP},
        {A::PointwiseUpperClip, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP},

        {A::ConvolutionCompute, CUDNN_ATTR_CONVOLUTION_COMP_TYPE},
        {A::ConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE},
        {A::ConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS},
        {A::ConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES},
        {A::ConvolutionAfter, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS},
        {A::ConvolutionBefore, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS},
        {A::ConvolutionSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS},
        {A::OpConvolutionAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA},
        {A::OpConvolutionBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {A::OpConvolutionHow, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
        {A::OpConvolutionW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
        {A::OpConvolutionX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X},
        {A::OpConvolutionY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
        {A::OpPointwiseHow, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR},
        {A::OpPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC},
        {A::OpPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC},
        {A::OpPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC}});
#if CUDNN_VERSION >= 91300
  hold({{A::OpAttentionQ, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC},
        {A::OpAttentionK, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC},
        {A::OpAttentionV, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC},
        {A::OpAttentionO, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC},
        {A::OpAttentionScale, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC}});
#endif
}

TEST(CudaHeaders, TypesAndModesOfCudnn) {
  using T = cuda::DnnType;
  const std::pair<T, int> types[] = {{T::Handle, CUDNN_TYPE_HANDLE},
                                     {T::DataType, CUDNN_TYPE_DATA_TYPE},
                                     {T::Boolean, CUDNN_TYPE_BOOLEAN},
                                     {T::Int64, CUDNN_TYPE_INT64},
                                     {T::Float, CUDNN_TYPE_FLOAT},
                                     {T::Double, CUDNN_TYPE_DOUBLE},
                                     {T::Pointer, CUDNN_TYPE_VOID_PTR},
                                     {T::ConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE},
                                     {T::HeuristicsMode, CUDNN_TYPE_HEUR_MODE},
                                     {T::NanPropagation, CUDNN_TYPE_NAN_PROPOGATION},
                                     {T::NumericalNote, CUDNN_TYPE_NUMERICAL_NOTE},
                                     {T::PointwiseMode, CUDNN_TYPE_POINTWISE_MODE},
                                     {T::Descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                                     {T::BehaviourNote, CUDNN_TYPE_BEHAVIOR_NOTE},
                                     {T::Char, CUDNN_TYPE_CHAR}};
  for (auto [ours, theirs] : types) EXPECT_EQ(static_cast<int>(ours), theirs);
  EXPECT_EQ(cuda::dnn_data_type(DType::F32), CUDNN_DATA_FLOAT);
  EXPECT_EQ(cuda::dnn_data_type(DType::F16), CUDNN_DATA_HALF);
  EXPECT_EQ(cuda::dnn_data_type(DType::BF16), CUDNN_DATA_BFLOAT16);

  EXPECT_EQ(cuda::kDnnCrossCorrelation, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(cuda::kDnnHeuristicsA, CUDNN_HEUR_MODE_A);
  EXPECT_EQ(cuda::kDnnHeuristicsB, CUDNN_HEUR_MODE_B);
  EXPECT_EQ(cuda::kDnnHeuristicsFallback, CUDNN_HEUR_MODE_FALLBACK);
  EXPECT_EQ(cuda::kDnnRuntimeCompilation, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  using N = cuda::DnnNote;
  const std::pair<N, int> notes[] = {
      {N::TensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
      {N::DownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
      {N::ReducedPrecisionReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
      {N::Fft, CUDNN_NUMERICAL_NOTE_FFT},
      {N::Nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
      {N::Winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD},
      {N::WinogradTile4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4},
      {N::WinogradTile6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6},
      {N::WinogradTile13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}};
  for (auto [ours, theirs] : notes) EXPECT_EQ(static_cast<int>(ours), theirs);
}

TEST(CudaHeaders, FunctionsThatCudnnComputes) {
  using P = cuda::DnnPointwise;
  const std::pair<P, int> pointwise[] = {{P::Add, CUDNN_POINTWISE_ADD},
                                         {P::Relu, CUDNN_POINTWISE_RELU_FWD},
                                         {P::Tanh, CUDNN_POINTWISE_TANH_FWD},
                                         {P::Sigmoid, CUDNN_POINTWISE_SIGMOID_FWD},
                                         {P::Gelu, CUDNN_POINTWISE_GELU_FWD}};
  for (auto [ours, theirs] : pointwise) EXPECT_EQ(static_cast<int>(ours), theirs);
}

} // namespace
} // namespace tg::test

#endif // TG_CUDA_HEADERS
