#include "compiler/search/mcts/actions.h"

#include "compiler/search/explorer.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tg {

namespace {

/// Number of single matches of a rule that are offered at a node; rollouts may draw the others.
constexpr size_t kMostSingles = 8;
/// Weights of the finer grains relative to a whole rule, which is tried sooner.
constexpr double kGroupWeight = 0.7, kMatchWeight = 0.2;

double draw_unit(std::mt19937_64& rng) { return std::uniform_real_distribution<double>(0, 1)(rng); }

double grain_weight(Grain grain) {
  return grain == Grain::Rule ? 1 : grain == Grain::Group ? kGroupWeight : kMatchWeight;
}

/// Draws an index with probability proportional to its weight.
size_t draw_by_weight(llvm::ArrayRef<double> weights, std::mt19937_64& rng) {
  double sum = 0, at = 0;
  for (double weight : weights) sum += weight;
  double target = draw_unit(rng) * sum;
  size_t pick = 0;
  while (pick + 1 < weights.size() && (at += weights[pick]) <= target) ++pick;
  return pick;
}

} // namespace

// --- the path -----------------------------------------------------------------------------------

void ActionPool::clear() {
  pool_.clear();
  of_tree_ = 0;
  spent_.clear();
  rolled_.clear();
  refused_.clear();
}

void ActionPool::add(llvm::ArrayRef<Match> found) {
  for (const Match& match : found) pool_.push_back(&match);
  of_tree_ = static_cast<uint32_t>(pool_.size());
  spent_.resize(pool_.size());
}

void ActionPool::add_open(std::vector<Match> found) {
  rolled_.push_back(std::move(found));
  for (const Match& match : rolled_.back()) {
    open_[match.rule].push_back(static_cast<uint32_t>(pool_.size()));
    pool_.push_back(&match);
  }
  spent_.resize(pool_.size());
}

// --- actions ------------------------------------------------------------------------------------

void ActionPool::collect() {
  for (auto& list : open_) list.clear();
  for (uint32_t i = 0; i < pool_.size(); ++i)
    if (!spent_[i] && !refused(pool_[i]->group)) open_[pool_[i]->rule].push_back(i);
}

void ActionPool::remove_spent_matches(RuleId rule) {
  llvm::erase_if(open_[rule], [&](uint32_t number) { return spent_[number]; });
}

ActionFeatures ActionPool::features(RuleId rule, Grain grain, size_t places) const {
  const CompiledRule& compiled = explorer_.rule(rule);
  ActionFeatures out;
  out.rule = compiled.rule;
  out.rule_number = rule;
  out.grain = grain;
  out.places = static_cast<uint32_t>(places);
  for (const Term& term : compiled.rule->terms) out.operators_before += term.kind == Term::Kind::Op;
  out.operators_after = static_cast<uint32_t>(compiled.plan.size());
  out.operators_before -= std::min(out.operators_before, out.operators_after);
  return out;
}

/// Draws the order of the actions; heavier ones tend to come first (Efraimidis and Spirakis 2006).
std::vector<Action> ActionPool::list(const StateFeatures& state, const Policy& policy,
                                     std::mt19937_64& rng) const {
  std::vector<Action> actions;
  for (RuleId rule = 0; rule < open_.size(); ++rule)
    if (!open_[rule].empty()) offer(rule, rng, actions);
  std::vector<ActionFeatures> all;
  for (const Action& a : actions) all.push_back(features(a.rule, a.grain, a.matches.size()));
  std::vector<double> weights(all.size(), 1);
  policy.weigh(state, all, weights);
  double sum = 0;
  for (uint32_t i = 0; i < all.size(); ++i)
    sum += actions[i].share = weights[i] * grain_weight(all[i].grain);
  std::vector<std::pair<double, uint32_t>> keys;
  for (uint32_t i = 0; i < all.size(); ++i)
    keys.push_back({std::log(draw_unit(rng) + 1e-300) / actions[i].share, i});
  for (Action& action : actions) action.share /= sum;
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<Action> sorted;
  for (auto [key, i] : keys) sorted.push_back(std::move(actions[i]));
  return sorted;
}

/// Offers the rule everywhere, and, if these are finer, each group of places and some single
/// places.
void ActionPool::offer(RuleId rule, std::mt19937_64& rng, std::vector<Action>& actions) const {
  const std::vector<uint32_t>& open = open_[rule];
  actions.push_back({rule, Grain::Rule, open, 0});
  if (!options_.widen || open.size() == 1) return;
  std::map<uint64_t, std::vector<uint32_t>> groups;
  for (uint32_t number : open) groups[pool_[number]->group].push_back(number);
  if (groups.size() > 1)
    for (uint32_t number : open) { // in the order of their first places
      auto group = groups.find(pool_[number]->group);
      if (group->second.size() < 2 || group->second.front() != number) continue;
      actions.push_back({rule, Grain::Group, group->second, 0});
    }
  for (size_t i = 0; i < std::min(open.size(), kMostSingles); ++i)
    actions.push_back(
        {rule, Grain::Match, {open[open.size() <= kMostSingles ? i : rng() % open.size()]}, 0});
}

bool ActionPool::draw(const StateFeatures& state, const Policy& policy, std::mt19937_64& rng,
                      Action& action) const {
  std::vector<ActionFeatures> all;
  for (RuleId rule = 0; rule < open_.size(); ++rule)
    if (!open_[rule].empty() || (!options_.firing && explorer_.enabled(rule)))
      all.push_back(features(rule, Grain::Rule, open_[rule].size()));
  if (all.empty()) return false;
  std::vector<double> weights(all.size(), 1);
  policy.weigh(state, all, weights);
  action.rule = static_cast<RuleId>(all[draw_by_weight(weights, rng)].rule_number);
  const std::vector<uint32_t>& open = open_[action.rule];
  if (open.empty()) return false;
  action.grain = options_.widen ? static_cast<Grain>(rng() % 3) : Grain::Rule;
  if (action.grain == Grain::Rule) {
    action.matches = open;
    return true;
  }
  uint32_t one = open[rng() % open.size()];
  for (uint32_t number : open)
    if (number == one ||
        (action.grain == Grain::Group && pool_[number]->group == pool_[one]->group))
      action.matches.push_back(number);
  return true;
}

std::string ActionPool::place_text(const Action& action) const {
  size_t count = action.matches.size();
  if (count == 0 || (count > 1 && action.grain == Grain::Rule)) return "";
  const Match& first = match(action.matches.front());
  std::string place = tg::place_text(explorer_.egraph(), {first.words.front()});
  return count == 1 ? place : std::to_string(count) + " places like " + place;
}

} // namespace tg
