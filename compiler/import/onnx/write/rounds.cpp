#include "compiler/import/onnx/write/rounds.h"

#include "compiler/import/onnx/write/export.h"

#include <algorithm>
#include <cassert>

namespace tg::onnx {
namespace {

void set_names(Rounds& rounds, const Graph& graph) {
  for (NodeId input : graph.inputs()) rounds.of_name[graph.attr(input, 0).text] = input;
  for (const GraphOutput& output : graph.outputs())
    rounds.of_name.try_emplace(output.name, output.node);
}

/// Nodes behind their operands.
void go_through(Rounds& rounds, const Graph& graph) {
  for (uint32_t i = 0; i < graph.size(); ++i)
    for (NodeId operand : graph.operands({i}))
      rounds.of_node[i] = std::max(rounds.of_node[i], rounds.of_node[operand.index]);
}

/// The round behind all that the node reads.
uint32_t round_of(const Rounds& rounds, const KeptNode& kept) {
  uint32_t before = 0;
  for (const std::string& name : kept.node.input()) {
    if (name.empty()) continue;
    assert(rounds.of_name.count(name) && "kept nodes read what there is");
    before = std::max(before, rounds.of_node[rounds.of_name.lookup(name).index]);
  }
  return before + 1;
}

/// A node and what it gives. Whether it was in another round.
bool move_to(Rounds& rounds, size_t k, const KeptNode& kept, uint32_t round) {
  if (rounds.of_kept[k] == round) return false;
  rounds.of_kept[k] = round;
  rounds.last = std::max(rounds.last, round);
  for (const std::string& name : kept.node.output())
    if (!name.empty()) rounds.of_node[rounds.of_name.lookup(name).index] = round;
  return true;
}

} // namespace

/// Each sweep settles one more node of the longest chain at least; what still moves behind the last
/// is a circle.
std::optional<Rounds> Rounds::of(const Graph& graph, const KeptNodes* kept) {
  size_t count = kept ? kept->nodes.size() : 0;
  Rounds rounds{std::vector<uint32_t>(graph.size()), std::vector<uint32_t>(count), 0, {}};
  set_names(rounds, graph);
  for (size_t sweep = 0; sweep <= count; ++sweep) {
    go_through(rounds, graph);
    bool moved = false;
    for (size_t k = 0; k < count; ++k)
      moved |= move_to(rounds, k, kept->nodes[k], round_of(rounds, kept->nodes[k]));
    if (!moved) return rounds;
  }
  return std::nullopt;
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
    assert(at[i].valid() && "what was well typed stays so");
  }
  for (const GraphOutput& output : fixed.outputs())
    joined.add_output(output.name, at[output.node.index]);
  if (!Rounds::of(joined, &kept)) return std::nullopt;
  return joined;
}

} // namespace tg::onnx
