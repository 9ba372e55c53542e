// Measures the accuracy of the price model on networks that it was not trained on. Graphs are run
// once and their times are kept in a file. Predictions are then evaluated against that file in
// seconds, also on a busy machine.
//
//   price_model_bench --run TRUTHS [--threads N] [--rounds N] GRAPH.tg...
//   price_model_bench --samples FILE.db [--threads N] [--operators] TRUTHS...
//
// The first form runs graphs and appends their times to a file (bench/truths.h). The graphs of one
// network (NETWORK.0.tg, NETWORK.1.tg, ..., as written by `ranking_bench --write`) are run
// interleaved. The second form predicts prices from the samples of a database (tg calibrate
// --cost-db FILE.db), without those of operators that any graph of the network has. It prints for
// each network:
//   sum    the sum of the predictions for the source over the time of its whole run
//   off    the number of operators above 1% of the time whose prediction is off by more than 25%
//   error  the mean of |log(prediction / time)|, weighted by each operator's share of the time
//   pairs  the pairs of graphs that differ by more than 5%, and how many are ordered correctly
// It predicts in three ways: `alone` from operators timed alone; `calibrated` from all samples of
// `tg calibrate`; `others` from these and the times of operators in the other networks' sources.
#include "bench/graph_runs.h"
#include "bench/held_out.h"
#include "bench/truths.h"
#include "compiler/api/files/model.h"
#include "compiler/extract/cost/price_features.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <cstdlib>
#include <map>

namespace {

using namespace tg;

struct Settings {
  int threads = 2, rounds = 10;
  bool operators = false;
  std::string samples, run;
  std::vector<std::string> files;
};

/// Runs the graphs of one network. Errors: the backend's.
Result<void> run_network(llvm::ArrayRef<std::string> files, const Settings& settings,
                         llvm::raw_ostream& out) {
  std::vector<Graph> graphs;
  SourceManager sources;
  for (const std::string& file : files) {
    DiagnosticSink sink;
    std::optional<Graph> graph = load_graph(sources, file, {}, sink);
    if (!graph) return error(Code::no_model, "{0}", file);
    graphs.push_back(std::move(*graph));
  }
  PrepareOptions prepare;
  prepare.threads = settings.threads;
  TG_TRY(Runs runs, run_all(graphs, prepare, settings.rounds));
  double washed = static_cast<double>(wash_bytes_for(network_bytes(graphs.front())) >> 20);
  for (size_t i = 0; i < graphs.size(); ++i)
    write_truth(out, graphs[i], runs.whole_us[i], washed, runs.placed[i]);
  llvm::outs() << graphs.front().name() << "\n";
  llvm::outs().flush();
  return {};
}

bool run(const Settings& settings) {
  std::map<std::string, std::vector<std::string>> networks;
  for (const std::string& file : settings.files)
    networks[llvm::sys::path::filename(file).split('.').first.str()].push_back(file);
  std::error_code failed;
  llvm::raw_fd_ostream out(settings.run, failed, llvm::sys::fs::OF_Append);
  bool ok = !failed;
  for (const auto& [name, files] : networks) {
    Result<void> done = run_network(files, settings, out);
    if (!done) render(done.error(), SourceManager(), llvm::errs());
    ok &= done.ok();
  }
  return ok;
}

/// A network's graphs, its source first.
using Network = std::vector<Truth>;

class Judge {
public:
  Judge(const std::vector<Network>& networks, CostDb& samples, const MeasuredCost& backend,
        bool operators)
      : networks_(networks), samples_(samples), backend_(backend), operators_(operators) {}

  enum class From { Alone, Calibrated, Others };

  void tell(const Network& network, From from) {
    PriceModel model = learned(network, from);
    const Truth& source = network.front();
    double error = 0, share = 0;
    int off = 0, above = 0;
    for (const Truth::Op& op : source.ops) {
      double guess = price(model, source, op);
      if (guess == 0) continue;
      double part = op.count * op.us / source.whole_us, ratio = guess / op.us;
      error += part * std::abs(std::log(ratio));
      share += part;
      if (op.us >= 0.01 * source.whole_us) ++above, off += ratio > 1.25 || ratio < 0.75;
      if (operators_)
        llvm::outs() << llvm::formatv("  {0,5:f1}% {1,9:f1} {2,9:f1} {3,6:f2} {4}x  {5}\n",
                                      100 * part, op.us, guess, ratio, op.count, op.key);
    }
    std::vector<double> times, prices;
    for (const Truth& graph : network) {
      times.push_back(graph.whole_us);
      prices.push_back(sum(model, graph));
    }
    Ranked ranked = rank(times, prices);
    llvm::outs() << llvm::formatv(" | {0,5:f2} {1,3} of {2,2} {3,5:f3} {4,-14}",
                                  prices.front() / source.whole_us, off, above, error / share,
                                  ranked.text());
    Total& total = totals_[static_cast<size_t>(from)];
    total.ranked.add(ranked);
    total.error += error / share;
    total.within += std::abs(prices.front() / source.whole_us - 1) <= 0.1;
  }

