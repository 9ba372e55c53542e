// Measures how extraction scales: runs every extractor on synthetic e-graphs of 1e3 to 1e6 nodes.
// After an extractor exceeds the limit, its larger sizes are skipped and print a dash.
//
//   extract_scale_bench [--seconds S] [--most N] [--extractors A,B] [--json FILE]
//
// FILE is written after every row. Its rows with the same limit are not measured again, so an
// interrupted run resumes where it stopped.
//
// The e-graph resembles a saturated deep network: layers of a few classes, each with about three
// alternatives over classes of the last few layers, residual uses of older ones, and an occasional
// class that is expensive alone and cheap when shared. It is generated from a seed and is the same
// on every machine. Seconds are those of one run, wall time and CPU time (including the solver's
// process). MiB is the process's memory at its end; each extractor runs in its own process.
#include "compiler/extract/extractors.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tg;

ExtractionProblem network(size_t nodes) {
  constexpr uint32_t kWidth = 4, kAlternatives = 3;
  std::mt19937_64 random(1);
  auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  ExtractionProblem problem;
  auto classes = static_cast<uint32_t>(nodes / kAlternatives);
  for (uint32_t c = 0; c < classes; ++c) problem.add_class();
  for (uint32_t c = 0; c < classes; ++c) {
    for (uint32_t i = 0; i < kAlternatives; ++i) {
      std::vector<ClassIx> children;
      if (c >= kWidth) {
        children.push_back({c - 1 - below(kWidth)});
        if (below(2)) children.push_back({c - 1 - below(kWidth)});
        if (c > 64 && below(8) == 0) children.push_back({c - 1 - below(64)}); // a residual use
      }
      problem.add_node({c}, below(16) == 0 ? 40 + below(40) : below(20), children);
    }
  }
  for (uint32_t i = 0; i < kWidth; ++i) problem.add_root({classes - 1 - i});
  problem.seal();
  return problem;
}

struct Row {
  double seconds = -1, cpu = 0, cost = 0, mib = 0; // seconds < 0: no answer
};

/// Returns the CPU seconds of this process and of its waited-for children.
double cpu_seconds() {
  double sum = 0;
  for (auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  return sum;
}

/// Runs the extractor in a child process, so that its memory is measured separately.
Row measure(Extractor extractor, size_t nodes, double limit) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  pid_t child = fork(); // no threads run here
  if (child == 0) {
    ExtractionProblem problem = network(nodes);
    IlpOptions options;
    options.time_limit_s = limit;
    double before = cpu_seconds();
    Result<Extraction> answer = run_extractor(problem, extractor, options);
    double cpu = cpu_seconds() - before;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    Row row;
    if (answer)
      row = {answer->seconds, cpu, answer->dag_cost, static_cast<double>(usage.ru_maxrss) / 1024};
    _exit(write(ends[1], &row, sizeof row) == sizeof row ? 0 : 1);
  }
  close(ends[1]);
  Row row;
  if (read(ends[0], &row, sizeof row) != sizeof row) row = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return row;
}

/// The rows measured so far, kept in a file if one is given.
class Rows {
public:
  Rows(std::string file, double limit) : file_(std::move(file)), limit_(limit) {
    auto text = llvm::MemoryBuffer::getFile(file_);
    if (file_.empty() || !text) return;
    llvm::Expected<llvm::json::Value> value = llvm::json::parse((*text)->getBuffer());
    if (!value)
      llvm::consumeError(value.takeError());
    else if (const llvm::json::Array* rows = value->getAsArray())
      for (const llvm::json::Value& row : *rows)
        if (row.getAsObject() && row.getAsObject()->getNumber("limit") == limit)
          rows_.push_back(row);
  }

  std::optional<Row> find(llvm::StringRef extractor, size_t nodes) const {
    for (const llvm::json::Value& value : rows_) {
      const llvm::json::Object& row = *value.getAsObject();
      auto number = [&](const char* key) { return row.getNumber(key).getValueOr(0); };
      if (row.getString("extractor") == extractor && number("nodes") == double(nodes))
        return Row{number("seconds"), number("cpu_seconds"), number("cost"), number("mib")};
    }
    return std::nullopt;
  }

  void add(llvm::StringRef extractor, size_t nodes, const Row& row) {
    rows_.push_back(llvm::json::Object{{"extractor", extractor},
                                       {"nodes", static_cast<int64_t>(nodes)},
                                       {"limit", limit_},
                                       {"seconds", row.seconds},
                                       {"cpu_seconds", row.cpu},
                                       {"cost", row.cost},
                                       {"mib", row.mib}});
    if (file_.empty()) return;
    std::error_code failed;
    llvm::raw_fd_ostream out(file_, failed);
    if (!failed) out << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Array(rows_)));
  }

private:
  std::string file_;
  double limit_;
  llvm::json::Array rows_;
};

void print(llvm::StringRef extractor, size_t nodes, const Row& row) {
  if (row.seconds < 0)
    llvm::outs() << llvm::formatv("{0,-14} {1,10} {2,10}\n", extractor, nodes, "-");
  else
    llvm::outs() << llvm::formatv("{0,-14} {1,10} {2,10:f3} {3,10:f3} {4,14:f0} {5,9:f0}\n",
                                  extractor, nodes, row.seconds, row.cpu, row.cost, row.mib);
  llvm::outs().flush();
}

} // namespace

int main(int argc, char** argv) {
  constexpr double kFarOver = 1.5; // some extractors use their whole time limit
  double limit = 60;
  size_t most = 1'000'000;
  std::string json_file, only;
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef arg = argv[i];
    if (arg == "--seconds") limit = std::atof(argv[i + 1]);
    if (arg == "--most") most = static_cast<size_t>(std::atoll(argv[i + 1]));
    if (arg == "--json") json_file = argv[i + 1];
    if (arg == "--extractors") only = "," + std::string(argv[i + 1]) + ",";
  }
  Rows rows(json_file, limit);
  llvm::outs() << llvm::formatv("{0,-14} {1,10} {2,10} {3,10} {4,14} {5,9}\n", "extractor", "nodes",
                                "seconds", "cpu", "cost", "MiB");
  for (Extractor extractor : all_extractors()) {
    llvm::StringRef name = extractor_name(extractor);
    if (!only.empty() && only.find("," + name.str() + ",") == std::string::npos) continue;
    bool over = false;
    for (size_t nodes = 1'000; nodes <= most; nodes *= 10) {
      std::optional<Row> known = rows.find(name, nodes);
      Row row = known ? *known : over ? Row() : measure(extractor, nodes, limit);
      if (!known) rows.add(name, nodes, row);
      over |= row.seconds < 0 || row.seconds > kFarOver * limit;
      print(name, nodes, row);
    }
  }
  return 0;
}
