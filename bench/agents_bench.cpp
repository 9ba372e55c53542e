// Compares agents that guide the tree search, on networks that they were not trained on: a neural
// network over graphs (the guide), mean gains by rule, motifs, and the search's own statistics
// alone. Agents are first trained on segments of other examples, as `tg-paper train --policy
// guide|gains|motifs` does. Existing agent files are used unchanged.
//
//   agents_bench [--agents FOLDER] [--train-seconds 240] [--train-seed 1] [--rounds 4]
//                [--train-cost analytic:cpu] [--cost analytic:cpu] [--cost-db FILE]
//                [--networks gpt2,paper/bert] [--seeds 3] [--simulations 128] [--few 32]
//                [--seconds 2] [--nodes 2000] [--guidance 1.5] [--arms 8]
//                [--visits 0.5] [--only none,guide,halving] [--json FILE]
//
// "halving" uses the guide with sequential halving over the best --arms actions of the root
// (halving.h) instead of bounds. Each decision has --few simulations (default: a quarter of
// --simulations); the counted searches make only the first decision.
//
// The guide's training target mixes each action's share of visits with its share of gains. --visits
// is the weight of the visits.
//
// --only restricts training and comparison to the named agents; "none" is always compared. FOLDER
// receives guide.safetensors, gains.json and motifs.json; without it they are discarded. Training
// uses the prices of --train-cost, the comparison those of --cost; both accept the values of `tg
// opt --cost`. All built-in rules, one e-graph of the whole network, one thread. Only --seconds
// requires an idle machine; --seconds 0 skips the timed searches.
//
//   needed     simulations until the cost is within 0.1% of that of the unguided search after
//              --simulations, median of the seeds; "-": not reached
//   few us     cost after --few simulations, median of the seeds
//   final us   cost after --simulations in one decision (halving: after --few), median of the seeds
//   by time    cost after --seconds in several decisions, median of the seeds
//   asking     share of that time spent evaluating the network, including the compilation of its
//              programs, as in a new process
#include "bench/paper/learned/followed_policy.h"
#include "bench/paper/learned/guide.h"
#include "bench/paper/learned/guide_models.h"
#include "bench/paper/learned/train_agent.h"
#include "compiler/api/files/model.h"
#include "compiler/api/policy_file.h"
#include "compiler/ir/from_ast.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/rules/from_ast.h"
#include "compiler/search/mcts/mcts.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace {

using namespace tg;
using namespace tg::paper;

/// Costs within this relative distance count as equal: seeds differ by more.
constexpr double kAsGood = 0.001;

struct Settings {
  std::string agents, json, cost_db;
  std::string cost = "analytic:cpu", train_cost = "analytic:cpu";
  std::vector<std::string> only; // empty: all
  std::vector<std::string> networks = {
      "paper/bert",        "paper/nasrnn",   "paper/resnext50", "paper/inceptionv3",
      "paper/vgg19",       "paper/vit_base", "paper/dalle",     "paper/transformer_transducer",
      "paper/mobilenetv2", "paper/resnet50", "bert_base",       "vit_base",
      "inceptionv3",       "resnet50",       "mobilenetv2",     "gpt2"};
  size_t seeds = 3, simulations = 128, nodes = 2'000, rounds = 4, train_seed = 1;
  size_t arms = 8, few = 0; // few = 0: a quarter of `simulations`
  double seconds = 2, train_seconds = 240, visits = GuideOptions().visits,
         guidance = MctsOptions().guidance;

  bool has(llvm::StringRef agent) const { return only.empty() || llvm::is_contained(only, agent); }
  size_t few_simulations() const { return few > 0 ? few : std::max<size_t>(simulations / 4, 1); }
};

/// The training networks: of the same kinds as those above, but different ones.
constexpr const char* kSchool[] = {"mlp",  "residual",    "transformer",
                                   "lstm", "llama_block", "squeezenet"};
struct AgentFile {
  const char *agent, *file;
};
constexpr AgentFile kAgents[] = {
    {"gains", "gains.json"}, {"motifs", "motifs.json"}, {"guide", "guide.safetensors"}};

