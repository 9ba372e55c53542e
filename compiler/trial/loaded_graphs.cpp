#include "compiler/trial/loaded_graphs.h"

#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/graph.h"
#include "compiler/trial/part_runs.h"
#include "lang/core/support/stop.h"
#include "runtime/execute.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

/// The source, two that run interleaved, and the next one.
constexpr size_t kMostLoaded = 4;

int64_t bytes_of(const LoadedGraph& loaded) {
  int64_t bytes = 0;
  for (const LoadedGraph::Part& part : loaded.parts)
    bytes = add_bytes(bytes, part.prepared.executable->memory().total());
  for (const Tensor& output : loaded.outputs) bytes = add_bytes(bytes, output.bytes());
  return bytes;
}

} // namespace

double LoadedGraph::run_s() const {
  double sum = 0;
  for (const Part& part : parts) sum += static_cast<double>(part.count) * part.run_s;
  return sum;
}

Result<double> LoadedGraph::timed_run() {
  constexpr double kSample = 0.02; // seconds of one part's runs per sample
  double sum = 0;
  for (Part& part : parts) {
    auto count = static_cast<double>(part.count);
    auto repeats = static_cast<size_t>(std::clamp(kSample / part.run_s, 1.0, count));
    Stopwatch watch;
    for (size_t i = 0; i < repeats; ++i) TG_CHECK(part.prepared.executable->run_once());
    sum += count / static_cast<double>(repeats) * watch.seconds() * 1e6;
  }
  return sum;
}

Result<std::unique_ptr<LoadedGraph>> LoadedGraphs::load(const Graph& graph, bool in_parts) const {
  if (in_parts) {
    PrepareOptions of_parts = options_;
    of_parts.shared = shared_by_parts_;
    return load_parts(graph, of_parts);
  }
  auto loaded = std::make_unique<LoadedGraph>(LoadedGraph{graph});
  TG_TRY(Prepared prepared, prepare_with_inputs(graph, options_));
  loaded->parts.push_back({std::move(prepared)});
  TG_CHECK(run_first(loaded->parts.front(), loaded->on_denormals));
  TG_TRY(loaded->outputs, loaded->whole().executable->outputs());
  return loaded;
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

Result<LoadedGraph*> LoadedGraphs::get(const Graph& graph, const LoadedGraph* in_use,
                                       bool in_parts) {
  auto found = llvm::find_if(loaded_, [&](const auto& one) {
    return one->in_parts == in_parts && difference(one->graph, graph).empty();
  });
  if (found != loaded_.end()) {
    LoadedGraph* loaded = found->get();
    if (found != loaded_.begin()) std::rotate(found, found + 1, loaded_.end());
    return loaded;
  }
  // The memory of parts is known only when they are loaded; it is mostly less than an eighth.
  int64_t bytes = in_parts ? 0 : resident_bytes(plan_from_graph(graph)).total();
  make_room(kMostLoaded - 1, bytes, in_use);
  Result<std::unique_ptr<LoadedGraph>> loaded = load(graph, in_parts);
  // A device may have less memory than the limit.
  if (!loaded &&
      (loaded.error().code == Code::memory_limit || loaded.error().code == Code::device)) {
    size_t before = loaded_.size();
    make_room(0, 0, in_use);
    if (loaded_.size() < before) loaded = load(graph, in_parts);
  }
  if (!loaded) return std::move(loaded.error());
  loaded_.push_back(std::move(*loaded));
  return loaded_.back().get();
}

} // namespace tg
