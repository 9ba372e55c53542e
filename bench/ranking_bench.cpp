// Measures how well prices rank graphs. For each network it runs several graphs that searches find.
// Among the pairs whose times differ by more than 5%, it prints the share that prices order
// correctly.
//
//   ranking_bench [--samples FILE.db] [--threads N] [--graphs K] [--write FOLDER] [MODEL.tg...]
//   ranking_bench --beside A.tg B.tg [--threads N]
//
// Graphs: the source, and the results of searches by the price model, each price multiplied by a
// random factor (log-normal, deviation 0.4), one search per seed, until K distinct graphs are
// found. Prices compared:
//   analytic
//   calibrated  predicted from the samples of FILE.db (tg calibrate --cost-db; without it the
//               machine is first calibrated for a minute) without the operators of these graphs:
//               the network is held out
//   measured    each operator is timed alone
//   in place    for each pair, the times of operators within whole runs of all other graphs; an
//               operator that no other graph has is predicted from these and `calibrated`
//   own         the times of each graph's own operators within its runs; they sum to its time
//               except for the noise between two sets of runs, so no prices can do better
// Times are the minimum over rounds in which all graphs are run interleaved; times in place come
// from separate runs. With --write nothing is run: the graphs are written, for price_model_bench to
// run. The second form runs two graphs of one network interleaved and prints the speedup of the
// second. Without models every example is run, except those whose graphs may not fit into memory
// together.
#include "bench/examples.h"
#include "bench/graph_runs.h"
#include "bench/held_out.h"
#include "compiler/api/calibration/calibration.h"
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/to_text.h"
#include "compiler/rules/from_ast.h"
#include "lang/core/support/random.h"
#include "runtime/execute.h"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>