[[noreturn]] void fail(const Diagnostic& d) {
  llvm::errs() << "agents_bench: " << d.message << "\n";
  std::exit(1);
}

struct Agent {
  std::string name;
  std::string path;    // "": the search's own statistics
  bool halves = false; // sequential halving at the root

  /// Returns a fresh policy, as in a new process, so that no cache carries over between searches.
  std::unique_ptr<Policy> open() const {
    if (path.empty()) return std::make_unique<StatisticsPolicy>();
    Result<std::unique_ptr<Policy>> policy = open_policy(path);
    if (!policy) fail(policy.error());
    return std::move(*policy);
  }
  bool guides() const { return name == "guide" || halves; }
};

std::vector<Agent> agents_of(const Settings& s) {
  std::vector<Agent> agents;
  auto add = [&](const char* name, llvm::StringRef file, bool halves) {
    if (s.has(name)) agents.push_back({name, (s.agents + "/" + file).str(), halves});
  };
  agents.push_back({"none", ""});
  for (const AgentFile& row : kAgents) add(row.agent, row.file, false);
  add("halving", "guide.safetensors", true);
  return agents;
}

struct Course {
  double start_us = 0, best_us = 0, seconds = 0;
  std::vector<std::pair<size_t, double>> best; // number of simulations, best cost in us
  std::optional<size_t> needed(double cost_us) const {
    for (auto [simulations, cost] : best)
      if (cost <= cost_us) return simulations;
    return std::nullopt;
  }
  double after(size_t simulations) const {
    double cost_us = start_us;
    for (auto [count, cost] : best)
      if (count <= simulations) cost_us = cost;
    return cost_us;
  }
};

MctsOptions base_options(const Settings& s, const Agent& agent, uint64_t seed) {
  MctsOptions options;
  if (agent.halves)
    options.halving = s.arms, options.budget = static_cast<int>(s.few_simulations());
  options.seed = seed;
  options.explore.node_limit = s.nodes;
  options.explore.numerics = Numerics::Reassociates;
  options.time_limit_s = 60;
  options.guidance = s.guidance;
  return options;
}

