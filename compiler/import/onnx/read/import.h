// An ONNX file as a tensor graph. Nothing of it is dropped silently: a node whose operator,
// attribute, input or output is not understood is refused by name, and what depends on it is left
// out of the messages.
//
// What a graph of ours has no room for is decided here, once the shapes of the inputs are known:
// arithmetic on shapes folds to numbers, branches and loops with known conditions unroll, sequences
// that are built and taken apart vanish, functions of the file are unfolded.
//
// Invariant: an operator of the file means the same as the nodes that it becomes; weights stay in
// the file, and the graph names them by the file's names.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/model_file.h"
#include "compiler/import/onnx/file/origins.h"
#include "compiler/ir/whole_ranges.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringSet.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tg::onnx {

inline constexpr int kOldestImport = 5, kNewestImport = 28;

struct ImportOptions {
  std::map<std::string, std::vector<int64_t>> shapes; // of inputs, by name
  std::map<std::string, int64_t> dims;                // symbolic dimensions, by name
  /// The graph is to become a file of ONNX again, of an opset up to this: nodes that runtimes run
  /// faster as one than written out are cut out of it (file/kept_nodes.h). 0: all are written out.
  int keep_for = 0;
  /// Initialisers that stay weights, however few elements they have: a record in the file says what
  /// they were computed from.
  llvm::StringSet<> folded = {};
};

/// A weight of the graph, whose elements are in the file.
struct ImportedWeight {
  std::string path; // the name in the file
  const schema::Tensor* tensor = nullptr;
};

/// A node of the file that has no form here.
struct Refusal {
  std::string op;   // "Resize", "com.microsoft.QGemm"
  std::string node; // its name, or that of its first result
  std::string why;
};

struct Imported {
  Graph graph;
  std::shared_ptr<const ModelFile> file;
  /// In the order in which nodes first use them.
  std::vector<ImportedWeight> weights;
  /// What the file calls the values, by node;
  /// `/layer/0/fc/MatMul` where it says which module one is of.
  llvm::DenseMap<uint32_t, std::string> names;
  int64_t ops = 0; // nodes of the file, functions unfolded, loops once a round
  std::optional<KeptNodes> kept = {};
  std::optional<FileFacts> facts = {}; // where the graph is to become a file again
  InputRanges ranges = {};             // of integers of types that Tangram does not have
  /// "LSTM `/rnn/LSTM`": those that could not be kept.
  std::vector<std::string> written_out = {};
};

/// nullopt if the sink got errors. `refused`, if given, gets every node that is refused, of which
/// the sink gets the first few. Errors: `unsupported` for these; `bad_data_file` for a file that
/// contradicts itself; `not_constant` lists sizes of inputs that neither file nor options give;
/// `usage` for an option that the file has nothing for.
std::optional<Imported> import_model(std::shared_ptr<const ModelFile> file,
                                     const ImportOptions& options, DiagnosticSink& sink,
                                     std::vector<Refusal>* refused = nullptr);

} // namespace tg::onnx
