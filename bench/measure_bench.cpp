// How well single measurements add up: for each example network the sum of its operators' measured
// prices, beside the time of the whole, on the cpu backend.
//
//   measure_bench [--threads N] [MODEL.tg...]
//
// Both are least figures (of rounds' medians, and of whole runs): on a machine that others use too,
// only those can be compared. The whole converts its inputs from the user's layout, the sum does
// not. Prices are measured afresh.
#include "compiler/driver/measured_cost.h"
#include "compiler/driver/model.h"
#include "compiler/driver/prepare.h"
#include "compiler/driver/timing.h"
#include "compiler/extract/extract.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>

namespace {

using namespace tg;

/// Errors: those of the backend.
Result<void> run(const Graph& graph, int threads, const std::string& database) {
  TG_TRY(std::unique_ptr<Backend> backend, make_backend("cpu"));
  MeasuredCostOptions options;
  options.cost_db = database;
  options.threads = threads;
  options.network_bytes = network_bytes(graph);
  MeasuredCost costs(std::move(backend), options);
  PriceCache prices(graph.symbols(), costs);
  double sum = price_graph(graph, prices);

  PrepareOptions prepare;
  prepare.threads = threads;
  TG_TRY(Prepared whole, prepare_with_inputs(graph, prepare));
  TimingOptions timing;
  timing.seconds = 3;
  TG_TRY(Timing timed, time_runs(*whole.executable, timing));
  llvm::outs() << llvm::formatv("{0,-14} {1,9} {2,9:f1} {3,12:f1} {4,12:f1} {5,12:f1} {6,8:f3}\n",
                                graph.name(), prices.size(), costs.timed_seconds(), sum,
                                timed.min_us, timed.median_us, sum / timed.min_us);
  llvm::outs().flush();
  return {};
}

} // namespace

int main(int argc, char** argv) {
  int threads = 1;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    if (llvm::StringRef(argv[i]) == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else
      models.push_back(argv[i]);
  }
  if (models.empty())
    for (const char* name :
         {"paper/squeezenet", "paper/nasrnn", "paper/bert", "paper/resnext50", "resnet50"})
      models.push_back(std::string(TG_SOURCE_DIR "/examples/") + name + ".tg");
  llvm::outs() << llvm::formatv("{0,-14} {1,9} {2,9} {3,12} {4,12} {5,12} {6,8}\n", "model",
                                "instances", "timed s", "sum us", "whole us", "(median)", "ratio");
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tangram-measure", folder)) return 1;
  bool ok = true;
  for (const std::string& model : models) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_model(sources, model, {}, sink);
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    Result<void> done = graph ? run(*graph, threads, folder.str().str() + "/costs.db")
                              : Result<void>(error(Code::no_model, "{0}", model));
    if (!done) render(done.error(), sources, llvm::errs());
    ok &= done.ok();
  }
  (void)llvm::sys::fs::remove_directories(folder);
  return ok ? 0 : 1;
}
