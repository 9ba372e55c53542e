// Plans of cuDNN for an operation graph. The library's heuristics propose configurations
// of engines. All of them are examined, because those for tensor cores come first.
// Configurations that would change numbers more than the run allows are skipped.
// The others are made into plans until there are enough candidates,
// from several engines if possible; engines that compile their kernels come last.
// The candidates are measured (tune.h). The text of a plan restores it in another process.
#pragma once

#include "runtime/cuda/cudnn/graph.h"

namespace tg::cuda {

/// The limits of a plan.
struct DnnLimits {
  int64_t workspace_bytes = 0;
  /// f32 operands may be rounded to tf32.
  bool allow_tf32 = false;
  size_t candidates = 12;
  auto operator<=>(const DnnLimits&) const = default;
};

/// The addresses of a graph's tensors that have memory; 0 for the others.
using DnnAddresses = std::vector<uint64_t>;

/// One implementation of a graph, ready to be called.
class DnnPlan {
public:
  int64_t workspace_bytes() const { return workspace_bytes_; }
  /// "engine 47"
  const std::string& engine() const { return engine_; }
  /// Returns a text that restores the plan (Cudnn::restore); "" if the library provides none.
  std::string text() const { return plan_.get_text(DnnAttr::PlanText); }
  /// Enqueues the work on a stream (a CUstream). Errors: `device`.
  Result<void> run(const DnnAddresses& at, uint64_t workspace, void* stream) const;

private:
  friend class Cudnn;
  const DnnApi* api_ = nullptr;
  void* handle_ = nullptr;
  std::vector<DnnTensor> tensors_;
  std::shared_ptr<const DnnBuilt> built_; // config_ refers to it
  DnnDescriptor config_, plan_;
  int64_t workspace_bytes_ = 0;
  std::string engine_;
};

class Cudnn {
public:
  /// Loads the library for the device of the current context. Errors: `no_backend`.
  static Result<std::unique_ptr<Cudnn>> open();
  /// Uses the given functions.
  static Result<std::unique_ptr<Cudnn>> over(const DnnApi& api);
  ~Cudnn();

  int64_t version() const { return static_cast<int64_t>(api_.version()); }
  /// "cuDNN 9.13"
  std::string description() const;

  /// Returns plans in the library's order of preference. Errors:
  /// `no_kernel` with the library's reason if it has no engine for the graph within the limits.
  Result<std::vector<std::unique_ptr<DnnPlan>>> plans(const DnnGraph& graph,
                                                      const DnnLimits& limits) const;
  /// Restores a plan from text(). Errors: `device` if it is not a plan of this library.
  Result<std::unique_ptr<DnnPlan>> restore(const DnnGraph& graph, llvm::StringRef text) const;

private:
  Cudnn() = default;
  Result<std::vector<DnnDescriptor>> propose(const DnnBuilt& built, int mode) const;
  bool compiles(const DnnDescriptor& config) const;
  bool admits(const DnnDescriptor& config, const DnnGraph& graph, const DnnLimits& limits,
              std::string& engine) const;
  struct Proposals;
  Proposals admitted(const DnnBuilt& built, int mode, const DnnGraph& graph,
                     const DnnLimits& limits, std::string& why) const;
  Result<std::unique_ptr<DnnPlan>> make(DnnDescriptor config, const DnnGraph& graph,
                                        std::shared_ptr<const DnnBuilt> built) const;

  std::unique_ptr<SharedLibrary> file_;
  DnnApi api_;
  void* handle_ = nullptr;
};

/// Returns "cuDNN 9.13" for the library that open() would load, without a handle;
/// "" if there is none.
std::string cudnn_version();

} // namespace tg::cuda
