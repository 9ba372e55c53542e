// An agent for networks that it never met: it looks at the best graph of a state (features.h) and
// at every rule, and says how promising each rule is there and how much can be gained. It takes the
// seat Policy of the tree search, whose visits and gains on small networks it is trained from. The
// network behind it runs elsewhere: who runs models fills the door GuideRunner.
#pragma once

#include "compiler/search/game/features.h"
#include "compiler/search/mcts/mcts.h"
#include "lang/core/result.h"

#include <mutex>

namespace tg::paper {

/// Of a rule: how often its left sides and its right sides have each operator (log2(1 + n));
/// whether it has several patterns; operators less; its class of numerics; and kRuleSigns signs
/// that its text gives, so that rules with equal operators differ.
inline constexpr size_t kRuleSigns = 32;
inline constexpr size_t kRuleTraits = 2 * kOpCount + 3 + kRuleSigns;
std::vector<float> rule_traits(const Rule& rule);

/// What a search came to from one of its decisions on.
struct GuideSample {
  std::shared_ptr<const GraphFeatures> graph;
  /// [rules, kGrains]: which actions were tried, and what they are to be weighed by: the share of
  /// the gains that is theirs, none where nothing was gained, and of the visits.
  std::vector<float> tried, shares;
  float gain = 0; // of the search from here: relative
};
/// Of a record; `best_cost`: what the search found in the end; `visits`: how much of what actions
/// are to be weighed by is their share of the visits, the rest that of the gains.
GuideSample sample_of(const DecisionRecord& record, double best_cost, double visits);

class GuideRunner {
public:
  virtual ~GuideRunner() = default;
  /// Of [rules, kGrains] a logit, and the gain that is expected.
  struct Answer {
    std::vector<float> logits;
    double gain = 0;
  };
  virtual Result<Answer> look(const GraphFeatures& graph, llvm::ArrayRef<Rule> rules) = 0;
  /// One step of gradient descent; the loss.
  virtual Result<double> study(llvm::ArrayRef<const GuideSample*> minibatch,
                               llvm::ArrayRef<Rule> rules) = 0;
};

/// Weighs an action by what the network says of its rule and what the search saw of it. Where the
/// network fails, or says what is no number, by the latter alone.
class GuidedPolicy final : public Policy {
public:
  /// The network is asked by one thread at a time.
  explicit GuidedPolicy(std::shared_ptr<GuideRunner> network);
  std::string name() const override { return "guide"; }
  bool looks() const override { return true; }
  bool guides() const override { return true; }
  std::shared_ptr<const Opinion> look(const Graph& best, llvm::ArrayRef<Rule> rules) const override;
  void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures& state, const ActionFeatures& action, double gain) override;
  std::unique_ptr<Policy> fresh() const override;

  /// Of this one and of all that were made of it: how often the network was asked, and how long
  /// that took.
  struct Use {
    size_t looks = 0;
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
  size_t rounds = 4;         // over all networks: search, then study
  size_t earlier_rounds = 0; // of them; what their searches came to is not studied again
  size_t searches = 3;       // of each, with seeds of their own
  MctsOptions search = {};
  size_t epochs = 4, minibatch = 16;
  double visits = 0.5; // of what is learned of actions, the rest by gains (sample_of)
  uint64_t seed = 1;
  StopToken stop = {};
};

/// After each round.
struct GuideProgress {
  size_t round = 0, samples = 0; // from 1; of all rounds
  double gain = 0;               // the mean of what the searches of the round gained
  double loss = 0;               // of the last epoch
  double seconds = 0;
};

/// Searches the networks, in the first round without the agent, and studies what these searches
/// came to. A round that is stopped on the way is not reported: what it taught is none. `prices`
/// are of the networks, in their order. Errors: those of the runner and of `done`.
Result<void> train_guide(llvm::ArrayRef<const Graph*> networks, llvm::ArrayRef<PriceCache*> prices,
                         llvm::ArrayRef<Rule> rules, std::shared_ptr<GuideRunner> network,
                         const GuideOptions& options,
                         llvm::function_ref<Result<void>(const GuideProgress&)> done);

} // namespace tg::paper
