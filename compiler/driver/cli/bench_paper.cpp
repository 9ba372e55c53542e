// `tg bench paper`: the published table of the MCTS optimizer, computed here: every network by
// TENSAT, by the five published combinations of rewards and extraction, by the search that we ship
// and by the two baselines, over some seeds, beside the published figures. Cells are written to a
// file as they are done and not computed again; a cell that reaches its time limit is marked, and
// cells that do not fit into the time of the whole run are left for the next.
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/search_files.h"
#include "compiler/driver/cli/table.h"
#include "compiler/driver/cost_model.h"
#include "compiler/driver/json_files.h"
#include "compiler/egraph/rule_from_ast.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <chrono>
#include <cmath>
#include <map>

namespace tg::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Network {
  llvm::StringRef name;
  int multi; // iterations of multi-pattern rules of TENSAT, as published for this network
};

constexpr Network kNetworks[] = {
    {"bert", 1},        {"inceptionv3", 2},
    {"mobilenetv2", 1}, {"nasneta", 1},
    {"nasrnn", 3},      {"resnet50", 4},
    {"resnext50", 4},   {"squeezenet", 3},
    {"vgg19", 1},       {"transformer_transducer", 2},
    {"vit_base", 2},    {"vit_large", 2},
    {"vit_huge", 1},
};

struct Approach {
  llvm::StringRef name, text;
  Search search;
  Reward reward = Reward::GreedyShared;
  bool final_ilp = true;
  bool seeded = true; // the seed matters
};

