// Weights and files of them: what a model wants compared with what a file has, a file as the source
// of a run's weights, and the folding that makes an optimised graph a model of its own: every
// weight-only subgraph becomes one weight, whose values are computed once and written beside the
// graph.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/weight_file.h"
#include "compiler/ir/graph.h"

namespace tg {

/// Of one weight of a model, or one tensor of a file.
enum class WeightState : uint8_t {
  Random,     // no file is given: drawn from seed and path
  Found,      // in the file, with the model's type, or as narrower floats
  Missing,    // not in the file
  Mismatched, // in the file, with another type
  Unused,     // in the file alone
};
/// "random", "found", "missing", "mismatched", "unused"
llvm::StringRef state_name(WeightState state);

struct WeightRow {
  std::string path;
  TensorType type;       // the model's; of an unused tensor the file's
  std::string file_type; // as the file has it; empty if it does not
  WeightState state = WeightState::Random;
};

/// The weights that the outputs need, in the order of the graph; then what is only in the file, in
/// the order of the file. Without a file all are random.
std::vector<WeightRow> compare_weights(const Graph& graph, const WeightFile* file);

/// Errors: `missing_weights` or `mismatched_weight` if the file does not have what the graph needs,
/// with the first few names.
Result<void> check_weights(llvm::ArrayRef<WeightRow> rows, llvm::StringRef model,
                           llvm::StringRef file_name);

/// A source that reads from the file, which it keeps open; narrower floats are widened where
/// the model has that.
WeightSource weights_from(std::shared_ptr<const WeightFile> file);
/// The same; what the file lacks is random from the seed.
WeightSource weights_or_random(std::shared_ptr<const WeightFile> file, uint64_t seed);

/// A model's weights from a file: opened and compared. Errors: those of both.
Result<WeightSource> open_weights(const Graph& graph, llvm::StringRef path);
Result<std::shared_ptr<const WeightFile>> open_weight_file(const Graph& graph,
                                                           llvm::StringRef path);

/// A run with the weights of the file.
void take_weights(PrepareOptions& options, std::shared_ptr<const WeightFile> file);

/// Free texts of a file of weights, by key.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Writes all weights that the graph's outputs need, from the source or at random from the seed.
Result<void> save_weights(const Graph& graph, const PrepareOptions& options, llvm::StringRef path,
                          Metadata metadata = {});

/// A graph in which little is left to compute at load, and how its new weights come about.
struct Folded {
  Graph graph;
  /// Its outputs are the folded weights, named by their paths. No inputs.
  Graph values;
};

/// Weight-only operators that a run needs become weights of the path `P.folded`, where P is the
/// first weight below. Operators that enlarge (masks, tables, repeats) stay, unless they take
/// longer than a read of their result. Names of inputs, outputs and other weights stay.
Folded fold_weights(const Graph& graph);

/// The weight as a plan would have it.
PlanValue plan_value(const Graph& graph, NodeId weight);

/// The graph with these of its outputs alone, and with all its inputs.
Graph with_outputs(const Graph& graph, llvm::ArrayRef<GraphOutput> outputs);

/// The graph as several that give its outputs between them, in their order: each gives so many
/// bytes, or a little more. Large folded weights are computed one after the other.
std::vector<Graph> in_batches(const Graph& graph, int64_t bytes = int64_t{64} << 20);

/// The weights of folded.graph: those of the source as they are, or random from the seed, the
/// folded ones computed on the options' backend in batches, when one of a batch is asked for.
/// Errors of a call: those of the source and of `prepare`.
WeightSource folded_weights(const Folded& folded, const PrepareOptions& options);

/// Writes the weights of folded.graph: those of the source as they are, the folded ones computed on
/// the options' backend, and a record of what those were computed from, with the records of the
/// options' file (unfold.h). Errors: those of `prepare` and of writing.
Result<void> save_folded_weights(const Folded& folded, const PrepareOptions& options,
                                 llvm::StringRef path);

/// Both: the graph that has nothing left to compute at load, whose weights the file now has.
Result<Graph> save_folded(const Graph& graph, const PrepareOptions& options, llvm::StringRef path);

} // namespace tg
