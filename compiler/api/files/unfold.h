// Traces folded weights back to the weights from which they were computed. A file of folded weights
// contains the model that computed them (weights.h, Folded::values): its outputs are the folded
// weights, and its weights are those of the source. With this record the folded model can be
// restated over the weights of the source, and compared exactly with other models. A separate
// numeric check confirms that the values in the file match the record.
//
// A file made from such a file has its own record followed by those of the other, so it can be
// compared with each earlier file.
#pragma once

#include "compiler/api/files/weights.h"
#include "lang/core/const_math.h"

#include <llvm/ADT/StringSet.h>

#include <optional>

namespace tg {

/// Returns the metadata that record the folded weights; empty if none was folded. `names` maps to
/// the names in the file, which then has only these; null: all paths are names in the file.
Metadata folding_record(const Graph& values, const llvm::StringMap<std::string>* names = nullptr);

/// Returns that, followed by the records of the file from which the weights were read; null: no
/// file.
Metadata folding_records(const Graph& values, const WeightFile* source,
                         const llvm::StringMap<std::string>* names = nullptr);

/// Returns the models that computed the folded weights of a file, with outputs named by their
/// paths: first from the weights of the file it was made from, then from those of the file before,
/// and so on. Empty without a record. Errors: `bad_data_file` if a record cannot be read.
Result<std::vector<Graph>> read_foldings(const WeightFile& file);

/// Adds the names of the weights that a record folded, if `key` is that of its list of names.
void add_folded_paths(llvm::StringRef key, llvm::StringRef text, llvm::StringSet<>& paths);

/// Returns the graph with every weight that is an output of `values` replaced by its computation. A
/// weight with the same path and another type is kept. So is a weight that `source`, the file of
/// the other side, has itself: the two files are compared for it (null: no file).
Graph unfold(const Graph& graph, const Graph& values, const WeightFile* source = nullptr);

/// The first difference between two tensors that should be equal.
struct WeightDifference {
  std::string path;
  Shape index;
  ConstNumber a, b; // exact for integers
};

/// The result of comparing the folded weights of a file with their recomputation from the source's
/// weights.
struct FoldingCheck {
  size_t weights = 0;
  double max_rel_diff = 0;
  std::optional<WeightDifference> wrong; // the first difference beyond rounding of folding in f32
  /// The file lacks some of them. Another program may have merged equal weights.
  bool incomplete = false;
};

/// `source` provides the weights that `values` reads; its `interrupt` ends the check. Errors: those
/// of the source and of the file; `limit_no_answer`.
Result<FoldingCheck> check_folding(const Graph& values, const PrepareOptions& source,
                                   const WeightFile& file);

/// Returns the first weight that `graph` needs and that has different values in the files. Errors:
/// those of reading the files; `limit_no_answer`.
Result<std::optional<WeightDifference>> differing_weight(const Graph& graph, const WeightFile& a,
                                                         const WeightFile& b,
                                                         const StopToken& stop = {});

/// Returns the graph with the weights of these paths as constants with the values in the file.
/// Large weights, and those missing in the file, are kept. Errors: those of reading the file.
Result<Graph> with_known_weights(const Graph& graph, llvm::ArrayRef<std::string> paths,
                                 const WeightFile& file);

/// Returns the graph with float constants replaced by the shortest decimal numbers that round to
/// the same value: a text has 0.1 for 0.100000001490116 in a file.
Graph with_short_constants(const Graph& graph);

/// Returns the graph with renamed weights; `names` is by path.
Graph with_renamed_weights(const Graph& graph, const llvm::StringMap<std::string>& names);

/// Returns the paths of the weights of a graph.
llvm::StringSet<> weight_paths(const Graph& graph);

/// Returns the weights that the outputs of one graph need and the other graph lacks.
std::vector<std::string> weights_of_one_side(const Graph& graph, const Graph& other);

} // namespace tg
