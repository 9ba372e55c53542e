// The tree is searched best bound first, but after branching one child is solved at once, so
// that the basis is near and choices are found early. An open node is the list of bounds
// that lead to it.
#include "compiler/extract/solver/branch_cut.h"

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/solver/cycle_cuts.h"
#include "compiler/extract/solver/funnel_cuts.h"
#include "compiler/extract/solver/local_bounds.h"
#include "compiler/extract/solver/lp.h"
#include "compiler/extract/solver/reduce.h"

#include <llvm/ADT/MapVector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kIntegral = 1e-6;

/// Builds the rows and columns of branch_cut.h: x(n) at column n, y(c) after them.
class ModelBuilder {
public:
  explicit ModelBuilder(const ExtractionProblem& problem) : problem_(problem) {}

  MipModel build() {
    for (uint32_t n = 0; n < problem_.node_count(); ++n) {
      bool usable = problem_.usable({n});
      model_.add_column(usable ? problem_.cost({n}) : 0, 0, usable ? 1 : 0, true);
    }
    for (uint32_t c = 0; c < problem_.class_count(); ++c) model_.add_column(0, 0, 1, true);
    for (ClassIx root : problem_.roots()) model_.lower[y(root)] = 1;
    for (uint32_t c = 0; c < problem_.class_count(); ++c) add_rows({c});
    return std::move(model_);
  }

private:
  using Row = llvm::SmallVector<MipModel::Entry, 16>;

  int32_t y(ClassIx cls) const { return static_cast<int32_t>(problem_.node_count() + cls.index); }

  void add_rows(ClassIx cls) {
    Row row{{y(cls), 1}};
    for (NodeIx n : problem_.nodes(cls)) row.push_back({static_cast<int32_t>(n.index), -1});
    model_.add_row(row, 0, 0);
    llvm::MapVector<uint32_t, Row> users; // by class
    Row needed{{y(cls), 1}};
    for (NodeIx n : problem_.users(cls)) {
      if (!problem_.usable(n)) continue;
      users[problem_.class_of(n).index].push_back({static_cast<int32_t>(n.index), -1});
      needed.push_back({static_cast<int32_t>(n.index), -1});
    }
    bool root = model_.lower[static_cast<size_t>(y(cls))] > 0;
    if (!root)
      for (auto& [user, nodes] : users) {
        nodes.push_back({y(cls), 1});
        model_.add_row(nodes, 0, kNoBound);
      }
    if (!root && problem_.has_rewards()) model_.add_row(needed, -kNoBound, 0);
  }

  const ExtractionProblem& problem_;
  MipModel model_;
};

class BranchCut {
public:
  BranchCut(const ExtractionProblem& problem, double cutoff, double unit,
            const BranchCutLimits& limits, const BranchCutEvents& events, Clock::time_point start,
            int restarts = 0)
      : problem_(problem), limits_(limits), iterations_left_(limits.iterations), events_(events),
        start_(start), restarts_(restarts), cutoff_(cutoff), unit_(unit), cutter_(problem),
        funnels_(problem), model_(ModelBuilder(problem).build()), lp_(model_) {}

  BranchCutResult run() {
    Outcome root = solve_root();
    if (root == Outcome::Open) root = search();
    if (root == Outcome::Restart) return restart();
    if (root == Outcome::Stopped) result_.proven = false;
    return result_;
  }

private:
  enum class Outcome { Closed, Open, Restart, Stopped };
  /// A solved relaxation.
  struct Relaxation {
    double objective = 0;
    std::vector<double> solution, reduced_costs; // by column
    void take(const LinearProgram& lp) {
      objective = lp.objective();
      solution.assign(lp.solution().begin(), lp.solution().end());
      reduced_costs = lp.reduced_costs();
    }
  };
  struct Change {
    uint32_t column;
    bool one;
  };
  struct Open {
    double bound;
    int64_t order; // of creation, for ties
    std::vector<Change> path;
    bool operator<(const Open& other) const { // the queue's top has the least bound
      return bound != other.bound ? bound > other.bound : order < other.order;
    }
  };

