// `tg-paper table`: recomputes the published table of the MCTS optimizer. It optimises every
// network by TENSAT, by the five published combinations of rewards and extraction, by the shipped
// search and by the two baselines, over several seeds, and prints the results next to the published
// figures. Cells are written to a file when they are done and are not computed again. A cell that
// reaches its time limit is marked; cells that do not fit into the total time are left for the next
// run. The plan (plan.cpp) puts the expensive cells last and proceeds seed by seed, so that missing
// cells are additional seeds rather than holes in the table.
#include "bench/paper/table/paper.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/support/data_file.h"
#include "lang/core/support/stop.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

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
  {Approach::id, name, text, search, reward, final_ilp, seeded},
#include "bench/paper/table/approaches.def"
};

/// Returns the CPU seconds of this process and of its waited-for children, such as solvers.
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

/// Prints the error and returns the exit code that `tg` would.
int fail(const tangram::Error& error) {
  llvm::errs() << error.text();
  int code = 1;
  for (const tangram::Diagnostic& d : error.diagnostics)
    if (d.code == code_text(Code::no_solution) || d.code == code_text(Code::limit_no_answer) ||
        d.code == code_text(Code::memory_limit))
      code = 3;
  return code;
}
int fail(const Diagnostic& d) {
  render(d, SourceManager(), llvm::errs());
  return d.code == Code::usage ? 2 : d.code == Code::no_solution ? 3 : 1;
}

class Paper {
public:
  Paper(const Options& options, std::string setting)
      : options_(options), cells_(std::move(setting), options.output) {}

  /// Returns the exit code.
  int run() {
    if (auto read = cells_.read(); !read) return fail(read.error());
    plan_ = plan_paper(options_, cells_);
    if (auto there = check_examples(); !there) return fail(there.error());
    if (!plan_.jobs.empty()) say() << plan_.text() << "\n";
    for (size_t i = 0; i < plan_.jobs.size(); ++i)
      if (int code = run_job(i); code != 0) return code;
    print();
    return 0;
  }

private:
  Result<void> check_examples() const;
  double elapsed_s() const { return watch_.seconds(); }
  double left_s() const { return options_.total_limit_s - elapsed_s(); }
  /// Returns the stream for progress.
  llvm::raw_ostream& say() const {
    return options_.quiet || options_.json ? llvm::nulls() : llvm::errs();
  }

  /// Computes one cell. Returns 0, or the exit code of an error that it has printed.
  int run_job(size_t at);
  Result<PaperCell> cell_of(const PaperJob& job, double limit_s, const tangram::Report& report,
                            double processor_s) const;
  tangram::OptimizeOptions options_for(const PaperJob& job, double limit_s) const;
  void print();

  const Options& options_;
  PaperCells cells_;
  PaperPlan plan_;
  size_t made_ = 0, left_ = 0; // cells computed in this run; cells that did not fit
  Stopwatch watch_;
};

/// Checks that the models exist, relative to the current directory.
Result<void> Paper::check_examples() const {
  if (plan_.jobs.empty() || llvm::sys::fs::is_directory(kExamples)) return {};
  return error(Code::cannot_read, "the folder `{0}`, which has the networks, does not exist",
               kExamples)
      .suggest("run `tg-paper table` in the root of the repository");
}

int Paper::run_job(size_t at) {
  const PaperJob& job = plan_.jobs[at];
  if (left_s() <= 0) {
    ++left_;
    return 0;
  }
  // Read again for each cell, which must not depend on earlier cells.
  std::string path = (kExamples + "/" + job.network->name + ".tg").str();
  tangram::Expected<tangram::Model> source = tangram::parse_file(path);
  if (!source) return fail(source.error());
  say() << llvm::formatv("{0} of {1}, {2:f0} s: {3}, {4}, seed {5}\n", at + 1, plan_.jobs.size(),
                         elapsed_s(), job.network->name, job.approach->text, job.seed);
  double limit_s = std::min(job.limit_s, left_s()), processor_s = processor_seconds();
  tangram::Expected<tangram::Optimized> found =
      tangram::optimize(*source, options_for(job, limit_s));
  if (!found) return fail(found.error());
  Result<PaperCell> cell = cell_of(job, limit_s, found->report, processor_seconds() - processor_s);
  if (!cell) return fail(cell.error());
  // Discards a cell that was cut short by anything but its own limit.
  if (cell->capped && limit_s < job.limit_s) {
    ++left_;
    return 0;
  }
  cells_.add(std::move(*cell)), ++made_;
  auto written = cells_.write();
  return written ? 0 : fail(written.error());
}

