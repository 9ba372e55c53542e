#include "compiler/emit/recompute.h"

#include "compiler/emit/plan_from_graph.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

/// Limit on operators recomputed for one value: itself and its missing operands.
constexpr size_t kMostTogether = 6;
/// Limit on values tried at one peak.
constexpr size_t kMostTried = 64;

bool is_view_op(OpKind op) { return op_info(op).has(Trait::View | Trait::Strided); }

/// Returns false for operators that are too expensive to repeat, such as products.
bool may_recompute(const Graph& graph, NodeId id) {
  const OpInfo& op = op_info(graph.node(id).op);
  return !op.has(Trait::Leaf) && !is_product(op.price()) && op.kind != OpKind::Extern;
}

/// The bytes held at each position of an order. A position stands for the result computed there;
/// readers of a node read its latest result.
class Lifetimes {
public:
  using Position = uint32_t;
  static constexpr Position kEnd = UINT32_MAX;

  Lifetimes(const Graph& graph, llvm::ArrayRef<bool> is_run, llvm::ArrayRef<NodeId> order)
      : graph_(graph), is_run_(is_run), order_(order), next_(order.size()), last_(order.size()),
        held_(order.size()) {
    find_readers();
    count();
  }

  int64_t peak() const { return peak_; }
  Position peak_at() const { return peak_at_; }
  int64_t held(Position at) const { return held_[at]; }
  /// Returns the position until which the bytes of this result are kept.
  Position kept_until(Position at) const { return last_[at]; }
  /// Returns the first reader after `behind`; kEnd: none, or an output.
  Position reader_behind(Position at, Position behind) const {
    auto found = llvm::upper_bound(next_[at], behind);
    return found == next_[at].end() ? kEnd : *found;
  }
  /// Returns the latest result of the node before a position; kEnd: none.
  Position made_before(NodeId node, Position before) const {
    for (Position at = before; at-- > 0;)
      if (order_[at] == node) return at;
    return kEnd;
  }
  int64_t bytes(Position at) const {
    constexpr int64_t kAlignment = 64, kMost = int64_t{1} << 41;
    if (is_view_op(graph_.node(order_[at]).op)) return 0;
    return std::min((graph_.type(order_[at]).bytes() + kAlignment - 1) & ~(kAlignment - 1), kMost);
  }

private:
  void find_readers() {
    std::vector<Position> latest(graph_.size(), kEnd);
    root_.resize(order_.size());
    for (Position at = 0; at < order_.size(); ++at) {
      NodeId id = order_[at];
      llvm::ArrayRef<NodeId> operands = graph_.operands(id);
      bool view = is_view_op(graph_.node(id).op) && is_run_[operands[0].index];
      root_[at] = view ? root_[latest[operands[0].index]] : at;
      last_[at] = at;
      for (NodeId operand : operands) {
        if (!is_run_[operand.index]) continue;
        Position from = latest[operand.index];
        if (next_[from].empty() || next_[from].back() != at) next_[from].push_back(at);
      }
      latest[id.index] = at;
    }
    for (Position at = 0; at < order_.size(); ++at)
      for (Position reader : next_[at]) last_[root_[at]] = std::max(last_[root_[at]], reader);
    for (const GraphOutput& output : graph_.outputs())
      if (is_run_[output.node.index]) last_[root_[latest[output.node.index]]] = kEnd;
  }

  void count() {
    std::vector<int64_t> freed(order_.size(), 0);
    for (Position at = 0; at < order_.size(); ++at)
      if (root_[at] == at && last_[at] != kEnd) freed[last_[at]] += bytes(at);
    std::vector<Position> latest(graph_.size(), kEnd);
    int64_t now = 0;
    for (Position at = 0; at < order_.size(); ++at) {
      auto dies = [&](NodeId operand) {
        return is_run_[operand.index] && last_[root_[latest[operand.index]]] == at;
      };
      bool in_place = root_[at] == at && in_place_operand(graph_, order_[at], dies) >= 0;
      held_[at] = now + (in_place ? 0 : bytes(at));
      if (held_[at] > peak_) {
        peak_ = held_[at];
        peak_at_ = at;
      }
      now += bytes(at) - freed[at];
      latest[order_[at].index] = at;
    }
  }

  const Graph& graph_;
  llvm::ArrayRef<bool> is_run_;
  llvm::ArrayRef<NodeId> order_;
  std::vector<llvm::SmallVector<Position, 2>> next_; // readers by position, ascending
  std::vector<Position> last_, root_;                // root_: the owner of a view's bytes
  std::vector<int64_t> held_;
  int64_t peak_ = 0;
  Position peak_at_ = 0;
};

using Position = Lifetimes::Position;

class Recomputing {
public:
  Recomputing(const Graph& graph, std::vector<NodeId> order, const RecomputeOptions& options)
      : graph_(graph), options_(options), is_run_(graph.size(), false), is_output_(graph.size()),
        order_(std::move(order)) {
    for (NodeId id : order_) {
      is_run_[id.index] = true;
      best_.recomputed.total_us += price(id);
    }
    for (const GraphOutput& output : graph.outputs()) is_output_[output.node.index] = true;
    best_.order = order_;
    best_.recomputed.peak_kept_bytes = best_.recomputed.peak_bytes = live().peak();
  }