  double left() const {
    return limits_.seconds - std::chrono::duration<double>(Clock::now() - start_).count();
  }
  bool late() const {
    return left() <= 0 || iterations_left_ <= 0 || (events_.stop && events_.stop());
  }
  LinearProgram::Status solve(int64_t iterations) {
    LinearProgram::Status status = lp_.solve(left(), std::min(iterations, iterations_left_));
    iterations_left_ -= lp_.iterations();
    return status;
  }
  size_t y(ClassIx cls) const { return problem_.node_count() + cls.index; }

  /// The least cost that is not of interest.
  double threshold() const { return below_cutoff(cutoff_, unit_); }

  void raise_bound(double bound) {
    bound = std::min(bound, cutoff_);
    if (bound <= result_.bound) return;
    result_.bound = bound;
    events_.bound(bound);
  }
  Outcome closed() {
    result_.proven = true;
    raise_bound(cutoff_);
    return Outcome::Closed;
  }

  // --- the root ---------------------------------------------------------------------------------

  Outcome solve_root() {
    constexpr int kMostRounds = 200, kMostIdle = 4;
    constexpr double kLeastGain = 0.02; // of the gap, over some rounds
    LocalBounds bounds(problem_);
    base_rows_ = lp_.rows();
    double last = -kInfiniteCost;
    for (int round = 0, idle = 0; round < kMostRounds && idle < kMostIdle; ++round) {
      LinearProgram::Status status = solve(INT64_MAX);
      if (status == LinearProgram::Status::Infeasible) return closed();
      if (status == LinearProgram::Status::Stopped) return Outcome::Stopped;
      double bound = lp_.objective();
      raise_bound(bound);
      if (bound >= threshold()) return closed();
      if (round % 4 == 0) round_off();
      if (bound >= threshold()) return closed();
      root_.take(lp_);
      fix_by_reduced_cost();
      if (should_restart()) return Outcome::Restart;
      bool gained = bound - last > kLeastGain * std::max(cutoff_ - bound, 1e-9);
      idle = gained ? 0 : idle + 1;
      if (gained) last = bound;
      drop_slack_rows();
      if (cut(100) + cut_funnels(100) + (bounds.empty() ? 0 : add_local_bounds(bounds)) == 0) break;
    }
    round_off();
    if (result_.bound >= threshold()) return closed();
    return Outcome::Open;
  }

  /// Returns true if enough nodes are fixed at 0 that reductions (reduce.h) will find more.
  /// Restarts are nested, so their number is limited.
  bool should_restart() const {
    constexpr double kShare = 0.03;
    constexpr int kMostRestarts = 12;
    if (restarts_ == kMostRestarts) return false;
    size_t usable = 0;
    for (uint32_t n = 0; n < problem_.node_count(); ++n) usable += problem_.usable({n});
    return static_cast<double>(fixed_) / static_cast<double>(usable) > kShare;
  }

  /// Adds rows for violated cycles.
  size_t cut(size_t most) {
    if (!cutter_.needed()) return 0;
    return add(cutter_.separate(lp_.solution().take_front(problem_.node_count()), most));
  }

  /// Adds rows for classes that all alternatives need.
  size_t cut_funnels(size_t most) {
    return add(funnels_.separate(lp_.solution().take_front(problem_.node_count()), most));
  }

  size_t add(llvm::ArrayRef<FoundedCut> cuts) {
    for (const FoundedCut& cut : cuts) {
      llvm::SmallVector<MipModel::Entry, 16> row{{static_cast<int32_t>(y(cut.target)), -1}};
      for (NodeIx n : cut.support) row.push_back({static_cast<int32_t>(n.index), 1});
      lp_.add_row(row, 0, kNoBound);
    }
    return cuts.size();
  }