tangram::OptimizeOptions Paper::options_for(const PaperJob& job, double limit_s) const {
  const PaperApproach& approach = *job.approach;
  tangram::OptimizeOptions options;
  options.extract = approach.final_ilp ? tangram::Extractor::Ilp : tangram::Extractor::Greedy;
  options.seed = job.seed;
  options.rules = options_.rules;
  options.trust_rules = true;
  options.budget = options_.budget, options.depth = options_.depth;
  options.cost = options_.cost;
  options.cost_db = options_.cost_db;
  options.node_limit = options_.node_limit;
  options.time_limit_s = limit_s;
  options.memory_limit_mb = options_.memory_limit_mb;
  options.threads = options_.threads, options.search_threads = options_.search_threads;
  if (approach.search)
    options.search = *approach.search;
  else
    options.own_search = published_tree_search(approach.reward, /*reuse_tree=*/false, options);
  // As published: only the prices of operators decide, and nothing is run.
  options.kernels = false;
  options.groups = tangram::Groups::Off;
  options.finalists = 0;
  if (approach.search == tangram::Search::Saturate) {
    // The value in TENSAT's scripts.
    options.iterations = 10'000;
    options.multi_iterations = job.network->multi;
    options.multi_node_limit = 2'000;
    options.backoff = true;
  }
  return options;
}

Result<PaperCell> Paper::cell_of(const PaperJob& job, double limit_s, const tangram::Report& r,
                                 double processor_s) const {
  if (!std::isfinite(r.cost_before_us) || !(r.cost_after_us > 0))
    return error(Code::no_solution,
                 "`{0}` costs {1} us by `{2}`, and its best graph {3} us, so no speedup can be "
                 "computed",
                 job.network->name, r.cost_before_us, options_.cost.text(), r.cost_after_us)
        .suggest("a cell requires prices of all operators");
  PaperCell cell;
  cell.model = job.network->name.str(), cell.approach = job.approach->name.str();
  cell.seed = job.seed;
  cell.source_us = r.cost_before_us, cell.cost_us = r.cost_after_us;
  cell.seconds = r.total_s, cell.processor_s = processor_s;
  cell.memory_mb = r.search_memory_mb;
  cell.nodes = r.egraph_nodes;
  cell.stopped_by = r.stopped_by;
  cell.limit_s = limit_s;
  // The shipped search extracts many times, each with its own time slice rather than this limit.
  cell.capped = r.stopped_by == "time limit" ||
                (job.approach->search != tangram::Search::Mcts && r.cut_extractions > 0);
  return cell;
}

void Paper::print() {
  if (options_.json) {
    llvm::json::OStream json(llvm::outs(), 2);
    json.object([&] {
      json.attribute("setting", cells_.setting());
      json.attribute("cells_computed", static_cast<int64_t>(made_));
      json.attribute("cells_left", static_cast<int64_t>(left_));
      write_number(json, "elapsed_s", elapsed_s());
      write_number(json, "processor_s", processor_seconds());
      json.attributeArray("cells", [&] { cells_.write_json(json); });
    });
    llvm::outs() << "\n";
    return;
  }
  if (options_.quiet) return;
  print_paper_table(llvm::outs(), cells_);
  llvm::outs() << llvm::formatv("this run: {0} cells in {1:f0} s, {2:f0} s of processor time\n",
                                made_, elapsed_s(), processor_seconds());
  if (left_ > 0) llvm::outs() << left_ << " cells are left; the same command computes them\n";
}

} // namespace

llvm::ArrayRef<PaperNetwork> paper_networks() { return kNetworks; }
llvm::ArrayRef<PaperApproach> paper_approaches() { return kApproaches; }

int run(const Options& options) {
  std::vector<tangram::RuleInfo> rules; // stays empty if all rules are built in
  if (!options.rules.empty()) {
    auto selected = tangram::list_rules(options.rules);
    if (!selected) return fail(selected.error());
    rules = std::move(*selected);
  }
  Result<std::string> setting = paper_setting(options, rules);
  if (!setting) return fail(setting.error());
  if (auto writable = check_writable(options.output); !writable) return fail(writable.error());
  return Paper(options, std::move(*setting)).run();
}

} // namespace tg::paper
