#include "compiler/extract/groups/group_refine.h"

#include "compiler/extract/answer.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/Hashing.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

namespace tg {

namespace {

/// Families considered around one choice, for each graph that may be priced.
constexpr size_t kFamiliesForEach = 4;

bool less(double a, double b) { return a < b * (1 - kLeastGain); }

class Refiner {
public:
  Refiner(const EGraph& egraph, const Graph& source, const EGraphProblem& problem, Choice start,
          GroupPricer& groups, const RefineOptions& options)
      : egraph_(egraph), source_(source), problem_(problem), groups_(groups), options_(options),
        here_(make_trial(std::move(start), {})) {}

  /// `start` is the graph of the initial choice, except for values computed at load.
  std::optional<RefinedGraph> run(const Graph& start) {
    here_.graph.graph = start;
    price({&here_, 1});
    if (!std::isfinite(here_.price.microseconds)) return std::nullopt;
    RefinedGraph out{here_.graph, here_.price, here_.price};
    while (sweep() && !spent()) continue;
    out.result = std::move(here_.graph);
    out.after = here_.price;
    out.priced = priced_;
    out.moves = moves_;
    out.ended = ended_;
    return out;
  }

private:
  static constexpr size_t kAll = SIZE_MAX;
  /// A family, or one of its moves. If a whole family does not gain, its first move is
  /// tried for all.
  struct Proposal {
    size_t family = 0, member = kAll;
    bool stands_for_all = false;
  };
  struct Trial {
    Proposal proposal;
    Choice choice;
    ExtractedGraph graph;
    GroupPrice price = {};
  };

  bool spent() {
    ended_ |= watch_.seconds() > options_.time_limit_s || options_.stop.asked();
    return ended_ || priced_ >= options_.most_priced;
  }

  Trial make_trial(Choice choice, Proposal proposal) const {
    ExtractedGraph graph = graph_of_choice(egraph_, source_, problem_, choice);
    return {proposal, std::move(choice), std::move(graph)};
  }

  void price(llvm::MutableArrayRef<Trial> trials) {
    std::vector<const Graph*> graphs;
    for (const Trial& trial : trials) graphs.push_back(&trial.graph.graph);
    std::vector<GroupPrice> found = groups_.price(graphs);
    assert(found.size() == trials.size() && "each graph requires one price");
    for (size_t i = 0; i < trials.size(); ++i) trials[i].price = found[i];
    priced_ += trials.size();
  }

  bool better(const Trial& trial) const {
    double a = trial.price.microseconds, b = here_.price.microseconds;
    return less(a, b) || (a <= b && less(trial.graph.cost_us, here_.graph.cost_us));
  }

  /// Returns nullopt if the choice was tried before, is not sound, or costs too much by
  /// operators' prices.
  std::optional<Trial> try_move(const Proposal& proposal) {
    const MoveFamily& family = families_[proposal.family];
    llvm::SmallVector<std::pair<ClassIx, NodeIx>, 8> switches;
    std::set<uint32_t> taken;
    for (size_t m = 0; m < family.size(); ++m) {
      if (proposal.member != kAll && proposal.member != m) continue;
      for (auto each : family[m].switches)
        if (here_.choice[each.first].valid() && taken.insert(each.first.index).second)
          switches.push_back(each);
    }
    auto next = after_move(problem_.problem, here_.choice, marginal_, switches);
    if (!next || !seen_.insert(hash_of(*next)).second) return std::nullopt;
    Trial trial = make_trial(std::move(*next), proposal);
    if (trial.graph.cost_us > options_.most_cost_us * (1 + kLeastGain)) return std::nullopt;
    return trial;
  }

  static uint64_t hash_of(const Choice& choice) {
    uint64_t hash = 0;
    for (NodeIx node : choice.node) hash = llvm::hash_combine(hash, node.index);
    return hash >> 2; // DenseSet reserves two values
  }

  /// Tries all moves around the choice until none is left. Returns true if one was made.
  bool sweep() {
    size_t before = moves_;
    marginal_ = marginal_trees(problem_.problem, here_.choice);
    families_ = find_moves(egraph_, problem_, here_.choice, marginal_,
                           kFamiliesForEach * options_.most_priced);
    seen_.insert(hash_of(here_.choice));
    proposals_.clear();
    for (size_t f = 0; f < families_.size(); ++f)
      proposals_.push_back({f, families_[f].size() > 1 ? kAll : 0, false});
    while (!proposals_.empty() && !spent()) try_batch();
    return moves_ > before;
  }

  void try_batch() {
    std::vector<Trial> trials;
    size_t most = std::min(options_.batch, options_.most_priced - priced_);
    while (!proposals_.empty() && trials.size() < std::max<size_t>(most, 1)) {
      Proposal proposal = proposals_.front();
      proposals_.pop_front();
      if (auto trial = try_move(proposal))
        trials.push_back(std::move(*trial));
      else
        next_after(proposal, false);
    }
    if (trials.empty()) return;
    price(trials);
    std::vector<Trial> gains;
    for (Trial& trial : trials)
      if (better(trial))
        gains.push_back(std::move(trial));
      else
        next_after(trial.proposal, false);
    llvm::stable_sort(gains, [](const Trial& a, const Trial& b) {
      return a.price.microseconds < b.price.microseconds;
    });
    for (size_t i = 0; i < gains.size(); ++i) take(std::move(gains[i]), i > 0);
  }

  /// Makes a move. A further gain of the same batch is tried again on the changed choice.
  void take(Trial trial, bool again) {
    Proposal proposal = trial.proposal;
    if (again) {
      if (spent()) return;
      std::optional<Trial> next = try_move(proposal);
      if (!next) return;
      trial = std::move(*next);
      price({&trial, 1});
      if (!better(trial)) return;
    }
    here_ = std::move(trial);
    ++moves_;
    marginal_ = marginal_trees(problem_.problem, here_.choice);
    next_after(proposal, true);
  }

  /// Continues after a proposal. If a whole family does not gain, its first move is tried alone; if
  /// that gains, the others are tried one by one.
  void next_after(const Proposal& proposal, bool gained) {
    if (proposal.member == kAll && !gained) proposals_.push_back({proposal.family, 0, true});
    if (!proposal.stands_for_all || !gained) return;
    for (size_t m = families_[proposal.family].size(); --m > 0;)
      proposals_.push_front({proposal.family, m, false});
  }

  const EGraph& egraph_;
  const Graph& source_;
  const EGraphProblem& problem_;
  GroupPricer& groups_;
  const RefineOptions& options_;
  Stopwatch watch_;
  Trial here_;
  GreedyResult marginal_{Choice(0), {}}; // around here_
  std::vector<MoveFamily> families_;     // of this sweep
  std::deque<Proposal> proposals_;
  llvm::DenseSet<uint64_t> seen_; // choices, by hash
  size_t priced_ = 0, moves_ = 0;
  bool ended_ = false;
};

} // namespace

std::optional<RefinedGraph> refine_by_groups(const EGraph& egraph, const Graph& source,
                                             const Graph& start, PriceCache& prices,
                                             GroupPricer& groups, const RefineOptions& options) {
  EGraphProblem problem = make_problem(egraph, prices, options.max_weight_growth);
  std::optional<Choice> choice = source_choice(egraph, start, problem);
  if (!choice) return std::nullopt;
  return Refiner(egraph, source, problem, std::move(*choice), groups, options).run(start);
}

} // namespace tg
