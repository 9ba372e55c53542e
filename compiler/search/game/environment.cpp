#include "compiler/search/game/environment.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

/// Number of cached states; a state of a large network takes a few hundred kilobytes.
constexpr size_t kMostKnown = 1'000;
/// A candidate with more than this many times the operators of its graph is skipped, as published.
constexpr size_t kMostGrowth = 2;

} // namespace

RewriteEnvironment::RewriteEnvironment(const Graph& source, llvm::ArrayRef<Rule> rules,
                                       GraphTime time, EnvironmentOptions options)
    : source_(source), rules_(rules), time_of_graph_(std::move(time)),
      options_(std::move(options)), best_{source} {}

Result<void> RewriteEnvironment::reset() {
  TG_TRY(first_, time_of(source_));
  if (first_ == 0 && !options_.reward)
    return error(Code::usage, "`{0}` takes no time: there is nothing to gain", source_.name());
  last_ = first_;
  if (best_.time == 0) best_.time = first_;
  path_.clear();
  state_ = state_of(source_);
  return {};
}

std::shared_ptr<const RewriteState> RewriteEnvironment::state_of(Graph graph) {
  uint64_t hash = structural_hash(graph);
  auto found = known_.find(hash);
  if (found != known_.end()) return found->second;
  auto state = std::make_shared<RewriteState>(RewriteState{std::move(graph), {}});
  size_t most_operators = options_.most_operators;
  if (most_operators == 0)
    most_operators = kMostGrowth * std::max<size_t>(state->graph.op_count(), 1);
  llvm::DenseSet<uint64_t> seen = {hash};
  if (options_.encoder) state->encoder = options_.encoder();
  auto look = [&](const Graph& graph) {
    if (state->encoder) state->encoder->add(graph);
    if (options_.features) state->features.push_back(features_of(graph));
  };
  Rewrites rewrites(state->graph, rules_, options_.explore);
  for (size_t i = 0; i < rewrites.size() && state->actions() < options_.most_candidates; ++i) {
    std::optional<Graph> made = rewrites.full() ? std::nullopt : rewrites.make(i);
    if (!made || made->op_count() > most_operators) continue;
    if (!seen.insert(structural_hash(*made)).second) continue;
    state->candidates.push_back({rewrites.match(i).rule, i, rewrites.place(i)});
    look(*made);
  }
  look(state->graph);
  if (state->encoder) state->encoder->finish();
  if (known_.size() >= kMostKnown) known_.clear();
  known_[hash] = state;
  return state;
}

Result<double> RewriteEnvironment::time_of(const Graph& graph) {
  uint64_t hash = structural_hash(graph);
  auto found = times_.find(hash);
  if (found != times_.end()) return found->second;
  TG_TRY(double time, time_of_graph_(graph));
  times_[hash] = time;
  return time;
}

Graph RewriteEnvironment::after(size_t action) const {
  assert(action < state_->actions());
  if (action == state_->stop()) return state_->graph;
  size_t rewrite = state_->candidates[action].rewrite;
  return *Rewrites(state_->graph, rules_, options_.explore).make(rewrite);
}

Result<RewriteEnvironment::Step> RewriteEnvironment::step(size_t action) {
  assert(action < state_->actions());
  if (options_.stop.asked()) return error(Code::limit_no_answer, "the episode was stopped");
  bool stops = action == state_->stop();
  if (!stops) {
    const RewriteState::Candidate& chosen = state_->candidates[action];
    path_.push_back({chosen.rule, chosen.rewrite, chosen.place});
    state_ = state_of(after(action));
  }
  RewardInputs taken{path_.size() + stops, false, first_, last_, last_, false};
  Step out;
  out.cut = !stops && !state_->candidates.empty() && path_.size() >= options_.horizon;
  out.done = taken.done = stops || state_->candidates.empty() || out.cut;
  size_t every = options_.measure_every;
  taken.measured = out.done || (every > 0 && taken.step % every == 0);
  if (taken.measured) {
    TG_TRY(taken.now, time_of(state_->graph));
    last_ = taken.now;
    if (last_ < best_.time) best_ = {state_->graph, last_, path_};
  }
  out.reward = reward(taken);
  taken_ = taken;
  return out;
}

Result<void> RewriteEnvironment::follow(llvm::ArrayRef<size_t> rewrites) {
  TG_CHECK(reset());
  for (size_t rewrite : rewrites) {
    auto found = llvm::find_if(state_->candidates,
                               [&](const auto& candidate) { return candidate.rewrite == rewrite; });
    if (found == state_->candidates.end()) break;
    path_.push_back({found->rule, found->rewrite, found->place});
    state_ = state_of(after(static_cast<size_t>(found - state_->candidates.begin())));
  }
  TG_TRY(last_, time_of(state_->graph));
  // The previous best is kept even if noise makes its new time worse.
  bool only_the_source = best_.path.empty() && !path_.empty();
  if (only_the_source || last_ < best_.time) best_ = {state_->graph, last_, path_};
  return {};
}

double RewriteEnvironment::reward(const RewardInputs& step) const {
  if (options_.reward) return options_.reward(step);
  return step.measured ? 100 * (step.last - step.now) / step.first : options_.waiting_reward;
}

} // namespace tg
