// The guide: an agent that generalizes to networks outside its training set. From the best graph of
// a state (features.h) and every rule it predicts how promising each rule is there, and the gain
// that can be reached. It implements Policy of the tree search and is trained on the search's
// visits and gains on small networks. GuideRunner runs its neural network.
#pragma once

#include "compiler/search/game/features.h"
#include "compiler/search/mcts/mcts.h"
#include "lang/core/result.h"

#include <mutex>

namespace tg::paper {

/// Features of a rule: the number of each operator on its left and right sides (log2(1 + n));
/// whether it has several patterns; the number of operators that it removes; its class of numerics;
/// and kRuleSigns pseudo-random signs from its name, so that rules with equal operators differ.
inline constexpr size_t kRuleSigns = 32;
inline constexpr size_t kRuleTraits = 2 * kOpCount + 3 + kRuleSigns;
std::vector<float> rule_traits(const Rule& rule);

/// A training sample: one decision of a search, and the search's outcome from there.
struct GuideSample {
  std::shared_ptr<const GraphFeatures> graph;
  /// [rules, kGrains]: the actions that were tried, and their target weights: a mix of each
  /// action's share of the gains (0 if there was no gain) and of the visits.
  std::vector<float> tried, shares;
  float gain = 0; // relative gain of the search from this decision on
};
/// Makes a sample of a record. `best_cost` is the final cost of the search; `visits` is the weight
/// of the share of the visits, the remainder that of the share of the gains.
GuideSample sample_of(const DecisionRecord& record, double best_cost, double visits);

class GuideRunner {
public:
  virtual ~GuideRunner() = default;
  /// A logit for each of [rules, kGrains], and the expected gain.
  struct Answer {
    std::vector<float> logits;
    double gain = 0;
  };
  virtual Result<Answer> assess(const GraphFeatures& graph, llvm::ArrayRef<Rule> rules) = 0;
  /// Does one step of gradient descent. Returns the loss.
  virtual Result<double> train_step(llvm::ArrayRef<const GuideSample*> minibatch,
                                    llvm::ArrayRef<Rule> rules) = 0;
};

/// Weighs an action by the network's prediction for its rule and by the search's own statistics. If
/// the network fails or its answer is not finite, it uses the statistics alone.
class GuidedPolicy final : public Policy {
public:
  /// Only one thread at a time calls the network.
  explicit GuidedPolicy(std::shared_ptr<GuideRunner> network);
  std::string name() const override { return "guide"; }
  bool assesses() const override { return true; }
  bool guides() const override { return true; }
  std::shared_ptr<const Assessment> assess(const Graph& best,
                                           llvm::ArrayRef<Rule> rules) const override;
  void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures& state, const ActionFeatures& action, double gain) override;
  std::unique_ptr<Policy> fresh() const override;

  /// The number and total time of network evaluations, of this policy and of all that fresh() made.
  struct Use {
    size_t assessments = 0;
    double seconds = 0;
  };
  Use use() const;

private:
  struct Shared {
    std::mutex mutex;
    std::shared_ptr<GuideRunner> network;
    Use use;
  };
  explicit GuidedPolicy(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
  StatisticsPolicy seen_;
};

struct GuideOptions {
  size_t rounds = 4;         // of searching all networks, then training
  size_t earlier_rounds = 0; // rounds of earlier runs; their samples are not studied again
  size_t searches = 3;       // searches per network, each with its own seed
  MctsOptions search = {};
  size_t epochs = 4, minibatch = 16;
  double visits = 0.5; // weight of the visits in the targets; gains have the remainder
  uint64_t seed = 1;
  StopToken stop = {};
};

/// Progress after each round.
struct GuideProgress {
  size_t round = 0, samples = 0; // round: from 1; samples: of all rounds
  double gain = 0;               // mean gain of the round's searches
  double loss = 0;               // loss of the last epoch
  double seconds = 0;
};

/// Searches the networks, in the first round without the agent, and trains on the samples of these
/// searches. An interrupted round is not reported: its training is discarded. `prices` has an entry
/// for each network. Errors: those of the runner and of `done`.
Result<void> train_guide(llvm::ArrayRef<const Graph*> networks, llvm::ArrayRef<PriceCache*> prices,
                         llvm::ArrayRef<Rule> rules, std::shared_ptr<GuideRunner> network,
                         const GuideOptions& options,
                         llvm::function_ref<Result<void>(const GuideProgress&)> done);

} // namespace tg::paper
