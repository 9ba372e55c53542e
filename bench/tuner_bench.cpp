// Measures the speedup from tuning: whole networks with the default schedules and with those that
// `tg tune` found, loaded on the same weights and run interleaved.
//
//   tuner_bench [--cost-db FILE] [--threads N] [--seconds S] MODEL.tg ...
//
// FILE is written by `tg tune --cost-db FILE --threads N MODEL.tg`. The timed region is a whole run
// in the backend's own layouts.
#include "bench/examples.h"
#include "bench/own_kernels.h"
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "lang/core/diagnostics/source.h"
#include "runtime/cpu/tuning/tuned_programs.h"

#include <llvm/Support/FormatVariadic.h>

namespace {

using namespace tg;

/// Counts lookups and tuned schedules for the report.
class Counted final : public cpu::TileSchedules {
public:
  explicit Counted(std::shared_ptr<cpu::TileSchedules> tuned) : tuned_(std::move(tuned)) {}
  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override {
    return count(tuned_->find(shape, isa, threads));
  }
  std::optional<tile::ConvolutionSchedule> find(const cpu::OwnConvolution& convolution,
                                                int threads) override {
    return count(tuned_->find(convolution, threads));
  }
  std::optional<cpu::NormSchedule> find_norm(const cpu::NormShape& shape, int threads) override {
    return count(tuned_->find_norm(shape, threads));
  }
  std::optional<cpu::WinogradCut> find_winograd(const cpu::WinogradShape& shape,
                                                int threads) override {
    return count(tuned_->find_winograd(shape, threads));
  }
  bool uses_own_kernel(llvm::StringRef op, bool by_rule) override {
    return tuned_->uses_own_kernel(op, by_rule);
  }
  int asked = 0, tuned = 0;

private:
  template <class T> std::optional<T> count(std::optional<T> found) {
    ++asked;
    tuned += found.has_value();
    return found;
  }
  std::shared_ptr<cpu::TileSchedules> tuned_;
};

Result<void> compare(const std::string& path, const std::string& database, int threads,
                     double seconds) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<LoadedModel> model = load_model(sources, path, {}, sink);
  if (!model) return error(Code::usage, "cannot read {0}", path);
  Plan plan = plan_from_graph(model->graph);
  auto schedules =
      std::make_shared<Counted>(cpu::TunedPrograms::open(database, cpu::processor_name()));
  CompileOptions options;
  options.threads = threads;
  options.io_layout = IoLayout::Native;
  options.shared = std::make_shared<SharedWeights>();
  TG_TRY(std::vector<Tensor> inputs, random_inputs(plan, 1));
  TG_TRY(std::unique_ptr<Executable> by_rule, make_cpu_backend()->compile(plan, options));
  TG_TRY(std::unique_ptr<Executable> tuned,
         make_cpu_backend(Products::Chosen, schedules)->compile(plan, options));
  TG_CHECK(by_rule->bind_inputs(inputs));
  TG_CHECK(tuned->bind_inputs(inputs));
  TG_TRY(Comparison found, compare_kernels(*by_rule, *tuned, seconds));
  TG_TRY(std::vector<Tensor> a, by_rule->outputs());
  TG_TRY(std::vector<Tensor> b, tuned->outputs());
  double difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = std::max(difference, max_rel_diff(a[i], b[i]));
  llvm::outs() << llvm::formatv(
      "| {0} | {1} of {2} | {3:f2} | {4:f2} | {5:f3} [{6:f3}, {7:f3}] | {8} | {9:e1} |\n",
      model_name(path), schedules->tuned, schedules->asked, found.first_us / 1000,
      found.second_us / 1000, found.ratio, found.low, found.high, found.first.runs, difference);
  llvm::outs().flush();
  return {};
}

} // namespace

int main(int argc, char** argv) {
  std::string database;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i)
    if (llvm::StringRef(argv[i]) == "--cost-db" && i + 1 < argc)
      database = argv[++i];
    else
      rest.push_back(argv[i]);
  auto options = tg::KernelBenchOptions::read(static_cast<int>(rest.size()), rest.data(), {});
  llvm::outs() << "| network | operators tuned | by rule, ms | tuned, ms | by rule / tuned [95%] | "
                  "runs | difference |\n|---|--:|--:|--:|--:|--:|--:|\n";
  for (const std::string& model : options.names)
    if (tg::Result<void> done = compare(model, database, options.threads, options.seconds); !done) {
      llvm::errs() << "tuner_bench: " << done.error().message << "\n";
      return 1;
    }
  return 0;
}
