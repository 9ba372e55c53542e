// Folded weights traced back to what they were folded from. A file of folded weights carries the
// model that computed them (weights.h, Folded::values): its outputs are the folded weights, its
// weights those of the source. With it the folded model is one over the weights of the source
// again, so that the two can be compared exactly; and that the numbers in the file are what the
// record says is a comparison of numbers.
//
// A file that is made of such a file has its own record and those of the other behind it. So it can
// be compared with each file before it.
#pragma once

#include "compiler/api/files/weights.h"
#include "lang/core/const_math.h"

#include <llvm/ADT/StringSet.h>

#include <optional>

namespace tg {

/// What a file of the weights says of the folded ones; nothing if none was folded. `names`: what
/// the file calls them, which has those of these alone; null: it has all, under their paths.
Metadata folding_record(const Graph& values, const llvm::StringMap<std::string>* names = nullptr);

/// That, and behind it the records of the file that
/// the weights were read from; null: there is none.
Metadata folding_records(const Graph& values, const WeightFile* source,
                         const llvm::StringMap<std::string>* names = nullptr);

/// The models that computed the folded weights of a file, their outputs named by their paths: from
/// the weights of the file that it was made of, from those of the file before, and so on. None if
/// the file has no record of one. Errors: `bad_data_file` if a record cannot be read.
Result<std::vector<Graph>> read_foldings(const WeightFile& file);

/// Adds the names of the weights that a record folded, if `key` is that of its list of names.
void add_folded_paths(llvm::StringRef key, llvm::StringRef text, llvm::StringSet<>& paths);

/// The graph with every weight that is an output of `values` replaced by what computes it. A weight
/// of the same path and another type stays, and so does one that `source`, the file of the other
/// side, has itself: the two files are compared there (null: no file).
Graph unfold(const Graph& graph, const Graph& values, const WeightFile* source = nullptr);

/// Where two tensors part that should be one.
struct WeightDifference {
  std::string path;
  Shape index;
  ConstNumber a, b; // integers as such
};

/// How the folded weights of a file compare with what computes them from the weights of the source.
struct FoldingCheck {
  size_t weights = 0;
  double max_rel_diff = 0;
  std::optional<WeightDifference> wrong; // the first beyond what folding in f32 rounds
  /// The file lacks some of them: another program may have joined weights that are equal.
  bool incomplete = false;
};

/// `source` gives the weights that `values` reads, and its `interrupt` ends the check. Errors:
/// those of the source and of the file; `limit_no_answer`.
Result<FoldingCheck> check_folding(const Graph& values, const PrepareOptions& source,
                                   const WeightFile& file);

/// The first weight that `graph` needs and that the files hold with different values.
/// Errors: those of reading the files; `limit_no_answer`.
Result<std::optional<WeightDifference>> differing_weight(const Graph& graph, const WeightFile& a,
                                                         const WeightFile& b,
                                                         const StopToken& stop = {});

/// The graph with the weights of these paths as the constants that the file says they are. Larger
/// ones, and those that the file lacks, stay. Errors: those of reading the file.
Result<Graph> with_known_weights(const Graph& graph, llvm::ArrayRef<std::string> paths,
                                 const WeightFile& file);

/// The graph with float constants as the numbers of the fewest digits that their types hold alike:
/// a text has 0.1 where a file has 0.100000001490116.
Graph with_short_constants(const Graph& graph);

/// The graph with weights under other paths, by path.
Graph with_renamed_weights(const Graph& graph, const llvm::StringMap<std::string>& names);

/// Weights that the outputs of one graph need and of which the other has none.
std::vector<std::string> weights_of_one_side(const Graph& graph, const Graph& other);

} // namespace tg
