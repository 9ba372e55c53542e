// Converts a checked program to the tensor graph, by instantiating a model for given compile-time
// parameters. Function calls and loops are unrolled; tuples and compile-time values are eliminated.
// The result has operators over inputs, weights and constants, each typed by `infer`.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"

#include <map>
#include <memory>
#include <optional>

namespace tg {

/// External compile-time parameters (`--set N=8`), by name.
using ModelSettings = std::map<std::string, Value>;

/// Limits of an instantiation (E0404): depth of calls, depth of evaluation (which bounds the C++
/// stack), executed statements, and nodes.
inline constexpr uint32_t kMaxCallDepth = 100;
inline constexpr uint32_t kMaxEvalDepth = 1000;
inline constexpr uint64_t kMaxSteps = 10'000'000;
inline constexpr size_t kMaxGraphNodes = 2'000'000;

/// Checks everything that can be checked without running the program: names in all functions, and
/// the shapes of every model that its defaults can instantiate, for all sizes in the ranges of its
/// parameters. A model with external dimensions is checked only by name. Returns true if no error
/// was reported.
bool check(const Program& program, DiagnosticSink& sink);

/// Returns the names that must be set before the model can be built: dimensions and compile-time
/// parameters without a value, in textual order.
std::vector<std::string> open_names(const Program& program, FnRef model);

/// Returns the names that can be set for the model: its compile-time parameters, and the
/// dimensions, shapes and dtypes in the types of its tensors.
std::vector<std::string> setting_names(const Program& program, FnRef model);

/// The value of a model's body as messages describe it: the type of a tensor, a compile-time value
/// itself, lists and tuples of them.
struct ModelValue {
  std::string text;
  bool constant = false; // a compile-time value
};

/// Returns the graph of a model ("" for the only one). Inputs and outputs have the names of the
/// model's tensor parameters and results (`output` or `output0`, `output1`, … for unnamed results).
/// Returns nullopt if an error was reported; each mistake is reported once, however often it is
/// unrolled. `value`, if given, receives the body's value.
std::optional<Graph> instantiate(const Program& program, llvm::StringRef model,
                                 const ModelSettings& settings, std::shared_ptr<Symbols> symbols,
                                 DiagnosticSink& sink, ModelValue* value = nullptr);

/// Parses a setting: `8`, `0.5`, `true`, `relu`, `[1, 2]`. Returns nullopt for other text.
std::optional<Value> parse_setting(llvm::StringRef text);

} // namespace tg
