// A whole optimisation from the public options: selects and verifies rules, makes prices and whole
// runs, runs the optimiser, writes additional files, and verifies the result. `tangram::optimize`
// and the commands of `tg` all use this. A command's additional inputs are in its OptimizeHost.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/trial/judged_finalists.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "runtime/backend.h"
#include "tangram/tangram.h"

namespace tg {

/// Optional inputs and callbacks of a program that shows more of an optimisation than its result: a
/// terminal, signals, a prompt.
struct OptimizeHost {
  /// The stop for the whole optimisation. Empty: at the time limit of the options, or when the
  /// process exceeds its current memory by the memory limit.
  std::optional<StopToken> stop = {};
  llvm::ArrayRef<Rule> declared = {};             // in addition to those that the options select
  llvm::ArrayRef<Rule> selected = {};             // verified; if given, no others are used
  std::shared_ptr<const WeightFile> weights = {}; // of the model, if the options name no file
  std::shared_ptr<const KeptOperators> kept = {}; // of the model, for a written ONNX file
  bool chain = false;    // derive the chain of rewrites even without `explain`
  bool remember = true;  // reuse earlier whole runs
  bool isolated = false; // verify rules in separate processes
  std::function<void(size_t done, size_t total)> verifying = {}, timing = {};
  /// Called when the search begins, with its time limit and whether operators are timed on the way.
  /// Returns the listener that replaces the options' own. And called when it ends.
  std::function<tangram::OnProgress(double time_limit_s, bool timed)> searching = {};
  std::function<void()> searched = {};
  /// The options' judge, for graphs.
  GraphJudge judge = {};
  /// Receives the trace of the search (report_json.h) before its result is verified. If set, a
  /// trace is recorded, as it is if the options request one.
  std::function<Result<void>(llvm::StringRef trace)> traced = {};
};

using tangram::Verified;

struct OptimizedModel {
  Optimized result;
  std::vector<Rule> rules; // the rules in use, as numbered in the chain
  Verified verified = Verified::NotRequested;
  std::string trace = {}; // if recorded
};

/// Returns nullopt if the sink got errors: of the options, rules or files, those of optimize() and,
/// if verification is requested, `optimiser_differs`.
std::optional<OptimizedModel> optimize_model(const Graph& source,
                                             const tangram::OptimizeOptions& options,
                                             std::shared_ptr<const ExternKernels> externs,
                                             const OptimizeHost& host, SourceManager& sources,
                                             DiagnosticSink& sink);

/// Returns the rules that the options select, those of their text and the host's, all verified.
/// Returns nullopt if the sink got errors.
std::optional<std::vector<Rule>> select_rules(const tangram::OptimizeOptions& options,
                                              const OptimizeHost& host, const StopToken& stop,
                                              SourceManager& sources, DiagnosticSink& sink);

// --- steps --------------------------------------------------------------------------------------

/// Checks numbers against their rows' ranges, and types against their rows' words. Errors: `usage`.
Result<void> check_options(const tangram::OptimizeOptions& options);

/// Checks that the dtype of a run is F32, F16 or BF16. Errors: `usage`.
Result<void> check_run_dtype(tangram::DType dtype);

/// Converts the options for the optimiser, without the parts that belong to a run: a stop, whole
/// runs, groups, a trace.
OptimizeOptions optimize_options(const tangram::OptimizeOptions& options);

/// Returns the chain for display, checked against the text of the rules first. Errors: those of
/// confirm_chain().
Result<std::vector<tangram::Step>> confirmed_steps(const Optimized& optimized,
                                                   llvm::ArrayRef<Rule> rules, const Graph& source,
                                                   const StopToken& stop);

/// The costs of a graph's operators, in the type in which the options run it.
struct OperatorCosts {
  struct Kind {
    OpKind op{};
    size_t count = 0;
    double microseconds = 0;
  };
  std::vector<Kind> kinds; // most expensive first
  std::string cost_model;
};
/// Errors: those of cost_model().
Result<OperatorCosts> operator_costs(const Graph& graph, const tangram::OptimizeOptions& options,
                                     const StopToken& stop,
                                     std::function<void(size_t done, size_t total)> progress = {});

/// Returns the prices that the options name, for a graph converted to the type in which it runs.
/// Errors: those of make_cost_model().
Result<std::unique_ptr<CostModel>>
cost_model(const Graph& as_run, const tangram::OptimizeOptions& options, const StopToken& stop,
           std::function<void(size_t done, size_t total)> progress = {});

} // namespace tg
