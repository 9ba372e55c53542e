// Implements the public environment with RewriteEnvironment: selects and verifies rules, makes the
// clock, and describes the places of rewrites.
#include "tangram/environment.h"

#include "compiler/api/graph_clock.h"
#include "compiler/api/optimize_model.h"
#include "compiler/api/public_models.h"
#include "compiler/api/public_types.h"

#include <cmath>

namespace tangram {

static_assert(Environment::kTraits == tg::kNodeTraits);

namespace {

RewriteStep to_public(const tg::RewardInputs& step) {
  return {step.step, step.measured, step.first, step.last, step.now, step.done};
}

tg::GraphTime clock_of(const EnvironmentOptions& options, const Model& source) {
  return [time_us = options.time_us, source](const tg::Graph& graph) -> tg::Result<double> {
    double time = time_us(rewritten(source, graph));
    if (std::isfinite(time) && time >= 0) return time;
    return tg::error(tg::Code::device, "the clock of the environment failed");
  };
}

tg::EnvironmentOptions options_of(const EnvironmentOptions& o, const tg::StopToken& stop) {
  tg::EnvironmentOptions out;
  out.explore.numerics = tg::to_internal(o.search.numerics);
  out.explore.node_limit = 50'000; // for one graph and a rewrite; graphs that can be run have fewer
  out.horizon = o.horizon;
  out.measure_every = o.measure_every;
  out.waiting_reward = o.waiting_reward;
  out.most_candidates = o.most_candidates;
  out.most_operators = o.most_operators;
  out.features = true;
  out.stop = stop;
  if (o.reward)
    out.reward = [reward = o.reward](const tg::RewardInputs& s) { return reward(to_public(s)); };
  return out;
}

tg::Result<void> check_environment(const EnvironmentOptions& o) {
  if (o.horizon < 1) return tg::error(tg::Code::usage, "`horizon` must be at least 1, not 0");
  if (o.most_candidates < 1)
    return tg::error(tg::Code::usage, "`most_candidates` must be at least 1, not 0");
  return tg::check_options(o.search);
}

} // namespace

struct Environment::Impl {
  explicit Impl(const Model& model) : model(model), source(own_graph(model)) {}

  tg::Result<void> start(const EnvironmentOptions& options, const tg::StopToken& stop) {
    tg::GraphTime time;
    if (options.time_us) {
      time = clock_of(options, model);
    } else {
      tg::OptimizeHost host{.weights = model.impl().weights};
      TG_TRY(clock, tg::GraphClock::make(source, options.by_prices, options.search, host, stop));
      time = [this](const tg::Graph& graph) { return clock->time_us(graph); };
    }
    game.emplace(source, rules, std::move(time), options_of(options, stop));
    return {};
  }
  /// Must be called after a change of the state.
  void list() {
    candidates.clear();
    for (const tg::RewriteState::Candidate& c : game->state()->candidates)
      candidates.push_back({rules[c.rule].name, c.place});
  }
  tg::Result<void> check(size_t action) const {
    if (!game->state())
      return tg::error(tg::Code::usage, "there is no state yet: start an episode with reset()");
    if (action > candidates.size())
      return tg::error(tg::Code::usage, "there is no action {0}: the number of actions is {1}",
                       action, candidates.size() + 1);
    return {};
  }
  /// Names rewrites by their rules, with the recorded places.
  std::vector<Rewrite> named(llvm::ArrayRef<tg::PathStep> path) const {
    std::vector<Rewrite> out;
    for (const tg::PathStep& step : path) out.push_back({rules[step.rule].name, step.place});
    return out;
  }

  Model model;
  tg::Graph source;
  std::vector<tg::Rule> rules;
  std::unique_ptr<tg::GraphClock> clock;
  std::optional<tg::RewriteEnvironment> game;
  std::vector<Rewrite> candidates;
  bool over = true; // no episode is in progress
};

Environment::Environment(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Environment::Environment(Environment&&) noexcept = default;
Environment& Environment::operator=(Environment&&) noexcept = default;
Environment::~Environment() = default;

Expected<Environment> Environment::make(const Model& model, const EnvironmentOptions& options) {
  if (auto checked = check_environment(options); !checked) return to_error(checked.error());
  auto impl = std::make_unique<Impl>(model);
  tg::StopToken stop =
      tg::stop_within(-1, options.search.memory_limit_mb, options.search.interrupt);
  tg::SourceManager sources;
  tg::DiagnosticSink sink;
  std::optional<std::vector<tg::Rule>> rules =
      tg::select_rules(options.search, {}, stop, sources, sink);
  if (!rules) return to_error(sink, sources);
  impl->rules = std::move(*rules);
  if (auto started = impl->start(options, stop); !started) return to_error(started.error());
  return Environment(std::move(impl));
}

std::optional<Error> Environment::reset() {
  impl_->over = true;
  if (auto done = impl_->game->reset(); !done) return to_error(done.error());
  impl_->over = false;
  impl_->list();
  return std::nullopt;
}

Expected<StepResult> Environment::step(size_t action) {
  if (impl_->over)
    return to_error(tg::error(tg::Code::usage, "no episode is running: start one with reset()"));
  if (auto checked = impl_->check(action); !checked) return to_error(checked.error());
  impl_->over = true; // also on an error
  tg::Result<tg::RewriteEnvironment::Step> done = impl_->game->step(action);
  impl_->list(); // on an error the graph may be the next one
  if (!done) return to_error(done.error());
  impl_->over = done->done;
  return StepResult{done->reward, done->done && !done->cut, done->cut,
                    to_public(impl_->game->taken())};
}

const std::vector<Rewrite>& Environment::candidates() const { return impl_->candidates; }

Model Environment::model() const {
  if (!impl_->game->state()) return impl_->model;
  return rewritten(impl_->model, impl_->game->state()->graph);
}

Expected<Model> Environment::after(size_t action) const {
  if (auto checked = impl_->check(action); !checked) return to_error(checked.error());
  return rewritten(impl_->model, impl_->game->after(action));
}

Expected<GraphNumbers> Environment::numbers(size_t action) const {
  if (auto checked = impl_->check(action); !checked) return to_error(checked.error());
  const tg::GraphFeatures& features = impl_->game->state()->features[action];
  GraphNumbers out;
  for (tg::OpKind op : features.operators) out.operators.push_back(static_cast<int32_t>(op));
  for (const auto& row : features.traits)
    out.traits.insert(out.traits.end(), row.begin(), row.end());
  for (auto [from, to] : features.edges) {
    out.edges.push_back(static_cast<int32_t>(from));
    out.edges.push_back(static_cast<int32_t>(to));
  }
  return out;
}

Environment::Best Environment::best() const {
  const tg::RewriteEnvironment::Best& best = impl_->game->best();
  return {rewritten(impl_->model, best.graph), best.time, impl_->named(best.path)};
}

std::vector<Rewrite> Environment::path() const { return impl_->named(impl_->game->path()); }
double Environment::source_us() const { return impl_->game->source_time(); }
size_t Environment::measurements() const { return impl_->game->measurements(); }

std::vector<std::string> Environment::operator_names() {
  std::vector<std::string> names;
  for (size_t i = 0; i < tg::kOpCount; ++i)
    names.emplace_back(tg::op_info(static_cast<tg::OpKind>(i)).name);
  return names;
}

} // namespace tangram
