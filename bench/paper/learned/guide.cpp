#include "bench/paper/learned/guide.h"

#include "lang/core/support/random.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/DJB.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg::paper {

namespace {

/// The minimum weight of a rule relative to the largest, so that no rule is excluded.
constexpr double kLeastShare = 0.01;
/// Maximum number of samples of earlier rounds; the oldest are dropped first.
constexpr size_t kMostSamples = 4'000;

} // namespace

// --- features -----------------------------------------------------------------------------------

std::vector<float> rule_traits(const Rule& rule) {
  std::vector<float> out(kRuleTraits);
  std::vector<bool> seen(rule.terms.size()); // on either side: a shared term counts for both
  auto count = [&](llvm::ArrayRef<TermId> sides, float* counts) {
    std::fill(seen.begin(), seen.end(), false);
    std::vector<TermId> worklist(sides.begin(), sides.end());
    while (!worklist.empty()) {
      TermId id = worklist.back();
      worklist.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      const Term& term = rule.terms[id];
      if (term.kind != Term::Kind::Op) continue;
      counts[static_cast<size_t>(term.op)] += 1;
      worklist.insert(worklist.end(), term.operands.begin(), term.operands.end());
    }
  };
  count(rule.lhs, &out[0]);
  count(rule.rhs, &out[kOpCount]);
  float fewer = 0;
  for (size_t i = 0; i < kOpCount; ++i) fewer += out[i] - out[kOpCount + i];
  for (size_t i = 0; i < 2 * kOpCount; ++i) out[i] = std::log2(1 + out[i]);
  float* rest = &out[2 * kOpCount];
  rest[0] = rule.multi();
  rest[1] = fewer / 4;
  rest[2] = static_cast<float>(rule.numerics) / 3;
  uint32_t hash = llvm::djbHash(rule.name);
  for (size_t i = 0; i < kRuleSigns; ++i) {
    hash = hash * 1664525u + 1013904223u; // Numerical Recipes' generator
    rest[3 + i] = hash >> 31 ? 0.2f : -0.2f;
  }
  return out;
}

GuideSample sample_of(const DecisionRecord& record, double best_cost, double visits) {
  GuideSample out{std::make_shared<GraphFeatures>(features_of(record.graph)), {}, {}, 0};
  out.gain = static_cast<float>(std::max(1 - best_cost / record.cost_us, 0.0));
  double gained = std::accumulate(record.gains.begin(), record.gains.end(), 0.0);
  double visited = std::accumulate(record.visits.begin(), record.visits.end(), 0.0);
  for (size_t i = 0; i < record.visits.size(); ++i) {
    out.tried.push_back(record.visits[i] > 0);
    double share = gained > 1e-9 ? (1 - visits) * record.gains[i] / gained : 0;
    if (visited > 0) share += visits * record.visits[i] / visited;
    out.shares.push_back(static_cast<float>(share));
  }
  return out;
}

// --- the policy ---------------------------------------------------------------------------------

GuidedPolicy::GuidedPolicy(std::shared_ptr<GuideRunner> network)
    : shared_(std::make_shared<Shared>()) {
  shared_->network = std::move(network);
}

std::unique_ptr<Policy> GuidedPolicy::fresh() const {
  return std::unique_ptr<Policy>(new GuidedPolicy(shared_));
}

GuidedPolicy::Use GuidedPolicy::use() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->use;
}

std::shared_ptr<const Assessment> GuidedPolicy::assess(const Graph& best,
                                                       llvm::ArrayRef<Rule> rules) const {
  GraphFeatures features = features_of(best);
  std::lock_guard lock(shared_->mutex);
  Stopwatch watch;
  Result<GuideRunner::Answer> answer = shared_->network->assess(features, rules);
  ++shared_->use.assessments;
  shared_->use.seconds += watch.seconds();
  // Rejects answers that are not finite.
  if (!answer || !std::isfinite(answer->gain) ||
      !llvm::all_of(answer->logits, [](float logit) { return std::isfinite(logit); }))
    return nullptr;
  auto assessment = std::make_shared<Assessment>();
  assessment->gain = answer->gain;
  float most = *std::max_element(answer->logits.begin(), answer->logits.end());
  for (float logit : answer->logits)
    assessment->weights.push_back(
        std::max(std::exp(logit - most), static_cast<float>(kLeastShare)));
  return assessment;
}