constexpr Approach kApproaches[] = {
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

struct Published {
  llvm::StringRef model, approach;
  double speedup_pct, speedup_sd, seconds, seconds_sd;
};

constexpr Published kPublished[] = {
#define TG_PUBLISHED(...) {__VA_ARGS__},
#include "compiler/driver/cli/published.def"
};

struct Cell {
  std::string model, approach;
  uint64_t seed = 0;
  double source_us = 0, cost_us = 0, seconds = 0, memory_mb = 0;
  size_t nodes = 0;
  std::string stopped_by;
  bool capped = false;

  double speedup_pct() const { return (source_us / cost_us - 1) * 100; }
};

/// What cells depend on beside network, approach and seed: others are kept apart in the file.
std::string setting_of(const Options& o) {
  std::string rules;
  for (const std::string& rule : o.rules) rules += (rules.empty() ? "" : ",") + rule;
  return llvm::formatv("cost {0}; rules {1}; nodes {2}; budget {3}; depth {4}; numerics {5}",
                       o.cost, rules.empty() ? "default" : rules, o.node_limit,
                       o.budget > 0 ? o.budget : 128, o.depth > 0 ? o.depth : 10, o.numerics);
}

class Paper {
public:
  explicit Paper(Session& session)
      : session_(session), setting_(setting_of(session.options)),
        file_(session.options.output.empty() ? "paper_cells.json" : session.options.output) {}

  int run() {
    if (auto read = read_cells(); !read) return session_.fail(std::move(read.error()));
    std::optional<std::vector<Rule>> rules =
        load_rules(session_.sources, library(), session_.options.rules, session_.sink);
    if (!rules) return session_.fail();
    for (const Network& network : kNetworks)
      if (wanted(network.name) && !run_network(network, *rules)) return session_.fail();
    print();
    return 0;
  }

private:
  bool wanted(llvm::StringRef name) const {
    const auto& files = session_.options.files;
    return files.empty() || llvm::any_of(files, [&](const std::string& f) {
             return llvm::StringRef(f).rsplit('/').second.startswith(name) || name == f;
           });
  }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool run_network(const Network& network, llvm::ArrayRef<Rule> rules);
  Result<Cell> compute(const Network& network, const Approach& approach, uint64_t seed,
                       const Graph& source, llvm::ArrayRef<Rule> rules);
  OptimizeOptions options_for(const Network& network, const Approach& approach,
                              uint64_t seed) const;
  const Cell* find(llvm::StringRef model, llvm::StringRef approach, uint64_t seed) const;
  Result<void> read_cells();
  Result<void> write_cells();
  void write_json(llvm::json::OStream& json) const;
  void print();

  Session& session_;
  std::string setting_, file_;
  std::vector<Cell> cells_;                        // of this setting
  std::map<std::string, llvm::json::Value> other_; // of other settings
  size_t left_ = 0;                                // cells that did not fit
  Clock::time_point start_ = Clock::now();
};

bool Paper::run_network(const Network& network, llvm::ArrayRef<Rule> rules) {
  const Options& o = session_.options;
  std::optional<Graph> source;
  for (const Approach& approach : kApproaches)
    for (uint64_t seed = 1; seed <= (approach.seeded ? o.seeds : 1); ++seed) {
      if (find(network.name, approach.name, seed)) continue;
      if (elapsed() >= o.total_limit_s || (session_.cancel && session_.cancel->load())) {
        ++left_;
        continue;
      }
      if (!source)
        source = load_model(session_.sources, ("examples/paper/" + network.name + ".tg").str(), {},
                            session_.sink);
      if (!source) return false;
      if (!o.quiet && !o.json)
        session_.err << network.name << ", " << approach.text << ", seed " << seed << "\n";
      Result<Cell> cell = compute(network, approach, seed, *source, rules);
      if (cell) cells_.push_back(std::move(*cell));
      if (auto written = cell ? write_cells() : Result<void>(std::move(cell.error())); !written) {
        session_.sink.report(std::move(written.error()));
        return false;
      }
    }
  return true;
}

OptimizeOptions Paper::options_for(const Network& network, const Approach& approach,
                                   uint64_t seed) const {
  const Options& o = session_.options;
  OptimizeOptions options = optimize_options(o);
  options.search = approach.search;
  options.reward = approach.reward;
  options.final_ilp = approach.final_ilp;
  options.explore.seed = seed;
  options.explore.time_limit_s = options.extract.ilp.time_limit_s = o.time_limit_s;
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

Result<Cell> Paper::compute(const Network& network, const Approach& approach, uint64_t seed,
                            const Graph& source, llvm::ArrayRef<Rule> rules) {
  TG_TRY(std::unique_ptr<CostModel> costs, cost_model(session_, source));
  OptimizeOptions options = options_for(network, approach, seed);
  TG_TRY(Optimized found, optimize(source, rules, *costs, options, nullptr));
  const OptimizeReport& r = found.report;
  Cell cell{
      network.name.str(), approach.name.str(), seed,           r.cost_before_us, r.cost_after_us,
      r.total_s,          r.search_memory_mb,  r.egraph_nodes, r.stopped_by,     false};
  cell.capped = r.total_s >= session_.options.time_limit_s || r.stopped_by == "interrupted";
  return cell;
}

const Cell* Paper::find(llvm::StringRef model, llvm::StringRef approach, uint64_t seed) const {
  for (const Cell& cell : cells_)
    if (cell.model == model && cell.approach == approach && cell.seed == seed) return &cell;
  return nullptr;
}

// --- the file of cells --------------------------------------------------------------------------

/// A missing file is an empty one.
Result<void> Paper::read_cells() {
  auto file = llvm::MemoryBuffer::getFile(file_, /*IsText=*/true);
  if (!file) return {};
  TG_TRY(llvm::json::Value value, parse_json((*file)->getBuffer(), file_, Code::bad_cells_file));
  const llvm::json::Object* all = value.getAsObject();
  if (!all) return error(Code::bad_cells_file, "`{0}` is no file of cells", file_);
  for (const auto& [setting, list] : *all) {
    if (llvm::StringRef(setting) != setting_) {
      other_.emplace(llvm::StringRef(setting).str(), list);
      continue;
    }
    const llvm::json::Array* cells = list.getAsArray();
    if (!cells) return error(Code::bad_cells_file, "`{0}` is no file of cells", file_);
    for (const llvm::json::Value& entry : *cells) {
      const llvm::json::Object* c = entry.getAsObject();
      if (!c) return error(Code::bad_cells_file, "`{0}` is no file of cells", file_);
      auto number = [&](const char* name) { return c->getNumber(name).getValueOr(0); };
      cells_.push_back({c->getString("model").getValueOr("").str(),
                        c->getString("approach").getValueOr("").str(),
                        static_cast<uint64_t>(c->getInteger("seed").getValueOr(0)),
                        number("source_us"), number("cost_us"), number("seconds"),
                        number("memory_mb"),
                        static_cast<size_t>(c->getInteger("nodes").getValueOr(0)),
                        c->getString("stopped_by").getValueOr("").str(),
                        c->getBoolean("capped").getValueOr(false)});
    }
  }
  return {};
}

void Paper::write_json(llvm::json::OStream& json) const {
  for (const Cell& cell : cells_)
    json.object([&] {
      json.attribute("model", cell.model);
      json.attribute("approach", cell.approach);
      json.attribute("seed", static_cast<int64_t>(cell.seed));
      write_number(json, "source_us", cell.source_us);
      write_number(json, "cost_us", cell.cost_us);
      write_number(json, "speedup_pct", cell.speedup_pct());
      write_number(json, "seconds", cell.seconds);
      write_number(json, "memory_mb", cell.memory_mb);
      json.attribute("nodes", static_cast<int64_t>(cell.nodes));
      json.attribute("stopped_by", cell.stopped_by);
      json.attribute("capped", cell.capped);
    });
}

Result<void> Paper::write_cells() {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 1);
  json.object([&] {
    for (const auto& [setting, list] : other_) json.attribute(setting, list);
    json.attributeArray(setting_, [&] { write_json(json); });
  });
  out << "\n";
  return write_text_file(session_, file_, out.str());
}

// --- the table ----------------------------------------------------------------------------------

struct Summary {
  double mean = 0, sd = 0;
};

Summary summary(llvm::ArrayRef<double> values) {
  Summary s;
  for (double v : values) s.mean += v / static_cast<double>(values.size());
  for (double v : values) s.sd += (v - s.mean) * (v - s.mean);
  s.sd = values.size() > 1 ? std::sqrt(s.sd / static_cast<double>(values.size() - 1)) : 0;
  return s;
}

std::string with_deviation(Summary s) { return llvm::formatv("{0:f2} ± {1:f2}", s.mean, s.sd); }

void Paper::print() {
  const Options& o = session_.options;
  if (o.json) {
    llvm::json::OStream json(session_.out, 2);
    json.object([&] {
      json.attribute("setting", setting_);
      json.attribute("cells_left", static_cast<int64_t>(left_));
      json.attributeArray("cells", [&] { write_json(json); });
    });
    session_.out << "\n";
    return;
  }
  if (o.quiet) return;
  Table table({{"network"},
               {"approach"},
               {"original", Align::Right},
               {"optimised", Align::Right},
               {"speed-up %", Align::Right},
               {"seconds", Align::Right},
               {"published %", Align::Right},
               {"published s", Align::Right},
               {""}});
  std::map<std::string, std::pair<double, size_t>> log_seconds; // by approach
  for (const Network& network : kNetworks)
    for (const Approach& approach : kApproaches) {
      std::vector<double> speedups, seconds, costs;
      const Cell* first = nullptr;
      bool capped = false;
      for (const Cell& cell : cells_) {
        if (cell.model != network.name || cell.approach != approach.name) continue;
        if (!first) first = &cell;
        speedups.push_back(cell.speedup_pct());
        seconds.push_back(cell.seconds);
        costs.push_back(cell.cost_us);
        capped |= cell.capped;
      }
      if (!first) continue;
      auto& sum = log_seconds[approach.text.str()];
      sum.first += std::log(summary(seconds).mean), ++sum.second;
      const Published* paper = llvm::find_if(kPublished, [&](const Published& p) {
        return p.model == network.name && p.approach == approach.name;
      });
      bool known = paper != std::end(kPublished);
      table.add({network.name.str(), approach.text.str(), duration_text(first->source_us),
                 duration_text(summary(costs).mean), with_deviation(summary(speedups)),
                 with_deviation(summary(seconds)),
                 known ? with_deviation({paper->speedup_pct, paper->speedup_sd}) : "",
                 known ? with_deviation({paper->seconds, paper->seconds_sd}) : "",
                 capped ? "capped" : ""});
    }
  table.print(session_.out, session_.color);
  session_.out << "\n" << setting_ << "\n";
  for (const auto& [approach, sum] : log_seconds)
    session_.out << "geometric mean of seconds, " << approach << ": "
                 << llvm::formatv("{0:f3}", std::exp(sum.first / static_cast<double>(sum.second)))
                 << " over " << sum.second << " networks\n";
  session_.out
      << "rules are the verified ones; the published NASNet-A figures may rest on rules that "
         "are wrong for grouped convolutions\n";
  if (left_ > 0) session_.out << left_ << " cells are left; the same command goes on with them\n";
}

} // namespace

int run_bench_paper(Session& session) {
  session.cancel = watch_interrupt();
  return Paper(session).run();
}

} // namespace tg::cli
