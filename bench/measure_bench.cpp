// How true the prices of this machine are: for each example the sum of its operators' prices beside
// the time of a whole run, and each operator's price beside what it takes within that run, on the
// backend `cpu`.
//
//   measure_bench [--threads N] [--operators] [--samples FILE.db] [MODEL.tg...]
//
// Two kinds of prices: `measured` times every operator afresh; `calibrated` guesses all of them
// from the samples of a database in which nothing of the example was timed (--samples: as `tg
// calibrate
// --cost-db FILE.db` leaves it; what it holds of the example's own operators is not used).
//
// Times are least figures (of rounds' medians, and of whole runs): on a machine that others use
// too, only those can be compared. The whole converts its inputs from the user's layout, the sum
// does not. `off`: how many operators with more than 1% of the time have a price that is off by
// more than 25%, and which share of the time they have.
#include "bench/held_out.h"
#include "compiler/driver/model.h"
#include "compiler/driver/prepare.h"
#include "runtime/time_runs.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>

namespace {

using namespace tg;

struct Settings {
  int threads = 1;
  bool operators = false;
  std::string database, samples;
};

/// Prices beside times in place, of one kind.
struct Judged {
  double sum_us = 0;
  int off = 0, above = 0; // operators above 1% of the time: off by more than 25%, and all
  double off_share = 0;
};

std::unique_ptr<MeasuredCost> measured_costs(const Graph& graph, const std::string& database,
                                             int threads, std::unique_ptr<Backend> backend) {
  MeasuredCostOptions options;
  options.cost_db = database;
  options.threads = threads;
  options.network_bytes = network_bytes(graph);
  return std::make_unique<MeasuredCost>(std::move(backend), options);
}

Judged judge(const Graph& graph, llvm::ArrayRef<NodeTime> times, double whole_us, CostModel& costs,
             bool print) {
  PriceCache prices(graph.symbols(), costs);
  Judged out;
  GraphInstances priced = instances_of(graph);
  prices.prepare(priced.instances);
  for (const OpInstance& instance : priced.instances) out.sum_us += prices.price(instance);
  for (const NodeTime& time : times) {
    if (time.microseconds < 0.01 * whole_us) continue;
    OpInstance instance{
        graph.node(time.node).op, graph.node(time.node).attrs, {}, graph.node(time.node).type, 0};
    llvm::SmallVector<TypeId, 5> operands;
    for (NodeId id : graph.operands(time.node)) {
      if (graph.node(id).weight_only) instance.weight_operands |= 1U << operands.size();
      operands.push_back(graph.node(id).type);
    }
    instance.operands = operands;
    double price = prices.price(instance), ratio = price / time.microseconds;
    bool off = ratio > 1.25 || ratio < 0.75;
    ++out.above;
    out.off += off;
    if (off) out.off_share += time.microseconds / whole_us;
    if (print)
      llvm::outs() << llvm::formatv("  {0,9:f1} {1,9:f1} {2,6:f2} {3} {4,8:f1}  {5}  [{6}]\n",
                                    time.microseconds, price, ratio, off ? "off" : "   ",
                                    time.reorders_us, instance_key(graph.symbols(), instance),
                                    time.implementation);
  }
  return out;
}

std::string cells(const Judged& judged, double whole_us) {
  return llvm::formatv("{0,9:f1} {1,6:f3} {2,3} of {3,2}, {4,3:f0}%", judged.sum_us,
                       judged.sum_us / whole_us, judged.off, judged.above, 100 * judged.off_share);
}

/// Errors: those of the backend.
Result<void> run(const Graph& graph, const Settings& settings) {
  PrepareOptions prepare;
  prepare.threads = settings.threads;
  TG_TRY(Prepared whole, prepare_with_inputs(graph, prepare));
  TimingOptions timing;
  timing.seconds = 2;
  TG_TRY(Timing timed, time_runs(*whole.executable, timing));
  TG_TRY(std::vector<NodeTime> times, time_nodes(whole, timing));
  double in_place = 0;
  for (const NodeTime& time : times) in_place += time.microseconds;
  whole.executable.reset();

  TG_TRY(std::unique_ptr<Backend> backend, make_backend("cpu"));
  std::unique_ptr<MeasuredCost> measured =
      measured_costs(graph, settings.database, settings.threads, std::move(backend));
  Judged by_timing = judge(graph, times, timed.min_us, *measured, settings.operators);
  std::string guessed;
  if (!settings.samples.empty()) {
    TG_TRY(std::unique_ptr<Backend> again, make_backend("cpu"));
    std::unique_ptr<MeasuredCost> samples =
        measured_costs(graph, settings.samples, settings.threads, std::move(again));
    HeldOut held_out(&graph, *samples);
    guessed = cells(judge(graph, times, timed.min_us, held_out, settings.operators), timed.min_us);
  }
  llvm::outs() << llvm::formatv("{0,-14} {1,9:f1} {2,9:f1} {3,9:f1} | {4} | {5}\n", graph.name(),
                                timed.min_us, timed.median_us, in_place,
                                cells(by_timing, timed.min_us), guessed);
  llvm::outs().flush();
  return {};
}

} // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (word == "--samples" && i + 1 < argc)
      settings.samples = argv[++i];
    else if (word == "--operators")
      settings.operators = true;
    else
      models.push_back(argv[i]);
  }
  if (models.empty())
    for (const char* name :
         {"paper/squeezenet", "paper/nasrnn", "paper/bert", "paper/resnext50", "resnet50"})
      models.push_back(std::string(TG_SOURCE_DIR "/examples/") + name + ".tg");
  llvm::outs() << llvm::formatv("{0,-14} {1,9} {2,9} {3,9} | {4,-32} | {5}\n", "model, us", "whole",
                                "(median)", "in place", "measured: sum, / whole, off",
                                settings.samples.empty() ? "" : "calibrated, held out");
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tangram-measure", folder)) return 1;
  settings.database = folder.str().str() + "/costs.db";
  bool ok = true;
  for (const std::string& model : models) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_model(sources, model, {}, sink);
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    Result<void> done =
        graph ? run(*graph, settings) : Result<void>(error(Code::no_model, "{0}", model));
    if (!done) render(done.error(), sources, llvm::errs());
    ok &= done.ok();
  }
  (void)llvm::sys::fs::remove_directories(folder);
  return ok ? 0 : 1;
}
