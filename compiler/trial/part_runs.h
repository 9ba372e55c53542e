// Runs graphs that need too much memory to be loaded whole at the same time. Each graph is cut into
// parts that run one after the other, each with its own weights, on the results of earlier parts.
// So the outputs are those of the whole graph, while a single part is in memory. The first of equal
// parts stays loaded, for timing.
#pragma once

#include "compiler/trial/loaded_graphs.h"

namespace tg {

/// Runs a loaded part once. Sets its `run_s` and adds the steps that computed on denormal numbers.
/// Errors: the device's.
Result<void> run_first(LoadedGraph::Part& part, std::vector<StepInfo>& on_denormals);

/// Loads and runs a graph part by part, on random inputs. `options.shared`, if any, must name
/// weights by contents. Errors: those of prepare() and of a run.
Result<std::unique_ptr<LoadedGraph>> load_parts(const Graph& graph, const PrepareOptions& options);

} // namespace tg
