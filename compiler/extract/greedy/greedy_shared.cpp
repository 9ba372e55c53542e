// Passes over all classes until none becomes strictly cheaper, as in egg's extractor. A node is
// visited again only if a child has changed since.

#include "compiler/extract/answer.h"
#include "compiler/extract/greedy/greedy.h"

#include <llvm/ADT/DenseMap.h>

#include <algorithm>
#include <chrono>

namespace tg {

namespace {

class SharedCosts {
public:
  SharedCosts(const ExtractionProblem& problem, double seconds, llvm::function_ref<bool()> stop)
      : problem_(problem), seconds_(seconds), stop_(stop),
        cost_(problem.class_count(), kInfiniteCost), history_(problem.class_count()),
        choice_(problem.class_count()), dirty_(problem.node_count(), true) {}

  std::optional<GreedySharedResult> run() {
    for (bool changed = true; changed && note_.empty();) {
      changed = false;
      for (uint32_t c = 0; c < problem_.class_count() && note_.empty(); ++c)
        for (NodeIx node : problem_.nodes({c})) changed |= update(node);
    }
    return finish();
  }

private:
  using History = llvm::DenseMap<uint32_t, double>; // class to the amount paid; not iterated

  bool update(NodeIx node) {
    if (!dirty_[node.index] || !problem_.usable(node)) return false;
    dirty_[node.index] = false;
    History history;
    double cost = std::max(0.0, problem_.cost(node)) + pay(problem_.children(node), history);
    ClassIx cls = problem_.class_of(node);
    if (!(cost < cost_[cls.index])) return false;
    cost_[cls.index] = cost;
    entries_ += history.size();
    entries_ -= history_[cls.index].size();
    history_[cls.index] = std::move(history);
    choice_.node[cls.index] = node;
    for (NodeIx user : problem_.users(cls)) dirty_[user.index] = true;
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started_;
    if (stop_ && stop_())
      note_ = "greedy-shared was stopped by an interruption; greedy completes the result";
    if (taken.count() > seconds_)
      note_ = "greedy-shared was stopped by the time limit; greedy completes the result";
    if (entries_ > kMostEntries)
      note_ = "greedy-shared was stopped by the memory limit; greedy completes the result";
    return true;
  }

  double pay(llvm::ArrayRef<ClassIx> children, History& history) {
    double total = 0;
    bool copied = false;
    for (ClassIx child : children) {
      double cost = cost_[child.index], paid = cost;
      if (cost == kInfiniteCost) return kInfiniteCost;
      const History& below = history_[child.index];
      if (!copied && !below.empty()) {
        copied = true;
        for (const auto& [cls, amount] : below) history.try_emplace(cls, amount);
      } else if (history.count(child.index)) {
        continue;
      } else if (!below.empty()) {
        paid = std::max(0.0, cost - overlap(below, history));
        for (const auto& [cls, amount] : below) history.try_emplace(cls, amount);
      }
      if (paid > 0) history[child.index] = paid;
      total = add_costs(total, paid);
    }
    return total;
  }

  static double overlap(const History& below, const History& history) {
    double largest = 0;
    for (const auto& [cls, amount] : below)
      if (auto known = history.find(cls); known != history.end())
        largest = std::max(largest, known->second);
    return largest;
  }

  std::optional<GreedySharedResult> finish() {
    GreedySharedResult out;
    for (ClassIx root : problem_.roots())
      if (!choice_[root].valid() && note_.empty()) return std::nullopt;
    History history;
    out.reported_cost = pay(problem_.roots(), history);
    CheckedChoice figures = check_choice(problem_, choice_);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit()) {
      if (note_.empty()) note_ = "the choice of greedy-shared is not sound; greedy repairs it";
      std::optional<Choice> sound = extract_greedy_near(problem_, choice_);
      if (!sound) return std::nullopt;
      choice_ = std::move(*sound);
    }
    trim(problem_, choice_);
    out.choice = std::move(choice_);
    out.note = note_;
    return out;
  }

  static constexpr size_t kMostEntries = 16'000'000; // of all histories; about a gigabyte

  const ExtractionProblem& problem_;
  double seconds_;
  llvm::function_ref<bool()> stop_;
  size_t entries_ = 0;
  std::vector<double> cost_;     // by class
  std::vector<History> history_; // by class
  Choice choice_;
  std::vector<bool> dirty_; // by node: a child has changed since the last visit
  std::string note_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace

std::optional<GreedySharedResult> greedy_shared(const ExtractionProblem& problem, double seconds,
                                                llvm::function_ref<bool()> stop) {
  return SharedCosts(problem, seconds, stop).run();
}

Result<Extraction> extract_by_greedy_shared(const ExtractionProblem& problem,
                                            const IlpOptions& options) {
  Stopwatch watch;
  StopPoll stop(options);
  std::optional<GreedySharedResult> found =
      greedy_shared(problem, options.time_limit_s, [&] { return stop(); });
  std::string note = found ? found->note : "";
  Result<Extraction> out = answer_of(problem, std::move(found), "greedy-shared", watch);
  if (out) out->note = note;
  return out;
}

} // namespace tg
