// Prints the time of a network on the cpu backend layer by layer, against the processor's peak.
//
//   layers_bench [--threads N] [--runs N] [--json FILE] [MODEL.tg ...]
//
// First it measures the peak: a loop of independent fused multiply-adds on registers, on N threads,
// and the bandwidth of a sum over 256 MiB. Then it prints every step of each model (default
// examples/resnet50.tg): its kernel, time (median of the runs), GFLOP/s, share of the peak, minimum
// bytes to move, and GB/s. The reorders, the sum of the steps against the whole run, and the whole
// network's share of the peak follow. Flops are those of the definition; a Winograd convolution
// does fewer, so it may exceed 100%. To measure the fused graph, optimise first:
//   tg opt examples/resnet50.tg --cost measured:cpu -o fast.tg && layers_bench fast.tg
#include "bench/peak.h"
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cpu/backend.h"
#include "runtime/random.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace {

using namespace tg;

struct Options {
  int threads = 1, runs = 50;
  std::string json;
  std::vector<std::string> models;
};

// --- the processor's peak -----------------------------------------------------------------------

double read_bandwidth(int threads) {
  constexpr size_t kElements = size_t{256} << 18;
  std::vector<float> data(kElements, 1.0f);
  return best_rate(threads, [&](int t) {
    typedef float Vec __attribute__((vector_size(64), aligned(4)));
    size_t part = kElements / static_cast<size_t>(threads), begin = part * static_cast<size_t>(t);
    Vec sums[4] = {};
    for (size_t i = begin; i + 64 <= begin + part; i += 64)
      for (size_t k = 0; k < 4; ++k) sums[k] += *reinterpret_cast<const Vec*>(&data[i + 16 * k]);
    volatile float sink = sums[0][0] + sums[1][0] + sums[2][0] + sums[3][0];
    (void)sink;
    return 4.0 * static_cast<double>(part);
  });
}

// --- networks -----------------------------------------------------------------------------------

struct Profile {
  std::string model;
  std::vector<StepInfo> steps;
  double whole_us = 0, best_us = 0; // median and minimum of runs without profiling
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

Result<Profile> profile(const std::string& path, const Options& options) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_graph(sources, path, {}, sink);
  if (!graph) {
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    return error(Code::no_model, "{0} does not check", path);
  }
  Plan plan = plan_from_graph(*graph);
  CompileOptions compile;
  compile.threads = options.threads;
  TG_TRY(std::unique_ptr<Executable> executable, make_cpu_backend()->compile(plan, compile));
  TG_TRY(std::vector<Tensor> inputs, random_inputs(plan, 1));
  TG_CHECK(executable->bind_inputs(inputs));
  Profile result;
  result.model = graph->name();
  std::vector<double> times;
  for (int i = 0; i < options.runs + 3; ++i) {
    Clock::time_point start = Clock::now();
    TG_CHECK(executable->run_once());
    if (i >= 3) times.push_back(seconds_since(start) * 1e6); // the first three runs warm up
  }
  result.whole_us = median(times);
  result.best_us = *std::min_element(times.begin(), times.end());
  executable->profile(true);
  for (int i = 0; i < options.runs; ++i) TG_CHECK(executable->run_once());
  result.steps = executable->steps();
  return result;
}

void print(const Profile& p, double peak, llvm::raw_ostream& out) {
  out << llvm::formatv("\n{0}: median {1:f1} us, least {2:f1} us\n\n", p.model, p.whole_us,
                       p.best_us);
  out << "      us  GFLOP/s  peak     MB   GB/s  step         result                 kernel\n";
  double sum = 0, flops = 0, reorder_us = 0;
  int reorders = 0;
  for (const StepInfo& s : p.steps) {
    sum += s.measured_us;
    flops += s.flops;
    bool reorder = s.step == kNever;
    reorders += reorder;
    reorder_us += reorder ? s.measured_us : 0;
    if (s.implementation == "view") continue;
    double rate = s.flops / s.measured_us / 1e3;
    out << llvm::format("%8.1f %8.1f %4.0f%% %6.2f %6.1f  %-12s %-22s %s\n", s.measured_us, rate,
                        100 * rate / peak * 1e9, s.bytes / 1e6, s.bytes / s.measured_us / 1e3,
                        s.name.c_str(), s.result.c_str(), s.implementation.c_str());
  }
  out << llvm::format("\n%d steps added by the backend, %.1f us; sum of the steps %.1f us, %.1f%% "
                      "of the whole; %.1f GFLOP/s, %.0f%% of the peak\n",
                      reorders, reorder_us, sum, 100 * sum / p.whole_us, flops / p.whole_us / 1e3,
                      100 * flops / p.whole_us * 1e6 / peak);
}

void print_json(const Profile& p, llvm::raw_ostream& out) {
  out << llvm::formatv("{{\"model\": \"{0}\", \"median_us\": {1:f2}, \"least_us\": {2:f2}, "
                       "\"steps\": [",
                       p.model, p.whole_us, p.best_us);
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const StepInfo& s = p.steps[i];
    out << (i ? ",\n " : "\n ")
        << llvm::formatv("{{\"name\": \"{0}\", \"result\": \"{1}\", \"kernel\": \"{2}\", "
                         "\"us\": {3:f2}, \"flops\": {4:f0}, \"bytes\": {5:f0}}",
                         s.name, s.result, s.implementation, s.measured_us, s.flops, s.bytes);
  }
  out << "]}";
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    bool more = i + 1 < argc;
    if (word == "--threads" && more)
      options.threads = std::max(1, std::atoi(argv[++i]));
    else if (word == "--runs" && more)
      options.runs = std::max(1, std::atoi(argv[++i]));
    else if (word == "--json" && more)
      options.json = argv[++i];
    else
      options.models.push_back(word.str());
  }
  if (options.models.empty())
    options.models = {std::string(TG_SOURCE_DIR) + "/examples/resnet50.tg"};
  return options;
}

} // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  double peak = peak_flops(options.threads), bandwidth = read_bandwidth(options.threads);
  llvm::outs() << make_cpu_backend()->description() << "\n"
               << llvm::format("%d thread(s): peak %.1f GFLOP/s, reads %.1f GB/s\n",
                               options.threads, peak / 1e9, bandwidth / 1e9);
  std::string json;
  llvm::raw_string_ostream json_out(json);
  json_out << llvm::formatv("{{\"threads\": {0}, \"peak_gflops\": {1:f1}, \"read_gbs\": {2:f1}, "
                            "\"models\": [",
                            options.threads, peak / 1e9, bandwidth / 1e9);
  for (size_t i = 0; i < options.models.size(); ++i) {
    Result<Profile> p = profile(options.models[i], options);
    if (!p) {
      llvm::errs() << p.error().message << "\n";
      return 1;
    }
    print(*p, peak, llvm::outs());
    json_out << (i ? ",\n" : "\n");
    print_json(*p, json_out);
  }
  json_out << "]}\n";
  if (options.json.empty()) return 0;
  std::error_code failed;
  llvm::raw_fd_ostream file(options.json, failed);
  if (failed) {
    llvm::errs() << "cannot write " << options.json << ": " << failed.message() << "\n";
    return 1;
  }
  file << json_out.str();
  return 0;
}
