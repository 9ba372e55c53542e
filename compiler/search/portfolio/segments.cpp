#include "compiler/search/portfolio/segments.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

constexpr uint32_t kNowhere = UINT32_MAX;

/// Returns the position of each node among the operators, or kNowhere.
std::vector<uint32_t> places_of(const Graph& graph, llvm::ArrayRef<NodeId> operators) {
  std::vector<uint32_t> place(graph.size(), kNowhere);
  for (uint32_t i = 0; i < operators.size(); ++i) place[operators[i].index] = i;
  return place;
}

/// Returns, for each position, the last one that uses its result; the number of operators if an
/// output uses it.
std::vector<uint32_t> last_uses(const Graph& graph, llvm::ArrayRef<NodeId> operators,
                                llvm::ArrayRef<uint32_t> place) {
  std::vector<uint32_t> last(operators.size());
  for (uint32_t i = 0; i < operators.size(); ++i) last[i] = i;
  for (uint32_t i = 0; i < operators.size(); ++i)
    for (NodeId operand : graph.operands(operators[i]))
      if (uint32_t at = place[operand.index]; at != kNowhere) last[at] = i;
  for (const GraphOutput& output : graph.outputs())
    if (uint32_t at = place[output.node.index]; at != kNowhere)
      last[at] = static_cast<uint32_t>(operators.size());
  return last;
}

/// Returns, for each cut before a position, the number of values that cross it.
std::vector<uint32_t> crossings(llvm::ArrayRef<uint32_t> last, size_t count) {
  std::vector<int32_t> change(count + 2);
  for (uint32_t i = 0; i < count; ++i)
    // Values needed only by an output do not count as crossing.
    if (last[i] > i && last[i] < count) ++change[i + 1], --change[last[i] + 1];
  std::vector<uint32_t> width(count + 1);
  int32_t alive = 0;
  for (size_t i = 0; i <= count; ++i) width[i] = static_cast<uint32_t>(alive += change[i]);
  return width;
}

/// Copies nodes from one graph to another with other symbols.
class Copier {
public:
  Copier(const Graph& from, Graph& to) : from_(from), to_(to), copy_(from.size()) {}

  bool known(NodeId node) const { return copy_[node.index].valid(); }
  NodeId of(NodeId node) const { return copy_[node.index]; }
  void set(NodeId node, NodeId copy) { copy_[node.index] = copy; }

  llvm::SmallVector<ValueId, 6> attrs(NodeId node) const {
    llvm::SmallVector<ValueId, 6> out;
    for (ValueId value : from_.attrs(node))
      out.push_back(&from_.symbols() == &to_.symbols()
                        ? value
                        : to_.symbols().value(from_.symbols().value(value)));
    return out;
  }

  /// Copies a node. Its operands must have been copied.
  NodeId add(NodeId node) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : from_.operands(node)) operands.push_back(of(operand));
    NodeId copy = to_.add(from_.node(node).op, attrs(node), operands);
    assert(copy.valid() && "a copy of a well-typed node is well typed");
    set(node, copy);
    return copy;
  }

private:
  const Graph& from_;
  Graph& to_;
  std::vector<NodeId> copy_; // by node of `from_`
};

/// Cuts out one segment.
class Cutter {
public:
  Cutter(const Graph& whole, llvm::ArrayRef<NodeId> operators, Segment segment)
      : whole_(whole), operators_(operators),
        segment_(segment), out_{Graph(whole.shared_symbols(), "segment"), {}, {}, {}, {}},
        copier_(whole, out_.graph) {}

  CutOut run(llvm::ArrayRef<uint32_t> place, llvm::ArrayRef<uint32_t> last) {
    for (uint32_t i = segment_.first; i <= segment_.last; ++i) {
      for (NodeId operand : whole_.operands(operators_[i])) add_operand_node(operand, place);
      copier_.add(operators_[i]);
    }
    for (uint32_t i = segment_.first; i <= segment_.last; ++i) {
      if (last[i] <= segment_.last) continue;
      out_.outputs.push_back(operators_[i]);
      out_.graph.add_output("y" + std::to_string(out_.outputs.size()), copier_.of(operators_[i]));
    }
    write_key();
    return std::move(out_);
  }

private:
  /// Adds an operand from outside the segment: as a new input, or copied if it is known at load.
  void add_operand_node(NodeId node, llvm::ArrayRef<uint32_t> place) {
    if (copier_.known(node)) return;
    if (place[node.index] != kNowhere || !whole_.node(node).weight_only) {
      out_.inputs.push_back(node);
      copier_.set(node,
                  out_.graph.input("x" + std::to_string(out_.inputs.size()), whole_.type(node)));
      return;
    }
    llvm::SmallVector<NodeId, 8> worklist{node};
    while (!worklist.empty()) {
      NodeId next = worklist.back();
      size_t size = worklist.size();
      for (NodeId operand : whole_.operands(next))
        if (!copier_.known(operand)) worklist.push_back(operand);
      if (worklist.size() > size) continue;
      worklist.pop_back();
      if (!copier_.known(next)) bring_load(next);
    }
  }

