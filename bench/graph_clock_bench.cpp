// Measures the noise of rewards by whole runs: times the same few graphs of a network repeatedly
// with the clock that rewards `tg-paper train` (GraphClock).
//
//   graph_clock_bench [--pairs 5,10,20] [--times 20] [--seconds 60] [--graphs 4] [--busy 0]
//                     [--threads 1] [--json FILE] [MODEL.tg...]
//
// The graphs come from an episode by TASO's rules that always takes the cheapest rewrite by price
// (analytic:cpu): the graphs after 1, 2, 4, ... steps, --graphs of them, and the source against
// itself. The graphs are timed interleaved. The clock keeps fewer graphs loaded, so each is
// reloaded for every timing, as in training; only the source stays loaded. --pairs is the minimum
// number of pairs of runs, which take at least 0.15 s; several numbers are interleaved, each with
// its own clock. --busy background processes read 64 MiB in a loop. The benchmark ends after
// --times timings of each graph, or when another round would not fit into --seconds.
//
//   pairs     average number of pairs that were run
//   price     predicted time as a share of the source's
//   median    median of the measured times as shares of the source's; 0.01 is a reward of 1
//   p10, p90  percentiles of the same times; off: half of their distance
//   > 2%      times that differ from the median by more than 0.02
//   s         seconds per timing, loading included
//   all       times of all graphs, each as a share of the graph's median
#include "bench/examples.h"
#include "compiler/api/files/model.h"
#include "compiler/api/graph_clock.h"
#include "compiler/extract/cost/analytic.h"
#include "lang/core/support/repeated_times.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <numeric>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tg;

struct Settings {
  std::vector<size_t> pairs = {5};
  size_t times = 20, graphs = 4, busy = 0, threads = 1;
  double seconds = 60;
  std::string json;
  std::vector<std::string> models;
};

[[noreturn]] void fail(const Diagnostic& d) {
  llvm::errs() << "graph_clock_bench: " << d.message << "\n";
  std::exit(1);
}

template <class T> T must(Result<T> result) {
  if (!result) fail(result.error());
  return std::move(*result);
}

/// Simulates other load on the machine. The load runs in processes, so that a clock of CPU time
/// does not count it.
class BusyProcesses {
public:
  /// Forks, so it must be called before any thread starts.
  explicit BusyProcesses(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      pid_t child = fork();
      if (child == 0) read_on();
      if (child < 0) fail(error(Code::device, "cannot start a process"));
      children_.push_back(child);
    }
  }
  ~BusyProcesses() {
    for (pid_t child : children_) kill(child, SIGKILL), waitpid(child, nullptr, 0);
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

private:
  [[noreturn]] static void read_on() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<float> numbers((64 << 20) / sizeof(float), 1);
    for (volatile float sum = 0;;) sum = std::accumulate(numbers.begin(), numbers.end(), sum);
  }

  std::vector<pid_t> children_;
};

/// A graph of the episode and its price, as a share of the source's.
struct Rewritten {
  std::string name;
  Graph graph;
  double price = 1;
};

class Episode {
public:
  Episode(const Graph& source, llvm::ArrayRef<Rule> rules)
      : costs_(std::move(*make_analytic_cost("cpu"))), prices_(source.symbols(), *costs_),
        game_(source, rules, [&](const Graph& g) -> Result<double> { return price(g); }, {}) {}

  /// Returns the graphs after 1, 2, 4, ... steps and after the last one, at most `most`.
  std::vector<Rewritten> play(size_t most) {
    std::vector<Rewritten> out;
    if (Result<void> begun = game_.reset(); !begun) fail(begun.error());
    for (size_t step = 1, next = 1; out.size() < most && !game_.state()->candidates.empty();
         ++step) {
      bool done = must(game_.step(cheapest())).done;
      if (step == next || done) {
        const Graph& graph = game_.state()->graph;
        out.push_back(
            {llvm::formatv("after {0}", step), graph, price(graph) / game_.source_time()});
        next *= 2;
      }
      if (done) break;
    }
    return out;
  }

private:
  double price(const Graph& graph) { return price_graph(graph, prices_); }
  size_t cheapest() {
    size_t best = 0;
    double least = INFINITY;
    for (size_t action = 0; action < game_.state()->candidates.size(); ++action)
      if (double us = price(game_.after(action)); us < least) best = action, least = us;
    return best;
  }

