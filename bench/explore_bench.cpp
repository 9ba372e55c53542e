// Measures exploration alone: nasrnn and bert, saturated up to 2,000 and 50,000 live e-nodes under
// general forms of the published rules (TASO's, as TENSAT ships them, with variables for
// attributes). The timed region covers insertion with types, matching, rebuilding and the cycle
// filter, but not the construction of the first e-graph or the compilation of the rules.
//
//   explore_bench [--runs N] [--json FILE] [--explain yes]
//
// --explain: runs each case twice, interleaved, without and with the record that explanations need
// (goal: at most 30% slower). The figures of a row are those without it.
//
// nodes/s: live e-nodes at the end over wall time, median of the runs (default 20). matches/s:
// rows that the matcher and the joiner returned. On a busy machine, cpu ms varies less than wall
// time. bytes/node: largest growth of the process's resident memory over the run that first reached
// the size, over live e-nodes.
#include "compiler/ir/from_ast.h"
#include "compiler/rules/from_ast.h"
#include "compiler/search/saturate.h"
#include "lang/syntax/parse.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tg;

constexpr llvm::StringLiteral kRules = R"(
rule add_associates(x, y, z) { (x + y) + z <=> x + (y + z) }
rule mul_associates(x, y, z) { (x * y) * z <=> x * (y * z) }
rule add_commutes(x, y) { x + y => y + x }
rule mul_commutes(x, y) { x * y => y * x }
rule mul_distributes(x, y, z) { (x + y) * z <=> x * z + y * z }
rule matmul_associates(x, y, z) { (x @ y) @ z <=> x @ (y @ z) }
rule matmul_distributes(x, y, z) { x @ (y + z) <=> x @ y + x @ z }
rule concat_matmuls(x, y, a, b) {
  x @ a + y @ b => concat([x, y], axis = -1) @ concat([a, b], axis = -2)
  where rank(x) == rank(a), rank(x) == 2
}
rule join_matmuls(x, a, b) {
  x @ a, x @ b => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where rank(a) == rank(b)
}
rule stack_matmuls(x, y, a) {
  x @ a, y @ a => split(concat([x, y], axis = -2) @ a, axis = -2, sizes = [dim(x, -2), dim(y, -2)])
  where rank(x) == rank(y), rank(a) == 2
}
rule join_relus(x, y) {
  relu(x), relu(y) => split(relu(concat([x, y], axis = 1)), axis = 1, sizes = [dim(x, 1), dim(y, 1)])
  where rank(x) == 2, rank(y) == 2, dim(x, 0) == dim(y, 0)
}
)";

struct Sample {
  double seconds = 0, cpu_seconds = 0; // wall, and user + system time of the process

  size_t nodes = 0, classes = 0, filtered = 0, matches = 0, table_bytes = 0, resident_bytes = 0;
  double search_s = 0, apply_s = 0, rebuild_s = 0;
  int iterations = 0;
  char stop[24] = "";
};

size_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  size_t total = 0, resident = 0;
  status >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Sample explore(const Graph& graph, llvm::ArrayRef<Rule> rules, size_t limit, bool record) {
  size_t before = resident_bytes();
  EGraph egraph = egraph_of(graph);
  if (record) egraph.record_history();
  SaturateOptions options;
  options.node_limit = limit;
  options.iterations = 60;
  options.multi_iterations = 4;
  double cpu = cpu_seconds();
  SaturateReport report = saturate(egraph, rules, options);
  cpu = cpu_seconds() - cpu;
  Sample sample;
  sample.seconds = report.seconds, sample.cpu_seconds = cpu;
  sample.nodes = report.nodes, sample.classes = report.classes;
  sample.filtered = report.filtered, sample.matches = report.matches;
  sample.table_bytes = report.memory_bytes, sample.resident_bytes = resident_bytes() - before;
  sample.search_s = report.search_s, sample.apply_s = report.apply_s;
  sample.rebuild_s = report.rebuild_s, sample.iterations = report.iterations;
  std::snprintf(sample.stop, sizeof sample.stop, "%s", stop_reason_text(report.stop).data());
  return sample;
}

/// Runs once in a separate process, so that memory is that run's alone and caches start cold.
Sample explore_alone(const Graph& graph, llvm::ArrayRef<Rule> rules, size_t limit, bool record) {
  int ends[2];
  Sample sample;
  if (pipe(ends) != 0) return sample;
  pid_t child = fork();
  if (child == 0) {
    sample = explore(graph, rules, limit, record);
    _exit(write(ends[1], &sample, sizeof sample) == sizeof sample ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &sample, sizeof sample) != sizeof sample) sample = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return sample;
}

template <class T> T load(T value, const DiagnosticSink& sink, const SourceManager& sources) {
  if (value && !sink.failed()) return value;
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  std::exit(1);
}

struct Row {
  std::string model;
  size_t limit;
  Sample median;
  double fastest, slowest;
  std::optional<Sample> recorded; // median with the explanation record
};

Sample median_of(std::vector<Sample>& samples) {
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.seconds < b.seconds; });
  return samples[samples.size() / 2];
}

