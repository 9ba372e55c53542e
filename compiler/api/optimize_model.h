// A whole optimisation from the public options: rules selected and verified, prices, whole runs,
// the optimiser, what is written beside the result, and its verification. `tangram::optimize` and
// the commands of `tg` come this way, and no other; what a command has beside the options is its
// OptimizeHost.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/trial/judged_finalists.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "runtime/backend.h"
#include "tangram/tangram.h"

namespace tg {

/// What a program gives that sees more of an optimisation than its result: a terminal, signals, a
/// prompt. Nothing of it is needed.
struct OptimizeHost {
  /// When all of it has to end. None: at the time limit of the options, or when the process holds
  /// so much more memory than it does now.
  std::optional<StopToken> stop = {};
  llvm::ArrayRef<Rule> declared = {};             // beside those that the options select
  std::shared_ptr<const WeightFile> weights = {}; // of the model, if the options name no file
  std::shared_ptr<const KeptOperators> kept = {}; // of the model, for a file that is written of it
  bool chain = false;    // with the chain of rewrites, though nobody asked to explain
  bool remember = true;  // whole runs that were made before are not made again
  bool isolated = false; // rules are verified in processes of their own
  std::function<void(size_t done, size_t total)> verifying = {}, timing = {};
  /// The search begins, under this time limit, with operators timed on the way or not: who is told
  /// of it, in the place of the options' own. And ends.
  std::function<tangram::OnProgress(double time_limit_s, bool timed)> searching = {};
  std::function<void()> searched = {};
  /// The options' judge, over graphs.
  GraphJudge judge = {};
  /// Gets what the search did (report_json.h), before what it found is verified. Given, it is
  /// recorded, as it is where the options ask for that.
  std::function<Result<void>(llvm::StringRef trace)> traced = {};
};

using tangram::Verified;

struct OptimizedModel {
  Optimized result;
  std::vector<Rule> rules; // that were in use, as its chain numbers them
  Verified verified = Verified::NotAsked;
  std::string trace = {}; // where it was recorded
};

/// nullopt if the sink got errors: of the options, of rules, of files, those of optimize() and,
/// where that was asked for, `optimiser_differs`.
std::optional<OptimizedModel> optimize_model(const Graph& source,
                                             const tangram::OptimizeOptions& options,
                                             std::shared_ptr<const ExternKernels> externs,
                                             const OptimizeHost& host, SourceManager& sources,
                                             DiagnosticSink& sink);

/// The rules that the options select, those of their text and the host's, verified. nullopt if the
/// sink got errors.
std::optional<std::vector<Rule>> select_rules(const tangram::OptimizeOptions& options,
                                              const OptimizeHost& host, const StopToken& stop,
                                              SourceManager& sources, DiagnosticSink& sink);

// --- its parts ----------------------------------------------------------------------------------

/// Numbers in their rows' ranges, types among their rows' words. Errors: `usage`.
Result<void> check_options(const tangram::OptimizeOptions& options);

/// A run computes in F32, F16 or BF16. Errors: `usage`.
Result<void> check_run_dtype(tangram::DType dtype);

/// What the optimiser is told by them, but for what belongs to a run:
/// a stop, whole runs, groups, a trace.
OptimizeOptions optimize_options(const tangram::OptimizeOptions& options);

/// The chain as it is shown, checked against the rules' own text first. Errors: those of
/// confirm_chain().
Result<std::vector<tangram::Step>> confirmed_steps(const Optimized& optimized,
                                                   llvm::ArrayRef<Rule> rules, const Graph& source,
                                                   const StopToken& stop);

/// What the operators of a graph cost, in the type that the options run in.
struct OperatorCosts {
  struct Kind {
    OpKind op{};
    size_t count = 0;
    double microseconds = 0;
  };
  std::vector<Kind> kinds; // dearest first
  std::string cost_model;
};
/// Errors: those of cost_model().
Result<OperatorCosts> operator_costs(const Graph& graph, const tangram::OptimizeOptions& options,
                                     const StopToken& stop,
                                     std::function<void(size_t done, size_t total)> progress = {});

/// The prices that they name, for what a graph becomes in the type that it runs in. Errors: those
/// of make_cost_model().
Result<std::unique_ptr<CostModel>>
cost_model(const Graph& as_run, const tangram::OptimizeOptions& options, const StopToken& stop,
           std::function<void(size_t done, size_t total)> progress = {});

} // namespace tg
