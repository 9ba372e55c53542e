// From a checked program to the tensor graph: a model is instantiated for given compile-time
// parameters. Functions are unfolded per call, loops unrolled, tuples and compile-time values gone;
// what is left is operators over inputs, weights and constants, each typed by `infer`.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"

#include <map>
#include <memory>
#include <optional>

namespace tg {

/// Compile-time parameters given from outside (`--set N=8`), by name.
using ModelSettings = std::map<std::string, Value>;

/// No instantiation goes further than this (E0404): calls within calls, evaluations within
/// evaluations (which bounds the C++ stack), statements executed, nodes built.
inline constexpr uint32_t kMaxCallDepth = 100;
inline constexpr uint32_t kMaxEvalDepth = 1000;
inline constexpr uint64_t kMaxSteps = 10'000'000;
inline constexpr size_t kMaxGraphNodes = 2'000'000;

/// Everything that can be said about a program without running it: names in all functions, and the
/// shapes of every model that can be instantiated with its defaults (one whose dimensions are given
/// from outside only is checked by name). True if no error was reported.
bool check(const Program& program, DiagnosticSink& sink);

/// What must be given from outside before a model is built: dimensions and compile-time parameters
/// without a value, in the order of the text.
std::vector<std::string> open_names(const Program& program, FnRef model);

/// The names that a setting of the model can have: its compile-time parameters, and the dimensions,
/// shapes and dtypes in the types of its tensors.
std::vector<std::string> setting_names(const Program& program, FnRef model);

/// The value of the body of a model, in the words of messages: the type of a tensor, a
/// compile-time value itself, lists and tuples of them.
struct ModelValue {
  std::string text;
  bool constant = false; // a compile-time value
};

/// The graph of a model ("" for the only one). Inputs and outputs have the names of the model's
/// tensor parameters and results (`output` or `output0`, `output1`, … where results have none).
/// nullopt if an error was reported; one mistake is reported once, however often it is unrolled.
/// `value`, if given, gets what the body came to.
std::optional<Graph> instantiate(const Program& program, llvm::StringRef model,
                                 const ModelSettings& settings, std::shared_ptr<Symbols> symbols,
                                 DiagnosticSink& sink, ModelValue* value = nullptr);

/// Reads the text of a setting: `8`, `0.5`, `true`, `relu`, `[1, 2]`. nullopt if it is none.
std::optional<Value> parse_setting(llvm::StringRef text);

} // namespace tg