  /// Adds the most violated rows of local_bounds.h, relative to the bound.
  size_t add_local_bounds(const LocalBounds& bounds) {
    constexpr size_t kMostRows = 30;
    llvm::ArrayRef<double> x = lp_.solution();
    std::vector<double> paid(problem_.class_count());
    for (uint32_t n = 0; n < problem_.node_count(); ++n)
      paid[problem_.class_of({n}).index] += x[n] * problem_.cost({n});
    std::vector<std::pair<double, uint32_t>> violated;
    for (uint32_t c = 0; c < problem_.class_count(); ++c) {
      if (x[y({c})] < kViolation || bounds.of(ClassIx{c}) <= 0) continue;
      double needed = 0, found = 0;
      for (NodeIx n : problem_.nodes({c}))
        if (x[n.index] > kIntegral && problem_.usable(n)) needed += bounds.of(n) * x[n.index];
      for (unsigned below : bounds.below({c}).set_bits()) found += paid[below];
      if (found < needed * (1 - kViolation)) violated.push_back({found / needed, c});
    }
    llvm::sort(violated);
    if (violated.size() > kMostRows) violated.resize(kMostRows);
    for (auto [ratio, c] : violated) add_local_bound(bounds, {c});
    return violated.size();
  }

  void add_local_bound(const LocalBounds& bounds, ClassIx cls) {
    llvm::SmallVector<MipModel::Entry, 64> row;
    double scale = 1 / bounds.of(cls);
    for (unsigned below : bounds.below(cls).set_bits())
      for (NodeIx n : problem_.nodes({below})) {
        if (!problem_.usable(n) || bounds.of(n) == kInfiniteCost) continue;
        double factor = problem_.cost(n) - (below == cls.index ? bounds.of(n) : 0);
        if (factor != 0) row.push_back({static_cast<int32_t>(n.index), factor * scale});
      }
    lp_.add_row(row, 0, kNoBound);
  }

  /// Drops cuts that no longer bind, since they only make solving slower.
  void drop_slack_rows() {
    constexpr double kSlack = 0.1;
    constexpr size_t kTolerated = 300;
    if (lp_.rows() < base_rows_ + kTolerated + base_rows_ / 2) return;
    std::vector<int> rows;
    for (size_t r = base_rows_; r < lp_.rows(); ++r)
      if (lp_.slack(r) > kSlack) rows.push_back(static_cast<int>(r));
    lp_.delete_rows(rows);
  }

  /// Fixes columns that cannot be 1, or 0, in a choice below the cutoff, by the root's relaxation.
  void fix_by_reduced_cost() {
    fixed_for_ = cutoff_;
    double gap = threshold() - root_.objective;
    llvm::ArrayRef<double> cost = root_.reduced_costs, x = root_.solution;
    for (uint32_t j = 0; j < model_.columns(); ++j) {
      if (model_.lower[j] == model_.upper[j]) continue;
      if (x[j] < kIntegral && cost[j] > gap) {
        model_.upper[j] = 0;
      } else if (x[j] > 1 - kIntegral && -cost[j] > gap) {
        model_.lower[j] = 1;
      } else {
        continue;
      }
      // Only removed nodes make the next problem smaller and justify a restart.
      fixed_ += j < problem_.node_count() && model_.upper[j] == 0;
      lp_.set_bounds(j, model_.lower[j], model_.upper[j]);
    }
  }

