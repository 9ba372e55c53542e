// Imports an ONNX file as a tensor graph. Nothing is dropped silently: a node with an
// unsupported operator, attribute, input or output is rejected by name. Nodes that depend on it
// are not reported.
//
// Constructs that Tangram's graphs lack are resolved here, once the shapes of the inputs are known:
// arithmetic on shapes folds to numbers, branches and loops with known conditions are unrolled,
// sequences disappear, and functions of the file are inlined.
//
// Invariant: an operator of the file has the same meaning as the nodes that replace it. Weights
// stay in the file, and the graph refers to them by their names there.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/file/model_file.h"
#include "compiler/import/onnx/file/origins.h"
#include "compiler/ir/whole_ranges.h"
#include "lang/core/sizes/region.h"

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
  /// For graphs that will be written as ONNX again, in an opset up to this: nodes that runtimes
  /// run faster as one than expanded are cut out of the graph (file/kept_nodes.h). 0: all nodes
  /// are expanded.
  int keep_for = 0;
  /// Initialisers that stay weights, however small: a record in the file says from which weights
  /// they were computed.
  llvm::StringSet<> folded = {};
  /// Shapes of inputs with names of open sizes, as texts: {"1", "S", "64"}.
  std::map<std::string, std::vector<std::string>> named_shapes = {};
  /// Sizes that are expressions of others, by name: {"total", "past + 1"}.
  std::map<std::string, std::string> computed_dims = {};
  /// Ranges of sizes that stay open, by name.
  std::map<std::string, sizes::Interval> ranges = {};
  /// Values of more elements than this stay operators. Set where a file is imported at several
  /// sizes, to find what depends on them.
  std::optional<int64_t> most_folded = {};
};

/// A weight of the graph whose elements are in the file.
struct ImportedWeight {
  std::string path; // the name in the file
  const schema::Tensor* tensor = nullptr;
};

/// A rejected node of the file.
struct Refusal {
  std::string op;   // "Resize", "com.microsoft.QGemm"
  std::string node; // its name, or that of its first result
  std::string why;
};

struct Imported {
  Graph graph;
  std::shared_ptr<const ModelFile> file;
  /// In the order of their first use by nodes.
  std::vector<ImportedWeight> weights;
  /// The names of the values in the file, by node; `/layer/0/fc/MatMul` if the file records the
  /// module of a node.
  llvm::DenseMap<uint32_t, std::string> names;
  int64_t ops = 0; // nodes of the file, with functions inlined and loops unrolled
  std::optional<KeptNodes> kept = {};
  std::optional<FileFacts> facts = {}; // where the graph is to become a file again
  InputRanges ranges = {};             // of integers of types that Tangram does not have
  /// "LSTM `/rnn/LSTM`": those that could not be kept.
  std::vector<std::string> written_out = {};
  /// "`/If_3` takes its then_branch": branches that known conditions decided, which may depend on
  /// sizes.
  std::vector<std::string> decisions = {};
};

/// Imports a file. nullopt if the sink got errors. `refused`, if given, receives every rejected
/// node; the sink gets the first few. Errors: `unsupported` for these; `bad_data_file` for an
/// inconsistent file; `not_constant` lists sizes of inputs that neither file nor options give;
/// `usage` for an option that matches nothing in the file.
std::optional<Imported> import_model(std::shared_ptr<const ModelFile> file,
                                     const ImportOptions& options, DiagnosticSink& sink,
                                     std::vector<Refusal>* refused = nullptr);

} // namespace tg::onnx
