#include "runtime/cuda/cudnn/plan.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace tg::cuda {

namespace {

/// The number of requested configurations: more than the heuristics have.
/// In strict f32 the first admissible one comes after some twenty for tensor cores.
constexpr int64_t kMostProposed = 256;
/// The number of configurations of one engine that precede those of other engines.
constexpr size_t kMostOfAnEngine = 4;
/// The maximum number of plans that the library has to compile, seconds each, if nothing is ready.
constexpr size_t kMostCompiled = 2;

bool is_f32(const DnnGraph& graph) {
  return llvm::all_of(graph.tensors, [](const DnnTensor& t) { return t.dtype == DType::F32; });
}

/// Returns true if an engine with this property keeps f32 operands and f32 sums,
/// and is deterministic. Winograd with large tiles loses more digits than a strict f32 run allows.
bool keeps_numbers(DnnNote note, bool f32, bool allow_tf32) {
  switch (note) {
  case DnnNote::TensorCore:
  case DnnNote::DownConvertInputs: return !f32 || allow_tf32;
  case DnnNote::ReducedPrecisionReduction:
  case DnnNote::Nondeterministic:
  case DnnNote::WinogradTile6:
  case DnnNote::WinogradTile13: return false;
  case DnnNote::Fft:
  case DnnNote::Winograd:
  case DnnNote::WinogradTile4: return true;
  }
  return true; // an unknown note of a later version is ignored
}

} // namespace

Result<std::unique_ptr<Cudnn>> Cudnn::over(const DnnApi& api) {
  std::unique_ptr<Cudnn> dnn(new Cudnn());
  dnn->api_ = api;
  if (int status = api.create(&dnn->handle_)) {
    dnn->handle_ = nullptr;
    return error(Code::no_backend, "cuDNN cannot create a handle: {0}", dnn_problem(api, status));
  }
  return dnn;
}

Result<std::unique_ptr<Cudnn>> Cudnn::open() {
  TG_TRY(std::unique_ptr<SharedLibrary> file, SharedLibrary::open(Library::Cudnn));
  TG_TRY(DnnApi api, dnn_api(*file));
  TG_TRY(std::unique_ptr<Cudnn> dnn, over(api));
  dnn->file_ = std::move(file);
  return dnn;
}

std::string cudnn_version() {
  auto file = SharedLibrary::open(Library::Cudnn);
  if (!file) return "";
  auto api = dnn_api(**file);
  if (!api) return "";
  return (library_name(Library::Cudnn) + " " +
          version_text(Library::Cudnn, static_cast<int64_t>(api->version())))
      .str();
}

Cudnn::~Cudnn() {
  if (handle_) api_.destroy(handle_);
}

std::string Cudnn::description() const {
  return (library_name(Library::Cudnn) + " " + version_text(Library::Cudnn, version())).str();
}

/// Returns the configurations that the heuristics propose, best first;
/// none if they refuse the graph.
Result<std::vector<DnnDescriptor>> Cudnn::propose(const DnnBuilt& built, int mode) const {
  DnnDescriptor heuristics(api_, DnnKind::Heuristics);
  heuristics.set(DnnAttr::HeuristicsGraph, built.graph);
  heuristics.set_enum(DnnAttr::HeuristicsMode, mode);
  TG_CHECK(heuristics.finish());
  int64_t count = 0;
  std::vector<DnnDescriptor> none;
  heuristics.get(DnnAttr::HeuristicsResults, none, count);
  std::vector<DnnDescriptor> configs;
  for (int64_t i = 0; i < std::min(count, kMostProposed); ++i)
    configs.emplace_back(api_, DnnKind::EngineConfig);
  if (configs.empty()) return configs;
  if (!heuristics.get(DnnAttr::HeuristicsResults, configs, count)) count = 0;
  while (static_cast<int64_t>(configs.size()) > count) configs.pop_back();
  return configs;
}

/// Returns true if making a plan of the configuration needs a compiler.
bool Cudnn::compiles(const DnnDescriptor& config) const {
  DnnDescriptor of(api_, DnnKind::Engine);
  int64_t count = 0;
  int notes[16] = {};
  if (!config.get(DnnAttr::EngineConfigEngine, llvm::MutableArrayRef<DnnDescriptor>(of), count) ||
      !of.get_enums(DnnAttr::EngineBehaviourNotes, notes, count))
    return false;
  return llvm::is_contained(
      llvm::ArrayRef<int>(notes).take_front(static_cast<size_t>(std::min<int64_t>(count, 16))),
      kDnnRuntimeCompilation);
}

bool Cudnn::admits(const DnnDescriptor& config, const DnnGraph& graph, const DnnLimits& limits,
                   std::string& engine) const {
  DnnDescriptor of(api_, DnnKind::Engine);
  int64_t count = 0, index = 0;
  if (!config.get(DnnAttr::EngineConfigEngine, llvm::MutableArrayRef<DnnDescriptor>(of), count))
    return false;
  if (of.get(DnnAttr::EngineIndex, llvm::MutableArrayRef<int64_t>(index), count))
    engine = llvm::formatv("engine {0}", index);
  int notes[16] = {};
  if (!of.get_enums(DnnAttr::EngineNumericalNotes, notes, count)) return false;
  for (int64_t i = 0; i < std::min<int64_t>(count, 16); ++i)
    if (!keeps_numbers(static_cast<DnnNote>(notes[i]), is_f32(graph), limits.allow_tf32))
      return false;
  return true;
}

