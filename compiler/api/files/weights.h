// Weights and their files: comparing the weights of a model with those of a file, using a file as
// the source of a run's weights, and folding. Folding makes an optimised graph a standalone model:
// every weight-only subgraph becomes one weight, whose values are computed once and written beside
// the graph.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/weight_file.h"
#include "compiler/ir/graph.h"

namespace tg {

/// The state of a weight of a model, or of a tensor of a file.
enum class WeightState : uint8_t {
  Random,     // no file is given: drawn from seed and path
  Found,      // in the file, with the model's type or narrower floats
  Missing,    // not in the file
  Mismatched, // in the file, with another type
  Unused,     // only in the file
};
/// "random", "found", "missing", "mismatched", "unused"
llvm::StringRef state_name(WeightState state);

struct WeightRow {
  std::string path;
  TensorType type;       // the model's; for an unused tensor the file's
  std::string file_type; // as in the file; empty if it is missing there
  WeightState state = WeightState::Random;
};

/// Lists the weights that the outputs need, in the order of the graph, and then the unused tensors,
/// in the order of the file. Without a file all weights are random.
std::vector<WeightRow> compare_weights(const Graph& graph, const WeightFile* file);

/// Errors: `missing_weights` or `mismatched_weight`, with the first few names, if the file lacks
/// weights that the graph needs or has other types of them.
Result<void> check_weights(llvm::ArrayRef<WeightRow> rows, llvm::StringRef model,
                           llvm::StringRef file_name);

/// Returns a source that reads from the file, which it keeps open, and widens narrower floats to
/// the model's type.
WeightSource weights_from(std::shared_ptr<const WeightFile> file);
/// The same, but weights that the file lacks are random from the seed.
WeightSource weights_or_random(std::shared_ptr<const WeightFile> file, uint64_t seed);

/// Opens a file and compares it with the model's weights. Errors: those of both.
Result<std::shared_ptr<const WeightFile>> open_weight_file(const Graph& graph,
                                                           llvm::StringRef path);

/// Sets the options to run with the weights of the file.
void take_weights(PrepareOptions& options, std::shared_ptr<const WeightFile> file);

/// Metadata texts of a weight file, by key.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Writes all weights that the graph's outputs need, from the source, or random from the seed.
Result<void> save_weights(const Graph& graph, const PrepareOptions& options, llvm::StringRef path,
                          Metadata metadata = {});

/// A graph with little left to compute at load, and the computation of its new weights.
struct Folded {
  Graph graph;
  /// Its outputs are the folded weights, named by their paths. It has no inputs.
  Graph values;
};

/// Replaces weight-only operators that a run needs by weights with the path `P.folded`, where P is
/// the first weight below. Operators with larger results (masks, tables, repeats) are kept, unless
/// they take longer than reading the result. Names of inputs, outputs and other weights are
/// unchanged. `varying`: by node, those that are kept, too, since they depend on open sizes.
Folded fold_weights(const Graph& graph, const std::vector<bool>* varying = nullptr);

/// Returns the weight as a plan has it.
PlanValue plan_value(const Graph& graph, NodeId weight);

/// Returns the graph with only these outputs, and with all its inputs.
Graph with_outputs(const Graph& graph, llvm::ArrayRef<GraphOutput> outputs);

/// Splits the graph into several with consecutive outputs of about this many bytes each. Large
/// folded weights are computed one after the other.
std::vector<Graph> in_batches(const Graph& graph, int64_t bytes = int64_t{64} << 20);

/// Returns the weights of folded.graph. Those of the source are unchanged, or random from the seed.
/// The folded ones are computed on the options' backend in batches, when one of a batch is
/// requested. Errors of a call: those of the source and of `prepare`.
WeightSource folded_weights(const Folded& folded, const PrepareOptions& options);

/// Writes the weights of folded.graph: those of the source unchanged, the folded ones computed on
/// the options' backend, and a record of their computation, followed by the records of the options'
/// file (unfold.h). Errors: those of `prepare` and of writing.
Result<void> save_folded_weights(const Folded& folded, const PrepareOptions& options,
                                 llvm::StringRef path);

/// Does both: returns the graph with nothing left to compute at load, and writes its weights.
Result<Graph> save_folded(const Graph& graph, const PrepareOptions& options, llvm::StringRef path);

} // namespace tg
