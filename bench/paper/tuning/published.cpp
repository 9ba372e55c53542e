#include "bench/paper/tuning/published.h"

#include "bench/paper/tuning/baselines.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::paper {

namespace {

using namespace tune;

constexpr size_t kTop = 3; // programs of a ranking, as published

/// The baseline TopK.
class Top : public ReuseBaseline {
public:
  ReusePlan plan(const OperatorGraph& graph, llvm::ArrayRef<double>, double) const override {
    return plan_reuse(graph, Selection::Arborescence);
  }
  double reuse_trials() const override { return kTop; }
  StepTrials reuse(const Operator& op, llvm::ArrayRef<Measured> ranking,
                   Device& device) const override {
    TopResult found = tune_by_top(op, ranking, kTop, device);
    StepTrials trials;
    if (found.best) trials.ranking = {*found.best};
    trials.trials = found.trials;
    return trials;
  }
  void adjust(FullSearchOptions&) const override {}
};

/// ST: searches in full for the operator with the most work of each cluster.
class Selective final : public Top {
public:
  ReusePlan plan(const OperatorGraph& graph, llvm::ArrayRef<double> work,
                 double full_trials) const override {
    ReusePlan plan;
    llvm::ArrayRef<Operator> originals = llvm::ArrayRef(graph.operators).take_front(work.size());
    for (std::vector<size_t>& cluster : clusters(originals)) {
      llvm::stable_sort(cluster, [&](size_t a, size_t b) { return work[a] > work[b]; });
      for (size_t op : cluster) {
        bool first = op == cluster[0];
        plan.steps.push_back({op, first ? std::nullopt : std::optional(cluster[0]),
                              first ? full_trials : reuse_trials()});
      }
    }
    return plan;
  }
};

class Full : public Top {
public:
  ReusePlan plan(const OperatorGraph& graph, llvm::ArrayRef<double>, double) const override {
    return plan_reuse(graph, Selection::Full);
  }
};

class Random final : public Full {
public:
  void adjust(FullSearchOptions& options) const override {
    options.only_random = true;
    options.start.reset(); // without a guess
  }
};

} // namespace

std::unique_ptr<ReuseBaseline> published_baseline(llvm::StringRef reuse) {
  if (reuse == "top") return std::make_unique<Top>();
  if (reuse == "selective") return std::make_unique<Selective>();
  if (reuse == "full") return std::make_unique<Full>();
  if (reuse == "random") return std::make_unique<Random>();
  return nullptr;
}

void apply_variants(llvm::StringRef reuse, llvm::ArrayRef<std::string> words,
                    PlanTuneOptions& options) {
  constexpr int kAllHops = 8; // more than the number of loops
  auto has = [&](const char* word) { return llvm::is_contained(words, word); };
  options.guess = !has("no-guess");
  options.until_enough = !has("to-the-end");
  options.dry_estimates = !has("formulas");
  options.occurrence_weight = has("occurrences") ? 1 : 0;
  options.shape_costs = !has("random-shapes");
  if (has("all-bridges")) options.hops = kAllHops;
  if (reuse == "no-bridges") options.hops = 0;
}

} // namespace tg::paper
