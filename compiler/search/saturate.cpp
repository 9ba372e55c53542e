#include "compiler/search/saturate.h"

#include "compiler/egraph/apply.h"
#include "compiler/egraph/match/match_tally.h"
#include "compiler/egraph/match/multi_match.h"
#include "compiler/search/limits.h"
#include "lang/core/support/stop.h"

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

/// Matches of one rule that wait to be applied.
struct PendingMatches {
  const CompiledRule* rule = nullptr;
  const Rows* rows = nullptr; // single-pattern rules: all matches
  JointCursor joint;          // multi-pattern rules: joined on demand
  size_t next = 0;            // next entry of `rows`
  bool done = false;
  bool partial = false; // the search stopped at a limit
};

/// Implements egg 0.9's BackoffScheduler with its defaults.
struct Backoff {
  static constexpr size_t kMatchLimit = 1000;
  static constexpr int kBanLength = 5;
  int times = 0, until = 0;
};

class Saturation {
public:
  Saturation(EGraph& egraph, llvm::ArrayRef<Rule> rules, const SaturateOptions& options)
      : egraph_(egraph), options_(options), book_(egraph.symbols(), rules), matcher_(egraph, book_),
        tally_(egraph, book_), joiner_(egraph, book_), cycles_(egraph),
        applier_(egraph, &cycles_, options.cycle_filter), rows_(book_.patterns().size()),
        totals_(rows_.size()), partial_(rows_.size()), resume_(rows_.size()),
        backoff_(rules.size()) {
    report_.rules.resize(rules.size());
    report_.seed = options.seed;
  }

  SaturateReport run();

private:
  /// Number of rows applied before the next rule is served.
  static constexpr size_t kTurn = 256;

  bool iterate(int iteration);
  bool run_multi();
  bool run_single(int iteration);
  bool enabled(const CompiledRule& rule) const;
  uint32_t oldest_mark(bool multi) const;
  bool search_single(std::vector<PendingMatches>& pending_matches);
  bool search_pattern(uint32_t index, Rows& rows);
  void search_compatible(int iteration, std::vector<PendingMatches>& pending_matches);
  void tally_pattern(uint32_t index, size_t limit);
  bool banned(const CompiledRule& rule, int iteration);
  void ban(const CompiledRule& rule, int iteration);
  bool finish(std::vector<PendingMatches>& pending_matches, uint32_t mark, bool complete);
  bool apply_pending(std::vector<PendingMatches>& pending_matches);
  bool apply_single(PendingMatches& turn);
  bool apply_joint(PendingMatches& turn);
  void count(const PendingMatches& turn, Outcome outcome);
  void rebuild();
  bool multi_spent() const {
    return options_.multi_node_limit != 0 && multi_nodes_ >= options_.multi_node_limit;
  }
  bool over_limit();
  bool stop_now();
  void notify();
  void note(llvm::ArrayRef<RuleStats> before);
  size_t memory_bytes() const;
  /// Adds the time since the last call to a phase of the report.
  void phase(double& seconds) {
    double now = elapsed();
    seconds += now - phase_start_;
    phase_start_ = now;
  }
  double elapsed() const { return watch_.seconds(); }

  EGraph& egraph_;
  const SaturateOptions& options_;
  RuleBook book_;
  Matcher matcher_;
  MatchTally tally_; // for the compatible mode
  Joiner joiner_;
  Cycles cycles_;
  Applier applier_;
  // By pattern, in this iteration: the matches to apply, their total number (compatible mode),
  // whether there are more, and where to resume.
  std::vector<std::optional<Rows>> rows_;
  std::vector<size_t> totals_;
  std::vector<bool> partial_;
  std::vector<size_t> resume_;
  Rows pointwise_;
  std::vector<Backoff> backoff_;
  SaturateReport report_;
  Stopwatch watch_;
  size_t waiting_bytes_ = 0; // for waiting joins of three and more patterns
  double phase_start_ = 0, notified_s_ = -kBetweenNotificationsS;
  size_t multi_nodes_ = 0; // by multi-pattern rules so far
  size_t asked_ = 0;
  bool stopped_ = false;
  bool news_ = false;
  bool any_left_ = false; // matches were skipped in this iteration
};

