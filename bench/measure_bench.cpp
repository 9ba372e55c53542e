// Measures the accuracy of prices on this machine. For each example it compares the sum of the
// operators' prices with the time of a whole run, and each operator's price with its time within
// that run, on the backend `cpu`.
//
//   measure_bench [--threads N] [--operators] [--samples FILE.db] [MODEL.tg...]
//
// Kinds of prices:
//   measured    each operator is timed again, alone
//   calibrated  predicted from the samples of a database (--samples, written by
//               `tg calibrate --cost-db FILE.db`) without those of the example's own operators
//   in place    predicted from these samples and from the times of operators within the runs of the
//               other given examples, without operators that the example has too
//   own         the sum of the operators' times within the example's own runs, which is the price
//   of
//               a source in the default mode; it equals the whole except for the time between
//               operators
// Without models every example is measured.
//
// Times are the minimum over rounds of each round's median, with whole runs and operators
// interleaved: on a shared machine only these are comparable. The whole run converts its inputs
// from the user's layout; the sum does not. `off`: the number of operators that take more than 1%
// of the time and whose price is off by more than 25%, and their share of the time.
#include "bench/examples.h"
#include "bench/held_out.h"
#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "compiler/trial/backend_finalists.h"
#include "runtime/measure/time_runs.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace {

using namespace tg;

struct Settings {
  int threads = 1;
  bool operators = false;
  std::string database, samples;
};

/// A network and its measured times.
struct Example {
  std::string name;
  Graph graph;
  double least_us = 0, median_us = 0;
  PlacedNodes nodes;
  PlacedInstances placed = placed_instances(graph, nodes);
};

/// The errors of one kind of prices against times in place.
struct Judged {
  double sum_us = 0;
  int off = 0, above = 0; // operators above 1% of the time: those off by more than 25%, and all
  double off_share = 0;
};

Judged judge(const Example& example, CostModel& costs, bool print) {
  const Graph& graph = example.graph;
  double whole_us = example.least_us;
  PriceCache prices(graph.symbols(), costs);
  Judged out;
  GraphInstances priced = instances_of(graph);
  prices.prepare(priced.instances);
  for (const OpInstance& instance : priced.instances) out.sum_us += prices.price(instance);
  for (const PlacedNodes::One& time : example.nodes.nodes) {
    if (time.microseconds < 0.01 * whole_us) continue;
    auto at = llvm::find(priced.nodes, time.node);
    if (at == priced.nodes.end()) continue;
    const OpInstance& instance = priced.instances[static_cast<size_t>(at - priced.nodes.begin())];
    double price = prices.price(instance), ratio = price / time.microseconds;
    bool off = ratio > 1.25 || ratio < 0.75;
    ++out.above;
    out.off += off;
    if (off) out.off_share += time.microseconds / whole_us;
    if (print)
      llvm::outs() << llvm::formatv("  {0,9:f1} {1,9:f1} {2,6:f2} {3}  {4}\n", time.microseconds,
                                    price, ratio, off ? "off" : "   ",
                                    instance_key(graph.symbols(), instance));
  }
  return out;
}

/// The counts over all networks for one kind of prices: sums within 5% and 10%, operators off.
struct Total {
  int networks = 0, within_5 = 0, within_10 = 0, off = 0, above = 0;
  void add(const Judged& judged, double whole_us) {
    double error = std::abs(judged.sum_us / whole_us - 1);
    ++networks;
    within_5 += error <= 0.05;
    within_10 += error <= 0.1;
    off += judged.off;
    above += judged.above;
  }
};
using Totals = std::map<std::string, Total>; // by kind

void print(const Totals& totals) {
  for (const auto& [kind, total] : totals)
    llvm::outs() << llvm::formatv(
        "all, {0}: {1} of {3} within 5%, {2} within 10%; off {4} of {5}\n", kind, total.within_5,
        total.within_10, total.networks, total.off, total.above);
}

std::string cells(const Judged& judged, double whole_us) {
  return llvm::formatv("{0,9:f1} {1,6:f3} {2,3} of {3,2}, {4,3:f0}%", judged.sum_us,
                       judged.sum_us / whole_us, judged.off, judged.above, 100 * judged.off_share);
}

