// The command line, through CLI11. This is the one file that is compiled with exceptions: CLI11
// reports by throwing, and nothing thrown leaves parse_command_line.
#include "compiler/driver/cli/options.h"

#include "compiler/driver/cli/options_check.h"
#include "compiler/driver/cli/options_words.h"
#include "lang/core/diagnostic.h"

#include <llvm/ADT/StringExtras.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <sstream>

namespace tg::cli {
namespace {

using llvm::StringLiteral;
using llvm::StringRef;

constexpr StringRef kCommands[] = {"help",    "report", "check",   "fmt",     "opt",      "run",
                                   "extract", "rules",  "devices", "ops",     "errors",   "bench",
                                   "weights", "verify", "repl",    "explain", "calibrate"};

constexpr const char* kMemoryLimit =
    "MiB that the process may hold; default: 80% of the machine's memory";
constexpr const char* kExtractors = "greedy, greedy-shared, greedy-dag, ilp, lp, best";

/// A number from `low` to `high`, which are whole. Help does not repeat them; the message does.
template <class Number> CLI::Validator in_range(Number low, Number high) {
  auto check = [low, high](const std::string& text) -> std::string {
    Number value{};
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return "";
    return llvm::formatv("takes a {0} from {1} to {2}, not `{3}`",
                         std::is_integral_v<Number> ? "whole number" : "number", uint64_t(low),
                         uint64_t(high), text);
  };
  return CLI::Validator([check](std::string& text) { return check(text); }, "");
}

Parsed failed(std::string message,
              std::string help = "`tg --help` lists the commands and options") {
  Diagnostic d = error(Code::usage, "{0}", message);
  d.help = std::move(help);
  Parsed parsed;
  parsed.done = true;
  parsed.exit_code = 2;
  llvm::raw_string_ostream out(parsed.err);
  render(d, SourceManager(), out);
  out.flush();
  return parsed;
}

// --- groups of options --------------------------------------------------------------------------

void add_output_options(CLI::App& app, Options& o) {
  app.add_flag("--json", o.json, "one JSON object on standard output, nothing else");
  app.add_flag("--quiet", o.quiet, "no report, only diagnostics");
  app.add_flag("--verbose", o.verbose, "more detail");
}

void add_model_options(CLI::App& app, Options& o, Raw& raw) {
  app.add_option("--model", o.model, "the model of a file that has several");
  app.add_option("--set", raw.set, "a compile-time parameter, N=8")->allow_extra_args(false);
}

void add_weights_option(CLI::App& app, Options& o) {
  app.add_option("--weights", o.weights, "F.safetensors; default: random from the seed");
}

void add_rule_options(CLI::App& app, Options& o) {
  app.add_option("--rules", o.rules, "rule files, rule sets or rules; default: all built in")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--numerics", o.numerics,
                 "rules that may be used: exact, reassociate, all, lossy (all, and casts that cut)")
      ->capture_default_str();
  app.add_flag("--trust-rules", o.trust_rules, "use rules of files without verifying them");
  app.add_option("--rule-cache", o.rule_cache, "file that remembers which rules were verified");
}

void add_cost_options(CLI::App& app, Options& o) {
  app.add_option(
         "--cost", o.cost,
         "calibrated[:cpu|:cuda] (this machine's price model), analytic (what is found is run "
         "beside its source), analytic:PROFILE, measured[:cpu|:cuda], file:TABLE")
      ->capture_default_str();
  app.add_option("--cost-db", o.cost_db, "database of measured costs");
  app.add_option(
         "--cost-cache", o.cost_cache,
         "operators are measured with operands in the cache (hot) or not (cold); default: as "
         "a network of this size finds them")
      ->check(CLI::IsMember({"hot", "cold"}));
  app.add_option("--groups", o.groups,
                 "refine by prices of what the device fuses into one launch (cuda; analytic:t4, "
                 "a100, h200): auto (where costs are measured), on, off")
      ->capture_default_str();
  app.add_option("--finalists", o.finalists,
                 "graphs that are built and run whole: with measured costs so many, by default one "
                 "at most; 0: none, prices decide")
      ->check(in_range(int64_t{0}, int64_t{64}))
      ->capture_default_str();
  app.add_flag("--allow-tf32", o.allow_tf32, "cuda: f32 products in tf32, with ten bits");
  app.add_option("--save-costs", o.save_costs, "write the prices used as a table for file:TABLE");
  app.add_option("--max-weight-growth", o.max_weight_growth,
                 "most bytes of weights at run time, over those of the source")
      ->check(in_range(1.0, 1e6))
      ->capture_default_str();
}

void add_search_threads(CLI::App& app, Options& o) {
  app.add_option("--search-threads", o.search_threads, "of mcts; default: --threads")
      ->check(in_range(int64_t{1}, int64_t{1024}));
}

void add_search_options(CLI::App& app, Options& o) {
  add_rule_options(app, o);
  app.add_option("--search", o.search, "none, saturate, mcts, anneal, taso, random")
      ->capture_default_str();
  app.add_option("--extract", o.extract, kExtractors)->capture_default_str();
  add_cost_options(app, o);
  app.add_option("--iterations", o.iterations, "saturate: iterations")
      ->check(in_range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--multi-iterations", o.multi_iterations,
                 "saturate: iterations of multi-pattern rules")
      ->check(in_range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  app.add_flag("--backoff", o.backoff, "saturate: egg's scheduler, with limits between iterations");
  app.add_option("--cycle-filter", o.cycle_filter, "efficient, vanilla, none")
      ->capture_default_str();
  app.add_option("--ilp-cycles", o.ilp_cycles, "cycle constraints in the ILP: none, real, int")
      ->capture_default_str();
  app.add_option("--budget", o.budget,
                 "mcts: simulations for a decision (128); anneal: moves (4000); "
                 "taso: graphs (300); random: rollouts (64)")
      ->check(in_range(int64_t{1}, int64_t{1'000'000'000}));
  add_search_threads(app, o);
  app.add_option("--depth", o.depth, "random steps of a simulation (mcts 10, random 16)")
      ->check(in_range(int64_t{1}, int64_t{1'000'000}));
  app.add_option("--exploration", o.exploration, "mcts: the constant of the upper bound")
      ->check(in_range(0.0, 1e9));
  app.add_option("--alpha", o.alpha, "taso: graphs up to this times the best are kept")
      ->check(in_range(1.0, 1e6))
      ->capture_default_str();
  app.add_flag("--reuse-tree", o.reuse_tree, "mcts, profile pact24: keep what is below a decision");
  app.add_option("--mcts-profile", o.mcts_profile, "mcts: tangram, or pact24 as published")
      ->capture_default_str();
  app.add_option("--reward", o.reward, "mcts, profile pact24: greedy, greedy-shared, ilp")
      ->capture_default_str();
  app.add_option("--without", o.without,
                 "mcts: leave out widening, firing, normalising, transpositions, priors, "
                 "stretches, repeats, restarts, saturation, tree, thorough, focus")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--priors", o.priors,
                 "mcts: what earlier searches learned of rules, from this file");
  app.add_option("--save-priors", o.save_priors, "mcts: write what this search learned");
  app.add_option("--trace", o.trace, "write what the search did, as JSON, for `tg report`");
  app.add_option("--time-limit", o.time_limit_s,
                 "seconds, of all; default: of mcts 10, else 60 for exploration and for extraction")
      ->check(in_range(0.0, 1e9));
  app.add_option("--node-limit", o.node_limit,
                 "e-nodes of an e-graph; default: 2000 of tree searches (what mcts saturates first "
                 "50000), else 50000")
      ->check(in_range(int64_t{1}, int64_t{1} << 31));
}

void add_seed(CLI::App& app, Options& o, const char* what) {
  // CLI11 wraps what is negative or too large.
  auto whole = [](const std::string& text) -> std::string {
    uint64_t seed = 0;
    if (!StringRef(text).getAsInteger(10, seed)) return "";
    return llvm::formatv("takes a whole number from 0 to {0}, not `{1}`", UINT64_MAX, text);
  };
  app.add_option("--seed", o.seed, what)->check(whole, "")->capture_default_str();
}

void add_threads(CLI::App& app, Options& o) {
  app.add_option("--threads", o.threads, "default: one for each core")
      ->check(in_range(int64_t{1}, int64_t{1024}));
}

void add_memory_limit(CLI::App& app, Options& o, const char* what) {
  app.add_option("--memory-limit", o.memory_limit_mb, what)
      ->check(in_range(int64_t{1}, int64_t{1} << 40));
}

void add_limits(CLI::App& app, Options& o) {
  add_memory_limit(app, o,
                   "MiB that the process may hold while it searches, with the solver's; and that a "
                   "model may need to run; default: 80% of the machine's memory");
  add_seed(app, o, "of everything random");
  add_threads(app, o);
}

void add_files(CLI::App& app, Options& o, const char* what) {
  app.add_option("FILE", o.files, what)->required();
}

void add_check(CLI::App& tg, Options& o, Raw& raw) {
  CLI::App& app = *tg.add_subcommand("check", "check syntax, names, types and shapes");
  add_files(app, o, "models, libraries or rules");
  add_model_options(app, o, raw);
  add_output_options(app, o);
}

void add_fmt(CLI::App& tg, Options& o) {
  CLI::App& app = *tg.add_subcommand("fmt", "lay files out canonically");
  add_files(app, o, ".tg files, rewritten in place");
  app.add_flag("--check", o.check, "change nothing; exit 1 if a file is not laid out");
  app.add_option("-o", o.out_file, "write the result of the one FILE here; - for standard output");
  app.add_flag("--quiet", o.quiet, "name no files");
}

void add_verify_option(CLI::App& app, Options& o) {
  app.add_flag("--verify", o.verify,
               "hold the result against its source, exactly, and every step against its rule");
}

void add_dtype_option(CLI::App& app, Raw& raw) {
  app.add_option("--dtype", raw.dtype,
                 "what a run computes in: f32, f16, bf16; a search prices that, and weights are "
                 "folded in f32")
      ->capture_default_str();
}

void add_opt(CLI::App& tg, Options& o, Raw& raw) {
  CLI::App& app = *tg.add_subcommand("opt", "optimise a model");
  add_files(app, o, "a model");
  add_model_options(app, o, raw);
  add_dtype_option(app, raw);
  add_search_options(app, o);
  add_limits(app, o);
  app.add_option("-o", o.out_file, "write the optimised model here; - for standard output");
  add_weights_option(app, o);
  app.add_option(
      "--weights-out", o.weights_out,
      "write its weights here, as .safetensors: what is computed from weights is computed now");
  add_verify_option(app, o);
  add_output_options(app, o);
}

void add_explain(CLI::App& tg, Options& o, Raw& raw) {
  CLI::App& app = *tg.add_subcommand("explain", "how the optimised model follows from its source");
  add_files(app, o, "a model");
  add_model_options(app, o, raw);
  add_dtype_option(app, raw);
  add_search_options(app, o);
  add_limits(app, o);
  add_weights_option(app, o);
  add_verify_option(app, o);
  add_output_options(app, o);
}

void add_run(CLI::App& tg, Options& o, Raw& raw) {
  CLI::App& app = *tg.add_subcommand("run", "run a model with random or given inputs");
  add_files(app, o, "a model");
  add_model_options(app, o, raw);
  app.add_option("--backend", o.backend, "ref, cpu, cuda")->capture_default_str();
  add_dtype_option(app, raw);
  app.add_option("--streams", o.streams,
                 "cuda: copies of the model that run side by side, each on a stream")
      ->check(in_range(int64_t{1}, int64_t{64}))
      ->capture_default_str();
  app.add_option("--runs", o.runs, "timed runs; default: as many as fit half a second, at least 5")
      ->check(in_range(int64_t{1}, int64_t{1'000'000}));
  add_weights_option(app, o);
  app.add_option("--input", raw.inputs, "NAME=F.npy, or F.npz for several")
      ->allow_extra_args(false);
  app.add_option("--output", o.output, "write the outputs into this folder, as .npy, or this .npz");
  app.add_flag(
      "--check", o.check,
      "compare the outputs with those of ref in f32: within 1e-4; f16 2e-2, bf16 1e-1, tf32 1e-2");
  app.add_flag("--opt", o.optimize, "optimise first");
  add_search_options(app, o);
  add_limits(app, o);
  add_output_options(app, o);
}

void add_extract(CLI::App& tg, Options& o) {
  CLI::App& app = *tg.add_subcommand("extract", "extraction alone, from an e-graph in JSON");
  add_files(app, o, "an e-graph in the egraph-serialize form");
  app.add_option("--extract", o.extract, kExtractors)->default_str("best");
  app.add_option("--ilp-cycles", o.ilp_cycles, "cycle constraints in the ILP: none, real, int")
      ->capture_default_str();
  app.add_option("--time-limit", o.time_limit_s, "seconds; default 60")->check(in_range(0.0, 1e9));
  add_memory_limit(app, o, kMemoryLimit);
  add_seed(app, o, "of everything random");
  app.add_flag("--check", o.check, "hold the answer against the independent checker");
  add_output_options(app, o);
}

void add_weights(CLI::App& tg, Options& o, Raw& raw) {
  CLI::App& app = *tg.add_subcommand("weights", "list, compare and initialise weights");
  add_files(app, o, "a model, and the .safetensors file to compare it with");
  add_model_options(app, o, raw);
  add_seed(app, o, "of random weights");
  app.add_option("-o", o.out_file,
                 "write all weights here, as .safetensors: random where FILE has none");
  add_output_options(app, o);
}

void add_rules(CLI::App& tg, Options& o) {
  CLI::App& rules = *tg.add_subcommand("rules", "the rewrite rules");
  rules.require_subcommand(1);
  CLI::App& list = *rules.add_subcommand("list", "list them");
  list.add_option("FILE", o.files, "rule files, rule sets or rules; default: all built in");
  add_output_options(list, o);
  CLI::App& verify = *rules.add_subcommand("verify", "check that they are true, on many instances");
  verify.add_option("FILE", o.files, "rule files, rule sets or rules; default: all built in");
  verify.add_option("--instances", o.instances, "of each rule")
      ->check(in_range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  verify.add_flag("--proof", o.proof, "also try to prove each for all sizes (needs Z3)");
  verify.add_option("--rule-cache", o.rule_cache, "file that remembers which rules were verified");
  verify.add_option("--output", o.output, "write counterexamples into this folder, as .tg");
  add_seed(verify, o, "of the instances");
  verify
      .add_option("--time-limit", o.time_limit_s,
                  "seconds; rules that are left then are not decided (exit code 4)")
      ->check(in_range(0.0, 1e9));
  add_threads(verify, o);
  add_output_options(verify, o);
}

void add_verify(CLI::App& tg, Options& o, Raw& raw) {
  CLI::App& app = *tg.add_subcommand("verify", "check that two models compute the same");
  add_files(app, o, "two files, or FILE:MODEL; one file stands for the two models in it");
  add_model_options(app, o, raw);
  app.add_option("--weights", o.weights, "F.safetensors: weights of the first model");
  app.add_option("--weights-b", o.weights_b,
                 "F.safetensors: weights of the second; folded ones are traced to the first's");
  add_seed(app, o, "of the points");
  app.add_option("--time-limit", o.time_limit_s, "seconds; then it is not decided (exit code 4)")
      ->check(in_range(0.0, 1e9));
  add_memory_limit(app, o, kMemoryLimit);
  add_threads(app, o);
  add_output_options(app, o);
}

void add_calibrate(CLI::App& tg, Options& o) {
  CLI::App& app =
      *tg.add_subcommand("calibrate", "measure this machine once, so that prices need no waiting");
  app.preparse_callback([&o](size_t) { o.time_limit_s = 60; });
  app.add_option("--backend", o.backend, "cpu, cuda");
  app.add_option("--cost-db", o.cost_db, "database of measured costs");
  app.add_option("--time-limit", o.time_limit_s, "seconds; a later run goes on; default: 60")
      ->check(in_range(0.0, 1e9));
  add_memory_limit(app, o, kMemoryLimit);
  add_threads(app, o);
  add_output_options(app, o);
}

void add_repl(CLI::App& tg, Options& o) {
  CLI::App& app = *tg.add_subcommand("repl", "the prompt: define, ask for types, optimise, run");
  app.add_option("FILE", o.files, "a file to load")->expected(0, 1);
}

void add_bench_paper(CLI::App& bench, Options& o);

void add_bench(CLI::App& tg, Options& o) {
  CLI::App& bench = *tg.add_subcommand("bench", "measurements of the whole");
  bench.require_subcommand(1);
  CLI::App& demo =
      *bench.add_subcommand("demo", "optimise models as `tg opt` does and run both graphs");
  demo.add_option("FILE", o.files, "models; default: those of examples/");
  demo.add_option("--output", o.output, "also write the table here, as JSON");
  demo.add_option("--cost-db", o.cost_db, "database of measured costs");
  add_limits(demo, o);
  add_output_options(demo, o);
  add_bench_paper(bench, o);
}

/// As published: 2,000 nodes, 10 minutes a cell, prices of the device that the paper reports.
void set_paper_defaults(Options& o) {
  o.node_limit = 2'000;
  o.time_limit_s = 600;
  o.cost = "analytic:a100";
}

void add_bench_paper(CLI::App& bench, Options& o) {
  CLI::App& paper = *bench.add_subcommand("paper", "the table of the published tree search");
  paper.add_option("NETWORK", o.files, "networks of examples/paper; default: all of them");
  paper.add_option("--output", o.output, "cells done, read and written; default paper_cells.json");
  paper
      .add_option("--approach", o.approaches,
                  "tensat, greedy+greedy, greedy+ilp, shared+shared, shared+ilp, ilp+ilp, tangram, "
                  "anneal, taso; default: all of them")
      ->delimiter(',')
      ->allow_extra_args(false);
  paper
      .add_option("--seeds", o.seeds,
                  "runs of each cell that draws at random, by seeds from --seed on")
      ->check(in_range(uint64_t{1}, uint64_t{1000}))
      ->capture_default_str();
  paper
      .add_option("--total-limit", o.total_limit_s,
                  "seconds; cells beyond are left for the next run")
      ->check(in_range(0.0, 1e9))
      ->capture_default_str();
  paper.add_option("--cost-db", o.cost_db, "database of measured costs");
  paper.add_option("--cost", o.cost, "default analytic:a100");
  paper.add_option("--rules", o.rules, "rule files, rule sets or rules; default: all built in")
      ->delimiter(',')
      ->allow_extra_args(false);
  paper.add_option("--budget", o.budget, "simulations for a decision (128)")
      ->check(in_range(int64_t{1}, int64_t{1'000'000'000}));
  paper.add_option("--depth", o.depth, "random steps of a simulation (10)")
      ->check(in_range(int64_t{1}, int64_t{1'000'000}));
  paper.add_option("--node-limit", o.node_limit, "e-nodes; default 2000")
      ->check(in_range(int64_t{1}, int64_t{1} << 31));
  paper
      .add_option("--time-limit", o.time_limit_s,
                  "seconds for a cell, default 600: three quarters for the search (half, where its "
                  "rewards are integer programs), a quarter for one integer program. A cell that "
                  "its limit ended is computed anew under a larger one")
      ->check(in_range(0.0, 1e9));
  paper
      .add_option("--ilp-limit", o.ilp_limit_s,
                  "the same for a cell with rewards from integer programs (ilp+ilp), but at most "
                  "--time-limit")
      ->check(in_range(0.0, 1e9))
      ->capture_default_str();
  add_limits(paper, o);
  add_search_threads(paper, o);
  add_output_options(paper, o);
  paper.preparse_callback([&o](size_t) { set_paper_defaults(o); });
}

void add_report(CLI::App& tg, Options& o) {
  CLI::App& app = *tg.add_subcommand("report", "the trace of a search as a page");
  app.add_option("FILE", o.files, "a trace that `tg opt --trace` wrote")->required()->expected(1);
  app.add_option("-o", o.out_file,
                 "write the page here; - for standard output; default: beside the "
                 "trace, as .html");
  app.add_flag("--quiet", o.quiet, "do not name the page that was written");
}

void add_help(CLI::App& tg, Options& o) {
  CLI::App& app = *tg.add_subcommand("help", "what a diagnostic, operator or function means");
  app.add_option("NAME", o.files,
                 "of a diagnostic (E0213), operator, library function or command; default: the "
                 "diagnostics, in a line each")
      ->expected(0, 1);
  app.add_flag("--json", o.json, "one JSON object on standard output, nothing else");
}

void add_tables(CLI::App& tg, Options& o) {
  for (auto [name, what] : {std::pair{"devices", "what can run here"},
                            std::pair{"ops", "the operators of the language"},
                            std::pair{"errors", "the diagnostics and what they mean"}}) {
    CLI::App& app = *tg.add_subcommand(name, what);
    app.add_flag("--json", o.json, "one JSON object on standard output, nothing else");
  }
}

// --- help ---------------------------------------------------------------------------------------

struct Group {
  StringLiteral title, names;
};

/// What most people need of the commands that search: the rest is shown by --help-all.
constexpr Group kGroups[] = {
    {"Model", "--model --set --dtype --weights --input --backend"},
    {"Search", "--opt --search --extract --rules --numerics --cost --time-limit --memory-limit "
               "--threads --seed --verify"},
    {"Output", "-o --weights-out --output --trace --runs --check --json --quiet --verbose"},
};

/// The options of a command in groups, if they are too many for a screen.
void arrange(CLI::App& app, bool all) {
  constexpr size_t kScreen = 24;
  std::vector<CLI::Option*> options = app.get_options();
  if (options.size() <= kScreen) return;
  for (CLI::Option* option : options) {
    if (option->get_positional() || option == app.get_help_ptr()) continue;
    std::string name = option->get_name();
    const auto* group = llvm::find_if(kGroups, [&](const Group& g) {
      llvm::SmallVector<StringRef, 16> names;
      g.names.split(names, ' ');
      return llvm::is_contained(names, name);
    });
    option->group(group != std::end(kGroups) ? group->title.str() : all ? "More" : "");
  }
  if (!all) app.footer("`tg " + app.get_name() + " --help-all` lists all options");
}

/// `--help-all` is `--help`, of everything.
bool widen_help(std::vector<char*>& words) {
  static char help[] = "--help";
  bool all = false;
  for (char*& word : words)
    if (StringRef(word) == "--help-all") all = true, word = help;
  return all;
}

// --- what CLI11 cannot say ----------------------------------------------------------------------

/// Misspelt commands, before CLI11 sees them.
std::optional<Parsed> screen(llvm::ArrayRef<char*> args) {
  if (args.empty()) return failed("no command given", "`tg --help` lists the commands");
  StringRef command = args.front();
  if (!command.startswith("-") && !llvm::is_contained(kCommands, command)) {
    StringRef near = near_miss(command, kCommands);
    std::string help = idiom_of_command(command).str();
    if (help.empty())
      help = near.empty() ? "`tg --help` lists the commands"
                          : llvm::formatv("did you mean `{0}`?", near).str();
    if (command.endswith(".tg") || command.endswith(".onnx"))
      help = llvm::formatv("a command comes first: `tg check {0}`, `tg run {0}`", command);
    return failed(llvm::formatv("no command `{0}`", command), help);
  }
  return std::nullopt;
}

/// "rules list": the subcommands that were given, joined.
std::string command_of(const CLI::App& app) {
  std::string name;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += (name.empty() ? "" : " ") + at->get_name();
  }
  return name;
}

const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

/// An argument that nothing expects: named, with the option that was probably meant.
Parsed unexpected(const CLI::App& app, StringRef argument) {
  std::vector<std::string> names;
  for (const CLI::Option* option : deepest(app).get_options())
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  std::vector<StringRef> candidates(names.begin(), names.end());
  StringRef word = argument.split('=').first, near = idiom_of_option(word);
  bool known = deepest(app).get_option_no_throw(near.str()) != nullptr;
  if (near.empty() || !known) near = near_miss(word, candidates);
  std::string name = command_of(app), command = name.empty() ? "tg" : "tg " + name;
  return failed(llvm::formatv("`{0}` does not take `{1}`", command, argument),
                near.empty() ? llvm::formatv("`{0} --help` lists its options", command).str()
                             : llvm::formatv("did you mean `{0}`?", near).str());
}

/// `tg rules`, `tg rules lst`: a command of commands, without one that it has.
Parsed without_command(const CLI::App& app, const std::string& command) {
  std::vector<std::string> extra = app.remaining(/*recurse=*/true), names;
  if (!extra.empty() && StringRef(extra.front()).startswith("-"))
    return unexpected(app, extra.front());
  for (const CLI::App* sub : deepest(app).get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  std::string help = "one of: " + llvm::join(names, ", ");
  if (&deepest(app) == &app) help = "`tg --help` lists the commands";
  std::string message = "`" + command + "` needs a command";
  if (!extra.empty()) message = "no command `" + command + " " + extra.front() + "`";
  return failed(message, help);
}

/// What CLI11 says, in our words.
Parsed misused(const CLI::App& app, const CLI::ParseError& problem) {
  std::string what = problem.what(), name = command_of(app);
  std::string command = name.empty() ? "tg" : "tg " + name;
  std::string help = llvm::formatv("`{0} --help` lists its options", command);
  auto [option, rest] = StringRef(what).split(": ");
  if (problem.get_name() == "RequiredError") {
    const CLI::Option* missing =
        deepest(app).get_option_no_throw(StringRef(what).split(' ').first.str());
    if (!missing) return without_command(app, command);
    return failed(llvm::formatv("`{0}` needs {1}: {2}", command, missing->get_name(),
                                missing->get_description()),
                  help);
  }
  if (problem.get_name() == "ArgumentMismatch")
    return option.startswith("-")
               ? failed(llvm::formatv("`{0}` needs a value", option), help)
               : failed(llvm::formatv("`{0}` takes one {1}", command, option), help);
  return failed(rest.startswith("takes ") ? llvm::formatv("`{0}` {1}", option, rest).str() : what,
                help);
}

} // namespace

Parsed parse_command_line(int argc, char** argv) {
  llvm::ArrayRef<char*> args(argv + 1, argv + std::max(argc, 1));
  if (auto refused = screen(args)) return *refused;
  Parsed parsed;
  Options& o = parsed.options;
  Raw raw;
  CLI::App app("Tangram: tensor graphs in .tg, made faster by rewriting", "tg");
  app.set_version_flag("--version", "tg " TG_VERSION);
  app.require_subcommand(1);
  add_check(app, o, raw);
  add_fmt(app, o);
  add_opt(app, o, raw);
  add_explain(app, o, raw);
  add_run(app, o, raw);
  add_weights(app, o, raw);
  add_extract(app, o);
  add_rules(app, o);
  add_verify(app, o, raw);
  add_repl(app, o);
  add_calibrate(app, o);
  add_bench(app, o);
  add_report(app, o);
  add_tables(app, o);
  add_help(app, o);
  std::vector<char*> words(argv, argv + argc);
  bool all = widen_help(words);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    arrange(*command, all);
  try {
    app.parse(argc, words.data());
  } catch (const CLI::Success& success) { // --help and --version
    std::ostringstream out;
    parsed.exit_code = app.exit(success, out, out);
    parsed.out = out.str();
    parsed.done = true;
    return parsed;
  } catch (const CLI::ExtrasError&) {
    return unexpected(app, app.remaining(/*recurse=*/true).front());
  } catch (const CLI::ParseError& problem) {
    return misused(app, problem);
  }
  o.command = command_of(app);
  if (o.command == "extract" && app.get_subcommand("extract")->count("--extract") == 0)
    o.extract = "best"; // there is nothing else to spend the time on
  if (auto problem = second_look(o, raw))
    return failed(*problem, llvm::formatv("`tg {0} --help` lists its options", o.command));
  return parsed;
}

} // namespace tg::cli