  /// Reduces the problem without the nodes that were fixed at 0, and solves it from the start.
  BranchCutResult restart() {
    ExtractionProblem rest;
    for (uint32_t c = 0; c < problem_.class_count(); ++c) rest.add_class();
    for (uint32_t n = 0; n < problem_.node_count(); ++n) {
      ClassIx cls = problem_.class_of({n});
      NodeIx added = rest.add_node(cls, problem_.cost({n}), problem_.children({n}));
      if (!problem_.usable({n}) || model_.upper[n] == 0 || model_.upper[y(cls)] == 0)
        rest.forbid(added);
    }
    for (ClassIx root : problem_.roots()) rest.add_root(root);
    // A class in every choice of interest becomes a root. Not with rewards: a root needs no user,
    // so its reward would always count.
    if (!problem_.has_rewards())
      for (uint32_t c = 0; c < problem_.class_count(); ++c)
        if (model_.lower[y({c})] == 1) rest.add_root({c});
    rest.seal();
    GreedyResult greedy = greedy_trees(rest);
    for (ClassIx root : rest.roots())
      if (!greedy.choice[root].valid()) return closed(), result_; // nothing is below the cutoff
    std::optional<ReducedProblem> reduced = reduce(rest, greedy, [this] { return late(); });
    if (!reduced) return result_;
    auto take = [&](const Choice& choice, double) { offer(reduced->expand(rest, choice)); };
    auto raise = [&](double bound) { raise_bound(bound); };
    BranchCutLimits limits = limits_;
    limits.iterations = iterations_left_;
    BranchCutResult inner = BranchCut(reduced->problem, cutoff_, unit_, limits,
                                      {take, raise, events_.stop}, start_, restarts_ + 1)
                                .run();
    inner.bound = std::max(inner.bound, result_.bound);
    return inner;
  }

  // --- choices -----------------------------------------------------------------------------------

  void offer(Choice choice) {
    CheckedChoice figures = check_choice(problem_, choice);
    if (!figures.ok() || figures.dag_cost >= cutoff_) return;
    cutoff_ = figures.dag_cost;
    events_.choice(choice, figures.dag_cost);
  }

  void round_off() {
    if (std::optional<Choice> choice = extract_rounded(problem_, lp_.solution()))
      offer(std::move(*choice));
  }

  /// Takes the solution if all its columns are integral. Returns false if some are not.
  bool take_integral() {
    llvm::ArrayRef<double> x = lp_.solution();
    Choice choice(problem_.class_count());
    for (uint32_t n = 0; n < problem_.node_count(); ++n) {
      if (std::abs(x[n] - std::round(x[n])) > kIntegral) return false;
      if (x[n] > 0.5) choice.node[problem_.class_of({n}).index] = {n};
    }
    offer(std::move(choice));
    return true;
  }

  // --- the tree ----------------------------------------------------------------------------------

  Outcome search() {
    std::priority_queue<Open> open;
    open.push({result_.bound, 0, {}});
    std::optional<Open> next;
    while (next || !open.empty()) {
      if (!next) {
        next = open.top();
        open.pop();
        apply(next->path);
      }
      double least = open.empty() ? next->bound : std::min(next->bound, open.top().bound);
      raise_bound(std::min(least, given_up_));
      if (least >= threshold()) break;
      if (late() || result_.nodes >= limits_.nodes) return Outcome::Open;
      next = visit(std::move(*next), open);
      if (cutoff_ < fixed_for_) fix_by_reduced_cost();
      if (should_restart()) return Outcome::Restart;
    }
    raise_bound(given_up_);
    return given_up_ < threshold() ? Outcome::Stopped : closed();
  }

  /// Applies the root's bounds, then those of the path.
  void apply(llvm::ArrayRef<Change> path) {
    for (uint32_t j = 0; j < model_.columns(); ++j)
      lp_.set_bounds(j, model_.lower[j], model_.upper[j]);
    for (Change change : path) apply(change);
  }
  void apply(Change change) {
    lp_.set_bounds(change.column, change.one ? 1 : 0, change.one ? 1 : 0);
  }

  /// Solves and cuts at a node. Returns its first child, or nothing if it is closed.
  std::optional<Open> visit(Open node, std::priority_queue<Open>& open) {
    constexpr int kMostRounds = 3;
    ++result_.nodes;
    int64_t iterations = limits_.iterations_of_node;
    for (int round = 0;; ++round) {
      LinearProgram::Status status = solve(iterations);
      iterations -= lp_.iterations();
      if (status == LinearProgram::Status::Infeasible) return std::nullopt;
      if (status == LinearProgram::Status::Stopped) {
        // Out of time or numerically lost. It must not be reopened: it would be first again,
        // and lost again.
        given_up_ = std::min(given_up_, node.bound);
        return std::nullopt;
      }
      node.bound = std::max(node.bound, lp_.objective());
      if (node.bound >= threshold()) return std::nullopt;
      size_t cuts = round < kMostRounds ? cut(30) : 0;
      if (cuts > 0) continue;
      if (!take_integral()) break;
      if (lp_.objective() >= threshold()) return std::nullopt;
      if (cut(30) == 0) return std::nullopt; // integral and sound, but of no interest
    }
    if (result_.nodes % 8 == 1) round_off();
    drop_slack_rows();
    return branch(std::move(node), open);
  }

