#include "bench/paper/learned/train_agent.h"

#include "bench/paper/learned/guide_models.h"
#include "bench/paper/learned/rival_tables.h"
#include "bench/paper/learned/training_notes.h"
#include "compiler/api/policy_file.h"
#include "compiler/api/public_types.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/search/portfolio/searcher.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/SHA1.h>

#include <set>

namespace tg::paper {

namespace {

/// A segment of a network, with its prices.
struct Part {
  Graph graph;
  std::unique_ptr<CostModel> costs;
  std::unique_ptr<PriceCache> prices;
};

class AgentTraining {
public:
  AgentTraining(const TrainAgentOptions& training, const tangram::OptimizeOptions& options,
                const OptimizeHost& host, llvm::ArrayRef<Rule> rules, const StopToken& stop,
                llvm::function_ref<void(const GuideProgress&)> done)
      : training_(training), o_(options), host_(host), rules_(rules), stop_(stop), done_(done) {}

  Result<TrainedAgent> run(llvm::ArrayRef<const Graph*> networks) {
    Stopwatch watch;
    TG_CHECK(check_writable(training_.path));
    for (const Graph* network : networks) TG_CHECK(add(*network));
    if (parts_.empty())
      return error(Code::usage, "no part of these models has a cost, so nothing can be trained");
    out_.networks = parts_.size();
    Result<void> trained = training_.agent == "guide"   ? guide()
                           : training_.agent == "gains" ? gains()
                                                        : motifs();
    TG_CHECK(std::move(trained));
    out_.seconds = watch.seconds();
    if (out_.rounds < training_.rounds) out_.stopped_by = stopped_by(stop_);
    if (out_.rounds == 0) return nothing_learned(stop_, "a round", training_.path);
    return out_;
  }

private:
  Result<void> add(const Graph& network);
  MctsOptions search_options() const;
  PolicyNotes guide_settings() const;
  /// Returns a new guide, or the guide of the file if training resumes.
  Result<std::shared_ptr<GuideModels>> open_guide();
  Result<void> guide();
  Result<void> gains();
  Result<void> motifs();
  /// Searches a segment, adds its statistics to a table, and returns its gain.
  template <class Table>
  using Searched = llvm::function_ref<double(const Part&, size_t round, size_t number, Table&)>;
  /// Fills a table in rounds of searches. The file has the statistics of complete rounds only.
  template <class Table>
  Result<void> fill(Searched<Table> search, void (*write)(llvm::raw_ostream&, const Table&));

