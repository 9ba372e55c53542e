// Measures how often reuse would find a good program of an operator: whether it is in the ranges of
// blocks, threads and memory around the best program of another operator (ETO, section 5).
//
//   tuner_ranges_bench [--threads N] [--trials N] [--seed N] [--near PERCENT] [MODEL.tg ...]
//
// Without a model: MobileNet-v2 and the products of ETO's workloads.
//
// Each operator gets a full search of --trials programs to the end, without the default schedule;
// all programs that ran are kept. For each pair of operators of one type that can reuse each
// other's programs, in both directions, it counts whether a program within PERCENT (default 10) of
// the best is inside each range and inside all three. It also prints the share of all programs that
// ran inside a range, which shows how much the range prunes.
#include "bench/own_kernels.h"
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "lang/core/diagnostics/source.h"
#include "runtime/cpu/tuning/tune_device.h"
#include "runtime/tune/device_wrapper.h"
#include "runtime/tune/ranges.h"
#include "runtime/tune/search/full_search.h"

#include <llvm/Support/FormatVariadic.h>

#include <array>
#include <cstdlib>
#include <map>

namespace {

using namespace tg;

struct RangeOptions {
  int threads = 1;
  int64_t trials = 300;
  uint64_t seed = 1;
  double near = 1.1;
  std::vector<std::string> models;
};

/// Records all programs that ran.
class Recorder final : public tune::DeviceWrapper {
public:
  explicit Recorder(tune::PlanDevice& device) : DeviceWrapper(device), device_(device) {}
  std::optional<double> measure(const tune::Program& program) override {
    std::optional<double> us = device_.measure(program);
    if (us) ran.push_back({program, *us});
    return us;
  }
  std::vector<tune::Measured> ran;

private:
  tune::PlanDevice& device_;
};

struct Searched {
  tune::Operator op;
  std::vector<std::pair<tune::Features, double>> ran; // with microseconds
  size_t best = 0;
};

Result<void> search(const std::string& path, const RangeOptions& options,
                    std::map<std::string, Searched>& all) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<LoadedModel> model = load_model(sources, path, {}, sink);
  if (!model) return error(Code::usage, "cannot read {0}", path);
  Plan plan = plan_from_graph(model->graph);
  cpu::TuneDeviceOptions tuning;
  tuning.threads = options.threads;
  tuning.database = "/dev/null"; // discards results
  TG_TRY(std::unique_ptr<tune::PlanDevice> device, cpu::make_tune_device(plan, tuning));
  for (size_t i = 0; i < device->operators().size(); ++i) {
    const tune::PlanOperator& op = device->operators()[i];
    if (!op.op || all.count(tune::text(*op.op))) continue;
    device->begin(i);
    Recorder recorder(*device);
    tune::FullSearchOptions full;
    full.trials = options.trials;
    full.seed = options.seed;
    full.to_the_end = true;
    tune::search_fully(*op.op, recorder, full);
    if (recorder.ran.empty()) continue;
    Searched& found = all[tune::text(*op.op)];
    found.op = *op.op;
    tune::Nest nest = tune::nest_of(*op.op);
    for (const tune::Measured& one : recorder.ran) {
      found.ran.push_back({tune::features(one.program, nest), one.microseconds});
      if (one.microseconds < found.ran[found.best].second) found.best = found.ran.size() - 1;
    }
    llvm::errs() << llvm::formatv("{0}: {1} programs\n", op.name, found.ran.size());
  }
  return {};
}

/// Inside the range of blocks, of threads, of memory, of all three.
using Inside = std::array<bool, 4>;

Inside inside(const tune::Features& of, const tune::Features& reused,
              const tune::FeatureRanges& ranges) {
  auto in = [](double a, double b, const tune::Range& range) {
    constexpr double kRounding = 1e-9;
    return a >= b * range.low * (1 - kRounding) && a <= b * range.high * (1 + kRounding);
  };
  Inside found = {in(of.blocks, reused.blocks, ranges.blocks),
                  in(of.threads, reused.threads, ranges.threads),
                  in(of.shared, reused.shared, ranges.shared), false};
  found[3] = found[0] && found[1] && found[2];
  return found;
}

struct Hits {
  size_t pairs = 0;
  std::array<double, 4> hit = {}, of_all = {};
};

void count(const Searched& target, const Searched& reused, double near, Hits& hits) {
  tune::FeatureRanges ranges = tune::feature_ranges(tune::growth(target.op, reused.op));
  const tune::Features& from = reused.ran[reused.best].first;
  double good = near * target.ran[target.best].second;
  Inside any = {};
  std::array<double, 4> all = {};
  for (const auto& [features, us] : target.ran) {
    Inside in = inside(features, from, ranges);
    for (size_t i = 0; i < in.size(); ++i) {
      any[i] = any[i] || (in[i] && us <= good);
      all[i] += in[i];
    }
  }
  ++hits.pairs;
  for (size_t i = 0; i < any.size(); ++i) {
    hits.hit[i] += any[i];
    hits.of_all[i] += all[i] / static_cast<double>(target.ran.size());
  }
}

void print(const std::map<std::string, Searched>& all, double near) {
  std::map<std::string, Hits> by_type;
  for (const auto& [a, target] : all)
    for (const auto& [b, reused] : all)
      if (a != b && tune::can_reuse(target.op, reused.op)) {
        count(target, reused, near, by_type[tune::type_name(target.op.type).str()]);
        count(target, reused, near, by_type["all"]);
      }
  llvm::outs() << "| type | pairs | blocks | threads | memory | all three | of all programs |\n"
                  "|---|--:|--:|--:|--:|--:|--:|\n";
  for (const auto& [type, hits] : by_type) {
    double pairs = static_cast<double>(hits.pairs);
    llvm::outs() << llvm::formatv("| {0} | {1} |", type, hits.pairs);
    for (size_t i = 0; i < hits.hit.size(); ++i)
      llvm::outs() << llvm::formatv(" {0:f0}% |", 100 * hits.hit[i] / pairs);
    const auto& of = hits.of_all;
    llvm::outs() << llvm::formatv(" {0:f0}%, {1:f0}%, {2:f0}%; {3:f0}% |\n", 100 * of[0] / pairs,
                                  100 * of[1] / pairs, 100 * of[2] / pairs, 100 * of[3] / pairs);
  }
}

RangeOptions read_options(int argc, char** argv) {
  RangeOptions options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    double percent = 10;
    bool bad = false;
    if (word == "--threads")
      bad = value.getAsInteger(10, options.threads), ++i;
    else if (word == "--trials")
      bad = value.getAsInteger(10, options.trials), ++i;
    else if (word == "--seed")
      bad = value.getAsInteger(10, options.seed), ++i;
    else if (word == "--near")
      bad = value.getAsDouble(percent), options.near = 1 + percent / 100, ++i;
    else
      options.models.push_back(word.str());
    if (bad) {
      llvm::errs() << "tuner_ranges_bench: " << word << " takes a number\n";
      std::exit(2);
    }
  }
  if (options.models.empty())
    options.models = {"examples/mobilenetv2.tg", "examples/paper/eto/bmm.tg"};
  return options;
}

} // namespace

int main(int argc, char** argv) {
  RangeOptions options = read_options(argc, argv);
  std::map<std::string, Searched> all;
  for (const std::string& model : options.models)
    if (tg::Result<void> done = search(model, options, all); !done) {
      llvm::errs() << "tuner_ranges_bench: " << done.error().message << "\n";
      return 1;
    }
  print(all, options.near);
  return 0;
}