  /// Branches on a fractional class if there is one, otherwise on a node; prefers the most
  /// decisive.
  std::optional<Open> branch(Open node, std::priority_queue<Open>& open) {
    llvm::ArrayRef<double> x = lp_.solution();
    double best = 0;
    uint32_t column = 0;
    for (uint32_t j = 0; j < model_.columns(); ++j) {
      double half = std::min(x[j], 1 - x[j]);
      if (half < kIntegral) continue;
      double score = half * weight(j);
      if (score > best) {
        best = score;
        column = j;
      }
    }
    if (best == 0) return std::nullopt;
    bool one = x[column] >= 0.5;
    Open other = node;
    other.order = ++created_;
    other.path.push_back({column, !one});
    open.push(std::move(other));
    node.path.push_back({column, one});
    node.order = ++created_;
    apply(node.path.back());
    return node;
  }

  double weight(uint32_t column) const {
    if (column < problem_.node_count()) return 1 + std::abs(problem_.cost({column})) / scale();
    ClassIx cls{static_cast<uint32_t>(column - problem_.node_count())};
    return 4 * (1 + static_cast<double>(problem_.users(cls).size()) / 16);
  }
  double scale() const { return std::max(1e-9, std::abs(cutoff_) / 16); }

  const ExtractionProblem& problem_;
  const BranchCutLimits& limits_;
  int64_t iterations_left_; // of the simplex
  const BranchCutEvents& events_;
  Clock::time_point start_;
  int restarts_; // of which this is the result
  double cutoff_, unit_;
  CycleCutter cutter_;
  FunnelCutter funnels_;
  MipModel model_; // with the root's bounds as they are fixed
  LinearProgram lp_;
  Relaxation root_;
  double fixed_for_ = kInfiniteCost; // the cutoff when columns were last fixed
  size_t base_rows_ = 0, fixed_ = 0;
  int64_t created_ = 0;
  double given_up_ = kInfiniteCost; // least bound of the abandoned nodes
  BranchCutResult result_;
};

} // namespace

double cost_unit(const ExtractionProblem& problem) {
  constexpr double kMost = 1e9; // larger multiples are rounding
  for (double step : {1.0, 0.1, 0.01, 0.001, 0.0001}) {
    int64_t divisor = 0;
    bool whole = true;
    for (uint32_t n = 0; n < problem.node_count() && whole; ++n) {
      if (!problem.usable({n})) continue;
      double multiple = problem.cost({n}) / step;
      whole = std::abs(multiple) < kMost && std::abs(multiple - std::round(multiple)) < 1e-6;
      divisor = std::gcd(divisor, static_cast<int64_t>(std::round(whole ? multiple : 0)));
    }
    if (whole) return static_cast<double>(divisor) * step;
  }
  return 0;
}

double below_cutoff(double cutoff, double unit) {
  if (unit <= 0) return cutoff - 1e-9 * std::max(1.0, std::abs(cutoff));
  if (std::isinf(cutoff)) return cutoff;
  constexpr double kRounding = 1e-6;                         // of multiples
  double next = std::ceil(cutoff / unit - kRounding) * unit; // the cutoff, if it is a multiple
  return next - unit + kRounding * std::max(unit, 1e-6 * std::abs(cutoff));
}

BranchCutResult branch_and_cut(const ExtractionProblem& problem, double cutoff,
                               const BranchCutLimits& limits, const BranchCutEvents& events) {
  return BranchCut(problem, cutoff, cost_unit(problem), limits, events, Clock::now()).run();
}

} // namespace tg
