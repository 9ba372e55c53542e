// From options to results, for the subcommands that load, optimise and run; and the sections of
// reports that several of them print.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/json_files.h"
#include "compiler/api/files/model.h"
#include "compiler/api/optimize_model.h"
#include "compiler/api/size_recipes.h"
#include "compiler/api/verify/verify_models.h"
#include "compiler/cli/session.h"

namespace tg::cli {

/// Returns the options that concern the model. Errors: `usage`.
Result<ModelRequest> model_request(const Options& options);
// The load functions report errors to the session's sink and return nullopt.
// Loads a model from a file, with --model, --set, --shape and --dim of the options. `shared`: these
// options also apply to other files.
std::optional<LoadedModel> load(Session& session, const std::string& path, bool shared = false);
/// Loads the model of the command line.
std::optional<LoadedModel> load(Session& session);
/// Optimises as the library does (api/optimize_model.h); the session follows and may stop it.
/// `host` holds the further callbacks of the command.
std::optional<OptimizedModel> optimize_model(Session& session, const Graph& source,
                                             OptimizeHost host = {});
/// A loaded model, and the result of optimising it as the options say. With open sizes both are at
/// the sizes of a plain run.
struct LoadedAndOptimized {
  LoadedModel source;
  OptimizedModel best;
  std::optional<OpenModel> open = {};              // if it has open sizes
  std::shared_ptr<const SizeRecipes> recipes = {}; // likewise, if there is a chain of rewrites
};
/// Ctrl-C stops the search, which returns the best so far.
std::optional<LoadedAndOptimized> load_and_optimize(Session& session);
/// Runs and prints as `tg run` does. `graph` is `source` or its optimised form. `weights` are used
/// unless the options name other weights. Returns false after an error.
bool run_graph(Session& session, const Graph& source, const Graph& graph, WeightSource weights);
/// Compares both sides as `tg verify` does, with its options. Ctrl-C at the prompt leaves the
/// result undecided.
Result<ModelsVerified> compare(Session& session, VerifySide a, VerifySide b,
                               tangram::VerifyOptions options = {});
void print_equivalence(llvm::raw_ostream& out, const Equivalence& result);
/// Returns a callback that shows a count on a line of the terminal, which disappears at the end;
/// empty without a terminal.
std::function<void(size_t done, size_t total)> progress_line(Session& session, const char* what);

/// Returns the options for running models.
PrepareOptions prepare_options(const Options& options);
/// The same with --weights opened and compared with the weights that the model needs; without
/// --weights the model's own are used.
Result<PrepareOptions> prepare_options(const Options& options, const LoadedModel& model);
/// Returns the file that caches the verdicts of verified rules; by default it belongs to the user.
std::string rule_cache(const Options& options);

/// Prints a chain of rewrites, as `tg explain` does.
void print_chain(llvm::raw_ostream& out, llvm::ArrayRef<tangram::Step> steps);
/// Prints the report of `tg opt`; `verbose` adds the statistics of each rule.
void print_report(llvm::raw_ostream& out, const OptimizeReport& report, bool color, bool verbose);
/// Prints the list of `tg rules list`.
void print_rules(Session& session, llvm::ArrayRef<Rule> rules);

} // namespace tg::cli
