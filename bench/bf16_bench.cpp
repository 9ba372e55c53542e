// Compares networks in bf16 (`tg run --dtype bf16`) with the same networks in f32 (`tg run`) on the
// cpu backend, interleaved, on equal weights and inputs. Also prints the difference of the outputs.
//
//   bf16_bench [--threads N] [--seconds S] [--json FILE] [MODEL.tg ...]
//
// The timed region is a run with the conversion of inputs and outputs. Weights are converted once,
// when a network is loaded, and are not timed. The first line prints the processor's bf16 units:
// AVX-512 BF16 multiplies pairs, AMX multiplies tiles. Without either, bf16 is not expected to be
// faster.
#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "compiler/ir/retype.h"
#include "runtime/measure/time_runs.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>

namespace {

using namespace tg;

struct Options {
  int threads = 1;
  double seconds = 20;
  std::string json;
  std::vector<std::string> models;
};

/// The measurements of one network.
struct Row {
  std::string model;
  Comparison times;
  std::vector<std::pair<std::string, double>> errors; // by output: max |a - b| over max |b|
};

/// Returns the processor's bf16 units: "AVX-512 BF16", "AMX BF16", "neither …".
std::string units() {
  llvm::StringMap<bool> features;
  if (!llvm::sys::getHostCPUFeatures(features)) return "processor unknown";
  std::string found;
  if (features["avx512bf16"]) found += "AVX-512 BF16";
  if (features["amx-bf16"]) found += found.empty() ? "AMX BF16" : ", AMX BF16";
  return found.empty() ? "neither AVX-512 BF16 nor AMX" : found;
}

/// Errors: those of retype() and of the backend.
Result<Row> measure(const Graph& graph, const Options& options) {
  TG_TRY(Graph narrow, retype(graph, DType::BF16));
  PrepareOptions prepare;
  prepare.threads = options.threads;
  TG_TRY(Prepared wide, prepare_with_inputs(graph, prepare));
  TG_TRY(Prepared half, prepare_with_inputs(narrow, prepare));
  TimingOptions timing;
  timing.seconds = options.seconds;
  timing.max_runs = 1000;
  TG_TRY(Comparison times, time_interleaved(*wide.executable, *half.executable, timing));
  TG_TRY(std::vector<Tensor> expected, wide.executable->outputs());
  TG_TRY(std::vector<Tensor> got, half.executable->outputs());
  Row row{graph.name(), times, {}};
  for (size_t i = 0; i < got.size(); ++i)
    row.errors.emplace_back(graph.outputs()[i].name, max_rel_diff(got[i], expected[i]));
  return row;
}

void print(const Row& row, llvm::raw_ostream& out) {
  const Comparison& t = row.times;
  out << llvm::formatv("{0,-14} {1,10:f2} {2,10:f2} {3,10:f2} {4,10:f2} {5,8:f2}  {6:f2}..{7:f2}  ",
                       row.model, t.first.median_us / 1e3, t.second.median_us / 1e3,
                       t.first.min_us / 1e3, t.second.min_us / 1e3, t.ratio, t.low, t.high);
  for (const auto& [name, error] : row.errors) out << llvm::formatv("{0} {1:e1}  ", name, error);
  out << "\n";
  out.flush();
}

void print_json(const Row& row, llvm::raw_ostream& out) {
  const Comparison& t = row.times;
  out << llvm::formatv(
      "{{\"model\": \"{0}\", \"f32_median_us\": {1:f1}, \"bf16_median_us\": {2:f1}, "
      "\"f32_least_us\": {3:f1}, \"bf16_least_us\": {4:f1}, \"speedup\": {5:f4}, "
      "\"low\": {6:f4}, \"high\": {7:f4}, \"runs\": {8}, \"errors\": {{",
      row.model, t.first.median_us, t.second.median_us, t.first.min_us, t.second.min_us, t.ratio,
      t.low, t.high, t.first.runs);
  for (size_t i = 0; i < row.errors.size(); ++i)
    out << llvm::formatv("{0}\"{1}\": {2:e3}", i ? ", " : "", row.errors[i].first,
                         row.errors[i].second);
  out << "}}";
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word(argv[i]);
    bool more = i + 1 < argc;
    if (word == "--threads" && more)
      options.threads = std::max(1, std::atoi(argv[++i]));
    else if (word == "--seconds" && more)
      options.seconds = std::atof(argv[++i]);
    else if (word == "--json" && more)
      options.json = argv[++i];
    else
      options.models.push_back(word.str());
  }
  if (options.models.empty())
    options.models = {TG_SOURCE_DIR "/examples/resnet50.tg",
                      TG_SOURCE_DIR "/examples/bert_base.tg"};
  return options;
}

} // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  llvm::outs() << llvm::formatv("{0}; {1} thread{2}\n", units(), options.threads,
                                options.threads == 1 ? "" : "s");
  llvm::outs() << llvm::formatv("{0,-14} {1,10} {2,10} {3,10} {4,10} {5,8}  {6}\n",
                                "median, least ms", "f32", "bf16", "f32", "bf16", "ratio",
                                "95%  error against f32");
  std::string json;
  llvm::raw_string_ostream json_out(json);
  for (const std::string& path : options.models) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_graph(sources, path, {}, sink);
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    if (!graph) return 1;
    Result<Row> row = measure(*graph, options);
    if (!row) {
      render(row.error(), sources, llvm::errs());
      return 1;
    }
    print(*row, llvm::outs());
    json_out << (json_out.str().empty() ? "" : ",\n ");
    print_json(*row, json_out);
  }
  if (options.json.empty()) return 0;
  std::error_code failed;
  llvm::raw_fd_ostream file(options.json, failed);
  if (failed) {
    llvm::errs() << "cannot write " << options.json << ": " << failed.message() << "\n";
    return 1;
  }
  file << llvm::formatv("{{\"units\": \"{0}\", \"threads\": {1}, \"networks\": [\n {2}]}\n",
                        units(), options.threads, json_out.str());
  return 0;
}
