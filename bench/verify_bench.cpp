// Measures time and memory of the exact verification of whole networks: each network against its
// optimised form (saturation, ILP, analytic prices), in a separate process.
//
//   verify_bench [--threads N] [MODEL.tg...]     default: ResNet-50, BERT and NASRNN; one a core
//
// The timed region covers joining, the bound, and all points in the field, but not reading and
// optimising. Memory is the peak of the process, optimiser included.
#include "compiler/api/files/model.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/from_ast.h"
#include "compiler/verify/equivalent.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tg;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int failed(const std::string& path, const std::string& why) {
  llvm::errs() << path << ": " << why << "\n";
  return 1;
}

/// Reads, optimises and verifies one network. Returns the process's exit code.
int verify_network(const std::string& path, int threads) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> source = load_graph(sources, path, {}, sink);
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {}, sink);
  Result<std::unique_ptr<CostModel>> costs = make_analytic_cost("cpu");
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  if (!source || !rules || !costs) return failed(path, "cannot be read");
  OptimizeOptions how;
  how.extract.extractor = Extractor::Ilp;
  Result<Optimized> optimized = optimize(*source, *rules, **costs, how, nullptr);
  if (!optimized) return failed(path, optimized.error().message);

  EquivalenceOptions options;
  options.threads = threads;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  Clock::time_point start = Clock::now();
  Result<Equivalence> result = check_equivalence(*source, optimized->graph, options);
  double wall = seconds_since(start);
  getrusage(RUSAGE_SELF, &after);
  if (!result) return failed(path, result.error().message);
  if (!result->equal()) return failed(path, "the optimised form differs");
  auto cpu = [](const rusage& usage) {
    return static_cast<double>(usage.ru_utime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
  };
  llvm::outs() << llvm::formatv("{0,-14} {1,6} {2,6} {3,8} {4,10:f1} {5,10:f2} {6,10:f2} {7,10}\n",
                                source->name(), source->op_count(), optimized->graph.op_count(),
                                result->points, result->log2_error, wall, cpu(after) - cpu(before),
                                after.ru_maxrss / 1024);
  llvm::outs().flush();
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    if (llvm::StringRef(argv[i]) == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else
      models.push_back(argv[i]);
  }
  if (models.empty())
    for (const char* name : {"resnet50", "bert", "nasrnn"})
      models.push_back(std::string(TG_SOURCE_DIR "/examples/paper/") + name + ".tg");
  llvm::outs() << llvm::formatv(
      "\n{0} threads\n{1,-14} {2,6} {3,6} {4,8} {5,10} {6,10} {7,10} {8,10}\n", threads, "network",
      "ops", "after", "points", "log2 bound", "wall s", "cpu s", "peak MiB");
  llvm::outs().flush();
  int failures = 0;
  for (const std::string& path : models) {
    pid_t child = fork();
    if (child == 0) _exit(verify_network(path, threads));
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) failed(path, "ended by a signal");
    failures += status != 0;
  }
  return failures ? 1 : 0;
}