SaturateReport Saturation::run() {
  egraph_.reserve(std::min<size_t>(options_.node_limit, size_t{1} << 20));
  egraph_.rebuild();
  rebuild();
  phase(report_.rebuild_s);
  report_.stop = StopReason::Iterations;
  for (int i = 0; i < options_.iterations; ++i) {
    if (over_limit()) break;
    ++report_.iterations;
    std::vector<RuleStats> before = report_.rules;
    bool whole = iterate(i);
    note(before);
    if (!whole) break;
    if (!news_ && !any_left_ && i + 1 >= options_.multi_iterations) {
      report_.stop = StopReason::Saturated;
      break;
    }
  }
  report_.nodes = node_count(egraph_);
  report_.classes = class_count(egraph_);
  report_.filtered = filtered_count(egraph_);
  for (const RuleStats& stats : report_.rules) report_.matches += stats.matches;
  report_.seconds = elapsed();
  return report_;
}

/// Adds a trace column for the iteration.
void Saturation::note(llvm::ArrayRef<RuleStats> before) {
  if (!options_.trace) return;
  for (size_t r = 0; r < before.size(); ++r)
    options_.trace->apply(static_cast<RuleId>(r), report_.rules[r].applied - before[r].applied);
  ++options_.trace->columns;
}

/// Returns false if a limit stopped it. The e-graph is rebuilt and filtered in any case.
bool Saturation::iterate(int iteration) {
  news_ = false;
  if (iteration < options_.multi_iterations && !run_multi()) return false;
  return run_single(iteration);
}

