// From options to results, for the subcommands that load, optimise and run; and the parts of
// reports that several of them print.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/json_files.h"
#include "compiler/api/files/model.h"
#include "compiler/api/optimize_model.h"
#include "compiler/api/verify/verify_models.h"
#include "compiler/cli/session.h"

namespace tg::cli {

/// What the options say of a model. Errors: `usage`.
Result<ModelRequest> model_request(const Options& options);
// Each leaves what went wrong in the session's sink and then returns nullopt.
/// A model from a file, with --model, --set, --shape and --dim of the options. `shared`: these are
/// for other files, too.
std::optional<LoadedModel> load(Session& session, const std::string& path, bool shared = false);
/// The model of the command line.
std::optional<LoadedModel> load(Session& session);
/// The library's optimisation (api/optimize_model.h), which the session watches and may end; of
/// `host` what else the command gives.
std::optional<OptimizedModel> optimize_model(Session& session, const Graph& source,
                                             OptimizeHost host = {});
/// A model loaded, and optimised as the options say.
struct LoadedAndOptimized {
  LoadedModel source;
  OptimizedModel best;
};
/// Ctrl-C stops the search, which keeps the best so far.
std::optional<LoadedAndOptimized> load_and_optimize(Session& session);
/// Runs and prints as `tg run` does; `graph` is `source`, perhaps optimised; `weights` are used
/// where the options name none. False after an error.
bool run_graph(Session& session, const Graph& source, const Graph& graph, WeightSource weights);
/// `tg verify`: both compared as the options say, and what came of it, for people. Ctrl-C at the
/// prompt leaves it undecided.
Result<ModelsVerified> compare(Session& session, VerifySide a, VerifySide b,
                               tangram::VerifyOptions options = {});
void print_equivalence(llvm::raw_ostream& out, const Equivalence& result);
/// A line on a terminal that counts what is done,
/// and goes away at the end; empty where there is none.
std::function<void(size_t done, size_t total)> progress_line(Session& session, const char* what);

/// How models are run here: the library's options, as the parts take them.
PrepareOptions prepare_options(const Options& options);
/// The same with --weights opened and compared with what the model needs, else with its own.
Result<PrepareOptions> prepare_options(const Options& options, const LoadedModel& model);
/// The file in which verified rules are remembered: by default the user's.
std::string rule_cache(const Options& options);

/// A chain of rewrites for people, as `tg explain` prints it.
void print_chain(llvm::raw_ostream& out, llvm::ArrayRef<tangram::Step> steps);
/// What `tg opt` prints; `verbose` adds what every rule did while exploring.
void print_report(llvm::raw_ostream& out, const OptimizeReport& report, bool color, bool verbose);
/// What `tg rules list` prints.
void print_rules(Session& session, llvm::ArrayRef<Rule> rules);

} // namespace tg::cli