void GuidedPolicy::weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
                         llvm::MutableArrayRef<double> weights) const {
  seen_.weigh(state, actions, weights);
  if (!state.assessment) return;
  for (size_t i = 0; i < actions.size(); ++i)
    weights[i] *=
        state.assessment->weight(static_cast<RuleId>(actions[i].rule_number), actions[i].grain);
}

void GuidedPolicy::learn(const StateFeatures& state, const ActionFeatures& action, double gain) {
  seen_.learn(state, action, gain);
}

// --- training -----------------------------------------------------------------------------------

namespace {

class GuideTraining {
public:
  GuideTraining(llvm::ArrayRef<Rule> rules, std::shared_ptr<GuideRunner> network,
                const GuideOptions& options)
      : rules_(rules), network_(std::move(network)), options_(options) {}

  /// Runs one search and adds its decisions to the samples. Returns its gain.
  double search(const Graph& graph, PriceCache& prices, size_t round, size_t number) {
    GuidedPolicy guide(network_);
    StatisticsPolicy alone;
    Policy& policy = round == 0 ? static_cast<Policy&>(alone) : guide;
    struct Kept {
      GuideSample sample;
      double cost_us = 0;
    };
    std::vector<Kept> kept;
    MctsOptions search = options_.search;
    search.seed = options_.seed + 1'000 * round + number;
    search.widen = number % 3 > 0; // as in shipped searches: first rules alone, then also places
    search.stop = options_.stop;
    search.decided = [&](const DecisionRecord& record) {
      kept.push_back({sample_of(record, record.cost_us, options_.visits), record.cost_us});
    };
    EGraph egraph = egraph_of(graph);
    MctsReport report = search_mcts(egraph, graph, rules_, prices, search, policy);
    for (Kept& k : kept) {
      k.sample.gain = static_cast<float>(std::max(1 - report.best_cost / k.cost_us, 0.0));
      samples_.push_back(std::move(k.sample));
    }
    return 1 - report.best_cost / report.start_cost;
  }

  /// Trains for some epochs over all samples. Returns the mean loss of the last, or nothing if it
  /// was interrupted.
  Result<std::optional<double>> train_step(size_t round) {
    if (samples_.size() > kMostSamples)
      samples_.erase(samples_.begin(), samples_.end() - static_cast<long>(kMostSamples));
    std::vector<const GuideSample*> order;
    for (const GuideSample& sample : samples_) order.push_back(&sample);
    double loss = 0;
    for (size_t epoch = 0; epoch < options_.epochs; ++epoch) {
      RandomStream draws(options_.seed, "guide " + std::to_string(round * options_.epochs + epoch));
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.bits(i) % i]);
      loss = 0;
      llvm::ArrayRef<const GuideSample*> left = order;
      while (!left.empty()) {
        if (options_.stop.asked()) return std::optional<double>();
        size_t size = std::min(options_.minibatch, left.size());
        TG_TRY(double of_batch, network_->train_step(left.take_front(size), rules_));
        loss += of_batch * static_cast<double>(size) / static_cast<double>(order.size());
        left = left.drop_front(size);
      }
    }
    return std::optional<double>(loss);
  }

  size_t samples() const { return samples_.size(); }

private:
  llvm::ArrayRef<Rule> rules_;
  std::shared_ptr<GuideRunner> network_;
  const GuideOptions& options_;
  std::vector<GuideSample> samples_;
};

} // namespace

Result<void> train_guide(llvm::ArrayRef<const Graph*> networks, llvm::ArrayRef<PriceCache*> prices,
                         llvm::ArrayRef<Rule> rules, std::shared_ptr<GuideRunner> network,
                         const GuideOptions& options,
                         llvm::function_ref<Result<void>(const GuideProgress&)> done) {
  GuideTraining training(rules, std::move(network), options);
  for (size_t round = options.earlier_rounds; round < options.rounds && !options.stop.asked();
       ++round) {
    Stopwatch watch;
    double gain = 0;
    size_t count = networks.size() * options.searches;
    for (size_t i = 0; i < count && !options.stop.asked(); ++i) {
      size_t network = i % networks.size();
      gain += training.search(*networks[network], *prices[network], round, i) /
              static_cast<double>(count);
    }
    if (options.stop.asked()) break; // an incomplete round is not studied
    TG_TRY(std::optional<double> loss, training.train_step(round));
    if (!loss) break; // interrupted training is discarded
    TG_CHECK(done({round + 1, training.samples(), gain, *loss, watch.seconds()}));
  }
  return {};
}

} // namespace tg::paper
