// From options to results, for the subcommands that load, optimise and run; and the parts of
// reports that several of them print.
#pragma once

#include "compiler/driver/cli/session.h"
#include "compiler/driver/model.h"
#include "compiler/driver/prepare.h"
#include "compiler/driver/rule_trust.h"
#include "compiler/equiv/equivalent.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/optimizer/retyped_cost.h"

namespace tg::cli {

// Each leaves what went wrong in the session's sink and then returns nullopt.
std::optional<Graph> load(Session& session);
/// `declared`: rules beside those that the options select. `used`: receives all of them, which the
/// chain of the result numbers.
std::optional<Optimized> optimize_model(Session& session, const Graph& source,
                                        llvm::ArrayRef<Rule> declared = {},
                                        std::vector<Rule>* used = nullptr);
/// A model loaded and optimised as the options say, with the rules that its chain numbers.
struct OptimizedModel {
  Graph source;
  Optimized result;
  std::vector<Rule> rules;
};
/// Ctrl-C stops the search, which keeps the best so far.
std::optional<OptimizedModel> load_and_optimize(Session& session);
/// What --verify comes to. Undecided: a limit left no answer, and a note of the report says which.
enum class Verification : uint8_t { Passed, Undecided, Failed };
/// With --verify: the chain replayed and the result held against its source, exactly; a note of the
/// report says with what outcome. Failed: the reason is in the sink.
Verification verify_result(Session& session, const Graph& source, Optimized& result,
                           llvm::ArrayRef<Rule> rules);
/// Runs and prints as `tg run` does; `graph` is `source`, perhaps optimised. False after an error.
bool run_graph(Session& session, const Graph& source, const Graph& graph);
/// `tg verify`: both compared as the options say, and what came of it, for people. Ctrl-C at the
/// prompt leaves it undecided.
Result<Equivalence> compare(Session& session, const Graph& a, const Graph& b);
void print_equivalence(llvm::raw_ostream& out, const Equivalence& result);
/// The cost model that the options name, of a graph in the types in which it runs.
Result<std::unique_ptr<CostModel>> cost_model(Session& session, const Graph& source);

/// A line on a terminal that counts what is done, and goes away at the end; empty where there is
/// none.
std::function<void(size_t done, size_t total)> progress_line(Session& session, const char* what);

PrepareOptions prepare_options(const Options& options);
/// The same with --weights opened and compared with what the model needs.
Result<PrepareOptions> prepare_options(const Options& options, const Graph& model);
OptimizeOptions optimize_options(const Options& options);
TrustOptions trust_options(Session& session);

/// A JSON number; null for what JSON cannot say (infinity, NaN).
void write_number(llvm::json::OStream& json, llvm::StringRef name, double value);
/// A chain of rewrites: [{rule, file, line, backwards, before, after, where}].
void write_chain(llvm::json::OStream& json, llvm::StringRef name, const Derivation& chain,
                 llvm::ArrayRef<Rule> rules);
/// The same for people, as `tg explain` prints it.
void print_chain(llvm::raw_ostream& out, const Derivation& chain, llvm::ArrayRef<Rule> rules);
/// The fields of `tg opt --json`.
void write_report(llvm::json::OStream& json, const OptimizeReport& report);
/// What `tg opt` prints; `verbose` adds what every rule did while exploring.
void print_report(llvm::raw_ostream& out, const OptimizeReport& report, bool color, bool verbose);
/// What `tg rules list` prints.
void print_rules(Session& session, llvm::ArrayRef<Rule> rules);
/// "3.1e-07"
std::string difference_text(double difference);

} // namespace tg::cli
