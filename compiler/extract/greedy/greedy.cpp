// A node enters the worklist when the last of its children gets a cost, and again when a child
// becomes cheaper. A class takes a node only if the node is strictly cheaper than its present one.
//
// Why no choice has a cycle: at the end every class's cost is that of its node, and a node costs at
// least as much as each child. On a cycle of choices all costs would be equal. Each class would
// have reached that cost only after its child had, so no class could have been the first.
#include "compiler/extract/greedy/greedy.h"

#include "compiler/extract/answer.h"
#include "compiler/extract/extractors.h"
#include "compiler/extract/greedy/worklist.h"
#include "compiler/extract/poll.h"

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

class Trees {
public:
  Trees(const ExtractionProblem& problem, llvm::ArrayRef<double> costs)
      : problem_(problem), costs_(costs), worklist_(problem, NodeWorklist::Order::FirstCome) {
    result_.choice = Choice(problem.class_count());
    result_.tree_cost.assign(problem.class_count(), kInfiniteCost);
  }

  GreedyResult run(Poll& poll) {
    while (!worklist_.empty() && !poll.after(8)) update(worklist_.pop());
    return std::move(result_);
  }

private:
  double own_cost(NodeIx node) const {
    return std::max(0.0, costs_.empty() ? problem_.cost(node) : costs_[node.index]);
  }

  void update(NodeIx node) {
    double cost = own_cost(node);
    for (ClassIx child : problem_.children(node))
      cost = add_costs(cost, result_.tree_cost[child.index]);
    ClassIx cls = problem_.class_of(node);
    double& best = result_.tree_cost[cls.index];
    if (!(cost < best)) return;
    bool first = best == kInfiniteCost;
    best = cost;
    result_.choice.node[cls.index] = node;
    worklist_.update_users(cls, first);
  }

  const ExtractionProblem& problem_;
  llvm::ArrayRef<double> costs_;
  NodeWorklist worklist_;
  GreedyResult result_;
};

/// Returns the greedy choice from the roots without regard to stored bytes.
std::optional<Choice> choose(const ExtractionProblem& problem, llvm::ArrayRef<double> costs,
                             llvm::function_ref<bool()> stop) {
  Poll poll(stop);
  GreedyResult greedy = Trees(problem, costs).run(poll);
  if (poll.stopped()) return std::nullopt;
  for (ClassIx root : problem.roots())
    if (!greedy.choice[root].valid()) return std::nullopt;
  trim(problem, greedy.choice);
  return std::move(greedy.choice);
}

/// Returns costs plus `price` for every byte that a node causes to be stored, except load nodes.
std::vector<double> with_bytes_priced(const ExtractionProblem& problem,
                                      llvm::ArrayRef<double> costs, double price) {
  std::vector<double> priced(costs.begin(), costs.end());
  for (uint32_t n = 0; n < priced.size(); ++n) {
    if (problem.load({n})) continue;
    for (ClassIx child : problem.children({n})) priced[n] += price * problem.stored_bytes(child);
  }
  return priced;
}

} // namespace

GreedyResult greedy_trees(const ExtractionProblem& problem, llvm::ArrayRef<double> costs,
                          llvm::function_ref<bool()> stop) {
  assert(costs.empty() || costs.size() == problem.node_count());
  Poll poll(stop);
  return Trees(problem, costs).run(poll);
}

std::optional<Choice> extract_greedy(const ExtractionProblem& problem,
                                     llvm::function_ref<bool()> stop) {
  std::vector<double> costs(problem.node_count());
  for (uint32_t n = 0; n < costs.size(); ++n) costs[n] = problem.cost({n});
  return extract_greedy(problem, costs, stop);
}

std::optional<Choice> extract_greedy(const ExtractionProblem& problem, llvm::ArrayRef<double> costs,
                                     llvm::function_ref<bool()> stop) {
  std::optional<Choice> choice = choose(problem, costs, stop);
  if (!choice || problem.byte_limit() == kInfiniteCost) return choice;
  // From a price that hardly matters to a price that outweighs everything else.
  constexpr double kFirstPrice = 1e-9, kLastPrice = 1e6;
  for (double price = kFirstPrice; price < kLastPrice; price *= 4) {
    if (check_choice(problem, *choice).stored_bytes <= problem.byte_limit()) return choice;
    choice = choose(problem, with_bytes_priced(problem, costs, price), stop);
    if (!choice) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Choice> extract_rounded(const ExtractionProblem& problem, llvm::ArrayRef<double> x,
                                      llvm::function_ref<bool()> stop) {
  constexpr double kFloor = 1e-3; // chosen nodes still cost something: avoids unneeded nodes
  std::vector<double> costs(problem.node_count());
  for (uint32_t n = 0; n < costs.size(); ++n)
    costs[n] = std::max(0.0, problem.cost({n})) * std::max(kFloor, 1 - std::clamp(x[n], 0.0, 1.0));
  return extract_greedy(problem, costs, stop);
}

std::optional<Choice> extract_greedy_near(const ExtractionProblem& problem, const Choice& wanted,
                                          llvm::function_ref<bool()> stop) {
  std::vector<double> chosen(problem.node_count());
  for (uint32_t n = 0; n < chosen.size(); ++n)
    chosen[n] = wanted[problem.class_of({n})] == NodeIx{n} ? 1 : 0;
  return extract_rounded(problem, chosen, stop);
}

std::vector<ClassIx> roots_without_solution(const ExtractionProblem& problem) {
  GreedyResult greedy = greedy_trees(problem);
  std::vector<ClassIx> without_solution;
  for (ClassIx root : problem.roots())
    if (!greedy.choice[root].valid() && !llvm::is_contained(without_solution, root))
      without_solution.push_back(root);
  return without_solution;
}

Result<Extraction> extract_by_greedy(const ExtractionProblem& problem, const IlpOptions& options) {
  Stopwatch watch;
  StopPoll stop(options);
  bool stopped = false;
  std::optional<Choice> choice = extract_greedy(problem, [&] { return stopped = stop(); });
  if (!choice && stopped) return stopped_early();
  if (!choice) return no_solution(problem, greedy_trees(problem));
  Extraction out = checked_answer(problem, std::move(*choice), "greedy");
  out.reported_cost = out.tree_cost;
  out.seconds = watch.seconds();
  return out;
}

} // namespace tg