  RunOrder run() {
    while (options_.most_share > 0 && !order_.empty() && reduce_peak()) {
      int64_t peak = live().peak();
      if (peak >= best_.recomputed.peak_bytes) continue;
      best_.order = order_;
      best_.recomputed.peak_bytes = peak;
      best_.recomputed.operators = order_.size() - once_;
      best_.recomputed.added_us = added_us_;
    }
    return std::move(best_);
  }

private:
  /// The nodes to recompute before a reader, in order, and an operand of them that must be
  /// kept until then.
  struct Again {
    Position reader = 0;
    std::vector<NodeId> nodes;
    NodeId kept = {};
    double bytes_per_us = 0;
  };

  Lifetimes live() const { return {graph_, is_run_, order_}; }
  double price(NodeId id) const {
    return options_.price_us.empty() ? 0 : options_.price_us[id.index];
  }
  double price(const Again& again) const {
    double sum = 0;
    for (NodeId id : again.nodes) sum += price(id);
    return sum;
  }

  /// Returns the results that are kept across the peak for a later reader, the best first.
  std::vector<Again> candidates(const Lifetimes& live) const {
    std::vector<Again> found;
    for (Position at = 0; at < live.peak_at(); ++at) {
      if (!may_recompute(graph_, order_[at]) || is_output_[order_[at].index]) continue;
      Position reader = live.reader_behind(at, live.peak_at());
      if (reader == Lifetimes::kEnd || live.reader_behind(at, live.peak_at() - 1) != reader)
        continue; // not kept, or read at the peak itself
      Again again{reader, {}, {}, 0};
      if (!collect(live, order_[at], again)) continue;
      double bytes = static_cast<double>(graph_.type(order_[at]).bytes());
      again.bytes_per_us = bytes / (price(again) + 1e-3);
      found.push_back(std::move(again));
    }
    llvm::stable_sort(
        found, [](const Again& a, const Again& b) { return a.bytes_per_us > b.bytes_per_us; });
    return found;
  }

  /// Adds the value, preceded by those of its operands that are not kept until the reader. Returns
  /// false if there are too many.
  bool collect(const Lifetimes& live, NodeId node, Again& again) const {
    if (again.nodes.size() >= kMostTogether) return false;
    for (NodeId operand : graph_.operands(node)) {
      if (!is_run_[operand.index] || llvm::is_contained(again.nodes, operand)) continue;
      Position made = live.made_before(operand, again.reader);
      // The operand of a view may be kept only for the view. (kEnd is the largest position.)
      if (live.kept_until(made) >= again.reader && !is_view_op(graph_.node(node).op)) continue;
      if (!may_recompute(graph_, operand))
        again.kept = operand;
      else if (!collect(live, operand, again))
        return false;
    }
    again.nodes.push_back(node);
    return true;
  }

  /// Recomputes all of these if that lowers the peak and raises no other. Returns true if it did.
  bool apply(const Lifetimes& now, llvm::ArrayRef<const Again*> all) {
    double more = 0;
    for (const Again* again : all) more += price(*again);
    if (added_us_ + more > options_.most_share * best_.recomputed.total_us) return false;
    llvm::SmallVector<const Again*, 4> last_first(all.begin(), all.end());
    llvm::stable_sort(last_first,
                      [](const Again* a, const Again* b) { return a->reader > b->reader; });
    std::vector<NodeId> longer = order_; // `now` refers to order_
    for (const Again* again : last_first)
      longer.insert(longer.begin() + again->reader, again->nodes.begin(), again->nodes.end());
    Lifetimes then(graph_, is_run_, longer);
    if (then.peak() > now.peak() || then.held(now.peak_at()) >= now.held(now.peak_at()))
      return false;
    order_ = std::move(longer);
    added_us_ += more;
    return true;
  }

  /// Recomputes one more value, or several that read the same kept operand, such as all results
  /// computed from a convolution. Returns false if no value at the peak qualifies.
  bool reduce_peak() {
    const Lifetimes now = live();
    const std::vector<Again> found = candidates(now);
    for (const Again& again : llvm::makeArrayRef(found).take_front(kMostTried))
      if (apply(now, &again)) return true;
    llvm::DenseMap<uint32_t, llvm::SmallVector<const Again*, 4>> by_kept;
    for (const Again& again : found)
      if (again.kept.valid()) by_kept[again.kept.index].push_back(&again);
    return llvm::any_of(found, [&](const Again& first) { // in the order of candidates
      if (!first.kept.valid()) return false;
      const auto& together = by_kept[first.kept.index];
      return together.size() > 1 && together[0] == &first && apply(now, together);
    });
  }

  const Graph& graph_;
  const RecomputeOptions& options_;
  llvm::SmallVector<bool, 0> is_run_, is_output_;
  std::vector<NodeId> order_;
  const size_t once_ = order_.size();
  double added_us_ = 0;
  RunOrder best_;
};

} // namespace

RunOrder recompute(const Graph& graph, std::vector<NodeId> order, const RecomputeOptions& options) {
  return Recomputing(graph, std::move(order), options).run();
}

} // namespace tg