/// Errors: those of the backend.
Result<Example> run(std::string name, Graph graph, const Settings& settings) {
  PrepareOptions prepare;
  prepare.threads = settings.threads;
  TG_TRY(Prepared whole, prepare_with_inputs(graph, prepare));
  PlacedNodes nodes;
  double least_us = 0;
  std::vector<double> medians;
  // Interleaved: if the machine's speed changes from second to second, both still reach its best.
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    TG_TRY(Timing timed, time_runs(*whole.executable, {.min_runs = 3, .seconds = 0.2}));
    TG_CHECK(add_round(nodes, whole, {.warmup = 1, .min_runs = 3, .seconds = 0.2}));
    least_us = round == 0 ? timed.median_us : std::min(least_us, timed.median_us);
    medians.push_back(timed.median_us);
  }
  llvm::sort(medians);
  return Example{std::move(name), std::move(graph), least_us, medians[kRounds / 2],
                 std::move(nodes)};
}

double washed_mib(const Graph& graph) {
  return static_cast<double>(wash_bytes_for(network_bytes(graph)) >> 20);
}

/// Errors: those of the backend.
Result<void> tell(const Example& example, llvm::ArrayRef<Example> all, const Settings& settings,
                  Totals& totals) {
  const Graph& graph = example.graph;
  TG_TRY(std::unique_ptr<MeasuredCost> measured,
         measured_costs(graph, settings.database, settings.threads));
  std::string row =
      llvm::formatv("{0,-20} {1,9:f1} {2,9:f1} {3,6:f3}", example.name, example.least_us,
                    example.median_us, example.placed.sum_us / example.least_us);
  auto judged = [&](CostModel& costs, const char* kind) {
    Judged found = judge(example, costs, settings.operators);
    totals[kind].add(found, example.least_us);
    row += " | " + cells(found, example.least_us);
  };
  totals["own"].add({.sum_us = example.placed.sum_us}, example.least_us);
  judged(*measured, "measured");
  if (!settings.samples.empty()) {
    TG_TRY(std::unique_ptr<MeasuredCost> samples,
           measured_costs(graph, settings.samples, settings.threads));
    HeldOut held_out(&graph, *samples);
    judged(held_out, "calibrated, held out");
    llvm::StringSet<> own = keys_of(&graph);
    for (const Example& other : all) {
      if (&other == &example) continue;
      std::vector<PlacedTime> times = other.placed.times;
      llvm::erase_if(times, [&](const PlacedTime& time) {
        return own.contains(instance_key(other.graph.symbols(), time.instance));
      });
      held_out.learn_placed(other.graph.symbols(), times, washed_mib(other.graph));
    }
    judged(held_out, "in place, held out");
  }
  llvm::outs() << row << "\n";
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
  if (models.empty()) models = example_models();
  llvm::outs() << llvm::formatv("{0,-20} {1,9} {2,9} {3,6} | {4,-30}", "model, us", "whole",
                                "(median)", "own", "measured: sum, / whole, off");
  if (!settings.samples.empty())
    llvm::outs() << llvm::formatv(" | {0,-30} | {1,-30}", "calibrated, held out",
                                  "in place, held out");
  llvm::outs() << "\n";
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tangram-measure", folder)) return 1;
  settings.database = folder.str().str() + "/costs.db";
  bool ok = true;
  SourceManager sources;
  auto failed = [&](const Diagnostic& why) {
    render(why, sources, llvm::errs());
    ok = false;
  };
  std::vector<Example> examples;
  for (const std::string& model : models) {
    DiagnosticSink sink;
    std::optional<Graph> graph = load_graph(sources, model, {}, sink);
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    Result<Example> example = graph ? run(model_name(model), std::move(*graph), settings)
                                    : Result<Example>(error(Code::no_model, "{0}", model));
    if (example)
      examples.push_back(std::move(*example));
    else
      failed(example.error());
  }
  Totals totals;
  for (const Example& example : examples)
    if (Result<void> done = tell(example, examples, settings, totals); !done) failed(done.error());
  print(totals);
  (void)llvm::sys::fs::remove_directories(folder);
  return ok ? 0 : 1;
}
