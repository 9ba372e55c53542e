// `paper`: the published table of the MCTS optimizer, computed here: every network by
// TENSAT, by the five published combinations of rewards and extraction, by the search that we ship
// and by the two baselines, over some seeds, beside the published figures. Cells are written to a
// file as they are done and not computed again; a cell that reaches its time limit is marked, and
// cells that do not fit into the time of the whole run are left for the next. The plan
// (plan.cpp) has the dear cells last, and goes seed after seed: what is left are
// further runs of cells that have some, not holes in the table.
#include "bench/paper/paper.h"
#include "compiler/driver/cli/options/arguments.h"
#include "compiler/driver/cli/options/help_text.h"
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/terminal/spinning.h"
#include "compiler/driver/prices/cost_model.h"
#include "compiler/rules/from_ast.h"
#include "lang/core/support/data_file.h"
#include "lang/core/support/stopwatch.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

#include <sys/resource.h>

namespace tg::paper {
namespace {

constexpr llvm::StringLiteral kExamples = "examples/paper";

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
#define TG_APPROACH(id, name, text, search, reward, final_ilp, seeded)                             \
  {Approach::id, name, text, Search::search, Reward::reward, final_ilp, seeded},
#include "bench/paper/approaches.def"
};

/// Of this process and of those it has waited for: solvers run in processes of their own.
double processor_seconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (timeval t : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  return seconds;
}

class Paper {
public:
  Paper(Session& session, const Options& options, std::string setting, std::vector<Rule> rules)
      : session_(session), options_(options), rules_(std::move(rules)),
        cells_(std::move(setting), options.output) {}

  int run() {
    if (auto read = cells_.read(); !read) return session_.fail(std::move(read.error()));
    plan_ = plan_paper(options_, cells_);
    if (auto there = check_examples(); !there) return session_.fail(std::move(there.error()));
    if (!plan_.jobs.empty()) say() << plan_.text() << "\n";
    for (size_t i = 0; i < plan_.jobs.size(); ++i)
      if (!run_job(i)) return session_.fail();
    print();
    return 0;
  }

private:
  Result<void> check_examples() const;
  bool cancelled() const { return session_.stop.asked(); }
  double elapsed_s() const { return watch_.seconds(); }
  double left_s() const { return options_.total_limit_s - elapsed_s(); }
  /// Where the run is told of as it goes.
  llvm::raw_ostream& say() const {
    return options_.quiet || options_.json ? llvm::nulls() : session_.err;
  }

  /// False after an error; it is in the sink.
  bool run_job(size_t at);
  Result<PaperCell> compute(const PaperJob& job, double limit_s, const Graph& source);
  OptimizeOptions options_for(const PaperJob& job, double limit_s) const;
  void print();