  std::unique_ptr<CostModel> costs_;
  PriceCache prices_;
  RewriteEnvironment game_;
};

/// The timings of one network with one number of pairs.
class Sampled {
public:
  Sampled(std::string network, const Graph& source, const std::vector<Rewritten>& graphs,
          size_t pairs, size_t threads)
      : network_(std::move(network)), source_(source), graphs_(graphs), pairs_(pairs),
        samples_(graphs.size() + 1) {
    tangram::OptimizeOptions options;
    options.threads = static_cast<int64_t>(threads);
    clock_ = must(GraphClock::make(source, false, options, {}, StopToken(), {.pairs = pairs}));
    source_us_ = must(clock_->time_us(source));
    own_pairs_ = clock_->pairs();
  }

  /// Times each graph once.
  void add() {
    for (size_t i = 0; i < samples_.size(); ++i) {
      Stopwatch watch;
      double us = must(clock_->time_us(i == 0 ? source_ : graphs_[i - 1].graph));
      seconds_ += watch.seconds();
      samples_[i].push_back(us / source_us_);
    }
    if (clock_->refused() > 0)
      fail(error(Code::device, "a graph of {0} gives other outputs", network_));
  }

  void print() const {
    std::vector<double> all;
    for (size_t i = 0; i < samples_.size(); ++i) {
      double median = summarise_times(samples_[i]).median_us;
      for (double sample : samples_[i]) all.push_back(sample / median);
      print_row(name(i), llvm::formatv("{0:f4}", price(i)), samples_[i]);
    }
    print_row("all", "", all);
  }

  void write(llvm::json::OStream& json) const {
    for (size_t i = 0; i < samples_.size(); ++i)
      json.object([&] {
        json.attribute("network", network_);
        json.attribute("pairs", static_cast<int64_t>(pairs_));
        json.attribute("graph", name(i));
        json.attribute("source_us", source_us_);
        json.attribute("price", price(i));
        json.attributeArray("times", [&] {
          for (double sample : samples_[i]) json.value(sample);
        });
      });
  }

private:
  static constexpr double kWithin = 0.02;

  void print_row(llvm::StringRef graph, const std::string& price,
                 const std::vector<double>& samples) const {
    Timing t = summarise_times(samples);
    auto off = static_cast<double>(llvm::count_if(
        samples, [&](double sample) { return std::abs(sample - t.median_us) > kWithin; }));
    auto done = static_cast<double>(samples_.size() * samples_[0].size());
    double pairs = (static_cast<double>(clock_->pairs()) - static_cast<double>(own_pairs_)) / done;
    llvm::outs() << llvm::formatv("{0,-16} {1,5:f0} {2,-8} {3,5} {4,7} {5,7:f4} {6,7:f4} {7,7:f4} "
                                  "{8,6:f2}% {9,4:f0}% {10,5:f2}\n",
                                  network_, pairs, graph, t.runs, price, t.median_us, t.p10_us,
                                  t.p90_us, 50 * (t.p90_us - t.p10_us),
                                  100 * off / static_cast<double>(t.runs), seconds_ / done);
  }
  std::string name(size_t i) const { return i == 0 ? "source" : graphs_[i - 1].name; }
  double price(size_t i) const { return i == 0 ? 1 : graphs_[i - 1].price; }

  std::string network_;
  const Graph& source_;
  const std::vector<Rewritten>& graphs_;
  size_t pairs_, own_pairs_ = 0; // requested; run for the source's own time
  std::unique_ptr<GraphClock> clock_;
  double source_us_ = 0, seconds_ = 0;
  std::vector<std::vector<double>> samples_; // of the source, then of each graph
};