  const TrainAgentOptions& training_;
  const tangram::OptimizeOptions& o_;
  const OptimizeHost& host_;
  llvm::ArrayRef<Rule> rules_;
  StopToken stop_;
  llvm::function_ref<void(const GuideProgress&)> done_;
  std::vector<Part> parts_;
  std::set<std::string> seen_; // digests of the segments
  TrainedAgent out_;
};

Result<void> AgentTraining::add(const Graph& network) {
  Sweep sweep = plan_sweep(network, SegmentOptions(), 0, /*repeats=*/true);
  for (const SearchTask& task : sweep.tasks) {
    Part part{own_task(task).graph, nullptr, nullptr};
    if (!seen_.insert(digest(part.graph)).second) continue;
    TG_TRY(part.costs, cost_model(part.graph, o_, stop_, host_.timing));
    part.prices = std::make_unique<PriceCache>(part.graph.symbols(), *part.costs);
    if (price_graph(part.graph, *part.prices) > 0) parts_.push_back(std::move(part));
  }
  return {};
}

MctsOptions AgentTraining::search_options() const {
  MctsOptions out = optimize_options(o_).portfolio.mcts;
  out.explore.numerics = to_internal(o_.numerics);
  out.explore.cycle_filter = CycleFilter::Efficient;
  out.explore.node_limit = 2'000;
  out.stop = stop_;
  return out;
}

/// Returns the settings that must not change when a guide's training resumes.
PolicyNotes AgentTraining::guide_settings() const {
  llvm::SHA1 parts;
  for (const std::string& part : seen_) parts.update(part), parts.update(" ");
  return {{"seed", std::to_string(o_.seed)},
          {"cost", o_.cost.text()},
          {"rules", text_of_rules(rules_, o_.numerics)},
          {"parts", llvm::formatv("{0} of {1}", parts_.size(),
                                  llvm::toHex(parts.final(), true).substr(0, 12))},
          {"learning_rate", exact_text(training_.learning_rate)},
          {"visits", exact_text(training_.visits)}};
}

Result<std::shared_ptr<GuideModels>> AgentTraining::open_guide() {
  GuideModelOptions options;
  options.run.threads = static_cast<int>(o_.threads);
  options.seed = o_.seed;
  options.rate = training_.learning_rate;
  std::shared_ptr<GuideModels> network;
  if (training_.again || !llvm::sys::fs::exists(training_.path)) {
    TG_CHECK(check_replaced(training_.path, holds_network(training_.path)));
    TG_TRY(network, GuideModels::fresh(std::move(options)));
    return network;
  }
  TG_TRY(network, GuideModels::open(training_.path, std::move(options)));
  TG_CHECK(check_notes(network->notes(), guide_settings(), "guide", training_.path));
  TG_TRY(out_.earlier_rounds, count_of(network->notes(), "rounds", "guide", training_.path));
  out_.rounds = out_.earlier_rounds;
  return network;
}

/// Trains the guide. The file is written after each round.
Result<void> AgentTraining::guide() {
  TG_TRY(std::shared_ptr<GuideModels> network, open_guide());
  PolicyNotes notes = guide_settings();
  std::vector<const Graph*> graphs;
  std::vector<PriceCache*> prices;
  for (const Part& part : parts_)
    graphs.push_back(&part.graph), prices.push_back(part.prices.get());
  GuideOptions guide{.rounds = training_.rounds, .search = search_options()};
  guide.earlier_rounds = out_.earlier_rounds;
  guide.seed = o_.seed, guide.stop = stop_, guide.visits = training_.visits;
  return train_guide(graphs, prices, rules_, network, guide,
                     [&](const GuideProgress& now) -> Result<void> {
                       notes["rounds"] = std::to_string(now.round);
                       TG_CHECK(network->save(training_.path, notes));
                       out_.rounds = now.round, out_.samples = now.samples, out_.gain = now.gain;
                       done_(now);
                       return {};
                     });
}

template <class Table>
Result<void> AgentTraining::fill(Searched<Table> search,
                                 void (*write)(llvm::raw_ostream&, const Table&)) {
  Result<std::string> before = read_text_file(training_.path);
  TG_CHECK(check_replaced(training_.path, before && parse_rival(*before, training_.path)));
  Table table;
  for (size_t round = 0; round < training_.rounds; ++round) {
    Stopwatch watch;
    Table with_round = table;
    double gain = 0;
    for (size_t i = 0; i < parts_.size() && !stop_.asked(); ++i)
      gain += search(parts_[i], round, i, with_round) / static_cast<double>(parts_.size());
    if (stop_.asked()) break; // an incomplete round is discarded
    table = std::move(with_round);
    out_.rounds = round + 1, out_.gain = gain;
    done_({out_.rounds, out_.samples, gain, 0, watch.seconds()});
  }
  if (out_.rounds == 0) return {};
  return write_data_file(training_.path, [&](llvm::raw_ostream& out) -> Result<void> {
    write(out, table);
    return {};
  });
}

Result<void> AgentTraining::gains() {
  return fill<PriorTable>(
      [&](const Part& part, size_t round, size_t number, PriorTable& table) {
        StatisticsPolicy policy;
        MctsOptions search = search_options();
        search.seed = o_.seed + 1'000 * round + number;
        search.widen = (round + number) % 2 == 1;
        EGraph egraph = egraph_of(part.graph);
        MctsReport found = search_mcts(egraph, part.graph, rules_, *part.prices, search, policy);
        add_records(rules_, found.records, table);
        return 1 - found.best_cost / found.start_cost;
      },
      write_gains);
}

/// Mines motifs from explanations of the shipped search.
Result<void> AgentTraining::motifs() {
  return fill<MotifTable>(
      [&](const Part& part, size_t round, size_t number, MotifTable& table) {
        PortfolioOptions options = optimize_options(o_).portfolio;
        options.saturate = optimize_options(o_).explore;
        options.mcts = search_options();
        options.mcts.seed = o_.seed + 1'000 * round + number;
        options.mcts.time_limit_s = 3;
        options.explain = true;
        options.explaining = options.saturate.stop = stop_;
        PortfolioReport found = search_portfolio(part.graph, rules_, *part.costs, options);
        double gain = 1 - found.cost_us / found.source_us;
        if (found.chain) mine_motifs(*found.chain, rules_, gain, table);
        return gain;
      },
      write_motifs);
}

} // namespace

bool is_agent(llvm::StringRef policy) {
  return llvm::StringSwitch<bool>(policy).Cases("guide", "gains", "motifs", true).Default(false);
}

std::optional<TrainedAgent> train_agent(llvm::ArrayRef<const Graph*> networks,
                                        const TrainAgentOptions& training,
                                        const tangram::OptimizeOptions& options,
                                        const OptimizeHost& host, SourceManager& sources,
                                        DiagnosticSink& sink,
                                        llvm::function_ref<void(const GuideProgress&)> done) {
  StopToken stop =
      host.stop ? *host.stop
                : stop_within(options.time_limit_s, options.memory_limit_mb, options.interrupt);
  std::optional<std::vector<Rule>> rules = select_rules(options, host, stop, sources, sink);
  if (!rules) return std::nullopt;
  Result<TrainedAgent> trained =
      AgentTraining(training, options, host, *rules, stop, done).run(networks);
  if (!trained) {
    sink.report(std::move(trained.error()));
    return std::nullopt;
  }
  return std::move(*trained);
}

} // namespace tg::paper
