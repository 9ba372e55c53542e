// `tg bench paper`: the published table of the MCTS optimizer, computed here: every network by
// TENSAT, by the five published combinations of rewards and extraction, by the search that we ship
// and by the two baselines, over some seeds, beside the published figures. Cells are written to a
// file as they are done and not computed again; a cell that reaches its time limit is marked, and
// cells that do not fit into the time of the whole run are left for the next.
#include "compiler/driver/cli/bench_paper.h"
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/search_files.h"
#include "compiler/driver/cost_model.h"
#include "compiler/egraph/rule_from_ast.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <chrono>

namespace tg::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr PaperNetwork kNetworks[] = {
    {"bert", 1},        {"inceptionv3", 2},
    {"mobilenetv2", 1}, {"nasneta", 1},
    {"nasrnn", 3},      {"resnet50", 4},
    {"resnext50", 4},   {"squeezenet", 3},
    {"vgg19", 1},       {"transformer_transducer", 2},
    {"vit_base", 2},    {"vit_large", 2},
    {"vit_huge", 1},
};

constexpr PaperApproach kApproaches[] = {
    {"tensat", "TENSAT + ILP", Search::Saturate, Reward::Ilp, true, false},
    {"greedy+greedy", "MCTS default greedy + same", Search::Pact24, Reward::Greedy, false},
    {"greedy+ilp", "MCTS default greedy + ILP", Search::Pact24, Reward::Greedy, true},
    {"shared+shared", "MCTS our greedy + same", Search::Pact24, Reward::GreedyShared, false},
    {"shared+ilp", "MCTS our greedy + ILP", Search::Pact24, Reward::GreedyShared, true},
    {"ilp+ilp", "MCTS ILP + ILP", Search::Pact24, Reward::Ilp, true},
    {"tangram", "Tangram", Search::Mcts},
    {"anneal", "annealing", Search::Anneal},
    {"taso", "TASO's search", Search::Taso, Reward::GreedyShared, true, false},
};

class Paper {
public:
  explicit Paper(Session& session)
      : session_(session),
        cells_(paper_setting(session.options),
               session.options.output.empty() ? "paper_cells.json" : session.options.output) {}

  int run() {
    if (auto known = check_names(); !known) return session_.fail(std::move(known.error()));
    if (auto read = cells_.read(); !read) return session_.fail(std::move(read.error()));
    std::optional<std::vector<Rule>> rules =
        load_rules(session_.sources, library(), session_.options.rules, session_.sink);
    if (!rules) return session_.fail();
    for (const PaperNetwork& network : kNetworks)
      if (wanted(network) && !run_network(network, *rules)) return session_.fail();
    print();
    return 0;
  }

private:
  Result<void> check_names() const;
  bool wanted(const PaperNetwork& network) const {
    const auto& names = session_.options.files;
    return names.empty() || llvm::is_contained(names, network.name);
  }
  bool wanted(const PaperApproach& approach) const {
    const auto& names = session_.options.approaches;
    return names.empty() || llvm::is_contained(names, approach.name);
  }
  bool cancelled() const { return session_.cancel && session_.cancel->load(); }
  double left_s() const {
    double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    return session_.options.total_limit_s - elapsed;
  }

  bool run_network(const PaperNetwork& network, llvm::ArrayRef<Rule> rules);
  Result<PaperCell> compute(const PaperNetwork& network, const PaperApproach& approach,
                            uint64_t seed, double limit_s, const Graph& source,
                            llvm::ArrayRef<Rule> rules);
  OptimizeOptions options_for(const PaperNetwork& network, const PaperApproach& approach,
                              uint64_t seed, double limit_s) const;
  void print();

  Session& session_;
  PaperCells cells_;
  size_t made_ = 0, left_ = 0; // cells of this run; cells that did not fit
  Clock::time_point start_ = Clock::now();
};

Result<void> Paper::check_names() const {
  auto unknown = [](const char* what, llvm::StringRef name) {
    return error(Code::usage, "no {0} `{1}` in the published table", what, name);
  };
  for (const std::string& name : session_.options.files)
    if (llvm::none_of(kNetworks, [&](const PaperNetwork& n) { return n.name == name; }))
      return unknown("network", name);
  for (const std::string& name : session_.options.approaches)
    if (llvm::none_of(kApproaches, [&](const PaperApproach& a) { return a.name == name; }))
      return unknown("approach", name);
  return {};
}

