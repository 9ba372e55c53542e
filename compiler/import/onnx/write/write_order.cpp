#include "compiler/import/onnx/write/write_order.h"

#include "compiler/import/onnx/write/export.h"

#include <algorithm>
#include <cassert>

namespace tg::onnx {
namespace {

/// Walks from each node to its operands, depth first. Items are the graph's nodes followed by
/// the kept ones.
class Walk {
public:
  Walk(const Graph& graph, const KeptNodes* kept)
      : graph_(graph), kept_(kept), state_(graph.size() + kept_count()), round_(state_.size()) {
    for (NodeId input : graph.inputs()) order_.of_name[graph.attr(input, 0).text] = input;
    for (const GraphOutput& output : graph.outputs())
      order_.of_name.try_emplace(output.name, output.node);
    for (size_t k = 0; k < kept_count(); ++k)
      for (const std::string& name : kept->nodes[k].node.output())
        if (!name.empty()) maker_[order_.of_name.lookup(name).index] = graph_.size() + k;
  }

  std::optional<WriteOrder> run() {
    for (size_t item = 0; item < state_.size(); ++item)
      if (state_[item] == State::New && !visit(item)) return std::nullopt;
    for (size_t k = 0; k < kept_count(); ++k)
      order_.steps.push_back({true, static_cast<uint32_t>(k)});
    for (uint32_t i = 0; i < graph_.size(); ++i) order_.steps.push_back({false, i});
    llvm::stable_sort(order_.steps, [&](const auto& a, const auto& b) {
      return round_[item_of(a)] < round_[item_of(b)];
    });
    return std::move(order_);
  }

private:
  enum class State : uint8_t { New, Open, Done };
  struct Visit {
    size_t item;
    llvm::SmallVector<size_t, 5> reads;
    size_t next = 0;
  };

  size_t kept_count() const { return kept_ ? kept_->nodes.size() : 0; }
  size_t item_of(const WriteOrder::Step& step) const {
    return step.is_kept ? graph_.size() + step.index : step.index;
  }

  llvm::SmallVector<size_t, 5> reads_of(size_t item) const {
    llvm::SmallVector<size_t, 5> reads;
    if (item < graph_.size()) {
      auto index = static_cast<uint32_t>(item);
      for (NodeId operand : graph_.operands({index})) reads.push_back(operand.index);
      if (auto maker = maker_.find(index); maker != maker_.end()) reads.push_back(maker->second);
      return reads;
    }
    for (const std::string& name : kept_->nodes[item - graph_.size()].node.input()) {
      if (name.empty()) continue;
      assert(order_.of_name.count(name) && "operands of kept nodes exist");
      reads.push_back(order_.of_name.lookup(name).index);
    }
    return reads;
  }

  /// Called when all operands are done.
  void finish(const Visit& visit) {
    state_[visit.item] = State::Done;
    uint32_t& round = round_[visit.item];
    for (size_t read : visit.reads) round = std::max(round, round_[read]);
    round += visit.item >= graph_.size();
  }

  /// Returns false if the walk reaches an open item, which then depends on itself.
  bool visit(size_t root) {
    std::vector<Visit> open;
    auto enter = [&](size_t item) {
      state_[item] = State::Open;
      open.push_back({item, reads_of(item)});
    };
    enter(root);
    while (!open.empty()) {
      Visit& now = open.back();
      if (now.next == now.reads.size()) {
        finish(now);
        open.pop_back();
        continue;
      }
      size_t read = now.reads[now.next++];
      if (state_[read] == State::Open) return false;
      if (state_[read] == State::New) enter(read);
    }
    return true;
  }

  const Graph& graph_;
  const KeptNodes* kept_;
  std::vector<State> state_;               // by item
  std::vector<uint32_t> round_;            // by item; a kept node starts a new round
  llvm::DenseMap<uint32_t, size_t> maker_; // for each input that a kept node gives, its item
  WriteOrder order_;
};

} // namespace

std::optional<WriteOrder> WriteOrder::of(const Graph& graph, const KeptNodes* kept) {
  return Walk(graph, kept).run();
}

std::optional<Graph> join_kept(const Graph& graph, const KeptNodes& kept) {
  Graph joined = graph;
  const Graph& fixed = kept.fixed;
  std::vector<NodeId> at(fixed.size());
  for (uint32_t i = 0; i < fixed.size(); ++i) {
    llvm::SmallVector<ValueId, 4> attrs;
    for (size_t slot = 0; slot < fixed.attrs({i}).size(); ++slot)
      attrs.push_back(joined.symbols().value(fixed.attr({i}, slot)));
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : fixed.operands({i})) operands.push_back(at[operand.index]);
    at[i] = joined.add(fixed.node({i}).op, attrs, operands);
    assert(at[i].valid() && "a copy of a well-typed node is well typed");
  }
  for (const GraphOutput& output : fixed.outputs())
    joined.add_output(output.name, at[output.node.index]);
  if (!WriteOrder::of(joined, &kept)) return std::nullopt;
  return joined;
}

} // namespace tg::onnx