  void bring_load(NodeId node) {
    if (whole_.node(node).op != OpKind::Weight) {
      copier_.add(node);
      return;
    }
    std::string name = "w" + std::to_string(out_.weights.size());
    out_.weights.push_back(whole_.node(node).attrs);
    copier_.set(node, out_.graph.weight(name, whole_.type(node)));
  }

  void write_key() {
    for (uint32_t i = 0; i < out_.graph.size(); ++i) {
      const Node& node = out_.graph.node({i});
      out_.key.insert(out_.key.end(), {static_cast<uint32_t>(node.op), node.attrs.index});
      for (NodeId operand : out_.graph.operands({i})) out_.key.push_back(operand.index);
    }
    for (const GraphOutput& output : out_.graph.outputs()) out_.key.push_back(output.node.index);
  }

  const Graph& whole_;
  llvm::ArrayRef<NodeId> operators_;
  Segment segment_;
  CutOut out_;
  Copier copier_;
};

/// Splices the graph of a segment into the new whole.
void insert(const Graph& whole, const CutOut& place, const Graph& graph, Graph& out, Copier& to) {
  Copier from(graph, out);
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    from.set(graph.inputs()[i], to.of(place.inputs[i]));
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i] || from.known({i})) continue;
    if (graph.node({i}).op == OpKind::Weight) {
      unsigned number = 0;
      llvm::StringRef(graph.attr({i}, 0).text).drop_front().getAsInteger(10, number);
      from.set({i}, out.add(OpKind::Weight, whole.symbols().attrs(place.weights[number]), {}));
    } else {
      from.add({i});
    }
  }
  for (size_t i = 0; i < place.outputs.size(); ++i)
    to.set(place.outputs[i], from.of(graph.outputs()[i].node));
}

} // namespace

std::vector<NodeId> run_operators(const Graph& graph) {
  std::vector<bool> needed = graph.reachable();
  std::vector<NodeId> operators;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (needed[i] && !node.weight_only && !op_info(node.op).has(Trait::Leaf))
      operators.push_back({i});
  }
  return operators;
}

std::vector<Segment> cut_segments(const Graph& graph, const SegmentOptions& options) {
  std::vector<NodeId> operators = run_operators(graph);
  uint32_t count = static_cast<uint32_t>(operators.size());
  std::vector<uint32_t> place = places_of(graph, operators);
  std::vector<uint32_t> width = crossings(last_uses(graph, operators, place), count);
  // Minimise, up to the end of each segment, the crossing values plus one for each cut.
  std::vector<uint32_t> least(count + 1, kNowhere), from(count + 1);
  least[0] = 0;
  for (uint32_t end = 1; end <= count; ++end)
    for (uint32_t start = end > options.most ? end - options.most : 0; start < end; ++start) {
      uint32_t size = end - start, most = start == 0 ? options.first_most : options.most;
      bool edge = start == 0 || end == count;
      if (least[start] == kNowhere || size > most || (size < options.least && !edge)) continue;
      uint32_t cost = least[start] + width[end] + 1;
      if (cost < least[end]) least[end] = cost, from[end] = start;
    }
  std::vector<Segment> segments;
  for (uint32_t end = count; end > 0; end = from[end]) segments.push_back({from[end], end - 1});
  std::reverse(segments.begin(), segments.end());
  return segments;
}

CutOut cut_out(const Graph& graph, llvm::ArrayRef<NodeId> operators, Segment segment) {
  std::vector<uint32_t> place = places_of(graph, operators);
  return Cutter(graph, operators, segment).run(place, last_uses(graph, operators, place));
}

