// Measures the shipped search with several threads: one tree search over a whole network, whose
// helper threads simulate on replicas of its e-graph, and the complete search of a network, in
// which threads also process different segments.
//
//   threads_bench [--models bert,nasrnn,nasneta] [--threads 1,2] [--batches 8] [--seeds 1]
//                 [--nodes 2000] [--seconds 600] [--slice 20] [--what tree,whole]
//
// sims/s: simulations over wall time. cpu s: CPU time of the first thread, which uses none while it
// waits for the others. If the shares are even, it equals the wall time on an idle machine, and on
// a busy machine it varies less. Prices are those of analytic:a100, with all built-in rules. With
// the same seed and batch the cost must not depend on the number of threads; the program fails if
// it does, unless a time limit ended a run. --slice: seconds of the solver for one e-graph, long
// enough that counts rather than time end it on a busy machine.
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/from_ast.h"
#include "compiler/rules/from_ast.h"
#include "compiler/search/portfolio/portfolio.h"
#include "compiler/search/shared_cost.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <ctime>

namespace {

using namespace tg;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::vector<std::string> models = {"bert", "nasrnn", "nasneta"}, what = {"tree", "whole"};
  std::vector<int> threads = {1, 2}, batches = {MctsOptions().batch};
  uint64_t seeds = 1;
  size_t nodes = 2'000;
  double seconds = 600, slice = 20;
};

struct Outcome {
  double cost_us = 0, seconds = 0, cpu_seconds = 0;
  size_t simulations = 0, memory_bytes = 0;
  bool clocked = false; // a time limit ended it, so the result may depend on the load
};

template <class T> T load(T value, const DiagnosticSink& sink, const SourceManager& sources) {
  if (value && !sink.failed()) return value;
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  std::exit(1);
}

/// Returns the CPU seconds of the calling thread.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PortfolioOptions options_of(const Settings& s, int threads, int batch, uint64_t seed) {
  PortfolioOptions out;
  out.threads = threads;
  out.slice_s = out.extract.ilp.time_limit_s = s.slice;
  out.mcts.batch = batch, out.mcts.seed = seed;
  out.mcts.time_limit_s = out.saturate.time_limit_s = s.seconds;
  out.mcts.explore.node_limit = out.saturate.node_limit = s.nodes;
  out.mcts.explore.numerics = out.saturate.numerics = Numerics::Reassociates;
  return out;
}

/// Runs one tree search over the network in one e-graph, at all grains.
Outcome run_tree(const Graph& graph, llvm::ArrayRef<Rule> rules, SharedCost& costs,
                 const PortfolioOptions& options) {
  MctsOptions mcts = options.mcts;
  mcts.threads = options.threads;
  mcts.costs = &costs;
  EGraph egraph = egraph_of(graph);
  PriceCache prices(egraph.symbols(), costs);
  StatisticsPolicy policy;
  Clock::time_point start = Clock::now();
  MctsReport report = search_mcts(egraph, graph, rules, prices, mcts, policy);
  return {report.best_cost,   since(start),        0,
          report.simulations, report.memory_bytes, report.stop == StopReason::Time};
}

Outcome run_whole(const Graph& graph, llvm::ArrayRef<Rule> rules, CostModel& costs,
                  const PortfolioOptions& options) {
  PortfolioReport report = search_portfolio(graph, rules, costs, options);
  return {report.cost_us,
          report.seconds,
          0,
          report.simulations,
          report.memory_bytes,
          report.slices_used_up > 0 || report.stop == StopReason::Time};
}

std::vector<int> numbers(llvm::ArrayRef<std::string> words) {
  std::vector<int> out;
  for (const std::string& word : words) out.push_back(std::max(1, std::atoi(word.c_str())));
  return out;
}

Settings parse_arguments(int argc, char** argv) {
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef option = argv[i], value = argv[i + 1];
    llvm::SmallVector<llvm::StringRef, 8> parts;
    value.split(parts, ',');
    std::vector<std::string> words;
    for (llvm::StringRef part : parts) words.push_back(part.str());
    if (option == "--models") s.models = words;
    if (option == "--what") s.what = words;
    if (option == "--threads") s.threads = numbers(words);
    if (option == "--batches") s.batches = numbers(words);
    if (option == "--seeds") s.seeds = static_cast<uint64_t>(numbers(words)[0]);
    if (option == "--nodes") s.nodes = static_cast<size_t>(numbers(words)[0]);
    if (option == "--seconds") s.seconds = std::atof(argv[i + 1]);
    if (option == "--slice") s.slice = std::atof(argv[i + 1]);
  }
  return s;
}

/// Measures all settings on one network. Returns false if the result depends on the threads.
bool measure(const std::string& model, const Graph& graph, llvm::ArrayRef<Rule> rules,
             SharedCost& costs, const Settings& s) {
  bool same = true;
  for (const std::string& what : s.what)
    for (int batch : s.batches)
      for (uint64_t seed = 1; seed <= s.seeds; ++seed) {
        std::optional<Outcome> first;
        for (int threads : s.threads) {
          PortfolioOptions options = options_of(s, threads, batch, seed);
          double start = thread_seconds();
          Outcome o = what == "tree" ? run_tree(graph, rules, costs, options)
                                     : run_whole(graph, rules, costs, options);
          o.cpu_seconds = thread_seconds() - start;
          llvm::outs() << llvm::format(
              "%-22s %-5s %5d %7d %4d %12.4f %8zu %8.2f %8.1f %8.2f %7.1f %s\n", model.c_str(),
              what.c_str(), batch, threads, static_cast<int>(seed), o.cost_us, o.simulations,
              o.seconds, static_cast<double>(o.simulations) / o.seconds, o.cpu_seconds,
              static_cast<double>(o.memory_bytes) / (1 << 20), o.clocked ? "clock" : "");
          llvm::outs().flush();
          if (!first) first = o;
          if (!first->clocked && !o.clocked)
            same &= o.cost_us == first->cost_us && o.simulations == first->simulations;
        }
      }
  return same;
}

} // namespace

int main(int argc, char** argv) {
  Settings settings = parse_arguments(argc, argv);
  SourceManager sources;
  DiagnosticSink sink;
  EmbeddedLoader loader({}, TG_SOURCE_DIR);
  std::vector<Rule> rules = *load(load_rules(sources, loader, {}, sink), sink, sources);
  AnalyticCost analytic(*find_device_profile("a100"));
  SharedCost costs(analytic);
  llvm::outs() << "model                  what  batch threads seed    cost us     sims        s   "
                  "sims/s    cpu s     MiB\n";
  bool same = true;
  for (const std::string& model : settings.models) {
    std::string path = std::string(TG_SOURCE_DIR) + "/examples/paper/" + model + ".tg";
    Program program = load_program(sources, loader, path, sink);
    auto symbols = std::make_shared<Symbols>();
    Graph graph = *load(instantiate(program, model, {}, symbols, sink), sink, sources);
    same &= measure(model, graph, rules, costs, settings);
  }
  if (!same) llvm::errs() << "threads_bench: the number of threads made a difference\n";
  return same ? 0 : 1;
}
