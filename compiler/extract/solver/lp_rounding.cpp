#include "compiler/extract/solver/ilp.h"

#include "compiler/extract/answer.h"
#include "compiler/extract/solver/process.h"
#include "compiler/extract/solver/reduce.h"

#include <algorithm>
#include <random>

namespace tg {

namespace {

class Rounding {
public:
  Rounding(const ExtractionProblem& problem, llvm::ArrayRef<double> x) : problem_(problem), x_(x) {}

  /// Returns the best of both kinds; makes fewer tries if the time runs out.
  std::optional<Choice> run(uint64_t seed, int tries, double seconds) {
    Stopwatch watch;
    offer(extract_rounded(problem_, x_));
    std::mt19937_64 random(seed);
    for (int i = 0; i < tries && watch.seconds() < seconds; ++i) offer(draw(random));
    return std::move(best_);
  }

private:
  void offer(std::optional<Choice> choice) {
    if (!choice) return;
    CheckedChoice figures = check_choice(problem_, *choice);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit()) {
      choice = extract_greedy_near(problem_, *choice);
      if (!choice) return;
      figures = check_choice(problem_, *choice);
    }
    if (best_ && figures.dag_cost >= cost_) return;
    cost_ = figures.dag_cost;
    best_ = std::move(choice);
  }

  Choice draw(std::mt19937_64& random) const {
    Choice choice(problem_.class_count());
    std::vector<ClassIx> open(problem_.roots().begin(), problem_.roots().end());
    while (!open.empty()) {
      ClassIx cls = open.back();
      open.pop_back();
      if (choice[cls].valid()) continue;
      NodeIx node = choice.node[cls.index] = draw(cls, random);
      if (node.valid()) llvm::append_range(open, problem_.children(node));
    }
    return choice;
  }

  NodeIx draw(ClassIx cls, std::mt19937_64& random) const {
    double all = 0;
    for (NodeIx n : problem_.nodes(cls)) all += weight(n);
    // std::uniform_real_distribution gives other numbers in other libraries.
    double at = static_cast<double>(random() >> 11) * 0x1p-53 * all;
    NodeIx last;
    for (NodeIx n : problem_.nodes(cls)) {
      if (weight(n) <= 0) continue;
      last = n;
      at -= weight(n);
      if (at < 0) break;
    }
    return last;
  }
  double weight(NodeIx node) const {
    return problem_.usable(node) ? std::max(0.0, x_[node.index]) : 0;
  }

  const ExtractionProblem& problem_;
  llvm::ArrayRef<double> x_;
  std::optional<Choice> best_;
  double cost_ = kInfiniteCost;
};

std::function<bool(const MipResult&)> stop_requested(const IlpOptions& options) {
  return [stop = StopPoll(options)](const MipResult& known) mutable {
    return stop(kInfiniteCost, known.bound);
  };
}

MipResult relax(const ExtractionProblem& problem, const IlpOptions& options,
                llvm::function_ref<double()> left,
                const std::function<bool(const MipResult&)>& stop) {
  MipModel model = make_ilp(problem, options.cycles, [&] { return stop({}); });
  model.integer.assign(model.integer.size(), 0);
  if (double seconds = left(); seconds > 0 && !stop({}))
    return solve_mip(model, {seconds, options.memory_limit_bytes, stop});
  MipResult late;
  late.why = kTimeLimit;
  return late;
}

} // namespace

std::optional<Choice> round_relaxation(const ExtractionProblem& problem, llvm::ArrayRef<double> x,
                                       uint64_t seed, int tries, double seconds) {
  return Rounding(problem, x).run(seed, tries, seconds);
}

Result<Extraction> extract_by_lp(const ExtractionProblem& problem, const IlpOptions& options) {
  constexpr int kTries = 32;
  Stopwatch watch;
  GreedyResult greedy = greedy_trees(problem);
  for (ClassIx root : problem.roots())
    if (!greedy.choice[root].valid()) return no_solution(problem, greedy);
  auto stop = stop_requested(options);
  // Rounding and the later steps take about as long as the earlier ones.
  auto left = [&] { return options.time_limit_s - 2 * watch.seconds(); };
  auto reduced = reduce(problem, greedy, [&] { return left() <= 0 || stop({}); });
  MipResult solved;
  solved.why = kTimeLimit;
  if (reduced) solved = relax(reduced->problem, options, left, stop);
  std::string algorithm = "greedy";
  std::optional<Choice> choice;
  if (!solved.relaxation.empty()) {
    choice = round_relaxation(reduced->problem, solved.relaxation, options.seed, kTries,
                              options.time_limit_s - watch.seconds());
    if (choice) choice = reduced->expand(problem, *choice);
    algorithm = "rounding";
  }
  if (!choice) choice = extract_greedy(problem);
  if (!choice) return no_solution(problem, greedy);
  Extraction out = checked_answer(problem, std::move(*choice), algorithm);
  out.lower_bound = std::min(std::max(out.lower_bound, solved.bound), out.dag_cost);
  constexpr double kTolerance = 1e-7;
  out.optimal =
      out.dag_cost - out.lower_bound <= kTolerance * std::max(1.0, std::abs(out.dag_cost));
  if (solved.relaxation.empty())
    out.note = "lp: " + (solved.why.empty() ? "no relaxation" : solved.why) +
               "; the result is from greedy";
  out.seconds = watch.seconds();
  return out;
}

} // namespace tg