  void tell_totals() const {
    llvm::outs() << llvm::formatv("{0,-14} {1,9}", "all", "");
    for (const Total& total : totals_)
      llvm::outs() << llvm::formatv(" | {0,2} within 10% {1,5:f3} {2,-14}", total.within,
                                    total.error / static_cast<double>(networks_.size()),
                                    total.ranked.text());
    llvm::outs() << "\n";
  }

private:
  struct Total {
    Ranked ranked;
    double error = 0;
    int within = 0;
  };

  PriceModel learned(const Network& network, From from) {
    llvm::StringSet<> own;
    for (const Truth& graph : network)
      for (const Truth::Op& op : graph.ops) own.insert(op.key);
    PriceModel model;
    learn_times(model, roofline_, samples_, [&](llvm::StringRef key, bool in_place) {
      return (in_place && from == From::Alone) || own.contains(key);
    });
    if (from != From::Others) return model;
    for (const Network& other : networks_) {
      if (&other == &network) continue;
      for (const Truth::Op& op : other.front().ops) {
        std::optional<OwnedInstance> read = read_instance(symbols_, op.key);
        if (own.contains(op.key) || !read || nothing(*read)) continue;
        PriceFeatures features =
            price_features(roofline_, symbols_, read->instance(), other.front().washed_mib);
        features.in_place = true;
        model.learn(features, op.us, kTimeNoise);
      }
    }
    return model;
  }
  bool nothing(const OwnedInstance& read) const {
    return !backend_.is_timed(symbols_, read.instance());
  }

  double price(const PriceModel& model, const Truth& graph, const Truth::Op& op) {
    std::optional<OwnedInstance> read = read_instance(symbols_, op.key);
    if (!read || nothing(*read)) return 0;
    PriceFeatures features =
        price_features(roofline_, symbols_, read->instance(), graph.washed_mib);
    features.in_place = model.knows_places();
    return model.guess(features).microseconds;
  }
  double sum(const PriceModel& model, const Truth& graph) {
    double us = 0;
    for (const Truth::Op& op : graph.ops) us += op.count * price(model, graph, op);
    return us;
  }

  const std::vector<Network>& networks_;
  CostDb& samples_;
  const MeasuredCost& backend_;
  bool operators_;
  Symbols symbols_;
  AnalyticCost roofline_{*find_device_profile("cpu")};
  Total totals_[3];
};

/// Errors: the backend's.
Result<void> judge(const Settings& settings) {
  std::vector<Network> networks;
  for (const std::string& file : settings.files)
    for (Truth& graph : read_truths(file)) {
      bool another = networks.empty() || networks.back().front().network != graph.network;
      if (another) networks.emplace_back();
      networks.back().push_back(std::move(graph));
    }
  TG_TRY(std::unique_ptr<Backend> backend, make_backend("cpu"));
  MeasuredCostOptions options;
  options.cost_db = settings.samples;
  options.threads = settings.threads;
  MeasuredCost samples(std::move(backend), options);
  Judge judge(networks, samples.database(), samples, settings.operators);
  llvm::outs() << llvm::formatv("{0,-14} {1,9}", "network", "whole, us");
  for (const char* from : {"alone", "calibrated", "others"})
    llvm::outs() << llvm::formatv(" | {0,-35}", std::string(from) + ": sum, off, error, pairs");
  llvm::outs() << "\n";
  for (const Network& network : networks) {
    llvm::outs() << llvm::formatv("{0,-14} {1,9:f1}", network.front().network,
                                  network.front().whole_us);
    for (Judge::From from : {Judge::From::Alone, Judge::From::Calibrated, Judge::From::Others})
      judge.tell(network, from);
    llvm::outs() << "\n";
  }
  judge.tell_totals();
  return {};
}

} // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "--threads" && i + 1 < argc)
      settings.threads = std::atoi(argv[++i]);
    else if (word == "--rounds" && i + 1 < argc)
      settings.rounds = std::atoi(argv[++i]);
    else if (word == "--samples" && i + 1 < argc)
      settings.samples = argv[++i];
    else if (word == "--run" && i + 1 < argc)
      settings.run = argv[++i];
    else if (word == "--operators")
      settings.operators = true;
    else
      settings.files.push_back(argv[i]);
  }
  if (!settings.run.empty()) return run(settings) ? 0 : 1;
  if (Result<void> done = judge(settings); !done) {
    render(done.error(), SourceManager(), llvm::errs());
    return 1;
  }
  return 0;
}
