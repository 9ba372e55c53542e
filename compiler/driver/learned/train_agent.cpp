#include "compiler/driver/learned/train_agent.h"

#include "compiler/driver/learned/guide_models.h"
#include "compiler/driver/learned/seated_policy.h"
#include "compiler/driver/learned/training_notes.h"
#include "compiler/driver/prices/cost_model.h"
#include "compiler/driver/public_types.h"
#include "compiler/search/portfolio/searcher.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/SHA1.h>

#include <set>

namespace tg {

namespace {

/// A part of a network, with its prices.
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
    out_.networks = parts_.size();
    Result<void> trained = training_.agent == "guide"   ? guide()
                           : training_.agent == "gains" ? gains()
                                                        : motifs();
    TG_CHECK(std::move(trained));
    out_.seconds = watch.seconds();
    out_.stopped = out_.rounds < training_.rounds;
    return out_;
  }

private:
  Result<void> add(const Graph& network);
  MctsOptions search_options() const;
  PolicyNotes guide_settings() const;
  /// A new one, or that of the file where training goes on.
  Result<std::shared_ptr<GuideModels>> open_guide();
  Result<void> guide();
  Result<void> gains();
  Result<void> motifs();
  void report(size_t round, double gain, const Stopwatch& watch);

  const TrainAgentOptions& training_;
  const tangram::OptimizeOptions& o_;
  const OptimizeHost& host_;
  llvm::ArrayRef<Rule> rules_;
  StopToken stop_;
  llvm::function_ref<void(const GuideProgress&)> done_;
  std::vector<Part> parts_;
  std::set<std::string> seen_; // digests of the parts
  TrainedAgent out_;
};

Result<void> AgentTraining::add(const Graph& network) {
  Sweep sweep = plan_sweep(network, SegmentOptions(), 0, /*repeats=*/true);
  for (const SearchTask& task : sweep.tasks) {
    Part part{own_task(task).graph, nullptr, nullptr};
    if (!seen_.insert(digest(part.graph)).second) continue;
    TG_TRY(part.costs, cost_model(part.graph, o_, stop_, host_.timing));
    part.prices = std::make_unique<PriceCache>(part.graph.symbols(), *part.costs);
    parts_.push_back(std::move(part));
  }
  return {};
}

MctsOptions AgentTraining::search_options() const {
  MctsOptions out = optimize_options(o_).portfolio.mcts;
  out.explore.numerics = part_of(o_.numerics);
  out.explore.cycle_filter = CycleFilter::Efficient;
  out.explore.node_limit = 2'000;
  out.stop = stop_;
  return out;
}

void AgentTraining::report(size_t round, double gain, const Stopwatch& watch) {
  out_.rounds = round, out_.gain = gain;
  done_({round, out_.samples, gain, 0, watch.seconds()});
}

/// What of a guide's training has to be the same for it to go on.
PolicyNotes AgentTraining::guide_settings() const {
  llvm::SHA1 parts;
  for (const std::string& part : seen_) parts.update(part), parts.update(" ");
  return {{"seed", std::to_string(o_.seed)},
          {"cost", o_.cost.text()},
          {"rules", text_of_rules(rules_, o_.numerics)},
          {"parts", llvm::formatv("{0} of {1}", parts_.size(),
                                  llvm::toHex(parts.final(), true).substr(0, 12))},
          {"learning_rate", exact_text(training_.learning_rate)}};
}

Result<std::shared_ptr<GuideModels>> AgentTraining::open_guide() {
  GuideModelOptions options;
  options.run.threads = static_cast<int>(o_.threads);
  options.seed = o_.seed;
  options.rate = training_.learning_rate;
  std::shared_ptr<GuideModels> network;
  if (training_.again || !llvm::sys::fs::exists(training_.path)) {
    TG_TRY(network, GuideModels::fresh(std::move(options)));
    return network;
  }
  TG_TRY(network, GuideModels::open(training_.path, std::move(options)));
  TG_CHECK(check_notes(network->notes(), guide_settings(), "guide", training_.path));
  TG_TRY(out_.earlier_rounds, count_of(network->notes(), "rounds", "guide", training_.path));
  out_.rounds = out_.earlier_rounds;
  return network;
}

/// The file is written after each round.
Result<void> AgentTraining::guide() {
  TG_TRY(std::shared_ptr<GuideModels> network, open_guide());
  PolicyNotes notes = guide_settings();
  std::vector<const Graph*> graphs;
  std::vector<PriceCache*> prices;
  for (const Part& part : parts_)
    graphs.push_back(&part.graph), prices.push_back(part.prices.get());
  GuideOptions guide{.rounds = training_.rounds, .search = search_options()};
  guide.earlier_rounds = out_.earlier_rounds;
  guide.seed = o_.seed, guide.stop = stop_;
  return train_guide(graphs, prices, rules_, network, guide,
                     [&](const GuideProgress& now) -> Result<void> {
                       notes["rounds"] = std::to_string(now.round);
                       TG_CHECK(network->save(training_.path, notes));
                       out_.rounds = now.round, out_.samples = now.samples, out_.gain = now.gain;
                       done_(now);
                       return {};
                     });
}

Result<void> AgentTraining::gains() {
  PriorTable table;
  for (size_t round = 0; round < training_.rounds && !stop_.asked(); ++round) {
    Stopwatch watch;
    double gain = 0;
    for (size_t i = 0; i < parts_.size() && !stop_.asked(); ++i) {
      StatisticsPolicy policy;
      MctsOptions search = search_options();
      search.seed = o_.seed + 1'000 * round + i;
      search.widen = (round + i) % 2 == 1;
      EGraph egraph = EGraph::from_graph(parts_[i].graph);
      MctsReport found =
          search_mcts(egraph, parts_[i].graph, rules_, *parts_[i].prices, search, policy);
      add_records(rules_, found.records, table);
      gain += (1 - found.best_cost / found.start_cost) / static_cast<double>(parts_.size());
    }
    report(round + 1, gain, watch);
  }
  return write_data_file(training_.path, [&](llvm::raw_ostream& out) -> Result<void> {
    write_gains(out, table);
    return {};
  });
}

/// By the shipped search, with explanations.
Result<void> AgentTraining::motifs() {
  MotifTable table;
  for (size_t round = 0; round < training_.rounds && !stop_.asked(); ++round) {
    Stopwatch watch;
    double gain = 0;
    for (size_t i = 0; i < parts_.size() && !stop_.asked(); ++i) {
      PortfolioOptions options = optimize_options(o_).portfolio;
      options.saturate = optimize_options(o_).explore;
      options.mcts = search_options();
      options.mcts.seed = o_.seed + 1'000 * round + i;
      options.mcts.time_limit_s = 3;
      options.explain = true;
      options.explaining = options.saturate.stop = stop_;
      PortfolioReport found = search_portfolio(parts_[i].graph, rules_, *parts_[i].costs, options);
      double part = 1 - found.cost_us / found.source_us;
      if (found.chain) mine_motifs(*found.chain, rules_, part, table);
      gain += part / static_cast<double>(parts_.size());
    }
    report(round + 1, gain, watch);
  }
  return write_data_file(training_.path, [&](llvm::raw_ostream& out) -> Result<void> {
    write_motifs(out, table);
    return {};
  });
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

} // namespace tg