Result<std::unique_ptr<DnnPlan>> Cudnn::make(DnnDescriptor config, const DnnGraph& graph,
                                             std::shared_ptr<const DnnBuilt> built) const {
  auto plan = std::make_unique<DnnPlan>();
  plan->api_ = &api_;
  plan->handle_ = handle_;
  plan->tensors_ = graph.tensors;
  plan->config_ = std::move(config);
  plan->built_ = std::move(built);
  plan->plan_ = DnnDescriptor(api_, DnnKind::Plan);
  plan->plan_.set(DnnAttr::PlanEngineConfig, plan->config_);
  plan->plan_.set(DnnAttr::PlanHandle, llvm::ArrayRef<void*>(handle_));
  TG_CHECK(plan->plan_.finish());
  int64_t count = 0;
  plan->plan_.get(DnnAttr::PlanWorkspace, llvm::MutableArrayRef<int64_t>(plan->workspace_bytes_),
                  count);
  return plan;
}

/// Configurations with their engines; those to be tried first come first.
struct Cudnn::Proposals {
  using Config = std::pair<DnnDescriptor, std::string>;
  std::vector<Config> ready, compiled;
};

Cudnn::Proposals Cudnn::admitted(const DnnBuilt& built, int mode, const DnnGraph& graph,
                                 const DnnLimits& limits, std::string& why) const {
  Proposals found;
  auto configs = propose(built, mode);
  if (!configs) {
    why = configs.error().message;
    return found;
  }
  std::map<std::string, size_t> of_engine;
  std::vector<Proposals::Config> more;
  for (DnnDescriptor& config : *configs) {
    std::string engine;
    if (!admits(config, graph, limits, engine))
      why = engine + " rounds more than the run allows";
    else if (compiles(config))
      found.compiled.emplace_back(std::move(config), engine);
    else
      (++of_engine[engine] <= kMostOfAnEngine ? found.ready : more)
          .emplace_back(std::move(config), engine);
  }
  std::move(more.begin(), more.end(), std::back_inserter(found.ready));
  return found;
}

Result<std::vector<std::unique_ptr<DnnPlan>>> Cudnn::plans(const DnnGraph& graph,
                                                           const DnnLimits& limits) const {
  TG_TRY(DnnBuilt made, build(api_, handle_, graph));
  auto built = std::make_shared<const DnnBuilt>(std::move(made));
  std::vector<std::unique_ptr<DnnPlan>> plans;
  std::string why = "the heuristics propose no engine";
  auto try_all = [&](std::vector<Proposals::Config>& configs, size_t most) {
    for (auto& [config, engine] : configs) {
      if (plans.size() >= most) return;
      auto plan = make(std::move(config), graph, built);
      if (!plan || (*plan)->workspace_bytes() > limits.workspace_bytes) {
        why = plan ? engine + " needs more workspace than the limit" : plan.error().message;
        continue;
      }
      (*plan)->engine_ = engine;
      plans.push_back(std::move(*plan));
    }
  };
  for (int mode : {kDnnHeuristicsA, kDnnHeuristicsB, kDnnHeuristicsFallback}) {
    Proposals found = admitted(*built, mode, graph, limits, why);
    try_all(found.ready, limits.candidates);
    if (found.compiled.size() > kMostCompiled)
      found.compiled.erase(found.compiled.begin() + kMostCompiled, found.compiled.end());
    try_all(found.compiled, std::min(limits.candidates, kMostCompiled));
    if (!plans.empty()) return plans;
  }
  return error(Code::no_kernel, "cuDNN has no engine: {0}", why);
}

Result<std::unique_ptr<DnnPlan>> Cudnn::restore(const DnnGraph& graph, llvm::StringRef text) const {
  auto plan = std::make_unique<DnnPlan>();
  plan->api_ = &api_;
  plan->handle_ = handle_;
  plan->tensors_ = graph.tensors;
  plan->engine_ = "plan kept";
  plan->plan_ = DnnDescriptor(api_, DnnKind::Plan);
  plan->plan_.set(DnnAttr::PlanHandle, llvm::ArrayRef<void*>(handle_));
  plan->plan_.set_text(DnnAttr::PlanText, text);
  TG_CHECK(plan->plan_.finish());
  int64_t count = 0;
  plan->plan_.get(DnnAttr::PlanWorkspace, llvm::MutableArrayRef<int64_t>(plan->workspace_bytes_),
                  count);
  return plan;
}

Result<void> DnnPlan::run(const DnnAddresses& at, uint64_t workspace, void* stream) const {
  llvm::SmallVector<int64_t, 8> ids;
  llvm::SmallVector<void*, 8> pointers;
  std::vector<float> numbers(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].is_virtual) continue;
    numbers[i] = tensors_[i].value.value_or(0);
    ids.push_back(dnn_id(static_cast<DnnTensorId>(i)));
    pointers.push_back(tensors_[i].value ? static_cast<void*>(&numbers[i])
                                         : reinterpret_cast<void*>(at[i]));
  }
  DnnDescriptor pack(*api_, DnnKind::VariantPack);
  pack.set(DnnAttr::PackIds, ids);
  pack.set(DnnAttr::PackPointers, llvm::ArrayRef<void*>(pointers));
  pack.set(DnnAttr::PackWorkspace, llvm::ArrayRef<void*>(reinterpret_cast<void*>(workspace)));
  TG_CHECK(pack.finish());
  if (int status = api_->set_stream(handle_, stream))
    return error(Code::device, "cuDNN rejects the stream: {0}", dnn_problem(*api_, status));
  if (int status = api_->execute(handle_, plan_.raw(), pack.raw()))
    return error(Code::device, "cuDNN failed to run: {0}", dnn_problem(*api_, status));
  return {};
}

} // namespace tg::cuda