/// Rebuilds and breaks cycles.
void Saturation::rebuild() {
  report_.memory_bytes = std::max(report_.memory_bytes, memory_bytes());
  egraph_.rebuild();
  if (options_.cycle_filter != CycleFilter::None) cycles_.break_cycles();
#ifdef TG_VERIFY
  if (node_count(egraph_) <= 20'000) assert(verify(egraph_).empty());
#endif
}

bool Saturation::enabled(const CompiledRule& rule) const {
  return admits(options_.numerics, *rule.rule);
}

/// Returns the oldest mark of the rules of one kind. Patterns are shared, so the rules share it.
uint32_t Saturation::oldest_mark(bool multi) const {
  uint32_t mark = egraph_.change_mark();
  for (const CompiledRule& rule : book_.rules())
    if (rule.multi() == multi && enabled(rule))
      mark = std::min(mark, options_.compatible ? 0 : egraph_.rule_seen(rule.id));
  return mark;
}

// --- several patterns ------------------------------------------------------------------------

bool Saturation::run_multi() {
  auto stop = [&] { return stop_now(); };
  std::vector<PendingMatches> pending_matches;
  uint32_t mark = egraph_.change_mark();
  joiner_.clear();
  bool complete = true;
  uint32_t since = oldest_mark(true);
  for (const CompiledRule& rule : book_.rules()) {
    if (!rule.multi() || !enabled(rule)) continue;
    PendingMatches turn;
    turn.rule = &rule;
    complete = joiner_.search(rule, since, stop) && joiner_.start(rule, turn.joint, stop);
    if (!complete) break;
    waiting_bytes_ += turn.joint.memory_bytes();
    pending_matches.push_back(std::move(turn));
  }
  return finish(pending_matches, mark, complete);
}

// --- one pattern -----------------------------------------------------------------------------

bool Saturation::run_single(int iteration) {
  std::vector<PendingMatches> pending_matches;
  uint32_t mark = egraph_.change_mark();
  for (auto& rows : rows_) rows.reset();
  pointwise_.clear();
  any_left_ = false;
  bool complete = true;
  if (options_.compatible)
    search_compatible(iteration, pending_matches);
  else
    complete = search_single(pending_matches);
  return finish(pending_matches, mark, complete);
}

bool Saturation::search_single(std::vector<PendingMatches>& pending_matches) {
  matcher_.search_since(oldest_mark(false));
  for (const CompiledRule& rule : book_.rules()) {
    if (rule.multi() || !enabled(rule)) continue;
    PendingMatches turn;
    turn.rule = &rule;
    if (rule.native()) {
      if (pointwise_.words.empty()) matcher_.search_pointwise(pointwise_);
      turn.rows = &pointwise_;
    } else {
      std::optional<Rows>& rows = rows_[rule.sources[0].pattern];
      if (!rows) {
        rows.emplace();
        if (!search_pattern(rule.sources[0].pattern, *rows)) return false;
      }
      turn.rows = &*rows;
      turn.partial = partial_[rule.sources[0].pattern];
    }
    report_.rules[rule.id].matches += turn.rows->size();
    pending_matches.push_back(std::move(turn));
  }
  return true;
}

/// Searches one pattern for at most as many matches as the e-graph may have nodes; the others
/// follow in later iterations. Returns false if stopped.
bool Saturation::search_pattern(uint32_t index, Rows& rows) {
  const Pattern& pattern = book_.patterns()[index];
  size_t limit = std::max<size_t>(options_.node_limit, 1);
  Matcher::End end =
      matcher_.search(pattern, limit, resume_[index], rows, [&] { return stop_now(); });
  partial_[index] = end == Matcher::End::Limit;
  any_left_ |= partial_[index];
  return end != Matcher::End::Stopped;
}

/// Counts all matches, but applies only those that are new since the rule was last applied, because
/// the e-graph contains the results of the others. Rules that share a pattern have the same matches
/// and hence the same bans. A pattern that was banned is searched from scratch.
void Saturation::search_compatible(int iteration, std::vector<PendingMatches>& pending_matches) {
  tally_.look();
  for (const CompiledRule& rule : book_.rules()) {
    if (rule.multi() || !enabled(rule) || banned(rule, iteration)) continue;
    size_t matches = 0, limit = Backoff::kMatchLimit << backoff_[rule.id].times;
    const Rows* rows = &pointwise_;
    if (rule.native()) {
      if (pointwise_.words.empty()) {
        matcher_.search_since(0);
        matcher_.search_pointwise(pointwise_);
      }
      matches = pointwise_.size();
    } else {
      uint32_t pattern = rule.sources[0].pattern;
      tally_pattern(pattern, limit);
      rows = &*rows_[pattern];
      matches = totals_[pattern];
    }
    if (matches > limit) {
      ban(rule, iteration);
      continue;
    }
    report_.rules[rule.id].matches += matches;
    if (rows->size() == 0) continue;
    PendingMatches& turn = pending_matches.emplace_back();
    turn.rule = &rule;
    turn.rows = rows;
  }
}

/// Searches a pattern, once per iteration.
void Saturation::tally_pattern(uint32_t index, size_t limit) {
  if (rows_[index]) return;
  // The vanilla cycle filter may admit a match later that it refused before.
  bool afresh = options_.cycle_filter == CycleFilter::Vanilla;
  totals_[index] = tally_.search(index, limit, afresh, rows_[index].emplace());
}

bool Saturation::banned(const CompiledRule& rule, int iteration) {
  bool yes = iteration < backoff_[rule.id].until;
  any_left_ |= yes;
  return yes;
}

void Saturation::ban(const CompiledRule& rule, int iteration) {
  Backoff& backoff = backoff_[rule.id];
  backoff.until = iteration + (Backoff::kBanLength << backoff.times);
  ++backoff.times;
  ++report_.rules[rule.id].bans;
  any_left_ = true;
}

/// Applies the matches if the search was complete, then rebuilds. Only rules whose matches were all
/// applied count as run up to the mark.
bool Saturation::finish(std::vector<PendingMatches>& pending_matches, uint32_t mark,
                        bool complete) {
  phase(report_.search_s);
  complete = complete && apply_pending(pending_matches);
  phase(report_.apply_s);
  if (complete)
    for (const PendingMatches& turn : pending_matches)
      if (!turn.partial) egraph_.set_rule_seen(turn.rule->id, mark);
  waiting_bytes_ = 0;
  rebuild();
  phase(report_.rebuild_s);
  return complete && !over_limit();
}

// --- applying --------------------------------------------------------------------------------

bool Saturation::apply_pending(std::vector<PendingMatches>& pending_matches) {
  bool open = true;
  while (open) {
    open = false;
    for (PendingMatches& turn : pending_matches) {
      if (turn.done) continue;
      do {
        if (!(turn.rule->multi() ? apply_joint(turn) : apply_single(turn))) return false;
      } while (options_.compatible && !turn.done);
      open |= !turn.done;
    }
  }
  return true;
}

/// Applies the next rows of a single-pattern rule. Returns false if stopped.
bool Saturation::apply_single(PendingMatches& turn) {
  size_t end = std::min(turn.next + kTurn, turn.rows->size());
  for (; turn.next < end; ++turn.next) {
    if (stop_now()) return false;
    const uint32_t* row = (*turn.rows)[turn.next];
    count(turn, turn.rule->native() ? applier_.apply_native(*turn.rule, {*row})
                                    : applier_.apply_single(*turn.rule, row));
  }
  turn.done = end == turn.rows->size();
  return true;
}

/// Applies the next rows of a join. Returns false if stopped.
bool Saturation::apply_joint(PendingMatches& turn) {
  JointRows chunk = turn.joint.form();
  if (!turn.joint.fill(kTurn, chunk, [&] { return stop_now(); })) return false;
  report_.rules[turn.rule->id].matches += chunk.rows.size();
  for (size_t row = 0; row < chunk.rows.size() && !multi_spent(); ++row) {
    if (stop_now()) return false;
    size_t before = egraph_.node_bound();
    count(turn, applier_.apply_joint(*turn.rule, chunk, row));
    multi_nodes_ += egraph_.node_bound() - before;
  }
  turn.done = chunk.rows.size() < kTurn || multi_spent();
  return true;
}

void Saturation::count(const PendingMatches& turn, Outcome outcome) {
  RuleStats& stats = report_.rules[turn.rule->id];
  stats.applied += outcome == Outcome::Applied;
  stats.cyclic += outcome == Outcome::Cyclic;
  news_ |= outcome == Outcome::Applied;
}

// --- limits ----------------------------------------------------------------------------------

size_t Saturation::memory_bytes() const {
  size_t bytes = egraph_.memory_bytes() + matcher_.memory_bytes() + tally_.memory_bytes() +
                 joiner_.memory_bytes() + cycles_.memory_bytes() + applier_.memory_bytes() +
                 waiting_bytes_ + pointwise_.memory_bytes();
  for (const auto& rows : rows_)
    if (rows) bytes += rows->memory_bytes();
  return bytes;
}

/// Called with every check of the limits, which is often enough.
void Saturation::notify() {
  if (!options_.progress || elapsed() - notified_s_ < kBetweenNotificationsS) return;
  notified_s_ = elapsed();
  options_.progress(node_count(egraph_));
}

bool Saturation::over_limit() {
  notify();
  if (node_count(egraph_) >= options_.node_limit)
    report_.stop = StopReason::Nodes;
  else if (auto reason = options_.reached(elapsed(), memory_bytes()))
    report_.stop = *reason;
  else
    return false;
  return true;
}

/// Called before each application and periodically while searching. Checks the nodes each time, and
/// the more expensive clock and memory every 64 times.
bool Saturation::stop_now() {
  if (options_.compatible || stopped_) return stopped_;
  bool look = node_count(egraph_) >= options_.node_limit || (++asked_ & 63) == 0;
  return stopped_ = look && over_limit();
}

} // namespace

SaturateReport saturate(EGraph& egraph, llvm::ArrayRef<Rule> rules,
                        const SaturateOptions& options) {
  return Saturation(egraph, rules, options).run();
}

} // namespace tg