namespace {

using namespace tg;

struct Settings {
  int threads = 2;
  size_t graphs = 8;
  std::string samples, database, write;
};

/// The prices of another cost model, each multiplied by a random factor that depends on the
/// operator.
class Perturbed final : public CostModel {
public:
  Perturbed(CostModel& inner, uint64_t seed) : inner_(inner), seed_(seed) {}
  std::string name() const override { return "perturbed " + inner_.name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    constexpr double kDeviation = 0.4;
    RandomStream stream(seed_, instance_key(symbols, instance));
    return inner_.price(symbols, instance) * std::exp(kDeviation * stream.normal_pair(0).first);
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return inner_.patterns(); }

private:
  CostModel& inner_;
  uint64_t seed_;
};

std::vector<Graph> candidates(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                              size_t most) {
  std::vector<Graph> graphs{source};
  for (uint64_t seed = 0; seed < 3 * most && graphs.size() < most; ++seed) {
    Perturbed prices(costs, seed);
    OptimizeOptions options;
    options.search = Search::Mcts;
    options.kernels = seed % 2 == 0;
    set_limits(options, 0.8, -1);
    Result<Optimized> found = optimize(source, rules, prices, options, nullptr);
    if (!found) continue;
    bool known = llvm::any_of(
        graphs, [&](const Graph& one) { return difference(one, found->graph).empty(); });
    if (!known) graphs.push_back(std::move(found->graph));
  }
  return graphs;
}

std::vector<double> price_all(llvm::ArrayRef<Graph> graphs, CostModel& costs) {
  std::vector<double> prices;
  for (const Graph& graph : graphs) {
    PriceCache cache(graph.symbols(), costs);
    prices.push_back(price_graph(graph, cache));
  }
  return prices;
}

/// Ranks each pair by prices that learn times in place from all other graphs only.
Ranked rank_in_place(llvm::ArrayRef<Graph> graphs, const Runs& runs, const HeldOut& held_out,
                     double washed_mib) {
  Ranked out;
  for (size_t i = 0; i < graphs.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      HeldOut costs = held_out;
      for (size_t other = 0; other < graphs.size(); ++other)
        if (other != i && other != j)
          costs.learn_placed(graphs[other].symbols(), runs.placed[other].times, washed_mib);
      out.add(rank({runs.whole_us[i], runs.whole_us[j]}, price_all({graphs[i], graphs[j]}, costs)));
    }
  return out;
}

/// Writes the source as NETWORK.0.tg and the other graphs as NETWORK.1.tg, ...
void write(const std::string& folder, std::string network, llvm::ArrayRef<Graph> graphs) {
  std::replace(network.begin(), network.end(), '/', '_');
  for (size_t i = 0; i < graphs.size(); ++i) {
    std::string file = llvm::formatv("{0}/{1}.{2}.tg", folder, network, i);
    std::error_code failed;
    llvm::raw_fd_ostream out(file, failed);
    if (failed) llvm::errs() << file << ": " << failed.message() << "\n";
    if (!failed) out << to_text(graphs[i]);
  }
}

/// Errors: those of the backend.
Result<void> run(const std::string& name, const Graph& source, llvm::ArrayRef<Rule> rules,
                 const Settings& settings, llvm::StringMap<Ranked>& all) {
  int64_t all_bytes =
      static_cast<int64_t>(settings.graphs) * resident_bytes(plan_from_graph(source)).total();
  if (settings.write.empty() && all_bytes > memory_limit_bytes(0) / 2) {
    llvm::outs() << llvm::formatv("{0,-20} left out: its graphs may not fit into memory\n", name);
    return {};
  }
  TG_TRY(std::unique_ptr<MeasuredCost> samples,
         measured_costs(source, settings.samples, settings.threads));
  HeldOut rough({}, *samples);
  std::vector<Graph> graphs = candidates(source, rules, rough, settings.graphs);
  if (!settings.write.empty()) {
    write(settings.write, name, graphs);
    return {};
  }
  PrepareOptions prepare;
  prepare.threads = settings.threads;
  prepare.shared = std::make_shared<SharedWeights>();
  TG_TRY(Runs runs, run_all(graphs, prepare));
  const std::vector<double>& times = runs.whole_us;
  std::vector<const Graph*> own;
  for (const Graph& graph : graphs) own.push_back(&graph);
  HeldOut held_out(own, *samples);
  AnalyticCost analytic(*find_device_profile("cpu"));
  TG_TRY(std::unique_ptr<MeasuredCost> exact,
         measured_costs(source, settings.database, settings.threads));
  auto [low, high] = std::minmax_element(times.begin(), times.end());
  llvm::outs() << llvm::formatv("{0,-20} {1,2} {2,9:f1} {3,9:f1}", name, graphs.size(), *low,
                                *high);
  auto tell = [&](const std::string& prices, const Ranked& ranked) {
    all[prices].add(ranked);
    llvm::outs() << llvm::formatv(" | {0,-16}", ranked.text());
  };
  for (CostModel* costs : {static_cast<CostModel*>(&analytic), static_cast<CostModel*>(&held_out),
                           static_cast<CostModel*>(exact.get())})
    tell(costs->name(), rank(times, price_all(graphs, *costs)));
  tell("in place, held out", rank_in_place(graphs, runs, held_out, samples->washed_mib()));
  std::vector<double> sums;
  for (const PlacedInstances& placed : runs.placed) sums.push_back(placed.sum_us);
  tell("own times in place", rank(times, sums));
  llvm::outs() << "\n";
  llvm::outs().flush();
  return {};
}

std::optional<Graph> load(SourceManager& sources, const std::string& path) {
  DiagnosticSink sink;
  std::optional<Graph> graph = load_graph(sources, path, {}, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return graph;
}

int beside(const std::string& a, const std::string& b, int threads) {
  SourceManager sources;
  std::optional<Graph> first = load(sources, a), second = load(sources, b);
  if (!first || !second) return 1;
  PrepareOptions options;
  options.threads = threads;
  BackendFinalists runner(options, {.min_runs = 9, .seconds = 2, .patience_seconds = 6});
  Result<WholeRuns> runs = runner.compare(*first, *second);
  if (!runs) {
    render(runs.error(), sources, llvm::errs());
    return 1;
  }
  if (!runs->fault.empty()) llvm::outs() << "fault: " << runs->fault << "\n";
  const Comparison& times = runs->times;
  llvm::outs() << llvm::formatv("{0:f3} [{1:f3}, {2:f3}] {3:f1} {4:f1}\n", times.ratio, times.low,
                                times.high, times.first.median_us, times.second.median_us);
  return runs->fault.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> models;
  bool two = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (word == "--graphs" && i + 1 < argc)
      settings.graphs = static_cast<size_t>(std::atoi(argv[++i]));
    else if (word == "--samples" && i + 1 < argc)
      settings.samples = argv[++i];
    else if (word == "--write" && i + 1 < argc)
      settings.write = argv[++i];
    else if (word == "--beside")
      two = true;
    else
      models.push_back(argv[i]);
  }
  if (two && models.size() == 2) return beside(models[0], models[1], settings.threads);
  if (two) {
    llvm::errs() << "--beside takes two models\n";
    return 2;
  }
  if (models.empty()) models = example_models();
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("tangram-ranking", folder)) return 1;
  auto remove = llvm::make_scope_exit([&] { (void)llvm::sys::fs::remove_directories(folder); });
  settings.database = folder.str().str() + "/costs.db";
  SourceManager sources;
  if (settings.samples.empty()) {
    settings.samples = folder.str().str() + "/samples.db";
    CalibrationOptions calibration;
    calibration.measure.cost_db = settings.samples;
    calibration.measure.threads = settings.threads;
    calibration.stop = calibration.stop.within(60);
    if (auto calibrated = calibrate("cpu", calibration); !calibrated) {
      render(calibrated.error(), sources, llvm::errs());
      return 1;
    }
  }
  DiagnosticSink sink;
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {}, sink);
  llvm::StringMap<Ranked> all;
  llvm::outs() << llvm::formatv("{0,-20} {1,2} {2,9} {3,9} | {4,-16} | {5,-16} | {6,-16} | "
                                "{7,-16} | {8,-16}\n",
                                "network", "n", "least us", "most us", "analytic", "calibrated",
                                "measured", "in place", "own");
  bool ok = rules.has_value();
  for (const std::string& model : models) {
    std::optional<Graph> graph = load(sources, model);
    Result<void> done = graph && rules ? run(model_name(model), *graph, *rules, settings, all)
                                       : Result<void>(error(Code::no_model, "{0}", model));
    if (!done) render(done.error(), sources, llvm::errs());
    ok &= done.ok();
  }
  for (const auto& entry : all)
    llvm::outs() << "all, " << entry.getKey() << ": " << entry.getValue().text() << "\n";
  return ok ? 0 : 1;
}
