// Graphs that take too much memory to be loaded whole, one beside the other. Each is cut into
// parts, which run one after the other: every part with its own weights, on what the parts before
// it gave. So the outputs are those of the whole graph, while one part is in memory. Of equal parts
// the first stays loaded, to be timed.
#pragma once

#include "compiler/trial/loaded_graphs.h"

namespace tg {

/// Runs a loaded part once: sets its `run_s` and adds the steps that computed on denormal numbers.
/// Errors: the device's.
Result<void> run_first(LoadedGraph::Part& part, std::vector<StepInfo>& on_denormals);

/// Loads and runs a graph part by part, on random inputs. `options.shared`, if any, has to name
/// weights by contents. Errors: those of prepare() and of a run.
Result<std::unique_ptr<LoadedGraph>> load_parts(const Graph& graph, const PrepareOptions& options);

} // namespace tg