struct Network {
  std::string name;
  Graph source;
  std::vector<Rewritten> graphs;
};

std::vector<Network> networks_of(const Settings& s, SourceManager& sources) {
  DiagnosticSink sink;
  tangram::OptimizeOptions options;
  options.rules = {"taso"};
  options.trust_rules = true;
  std::optional<std::vector<Rule>> rules = select_rules(options, {}, StopToken(), sources, sink);
  if (!rules) fail(sink.all().front());
  std::vector<Network> networks;
  for (const std::string& path : s.models) {
    std::optional<LoadedModel> model = load_model(sources, llvm::StringRef(path), {}, sink);
    if (!model) fail(sink.all().front());
    std::vector<Rewritten> graphs = Episode(model->graph, *rules).play(s.graphs);
    networks.push_back({model_name(path), std::move(model->graph), std::move(graphs)});
  }
  return networks;
}

void run(const Settings& s) {
  BusyProcesses busy(s.busy);
  SourceManager sources;
  std::vector<Network> networks = networks_of(s, sources);
  std::vector<Sampled> sampled;
  Stopwatch watch;
  for (const Network& network : networks)
    for (size_t pairs : s.pairs)
      sampled.emplace_back(network.name, network.source, network.graphs, pairs, s.threads);
  double longest = 0;
  for (size_t i = 0; i < s.times && (i == 0 || watch.seconds() + longest < s.seconds); ++i) {
    Stopwatch round;
    for (Sampled& one : sampled) one.add();
    longest = std::max(longest, round.seconds());
  }
  llvm::outs() << llvm::formatv(
      "{0,-16} {1,5} {2,-8} {3,5} {4,7} {5,7} {6,7} {7,7} {8,7} {9,5} {10,5}\n", "network", "pairs",
      "graph", "times", "price", "median", "p10", "p90", "off", "> 2%", "s");
  for (const Sampled& one : sampled) one.print();
  if (s.json.empty()) return;
  std::error_code failed;
  llvm::raw_fd_ostream file(s.json, failed);
  if (failed) fail(error(Code::cannot_read, "cannot write `{0}`", s.json));
  llvm::json::OStream json(file, 1);
  json.array([&] {
    for (const Sampled& one : sampled) one.write(json);
  });
}

/// Returns false for an unknown option or an invalid value.
bool set(Settings& s, llvm::StringRef name, llvm::StringRef value) {
  if (name == "--json") return s.json = value.str(), !value.empty();
  if (name == "--seconds")
    return !value.getAsDouble(s.seconds) && std::isfinite(s.seconds) && s.seconds >= 0;
  if (name == "--busy") return !value.getAsInteger(10, s.busy);
  const std::pair<llvm::StringRef, size_t*> counts[] = {
      {"--times", &s.times}, {"--graphs", &s.graphs}, {"--threads", &s.threads}};
  for (auto [option, to] : counts)
    if (name == option) return !value.getAsInteger(10, *to) && *to > 0;
  if (name != "--pairs") return false;
  s.pairs.clear();
  llvm::SmallVector<llvm::StringRef> words;
  value.split(words, ',');
  for (llvm::StringRef word : words)
    if (size_t pairs = 0; word.getAsInteger(10, pairs) || pairs == 0)
      return false;
    else
      s.pairs.push_back(pairs);
  return true;
}

} // namespace

int main(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (!word.startswith("--")) {
      s.models.push_back(word.str());
    } else if (i + 1 == argc || !set(s, word, argv[i + 1])) {
      llvm::errs() << "graph_clock_bench: unknown option `" << word
                   << (i + 1 < argc ? std::string(" ") + argv[i + 1] : std::string())
                   << "`; the first comment of bench/graph_clock_bench.cpp lists the options\n";
      return 2;
    } else {
      ++i;
    }
  }
  if (s.models.empty())
    for (const char* model : {"squeezenet", "bert"})
      s.models.push_back(std::string(TG_SOURCE_DIR) + "/examples/paper/" + model + ".tg");
  run(s);
  return 0;
}
