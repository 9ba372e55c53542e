#include "compiler/driver/runs/loaded_graphs.h"

#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"
#include "runtime/execute.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

/// The source, two that run interleaved, and the next.
constexpr size_t kMostLoaded = 4;

int64_t bytes_of(const LoadedGraph& loaded) {
  int64_t bytes = loaded.prepared.executable->memory().total();
  for (const Tensor& output : loaded.outputs) bytes = add_bytes(bytes, output.bytes());
  return bytes;
}

} // namespace

Result<std::unique_ptr<LoadedGraph>> LoadedGraphs::load(const Graph& graph) const {
  TG_TRY(Prepared prepared, prepare_with_inputs(graph, options_));
  Stopwatch watch;
  TG_TRY(std::vector<size_t> denormals, prepared.executable->run_watching_denormals());
  double run_s = watch.seconds();
  std::vector<StepInfo> on_denormals;
  if (!denormals.empty()) {
    std::vector<StepInfo> steps = prepared.executable->steps();
    for (size_t i : denormals) on_denormals.push_back(std::move(steps[i]));
  }
  TG_TRY(std::vector<Tensor> outputs, prepared.executable->outputs());
  return std::make_unique<LoadedGraph>(
      LoadedGraph{graph, std::move(prepared), run_s, std::move(outputs), std::move(on_denormals)});
}

void LoadedGraphs::make_room(size_t most, int64_t bytes, const LoadedGraph* in_use) {
  int64_t limit =
      options_.memory_limit_bytes > 0 ? options_.memory_limit_bytes : memory_limit_bytes(0);
  auto too_much = [&] {
    int64_t all = bytes;
    for (const auto& one : loaded_) all = add_bytes(all, bytes_of(*one));
    return loaded_.size() > most || all > limit;
  };
  auto not_in_use = [&](const auto& one) { return one.get() != in_use; };
  while (!loaded_.empty() && too_much()) {
    auto oldest = std::find_if(loaded_.begin() + 1, loaded_.end(), not_in_use);
    if (oldest == loaded_.end()) oldest = llvm::find_if(loaded_, not_in_use);
    if (oldest == loaded_.end()) return;
    loaded_.erase(oldest);
  }
}

Result<LoadedGraph*> LoadedGraphs::get(const Graph& graph, const LoadedGraph* in_use) {
  auto found = llvm::find_if(
      loaded_, [&](const auto& one) { return difference(one->graph, graph).empty(); });
  if (found != loaded_.end()) {
    LoadedGraph* loaded = found->get();
    if (found != loaded_.begin()) std::rotate(found, found + 1, loaded_.end());
    return loaded;
  }
  make_room(kMostLoaded - 1, resident_bytes(plan_from_graph(graph)).total(), in_use);
  Result<std::unique_ptr<LoadedGraph>> loaded = load(graph);
  // A device may have less memory than the limit says.
  if (!loaded &&
      (loaded.error().code == Code::memory_limit || loaded.error().code == Code::device)) {
    size_t before = loaded_.size();
    make_room(0, 0, in_use);
    if (loaded_.size() < before) loaded = load(graph);
  }
  if (!loaded) return std::move(loaded.error());
  loaded_.push_back(std::move(*loaded));
  return loaded_.back().get();
}

} // namespace tg
