#include "compiler/search/baselines/rollout.h"

#include "compiler/egraph/apply.h"
#include "lang/core/support/stop.h"

#include <algorithm>
#include <cassert>
#include <random>

namespace tg {

namespace {

class Rollouts {
public:
  Rollouts(EGraph& egraph, llvm::ArrayRef<Rule> rules, const RolloutOptions& options,
           StateCost cost)
      : egraph_(egraph), options_(options), cost_(cost), book_(egraph.symbols(), rules),
        matcher_(egraph, book_), joiner_(egraph, book_), cycles_(egraph),
        applier_(egraph, &cycles_, options.cycle_filter), rng_(options.seed) {
    report_.rules.resize(rules.size());
    std::vector<bool> in_use = rules_in_use(rules, options.numerics,
                                            [&](OpKind op) { return !egraph.with_op(op).empty(); });
    for (const CompiledRule& rule : book_.rules())
      if (in_use[rule.id]) enabled_.push_back(&rule);
  }

  RolloutReport run();

private:
  void roll();
  bool step();
  bool apply(const CompiledRule& rule);
  size_t search(const CompiledRule& rule);
  size_t search_single(const CompiledRule& rule);
  Outcome apply_row(const CompiledRule& rule, size_t row);
  void break_cycles();
  uint32_t draw(size_t bound) { return static_cast<uint32_t>(rng_() % bound); }
  size_t memory_bytes() const {
    return egraph_.memory_bytes() + matcher_.memory_bytes() + joiner_.memory_bytes() +
           cycles_.memory_bytes() + applier_.memory_bytes() + rows_.memory_bytes() +
           joint_.rows.memory_bytes() + best_.memory_bytes();
  }
  template <class T> void shuffle(std::vector<T>& items, size_t count);
  double elapsed() const { return watch_.seconds(); }

  EGraph& egraph_;
  const RolloutOptions& options_;
  StateCost cost_;
  RuleBook book_;
  Matcher matcher_;
  Joiner joiner_;
  Cycles cycles_;
  Applier applier_;
  std::mt19937_64 rng_;
  std::vector<const CompiledRule*> enabled_;
  Rows rows_;
  JointRows joint_;
  RolloutReport report_;
  Checkpoint root_;
  Delta best_;
  Stopwatch watch_;
};

RolloutReport Rollouts::run() {
  egraph_.rebuild();
  break_cycles();
  report_.start_cost = report_.best_cost = cost_(egraph_);
  root_ = egraph_.checkpoint();
  while (report_.rollouts < options_.rollouts) {
    if (auto reason = options_.reached(elapsed(), memory_bytes())) {
      report_.stop = *reason;
      break;
    }
    if (options_.trace)
      options_.trace->set_column(static_cast<size_t>(report_.rollouts),
                                 static_cast<size_t>(options_.rollouts));
    roll();
    ++report_.rollouts;
  }
  if (report_.best_rollout >= 0) {
    [[maybe_unused]] bool done = egraph_.redo(best_);
    assert(done && "redo() requires the state in which the change was made");
  }
  egraph_.release(root_);
  report_.nodes = node_count(egraph_);
  report_.classes = class_count(egraph_);
  report_.seconds = elapsed();
  return std::move(report_);
}

/// Runs one rollout from the root. Keeps the changes that led to its best state if that state is
/// the best of all rollouts.
void Rollouts::roll() {
  break_cycles(); // the cycle filter's order belongs to another state
  double best = report_.start_cost;
  Checkpoint at = root_, best_at = root_;
  for (int i = 0; i < options_.depth && node_count(egraph_) < options_.node_limit; ++i) {
    if (!step()) break;
    ++report_.steps;
    at = egraph_.checkpoint();
    if (double price = cost_(egraph_); price < best) best = price, best_at = at;
  }
  report_.costs.push_back(best);
  if (best >= report_.best_cost) return egraph_.rollback(root_);
  egraph_.rollback(best_at);
  best_ = egraph_.take_back(root_);
  report_.best_cost = best;
  report_.best_rollout = report_.rollouts;
  if (options_.trace)
    options_.trace->points.push_back({elapsed(), best, static_cast<size_t>(report_.rollouts) + 1,
                                      best_.result_counters.live_nodes, ""});
}

/// Applies the rules in a random order until one changes the e-graph.
bool Rollouts::step() {
  std::vector<const CompiledRule*> order = enabled_;
  for (size_t i = 0; i < order.size(); ++i) {
    std::swap(order[i], order[i + draw(order.size() - i)]);
    if (apply(*order[i])) return true;
  }
  return false;
}

template <class T> void Rollouts::shuffle(std::vector<T>& items, size_t count) {
  for (size_t i = 0; i < count; ++i) std::swap(items[i], items[i + draw(items.size() - i)]);
}

bool Rollouts::apply(const CompiledRule& rule) {
  uint32_t mark = egraph_.change_mark();
  size_t found = search(rule);
  RuleStats& stats = report_.rules[rule.id];
  size_t applied_before = stats.applied;
  stats.matches += found;
  if (found == 0) return false;
  std::vector<uint32_t> order(found);
  for (uint32_t i = 0; i < found; ++i) order[i] = i;
  size_t count = std::min(found, options_.step_matches);
  shuffle(order, count);
  order.resize(count);
  bool news = false;
  for (uint32_t row : order) {
    if (node_count(egraph_) >= options_.node_limit) break;
    Outcome outcome = apply_row(rule, row);
    stats.applied += outcome == Outcome::Applied;
    stats.cyclic += outcome == Outcome::Cyclic;
    news |= outcome == Outcome::Applied;
  }
  if (options_.trace) options_.trace->apply(rule.id, stats.applied - applied_before);
  // Matches that were skipped must be found again later.
  if (count == found && found < options_.node_limit) egraph_.set_rule_seen(rule.id, mark);
  egraph_.rebuild();
  break_cycles();
  return news;
}

size_t Rollouts::search(const CompiledRule& rule) {
  auto never = [] { return false; };
  uint32_t since = egraph_.rule_seen(rule.id);
  rows_.clear();
  if (rule.multi()) {
    joiner_.clear();
    JointCursor cursor;
    joiner_.search(rule, since, never);
    joiner_.start(rule, cursor, never);
    joint_ = cursor.form();
    cursor.fill(options_.node_limit, joint_, never); // more matches could not be applied
    return joint_.rows.size();
  }
  matcher_.search_since(since);
  if (rule.native())
    matcher_.search_pointwise(rows_);
  else
    return search_single(rule);
  return rows_.size();
}

size_t Rollouts::search_single(const CompiledRule& rule) {
  size_t start = 0;
  matcher_.search(book_.patterns()[rule.sources[0].pattern], options_.node_limit, start, rows_,
                  [] { return false; });
  return rows_.size();
}

Outcome Rollouts::apply_row(const CompiledRule& rule, size_t row) {
  if (rule.multi()) return applier_.apply_joint(rule, joint_, row);
  if (rule.native()) return applier_.apply_native(rule, {rows_[row][0]});
  return applier_.apply_single(rule, rows_[row]);
}

void Rollouts::break_cycles() {
  if (options_.cycle_filter != CycleFilter::None) cycles_.break_cycles();
}

} // namespace

RolloutReport search_rollouts(EGraph& egraph, llvm::ArrayRef<Rule> rules,
                              const RolloutOptions& options, StateCost cost) {
  return Rollouts(egraph, rules, options, cost).run();
}

} // namespace tg