Graph splice(const Graph& whole, llvm::ArrayRef<NodeId> operators, llvm::ArrayRef<Segment> segments,
             llvm::ArrayRef<Replacement> replacements) {
  Graph out(whole.shared_symbols(), whole.name());
  Copier copier(whole, out);
  std::vector<bool> needed = whole.reachable();
  std::vector<uint32_t> place = places_of(whole, operators);
  for (NodeId input : whole.inputs()) copier.add(input);
  for (uint32_t i = 0; i < whole.size(); ++i)
    if (needed[i] && place[i] == kNowhere && !copier.known({i})) copier.add({i});
  for (size_t w = 0; w < segments.size(); ++w) {
    if (replacements[w].graph) {
      insert(whole, *replacements[w].place, *replacements[w].graph, out, copier);
      continue;
    }
    for (uint32_t i = segments[w].first; i <= segments[w].last; ++i) copier.add(operators[i]);
  }
  for (const GraphOutput& output : whole.outputs())
    out.add_output(output.name, copier.of(output.node));
  return out;
}

Graph transfer(const Graph& graph, std::shared_ptr<Symbols> symbols) {
  Graph out(std::move(symbols), graph.name());
  Copier copier(graph, out);
  for (uint32_t i = 0; i < graph.size(); ++i) copier.add({i});
  for (const GraphOutput& output : graph.outputs())
    out.add_output(output.name, copier.of(output.node));
  return out;
}

// A step of a segment's chain is valid in the whole, with the segment's inputs set to the nodes of
// the original graph, whichever segments were replaced before. The end of the whole is built once,
// at the end, in the order of the graph, in which a segment's inputs precede its operators.

namespace {

class Lift {
public:
  Lift(Derivation& whole, const Graph& graph)
      : whole_(whole), graph_(graph), needed_(graph.reachable()), before_(graph.size()),
        after_(graph.size()), made_by_(graph.size()) {
    Translation into(graph, whole.terms);
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed_[i]) before_[i] = into({i});
  }

  void take(const SegmentChain& segment) {
    Translation into(segment.chain->terms, whole_.terms);
    set_leaves(segment, before_, into);
    add_steps(whole_, *segment.chain, into);
    for (size_t o = 0; o < segment.place->outputs.size(); ++o)
      made_by_[segment.place->outputs[o].index] = {&segment, o};
  }

  void finish() {
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i]) after_[i] = made_by_[i].segment ? end_of(made_by_[i]) : again({i});
    for (size_t o = 0; o < whole_.end.size(); ++o)
      whole_.end[o] = after_[graph_.outputs()[o].node.index];
  }

private:
  struct Output {
    const SegmentChain* segment = nullptr;
    size_t number = 0;
  };

  /// Maps the inputs of the cut-out to nodes of the whole, and its weights to weights of the whole.
  void set_leaves(const SegmentChain& segment, llvm::ArrayRef<NodeId> nodes, Translation& into) {
    const CutOut& place = *segment.place;
    const Graph& terms = segment.chain->terms;
    for (uint32_t i = 0; i < terms.size(); ++i) {
      OpKind op = terms.node({i}).op;
      if (!is_variable(op)) continue;
      size_t number = 0;
      llvm::StringRef name = terms.attr({i}, 0).text;
      [[maybe_unused]] bool bad = name.drop_front().getAsInteger(10, number);
      assert(!bad && "leaves of a cut-out are named by number");
      if (op == OpKind::Input)
        into.set({i}, nodes[place.inputs[number - 1].index]);
      else
        into.set({i}, whole_.terms.add(op, graph_.symbols().attrs(place.weights[number]), {}));
    }
  }

  NodeId end_of(const Output& output) {
    Translation into(output.segment->chain->terms, whole_.terms);
    set_leaves(*output.segment, after_, into);
    return into(output.segment->chain->end[output.number]);
  }

  NodeId again(NodeId node) {
    llvm::SmallVector<NodeId, 6> operands;
    for (NodeId operand : graph_.operands(node)) operands.push_back(after_[operand.index]);
    NodeId made = whole_.terms.add(graph_.node(node).op, graph_.attrs(node), operands);
    assert(made.valid() && "operands of equal types give a result of equal type");
    return made;
  }

  Derivation& whole_;
  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<NodeId> before_, after_; // by node of the graph; in whole_.terms
  std::vector<Output> made_by_;
};

} // namespace

void append_segments(Derivation& whole, const Graph& graph, llvm::ArrayRef<SegmentChain> found) {
  assert(&whole.terms.symbols() == &graph.symbols());
  Lift lift(whole, graph);
  for (const SegmentChain& segment : found)
    if (segment.place && segment.chain) lift.take(segment);
  lift.finish();
}

} // namespace tg
