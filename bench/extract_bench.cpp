// Measures extraction alone: runs each extractor on the saturated e-graphs of networks, priced by
// the analytic model.
//
//   extract_bench [--seconds S] [--nodes N] [MODEL.tg...]
//
// reported: the cost that the extractor reports for its choice (tree-greedy counts shared work once
// per use, a known property of tree cost functions). cost: the DAG cost of the same choice,
// computed by the checker. gap: cost over certified bound, minus one. Seconds are those of one run;
// the limit (default 10) applies to each extractor. N bounds the e-graph (default 50,000; 2,000 in
// the paper on Monte Carlo tree search). Models: those of examples/paper/ if the folder exists,
// else those of examples/.
#include "compiler/api/files/model.h"
#include "compiler/extract/extract.h"
#include "compiler/extract/solver/reduce.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/rules/from_ast.h"
#include "compiler/search/saturate.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>

namespace {

using namespace tg;

/// Formats `value` as "12.34" or "6.85e+12".
std::string short_text(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", value);
  return text;
}

void print_row(llvm::StringRef model, const EGraphProblem& problem, llvm::StringRef extractor,
               const Result<Extraction>& answer) {
  if (!answer) {
    llvm::outs() << model << ": " << extractor << ": " << answer.error().message << '\n';
    return;
  }
  std::string gap =
      answer->lower_bound > 0
          ? llvm::formatv("{0:f2}%", 100 * (answer->dag_cost / answer->lower_bound - 1))
          : std::string("-");
  llvm::outs() << llvm::formatv(
      "{0,-14} {1,8} {2,8}  {3,-13} {4,14} {5,12:f2} {6,12:f2} {7,9} {8,8:f3}  {9}\n", model,
      problem.problem.class_count(), problem.problem.node_count(), extractor,
      short_text(answer->reported_cost), answer->dag_cost, answer->lower_bound, gap,
      answer->seconds, answer->algorithm);
  llvm::outs().flush();
}

bool run(llvm::StringRef path, double seconds, size_t nodes) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_graph(sources, path, {}, sink);
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {}, sink);
  if (!graph || !rules) {
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    return false;
  }
  EGraph egraph = egraph_of(*graph);
  SaturateOptions explore;
  explore.numerics = Numerics::Reassociates;
  explore.node_limit = nodes;
  saturate(egraph, *rules, explore);
  Result<std::unique_ptr<CostModel>> costs = make_cost_model({}, *graph);
  if (!costs) return false;
  PriceCache prices(graph->symbols(), **costs);
  EGraphProblem problem = make_problem(egraph, prices, ExtractOptions().max_weight_growth);
  IlpOptions ilp;
  ilp.time_limit_s = seconds;
  for (Extractor extractor : all_extractors())
    print_row(graph->name(), problem, extractor_name(extractor),
              run_extractor(problem.problem, extractor, ilp));
  return true;
}

} // namespace

/// Returns the models of examples/paper sorted by name, or those of examples if it does not exist.
static std::vector<std::string> default_models() {
  std::vector<std::string> models;
  for (const char* folder : {TG_SOURCE_DIR "/examples/paper", TG_SOURCE_DIR "/examples"}) {
    std::error_code failed;
    for (llvm::sys::fs::directory_iterator at(folder, failed), end; at != end && !failed;
         at.increment(failed))
      if (llvm::StringRef(at->path()).endswith(".tg")) models.push_back(at->path());
    if (!models.empty()) break;
  }
  llvm::sort(models);
  return models;
}

int main(int argc, char** argv) {
  double seconds = 10;
  size_t nodes = 50'000;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if (arg == "--seconds" && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else if (arg == "--nodes" && i + 1 < argc)
      nodes = static_cast<size_t>(std::atoll(argv[++i]));
    else
      models.push_back(arg.str());
  }
  if (models.empty()) models = default_models();
  llvm::outs() << llvm::formatv(
      "{0,-14} {1,8} {2,8}  {3,-13} {4,14} {5,12} {6,12} {7,9} {8,8}  {9}\n", "model", "classes",
      "nodes", "asked", "reported us", "cost us", "bound us", "gap", "seconds", "found by");
  bool ok = true;
  for (const std::string& model : models) ok &= run(model, seconds, nodes);
  return ok ? 0 : 1;
}
