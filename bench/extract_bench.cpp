// Extraction alone: the e-graphs that saturation leaves of the example networks, priced by the
// analytic model, through each extractor.
//
//   extract_bench [--seconds S] [MODEL.tg...]
//
// cost: the DAG cost of what was chosen, as the checker counts it. gap: cost over certified bound,
// less one. Seconds are of one run; the limit (10 unless said) is for the integer program.
#include "compiler/driver/cost_model.h"
#include "compiler/driver/model.h"
#include "compiler/egraph/rule_from_ast.h"
#include "compiler/extract/extract.h"
#include "compiler/extract/reduce.h"
#include "compiler/search/saturate.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>

namespace {

using namespace tg;

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
      "{0,-14} {1,8} {2,8}  {3,-8} {4,12:f2} {5,12:f2} {6,9} {7,8:f3}  {8}\n", model,
      problem.problem.class_count(), problem.problem.node_count(), extractor, answer->dag_cost,
      answer->lower_bound, gap, answer->seconds, answer->algorithm);
  llvm::outs().flush();
}

bool run(llvm::StringRef path, double seconds) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, path, {}, sink);
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {}, sink);
  if (!graph || !rules) {
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    return false;
  }
  EGraph egraph = EGraph::from_graph(*graph);
  SaturateOptions explore;
  explore.numerics = Numerics::Reassociates;
  saturate(egraph, *rules, explore);
  Result<std::unique_ptr<CostModel>> costs = make_cost_model({}, *graph);
  if (!costs) return false;
  PriceCache prices(graph->symbols(), **costs);
  EGraphProblem problem = make_problem(egraph, prices, ExtractOptions().max_weight_growth);
  IlpOptions ilp;
  ilp.time_limit_s = seconds;
  print_row(graph->name(), problem, "greedy", extract_by_greedy(problem.problem));
  print_row(graph->name(), problem, "ilp", extract_by_ilp(problem.problem, ilp));
  return true;
}

} // namespace

int main(int argc, char** argv) {
  double seconds = 10;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    if (llvm::StringRef(argv[i]) == "--seconds" && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else
      models.push_back(argv[i]);
  }
  if (models.empty())
    for (const char* name :
         {"paper/squeezenet", "paper/nasrnn", "paper/bert", "paper/resnext50", "resnet50"})
      models.push_back(std::string(TG_SOURCE_DIR "/examples/") + name + ".tg");
  llvm::outs() << llvm::formatv("{0,-14} {1,8} {2,8}  {3,-8} {4,12} {5,12} {6,9} {7,8}  {8}\n",
                                "model", "classes", "nodes", "asked", "cost us", "bound us", "gap",
                                "seconds", "found by");
  bool ok = true;
  for (const std::string& model : models) ok &= run(model, seconds);
  return ok ? 0 : 1;
}
