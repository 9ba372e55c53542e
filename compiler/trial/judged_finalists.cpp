#include "compiler/trial/judged_finalists.h"

#include "lang/core/support/repeated_times.h"

namespace tg {

namespace {

constexpr size_t kLeastRuns = 5 * kRunsPerPair, kMostRuns = 300, kScreeningRuns = 5;
constexpr double kSeconds = 1.5, kPatienceSeconds = 8;
constexpr llvm::StringLiteral kRefused = "is rejected by the judge function",
                              kFails = "fails in the judge function";

bool decided(const Comparison& times) { return times.second_faster() || times.second_slower(); }

/// Returns the median of some runs after a warm-up run; negative if a run fails.
double screened(const std::function<double()>& run) {
  std::vector<double> samples;
  for (size_t i = 0; i <= kScreeningRuns; ++i) {
    double us = run();
    if (!(us >= 0)) return -1;
    if (i > 0) samples.push_back(us);
  }
  return summarise_times(std::move(samples)).median_us;
}

/// Interleaved runs of two graphs, which alternate in going first.
class InterleavedRuns {
public:
  InterleavedRuns(const std::function<double()>& first, const std::function<double()>& second)
      : run_{&first, &second} {}

  /// Runs both once. Returns false if a run of the graph `failed()` failed.
  bool once(bool counts) {
    for (size_t turn = 0; turn < 2; ++turn) {
      size_t which = (round_ + turn) % 2;
      double us = (*run_[which])();
      if (!(us >= 0)) return failed_ = which, false;
      if (counts) samples_[which].push_back(us);
    }
    return ++round_, true;
  }
  size_t failed() const { return failed_; }
  size_t runs() const { return samples_[0].size(); }
  Comparison times() const { return compare_times(samples_[0], samples_[1], kRunsPerPair); }

private:
  const std::function<double()>* run_[2];
  std::vector<double> samples_[2];
  size_t round_ = 0, failed_ = 0;
};

} // namespace

const JudgedFinalists::Run& JudgedFinalists::ready(const Graph& graph) {
  for (const Ready& one : ready_)
    if (difference(one.graph, graph).empty()) return one.run;
  ready_.reserve(64); // references remain valid
  if (ready_.size() == ready_.capacity()) ready_.erase(ready_.begin() + 1);
  ready_.push_back({graph, judge_(graph)});
  return ready_.back().run;
}

Result<WholeRuns> JudgedFinalists::compare(const Graph& first, const Graph& second) {
  WholeRuns runs;
  Run a = ready(first), b = ready(second);
  if (!a) return error(Code::device, "the source {0}", kRefused);
  if (!b) return runs.fault = kRefused.str(), runs;
  InterleavedRuns turns(a, b);
  Stopwatch watch;
  size_t look = kLeastRuns;
  for (bool counts = false;; counts = true) {
    if (!turns.once(counts)) {
      if (turns.failed() == 0) return error(Code::device, "the source {0}", kFails);
      return runs.fault = kFails.str(), runs;
    }
    if (turns.runs() == 0) continue;
    if (stop_.asked() || turns.runs() >= kMostRuns) break;
    if (turns.runs() < look || watch.seconds() < kSeconds) continue;
    // Checked only when the number of runs has doubled, so that frequent checks do not bias the
    // result.
    if (watch.seconds() > kPatienceSeconds || decided(turns.times())) break;
    look = 2 * turns.runs();
  }
  runs.times = turns.times();
  runs.times.cut = turns.runs() < kLeastRuns;
  return runs;
}

Result<std::vector<ScreeningResult>> JudgedFinalists::screen(const Graph& source,
                                                             llvm::ArrayRef<const Graph*> graphs) {
  if (Run run = ready(source); !run) return error(Code::device, "the source {0}", kRefused);
  std::vector<ScreeningResult> results;
  for (const Graph* graph : graphs) {
    Run run = ready(*graph);
    ScreeningResult result;
    if (!run) {
      result.fault = kRefused.str();
    } else if (result.median_us = screened(run); result.median_us < 0) {
      result.fault = kFails.str();
    }
    results.push_back(std::move(result));
    if (stop_.asked()) break;
  }
  for (size_t i = results.size(); i < graphs.size(); ++i)
    results.push_back({0, "was not run: no time was left"});
  return results;
}

} // namespace tg