bool Paper::run_network(const PaperNetwork& network, llvm::ArrayRef<Rule> rules) {
  const Options& o = session_.options;
  std::optional<Graph> source;
  for (const PaperApproach& approach : kApproaches)
    for (uint64_t seed = 1; seed <= (approach.seeded ? o.seeds : 1); ++seed) {
      if (!wanted(approach) || cells_.find(network.name, approach.name, seed)) continue;
      if (left_s() <= 0 || cancelled()) {
        ++left_;
        continue;
      }
      if (!source)
        source = load_model(session_.sources, ("examples/paper/" + network.name + ".tg").str(), {},
                            session_.sink);
      if (!source) return false;
      if (!o.quiet && !o.json)
        session_.err << network.name << ", " << approach.text << ", seed " << seed << "\n";
      double limit_s = std::min(o.time_limit_s, left_s());
      Result<PaperCell> cell = compute(network, approach, seed, limit_s, *source, rules);
      // A cell that was cut short by anything but its own limit is none.
      if (cancelled() || (cell && cell->capped && limit_s < o.time_limit_s)) {
        ++left_;
        continue;
      }
      if (cell) cells_.add(std::move(*cell)), ++made_;
      if (auto written = cell ? cells_.write(session_) : Result<void>(std::move(cell.error()));
          !written) {
        session_.sink.report(std::move(written.error()));
        return false;
      }
    }
  return true;
}

/// Half of the time is the search's, a quarter that of one integer program: what a search has begun
/// when its time is over, and the extraction after it, then end within the limit.
OptimizeOptions Paper::options_for(const PaperNetwork& network, const PaperApproach& approach,
                                   uint64_t seed, double limit_s) const {
  const Options& o = session_.options;
  OptimizeOptions options = optimize_options(o);
  options.search = approach.search;
  options.reward = approach.reward;
  options.final_ilp = approach.final_ilp;
  options.explore.seed = seed;
  options.explore.time_limit_s = limit_s / 2;
  options.extract.ilp.time_limit_s = limit_s / 4;
  options.explore.cancel = session_.cancel;
  options.extract.extractor = Extractor::Ilp;
  if (approach.search == Search::Saturate) { // as its scripts have it
    options.explore.iterations = 10'000;
    options.explore.multi_iterations = network.multi;
    options.explore.multi_node_limit = 2'000;
    options.explore.compatible = true;
  }
  return options;
}

Result<PaperCell> Paper::compute(const PaperNetwork& network, const PaperApproach& approach,
                                 uint64_t seed, double limit_s, const Graph& source,
                                 llvm::ArrayRef<Rule> rules) {
  TG_TRY(std::unique_ptr<CostModel> costs, cost_model(session_, source));
  OptimizeOptions options = options_for(network, approach, seed, limit_s);
  TG_TRY(Optimized found, optimize(source, rules, *costs, options, nullptr));
  const OptimizeReport& r = found.report;
  PaperCell cell{
      network.name.str(), approach.name.str(), seed,           r.cost_before_us, r.cost_after_us,
      r.total_s,          r.search_memory_mb,  r.egraph_nodes, r.stopped_by,     false};
  // The shipped search extracts many times, each time for a slice of its limit.
  cell.capped = r.stopped_by == "time limit" || (approach.search != Search::Mcts &&
                                                 r.extract_s >= options.extract.ilp.time_limit_s);
  return cell;
}

void Paper::print() {
  const Options& o = session_.options;
  if (o.json) {
    llvm::json::OStream json(session_.out, 2);
    json.object([&] {
      json.attribute("setting", cells_.setting());
      json.attribute("cells_computed", static_cast<int64_t>(made_));
      json.attribute("cells_left", static_cast<int64_t>(left_));
      json.attributeArray("cells", [&] { cells_.write_json(json); });
    });
    session_.out << "\n";
    return;
  }
  if (o.quiet) return;
  print_paper_table(session_, cells_);
  if (left_ > 0) session_.out << left_ << " cells are left; the same command goes on with them\n";
}

} // namespace

llvm::ArrayRef<PaperNetwork> paper_networks() { return kNetworks; }
llvm::ArrayRef<PaperApproach> paper_approaches() { return kApproaches; }

int run_bench_paper(Session& session) {
  session.cancel = watch_interrupt();
  return Paper(session).run();
}

} // namespace tg::cli