  Session& session_;
  const Options& options_;
  std::vector<Rule> rules_;
  PaperCells cells_;
  PaperPlan plan_;
  size_t made_ = 0, left_ = 0; // cells of this run; cells that did not fit
  Stopwatch watch_;
};

Result<void> check_networks(const Options& options) {
  for (const std::string& name : options.files)
    if (llvm::none_of(kNetworks, [&](const PaperNetwork& n) { return n.name == name; }))
      return error(Code::usage, "no network `{0}` in the published table", name);
  return {};
}

/// Models are named from the folder that the program is started in.
Result<void> Paper::check_examples() const {
  if (plan_.jobs.empty() || llvm::sys::fs::is_directory(kExamples)) return {};
  return error(Code::cannot_read, "there is no folder `{0}` here, where the networks are",
               kExamples)
      .suggest("start `paper` in the root of the repository, where `examples` lies");
}

bool Paper::run_job(size_t at) {
  const PaperJob& job = plan_.jobs[at];
  if (left_s() <= 0 || cancelled()) {
    ++left_;
    return true;
  }
  // Read anew for each cell: searches name new types and values in the symbols of their source, and
  // a cell must not depend on those before it.
  std::string path = (kExamples + "/" + job.network->name + ".tg").str();
  std::optional<Graph> source = load_model(session_.sources, path, {}, session_.sink);
  if (!source) return false;
  say() << llvm::formatv("{0} of {1}, {2:f0} s: {3}, {4}, seed {5}\n", at + 1, plan_.jobs.size(),
                         elapsed_s(), job.network->name, job.approach->text, job.seed);
  double limit_s = std::min(job.limit_s, left_s());
  Result<PaperCell> cell = compute(job, limit_s, *source);
  // A cell that was cut short by anything but its own limit is none.
  if (cancelled() || (cell && cell->capped && limit_s < job.limit_s)) {
    ++left_;
    return true;
  }
  if (cell) cells_.add(std::move(*cell)), ++made_;
  auto written = cell ? cells_.write(session_) : Result<void>(std::move(cell.error()));
  if (!written) session_.sink.report(std::move(written.error()));
  return static_cast<bool>(written);
}

/// A quarter of the time is that of one integer program, the extraction in the end; the rest is the
/// search's. Where rewards are integer programs it has half: one that it has begun when its time is
/// over may take a quarter, too. So every cell ends within its limit, or little after.
OptimizeOptions Paper::options_for(const PaperJob& job, double limit_s) const {
  const PaperApproach& approach = *job.approach;
  OptimizeOptions options = optimize_options(options_);
  options.search = approach.search;
  options.reward = approach.reward;
  options.final_ilp = approach.final_ilp;
  options.explore.seed = job.seed;
  options.explore.time_limit_s = limit_s * (approach.rewards_by_ilp() ? 0.5 : 0.75);
  options.extract.ilp.time_limit_s = limit_s * 0.25;
  options.stop = session_.stop;
  options.extract.extractor = Extractor::Ilp;
  if (approach.search == Search::Saturate) {
    // As its scripts have it.
    options.explore.iterations = 10'000;
    options.explore.multi_iterations = job.network->multi;
    options.explore.multi_node_limit = 2'000;
    options.explore.compatible = true;
  }
  return options;
}

Result<PaperCell> Paper::compute(const PaperJob& job, double limit_s, const Graph& source) {
  double processor_s = processor_seconds();
  TG_TRY(std::unique_ptr<CostModel> costs, cli::cost_model(session_, source));
  TG_TRY(Optimized found, optimize(source, rules_, *costs, options_for(job, limit_s), nullptr));
  const OptimizeReport& r = found.report;
  if (!std::isfinite(r.cost_before_us) || !(r.cost_after_us > 0))
    return error(Code::no_solution, "`{0}` costs {1} us by `{2}`, its best {3} us: no speed-up",
                 job.network->name, r.cost_before_us, options_.cost.text(), r.cost_after_us)
        .suggest("cells need prices of all operators");
  PaperCell cell;
  cell.model = job.network->name.str(), cell.approach = job.approach->name.str();
  cell.seed = job.seed;
  cell.source_us = r.cost_before_us, cell.cost_us = r.cost_after_us;
  cell.seconds = r.total_s, cell.processor_s = processor_seconds() - processor_s;
  cell.memory_mb = r.search_memory_mb;
  cell.nodes = r.egraph_nodes;
  cell.stopped_by = r.stopped_by;
  cell.limit_s = limit_s;
  // The shipped search extracts many times, each time for a slice that is not of this limit.
  cell.capped = r.stopped_by == "time limit" ||
                (job.approach->search != Search::Mcts && r.cut_extractions > 0);
  return cell;
}

void Paper::print() {
  if (options_.json) {
    llvm::json::OStream json(session_.out, 2);
    json.object([&] {
      json.attribute("setting", cells_.setting());
      json.attribute("cells_computed", static_cast<int64_t>(made_));
      json.attribute("cells_left", static_cast<int64_t>(left_));
      write_number(json, "elapsed_s", elapsed_s());
      write_number(json, "processor_s", processor_seconds());
      json.attributeArray("cells", [&] { cells_.write_json(json); });
    });
    session_.out << "\n";
    return;
  }
  if (options_.quiet) return;
  print_paper_table(session_, cells_);
  session_.out << llvm::formatv("this run: {0} cells in {1:f0} s, {2:f0} s of processor time\n",
                                made_, elapsed_s(), processor_seconds());
  if (left_ > 0) session_.out << left_ << " cells are left; the same command goes on with them\n";
}

} // namespace

llvm::ArrayRef<PaperNetwork> paper_networks() { return kNetworks; }
llvm::ArrayRef<PaperApproach> paper_approaches() { return kApproaches; }

namespace {

int run(Session& session, const Options& options) {
  session.interruptible = std::make_unique<cli::Interruptible>();
  if (auto known = check_networks(options); !known) return session.fail(std::move(known.error()));
  std::optional<std::vector<Rule>> rules =
      load_rules(session.sources, library(), options.rules, session.sink);
  if (!rules) return session.fail();
  Result<std::string> setting = paper_setting(options, *rules);
  if (!setting) return session.fail(std::move(setting.error()));
  if (auto writable = check_writable(options.output); !writable)
    return session.fail(std::move(writable.error()));
  return Paper(session, options, std::move(*setting), std::move(*rules)).run();
}

int main(int argc, char** argv) {
  std::vector<llvm::StringRef> words(argv + 1, argv + argc);
  std::vector<const cli::OptionRow*> rows;
  for (const cli::OptionRow& row : option_rows()) rows.push_back(&row);
  Options options;
  cli::set_defaults(rows, &options);
  cli::Arguments arguments;
  std::optional<cli::Misuse> misuse =
      cli::read_arguments(rows, words, "paper", &options, arguments);
  if (arguments.help) {
    llvm::outs() << "the table of the published tree search, computed here\n\n"
                    "usage: paper [OPTIONS] [NETWORK...]   (in the root of the repository)\n"
                 << cli::options_help(rows, /*detail=*/true);
    return 0;
  }
  cli::bound_spinning(argv);
  options.files = std::move(arguments.operands);
  return cli::run_program(options, [&](Session& session) {
    if (misuse)
      return session.fail(error(Code::usage, "{0}", misuse->message).suggest(misuse->help));
    // Limits of time are of each cell, and of all: the session has none.
    auto memory = static_cast<uint64_t>(memory_limit_bytes(options.memory_limit_mb));
    session.stop = cli::interrupts().holding(memory);
    return run(session, options);
  });
}

} // namespace
} // namespace tg::paper

int main(int argc, char** argv) { return tg::paper::main(argc, argv); }