Row measure(const std::string& model, const Graph& graph, llvm::ArrayRef<Rule> rules, size_t limit,
            int runs, bool explain) {
  std::vector<Sample> samples, recorded;
  for (int i = 0; i < runs; ++i) {
    samples.push_back(explore_alone(graph, rules, limit, false));
    if (explain) recorded.push_back(explore_alone(graph, rules, limit, true));
  }
  Row row{model, limit, median_of(samples), samples.front().seconds, samples.back().seconds, {}};
  if (explain) row.recorded = median_of(recorded);
  return row;
}

void print(llvm::raw_ostream& out, const Row& row) {
  const Sample& s = row.median;
  double n = static_cast<double>(s.nodes);
  out << llvm::format(
      "%-8s %6zu  %6zu %6zu %5zu  %3d  %8.2f [%.2f, %.2f]  %6.2f  %9.0f  %9.0f  %6.1f %6.1f  %s\n",
      row.model.c_str(), row.limit, s.nodes, s.classes, s.filtered, s.iterations, s.seconds * 1e3,
      row.fastest * 1e3, row.slowest * 1e3, s.cpu_seconds * 1e3, n / s.seconds,
      static_cast<double>(s.matches) / s.seconds, static_cast<double>(s.table_bytes) / n,
      static_cast<double>(s.resident_bytes) / n, static_cast<const char*>(s.stop));
  out << llvm::format(
      "         share of the time: searching %.0f%%, applying %.0f%%, rebuilding and "
      "breaking cycles %.0f%%\n",
      100 * s.search_s / s.seconds, 100 * s.apply_s / s.seconds, 100 * s.rebuild_s / s.seconds);
  if (row.recorded)
    out << llvm::format("         with the record for explanations: %.2f ms, %.2f times as long; "
                        "cpu %.2f ms, %.2f times; tables %.1f bytes/node\n",
                        row.recorded->seconds * 1e3, row.recorded->seconds / s.seconds,
                        row.recorded->cpu_seconds * 1e3, row.recorded->cpu_seconds / s.cpu_seconds,
                        static_cast<double>(row.recorded->table_bytes) / n);
}

void print_json(llvm::raw_ostream& out, llvm::ArrayRef<Row> rows, int runs) {
  out << "[\n";
  for (const Row& row : rows) {
    const Sample& s = row.median;
    out << llvm::format("  {\"model\": \"%s\", \"limit\": %zu, \"nodes\": %zu, \"classes\": %zu, "
                        "\"runs\": %d, \"median_s\": %.6f, \"min_s\": %.6f, \"max_s\": %.6f, "
                        "\"cpu_s\": %.6f, "
                        "\"nodes_per_s\": %.0f, \"matches_per_s\": %.0f, ",
                        row.model.c_str(), row.limit, s.nodes, s.classes, runs, s.seconds,
                        row.fastest, row.slowest, s.cpu_seconds,
                        static_cast<double>(s.nodes) / s.seconds,
                        static_cast<double>(s.matches) / s.seconds)
        << llvm::format("\"recorded_s\": %.6f, \"table_bytes\": %zu, \"resident_bytes\": %zu, "
                        "\"stopped_by\": \"%s\"}%s\n",
                        row.recorded ? row.recorded->seconds : 0.0, s.table_bytes, s.resident_bytes,
                        static_cast<const char*>(s.stop), &row == &rows.back() ? "" : ",");
  }
  out << "]\n";
}

} // namespace

int main(int argc, char** argv) {
  int runs = 20;
  std::string json;
  bool explain = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef option = argv[i];
    if (option == "--runs") runs = std::max(1, std::atoi(argv[i + 1]));
    if (option == "--json") json = argv[i + 1];
    if (option == "--explain") explain = llvm::StringRef(argv[i + 1]) == "yes";
  }
  SourceManager sources;
  DiagnosticSink sink;
  EmbeddedLoader loader({}, TG_SOURCE_DIR);
  FileId text = sources.add("bench.tg", kRules.str());
  std::vector<Rule> rules = rules_from_ast(parse(sources, text, sink), sources, sink);
  load(std::optional<bool>(true), sink, sources);
  llvm::outs()
      << "model     limit   nodes classes filt iter   ms median [min, max]  cpu ms     nodes/s  "
         "matches/s  bytes/node: tables, resident\n";
  std::vector<Row> rows;
  for (std::string model : {"nasrnn", "bert"}) {
    std::string path = std::string(TG_SOURCE_DIR) + "/examples/paper/" + model + ".tg";
    Program program = load_program(sources, loader, path, sink);
    auto symbols = std::make_shared<Symbols>();
    Graph graph = *load(instantiate(program, model, {}, symbols, sink), sink, sources);
    for (size_t limit : {2'000, 50'000}) {
      rows.push_back(measure(model, graph, rules, limit, runs, explain));
      print(llvm::outs(), rows.back());
      llvm::outs().flush();
    }
  }
  if (json.empty()) return 0;
  std::error_code failed;
  llvm::raw_fd_ostream out(json, failed);
  if (failed) return 1;
  print_json(out, rows, runs);
  return 0;
}