Course search(const Graph& graph, llvm::ArrayRef<Rule> rules, CostModel& costs, const Policy& agent,
              MctsOptions options) {
  PriceCache prices(graph.symbols(), costs);
  std::unique_ptr<Policy> policy = agent.fresh();
  Course course;
  options.simulated = [&](size_t simulations, double best) {
    course.best.emplace_back(simulations, best);
  };
  EGraph egraph = egraph_of(graph);
  Stopwatch watch;
  MctsReport report = search_mcts(egraph, graph, rules, prices, options, *policy);
  course.seconds = watch.seconds();
  course.start_us = report.start_cost, course.best_us = report.best_cost;
  return course;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The results of one agent on one network.
struct Row {
  std::string network, agent;
  std::optional<double> needed; // empty: not reached for most seeds
  double few_us = 0, final_us = 0, timed_us = 0, simulation_ms = 0, asking = 0;
  size_t assessments = 0;
};

class Bench {
public:
  explicit Bench(Settings settings) : s_(std::move(settings)) {
    rules_ = *load_rules(sources_, library(), {}, sink_);
  }

  void run() {
    train_missing();
    agents_ = agents_of(s_);
    llvm::outs() << llvm::formatv("{0,-28} {1,-7} {2,7} {3,12} {4,12} {5,12} {6,9} {7,7}\n",
                                  "network", "agent", "needed", "few us", "final us", "by time us",
                                  "ms / sim", "asking");
    for (const std::string& network : s_.networks) run_network(network);
    print_summary();
    if (!s_.json.empty()) write();
  }

private:
  Graph load(const std::string& network) {
    std::string path = std::string(TG_SOURCE_DIR) + "/examples/" + network + ".tg";
    std::optional<LoadedModel> model = load_model(sources_, llvm::StringRef(path), {}, sink_);
    if (!model) fail(sink_.all().front());
    return std::move(model->graph);
  }

  /// Returns the cost model of --cost for one network.
  std::unique_ptr<CostModel> costs_of(const Graph& graph) {
    tangram::OptimizeOptions options;
    options.cost = *tangram::CostSpec::from_text(s_.cost);
    options.cost_db = s_.cost_db, options.threads = 1;
    Result<std::unique_ptr<CostModel>> costs = cost_model(graph, options, StopToken());
    if (!costs) fail(costs.error());
    return std::move(*costs);
  }

  void train_missing() {
    std::vector<Graph> school;
    for (const char* network : kSchool) school.push_back(load(network));
    std::vector<const Graph*> graphs;
    for (const Graph& graph : school) graphs.push_back(&graph);
    for (const AgentFile& row : kAgents) {
      std::string path = s_.agents + "/" + row.file;
      bool asked =
          s_.has(row.agent) || (row.agent == llvm::StringRef("guide") && s_.has("halving"));
      if (!asked || llvm::sys::fs::exists(path)) continue;
      tangram::OptimizeOptions options;
      options.cost = *tangram::CostSpec::from_text(s_.train_cost);
      options.cost_db = s_.cost_db;
      options.trust_rules = true;
      options.time_limit_s = s_.train_seconds;
      options.seed = s_.train_seed;
      TrainAgentOptions training{
          .agent = row.agent, .path = path, .rounds = s_.rounds, .visits = s_.visits};
      std::optional<TrainedAgent> trained = train_agent(
          graphs, training, options, {}, sources_, sink_, [&](const GuideProgress& now) {
            llvm::outs() << llvm::formatv(
                "{0}: round {1}, gain {2:f2}%, {3} samples, loss {4:f3}, {5:f1} s\n", row.agent,
                now.round, 100 * now.gain, now.samples, now.loss, now.seconds);
            llvm::outs().flush();
          });
      if (!trained) fail(sink_.all().front());
      llvm::outs() << llvm::formatv("{0}: {1} parts, {2} rounds, {3:f1} s{4}\n", row.agent,
                                    trained->networks, trained->rounds, trained->seconds,
                                    trained->stopped_by.empty() ? "" : ", ended by its time");
    }
  }

  void run_network(const std::string& network) {
    Graph graph = load(network);
    std::unique_ptr<CostModel> costs = costs_of(graph);
    std::vector<double> goals; // by seed
    for (const Agent& agent : agents_) {
      Row row;
      row.network = network, row.agent = agent.name;
      count_simulations(graph, *costs, agent, goals, row);
      if (s_.seconds > 0) spend_time(graph, *costs, agent, row);
      print(row);
      rows_.push_back(std::move(row));
    }
  }

  void count_simulations(const Graph& graph, CostModel& costs, const Agent& agent,
                         std::vector<double>& goals, Row& row) {
    std::vector<double> needed, early, finals, per_simulation;
    std::unique_ptr<Policy> policy = agent.open();
    auto never = static_cast<double>(10 * s_.simulations);
    for (uint64_t seed = 1; seed <= s_.seeds; ++seed) {
      MctsOptions options = base_options(s_, agent, seed);
      if (!agent.halves) options.budget = static_cast<int>(s_.simulations);
      options.simulation_patience = options.promising_patience = options.budget;
      options.decisions = 1, options.batch = 1;
      Course course = search(graph, rules_, costs, *policy, options);
      if (agent.path.empty()) goals.push_back(course.best_us);
      std::optional<size_t> count = course.needed(goals[seed - 1] * (1 + kAsGood));
      needed.push_back(count ? static_cast<double>(*count) : never);
      early.push_back(course.after(s_.few_simulations()));
      finals.push_back(course.best_us);
      per_simulation.push_back(1e3 * course.seconds / static_cast<double>(course.best.size()));
    }
    row.few_us = median(early), row.final_us = median(finals);
    row.simulation_ms = median(per_simulation);
    if (double count = median(needed); count < never) row.needed = count;
  }

  void spend_time(const Graph& graph, CostModel& costs, const Agent& agent, Row& row) {
    std::vector<double> finals;
    double seconds = 0, asked = 0;
    for (uint64_t seed = 1; seed <= s_.seeds; ++seed) {
      MctsOptions options = base_options(s_, agent, seed);
      options.time_limit_s = s_.seconds;
      options.patience = 1'000;
      std::unique_ptr<Policy> policy = agent.open();
      Course course = search(graph, rules_, costs, *policy, options);
      finals.push_back(course.best_us);
      seconds += course.seconds;
      if (!agent.guides()) continue;
      GuidedPolicy::Use use = static_cast<const GuidedPolicy&>(*policy).use();
      row.assessments += use.assessments, asked += use.seconds;
    }
    row.timed_us = median(finals);
    row.asking = asked / seconds;
  }

  void print(const Row& row) const {
    std::string needed = row.needed ? llvm::formatv("{0:f0}", *row.needed).str() : "-";
    std::string asking =
        row.assessments ? llvm::formatv("{0:f1}%", 100 * row.asking).str() : std::string();
    std::string timed = s_.seconds > 0 ? llvm::formatv("{0:f2}", row.timed_us).str() : "";
    llvm::outs() << llvm::formatv(
        "{0,-28} {1,-7} {2,7} {3,12:f2} {4,12:f2} {5,12} {6,9:f2} {7,7}\n", row.network, row.agent,
        needed, row.few_us, row.final_us, timed, row.simulation_ms, asking);
    llvm::outs().flush();
  }

  const Row& row_of(size_t network, size_t agent) const {
    return rows_[network * agents_.size() + agent];
  }

  void print_summary() const {
    for (size_t a = 0; a < agents_.size(); ++a) {
      print_early(a);
      if (a > 0) print_counts(a);
      if (a > 0 && s_.seconds > 0) print_timed(a);
    }
  }

  /// Prints how far the cost after few simulations exceeds the unguided search's cost after many.
  void print_early(size_t a) const {
    double logarithms = 0, most = 0;
    for (size_t n = 0; n < s_.networks.size(); ++n) {
      double ratio = row_of(n, a).few_us / row_of(n, 0).final_us;
      logarithms += std::log(ratio), most = std::max(most, ratio);
    }
    double mean = std::exp(logarithms / static_cast<double>(s_.networks.size()));
    llvm::outs() << llvm::formatv(
        "{0}: the cost after {1} simulations is {2:f3}% above that of none after {3} in the "
        "geometric mean, {4:f3}% at most\n",
        agents_[a].name, s_.few_simulations(), 100 * (mean - 1), s_.simulations, 100 * (most - 1));
  }

  void print_counts(size_t a) const {
    size_t few = 0, half = 0, all = 0;
    for (size_t n = 0; n < s_.networks.size(); ++n) {
      auto by = [&](size_t count) {
        return row_of(n, a).needed && *row_of(n, a).needed <= static_cast<double>(count);
      };
      few += by(s_.few_simulations()), half += by(s_.simulations / 2), all += by(s_.simulations);
    }
    llvm::outs() << llvm::formatv("{0}: of {1} networks as good within {2} simulations {3}, within "
                                  "{4} {5}, within {6} {7}\n",
                                  agents_[a].name, s_.networks.size(), s_.few_simulations(), few,
                                  s_.simulations / 2, half, s_.simulations, all);
  }

  void print_timed(size_t a) const {
    size_t better = 0, worse = 0, beats = 0, loses = 0;
    double asking = 0;
    for (size_t n = 0; n < s_.networks.size(); ++n) {
      // Agent 1 is the table of gains, unless --only leaves it out.
      const Row &row = row_of(n, a), &none = row_of(n, 0), &table = row_of(n, 1);
      asking = std::max(asking, row.asking);
      better += row.timed_us < none.timed_us * (1 - kAsGood);
      worse += row.timed_us > none.timed_us * (1 + kAsGood);
      if (agents_[1].name != "gains") continue;
      beats += row.timed_us < table.timed_us * (1 - kAsGood);
      loses += row.timed_us > table.timed_us * (1 + kAsGood);
    }
    llvm::outs() << llvm::formatv("{0}: by time better than none {1}, worse {2}; than the table "
                                  "{3}, {4}; asking at most {5:f1}%\n",
                                  agents_[a].name, better, worse, beats, loses, 100 * asking);
  }

  void write() const {
    std::error_code failed;
    llvm::raw_fd_ostream file(s_.json, failed);
    if (failed) fail(error(Code::cannot_read, "cannot write `{0}`", s_.json));
    llvm::json::OStream json(file, 1);
    json.array([&] {
      for (const Row& row : rows_)
        json.object([&] {
          json.attribute("network", row.network);
          json.attribute("agent", row.agent);
          if (row.needed) json.attribute("needed", *row.needed);
          json.attribute("few_us", row.few_us);
          json.attribute("final_us", row.final_us);
          if (s_.seconds > 0) json.attribute("timed_us", row.timed_us);
          json.attribute("simulation_ms", row.simulation_ms);
          json.attribute("looks", static_cast<int64_t>(row.assessments));
          json.attribute("asking", row.asking);
        });
    });
  }

  Settings s_;
  SourceManager sources_;
  DiagnosticSink sink_;
  std::vector<Agent> agents_;
  std::vector<Rule> rules_;
  std::vector<Row> rows_;
};

bool names_agent(llvm::StringRef word) {
  return word == "none" || word == "halving" ||
         llvm::any_of(kAgents, [&](const AgentFile& row) { return word == row.agent; });
}

/// Returns false for an unknown option or an invalid value.
bool set(Settings& s, llvm::StringRef name, llvm::StringRef value) {
  const std::pair<llvm::StringRef, std::string*> texts[] = {
      {"--agents", &s.agents}, {"--json", &s.json}, {"--cost-db", &s.cost_db}};
  for (auto [option, to] : texts)
    if (name == option) return *to = value.str(), !value.empty();
  const std::pair<llvm::StringRef, std::string*> prices[] = {{"--cost", &s.cost},
                                                             {"--train-cost", &s.train_cost}};
  for (auto [option, to] : prices)
    if (name == option) return *to = value.str(), tangram::CostSpec::from_text(*to).has_value();
  const std::pair<llvm::StringRef, size_t*> counts[] = {
      {"--seeds", &s.seeds}, {"--simulations", &s.simulations}, {"--nodes", &s.nodes},
      {"--arms", &s.arms},   {"--rounds", &s.rounds},           {"--train-seed", &s.train_seed},
      {"--few", &s.few}};
  for (auto [option, to] : counts)
    if (name == option) return !value.getAsInteger(10, *to) && *to > 0;
  const std::pair<llvm::StringRef, double*> numbers[] = {{"--train-seconds", &s.train_seconds},
                                                         {"--guidance", &s.guidance},
                                                         {"--visits", &s.visits},
                                                         {"--seconds", &s.seconds}};
  for (auto [option, to] : numbers)
    if (name == option) return !value.getAsDouble(*to) && std::isfinite(*to) && *to >= 0;
  if (name != "--networks" && name != "--only") return false;
  std::vector<std::string>& words = name == "--only" ? s.only : s.networks;
  words.clear();
  llvm::SmallVector<llvm::StringRef> parts;
  value.split(parts, ',');
  for (llvm::StringRef part : parts) words.push_back(part.str());
  return name == "--only" ? llvm::all_of(words, names_agent) : !llvm::is_contained(words, "");
}

Settings settings_of(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && set(s, argv[i], argv[i + 1])) continue;
    llvm::errs() << "agents_bench: unknown option `" << argv[i]
                 << (i + 1 < argc ? std::string(" ") + argv[i + 1] : std::string())
                 << "`; the first comment of bench/agents_bench.cpp lists the options\n";
    std::exit(2);
  }
  if (s.few > s.simulations) {
    llvm::errs() << "agents_bench: --few " << s.few << " is more than --simulations "
                 << s.simulations << "\n";
    std::exit(2);
  }
  return s;
}

} // namespace

int main(int argc, char** argv) {
  Settings settings = settings_of(argc, argv);
  bool kept = !settings.agents.empty();
  llvm::SmallString<128> scratch;
  if (!kept) {
    if (llvm::sys::fs::createUniqueDirectory("agents", scratch)) return 1;
    settings.agents = scratch.str().str();
  } else if (llvm::sys::fs::create_directories(settings.agents)) {
    return 1;
  }
  Bench(settings).run();
  if (!kept) llvm::sys::fs::remove_directories(scratch);
  return 0;
}
