#include "compiler/import/onnx/write/restore.h"

#include "compiler/import/onnx/file/elements.h"
#include "compiler/import/onnx/write/export.h"
#include "compiler/import/onnx/write/write_order.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>

#include <algorithm>
#include <map>

namespace tg::onnx {
namespace {

constexpr size_t kMostNodes = 2048; // per expansion

/// An operator whose nodes in older opsets have another meaning since this one.
struct Change {
  llvm::StringLiteral op;
  int opset;
};
constexpr int kNever = kNewestExport + 1;
/// Changes since opset 7, except of types, additions whose default is the old meaning, and those
/// that modernise() handles. `kNever`: not in the opsets that are written, or renamed there.
/// tests/oracle/restored_test.py compares this table with the onnx package's schemas.
constexpr Change kChanges[] = {
    {"BatchNormalization", 14},
    {"BitCast", kNever},
    {"CausalConvWithState", kNever},
    {"Clip", 11},
    {"CumProd", kNever},
    {"DFT", 20},
    {"Dropout", 12},
    {"GroupNormalization", 21},
    {"Hardmax", 13},
    {"LinearAttention", kNever},
    {"LogSoftmax", 13},
    {"Pad", 11},
    {"Resize", 13},
    {"Slice", 10},
    {"Softmax", 13},
    {"Squeeze", 13},
    {"SwiGLU", kNever},
    {"TopK", 10},
    {"Unsqueeze", 13},
    {"Upsample", kNever},
};

/// Operators whose expansion is faster than ONNX Runtime's kernel
/// (bench/results/onnx_operators.md).
constexpr llvm::StringLiteral kBetterExpanded[] = {"LRN", "ReduceLogSumExp"};

bool is_reduction(llvm::StringRef op) { return op.startswith("Reduce"); }

const schema::Attribute* find_attribute(const schema::Node& node, llvm::StringRef name) {
  auto found = llvm::find_if(node.attribute(), [&](const auto& one) { return one.name() == name; });
  return found == node.attribute().end() ? nullptr : &*found;
}

/// The operators between the operands and the results of a node.
struct Expansion {
  const Origin* origin = nullptr;
  std::vector<NodeId> nodes; // of the source, in its order, without operands
  std::vector<NodeId> results;
};

/// An occurrence of an expansion in the graph.
struct Place {
  const Origin* origin = nullptr;
  std::vector<NodeId> operands; // by input; invalid: fixed or omitted
  std::vector<NodeId> results;  // by result; invalid: unused
};

class Restorer {
public:
  Restorer(const Graph& graph, const KeptNodes& kept, const Graph& source, const FileFacts& facts,
           int opset)
      : graph_(graph), kept_(kept), source_(source), facts_(facts), opset_(opset), scratch_(graph),
        at_(source.size()), attrs_(source.size()), used_(source.reachable()),
        made_by_(graph.size(), SIZE_MAX) {}

  Restored run() {
    find_fixed();
    find_expansions();
    find_places();
    return rebuilt();
  }

private:
  bool is_fixed(NodeId id) const { return source_.node(id).weight_only; }
  llvm::SmallVector<ValueId, 4> attrs(const Graph& from, NodeId id) {
    if (from.shared_symbols() == scratch_.shared_symbols())
      return {from.attrs(id).begin(), from.attrs(id).end()};
    llvm::SmallVector<ValueId, 4> values;
    for (size_t slot = 0; slot < from.attrs(id).size(); ++slot)
      values.push_back(scratch_.symbols().value(from.attr(id, slot)));
    return values;
  }
  llvm::ArrayRef<ValueId> source_attrs(NodeId id) {
    auto& known = attrs_[id.index];
    if (!known) known = attrs(source_, id);
    return *known;
  }
  /// Returns the node of the scratch graph with these operands.
  NodeId same(const Graph& from, NodeId id, llvm::ArrayRef<NodeId> at) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : from.operands(id)) operands.push_back(at[operand.index]);
    if (llvm::any_of(operands, [](NodeId operand) { return !operand.valid(); })) return {};
    return scratch_.add(from.node(id).op, attrs(from, id), operands);
  }

  void find_fixed();
  void find_expansions();
  std::optional<Expansion> expansion(const Origin& origin) const;
  bool is_own_constant(const Expansion& expansion, NodeId id);
  bool pays(const Expansion& expansion);
  std::string node_text(const Origin& origin) const;
  std::string pattern_text(const Expansion& expansion) const;
  void find_places();
  bool bind(const Expansion& expansion, NodeId result, NodeId root);
  bool matches(NodeId pattern, NodeId node, llvm::SmallVectorImpl<std::pair<NodeId, NodeId>>& next);
  std::optional<Place> place(const Expansion& expansion);
  bool take(NodeId root, std::vector<bool>& needed);
  Graph alone(const Place& place) const;
  Restored rebuilt();

  const Graph& graph_;
  const KeptNodes& kept_;
  const Graph& source_;
  const FileFacts& facts_;
  int opset_;
  Graph scratch_;          // the graph, followed by nodes that it lacks
  std::vector<NodeId> at_; // scratch-graph nodes of the source's weight-only nodes
  std::vector<std::optional<llvm::SmallVector<ValueId, 4>>> attrs_; // of nodes of the source
  std::vector<bool> used_;                                          // by outputs of the source
  std::vector<Expansion> expansions_;
  std::map<OpKind, std::vector<std::pair<size_t, NodeId>>> by_root_; // expansions and their results
  llvm::DenseMap<uint32_t, NodeId> bound_; // source nodes bound by the current match
  std::vector<Place> places_;
  std::vector<size_t> made_by_; // by node of the graph, the index in places_
};

void Restorer::find_fixed() {
  for (uint32_t i = 0; i < source_.size(); ++i)
    if (is_fixed({i})) at_[i] = same(source_, {i}, at_);
}

/// Returns nullopt if results depend on more than the operands.
std::optional<Expansion> Restorer::expansion(const Origin& origin) const {
  Expansion made{&origin, {}, {}};
  std::vector<uint32_t> operands, open;
  for (const Origin::Input& input : origin.inputs)
    if (input.value.valid()) operands.push_back(input.value.index);
  auto is_operand = [&](uint32_t i) { return llvm::is_contained(operands, i); };
  for (NodeId result : origin.results) {
    if (!result.valid()) continue;
    if (is_fixed(result) || is_operand(result.index)) return std::nullopt;
    made.results.push_back(result);
    open.push_back(result.index);
  }
  std::set<uint32_t> nodes;
  while (!open.empty()) {
    uint32_t i = open.back();
    open.pop_back();
    if (is_fixed({i}) || is_operand(i) || !nodes.insert(i).second) continue;
    if (source_.node({i}).op == OpKind::Input || nodes.size() > kMostNodes) return std::nullopt;
    for (NodeId operand : source_.operands({i})) open.push_back(operand.index);
  }
  for (uint32_t i : nodes) made.nodes.push_back({i});
  return made;
}

/// Returns true if a constant of several numbers is not an operand of the file's node.
bool Restorer::is_own_constant(const Expansion& expansion, NodeId id) {
  const Value& values = source_.attr(id, 0);
  if (values.ints.size() + values.reals.size() < 2) return false;
  return llvm::none_of(expansion.origin->inputs, [&](const Origin::Input& input) {
    return input.fixed.valid() && facts_.fixed.node(input.fixed).op == OpKind::Constant &&
           scratch_.add(OpKind::Constant, attrs(facts_.fixed, input.fixed), {}) == at_[id.index];
  });
}

/// Returns true if the expansion takes more than one node in a file, has weights of its own there,
/// or casts from and to the types that carry its operands and results.
bool Restorer::pays(const Expansion& expansion) {
  const CarriedElements& elements = expansion.origin->elements;
  auto is_narrow = [](int32_t element) { return element != 0; };
  if (llvm::any_of(elements.inputs, is_narrow) || llvm::any_of(elements.results, is_narrow))
    return true;
  Graph alone(scratch_.shared_symbols(), "alone");
  llvm::DenseMap<uint32_t, NodeId> at;
  bool has_own_weights = false;
  auto leaf = [&](NodeId id) {
    OpKind op = source_.node(id).op;
    std::string name = "v" + std::to_string(id.index);
    has_own_weights |= op == OpKind::Constant && is_own_constant(expansion, id);
    if (op == OpKind::None || op == OpKind::Constant) return alone.add(op, attrs(source_, id), {});
    has_own_weights |= is_fixed(id) && op != OpKind::Weight;
    return is_fixed(id) ? alone.weight(name, source_.type(id))
                        : alone.input(name, source_.type(id));
  };
  for (NodeId id : expansion.nodes) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : source_.operands(id)) {
      auto [made, first] = at.try_emplace(operand.index);
      if (first) made->second = leaf(operand);
      operands.push_back(made->second);
    }
    at[id.index] = alone.add(source_.node(id).op, attrs(source_, id), operands);
  }
  if (has_own_weights) return true;
  for (size_t i = 0; i < expansion.results.size(); ++i)
    alone.add_output("y" + std::to_string(i), at[expansion.results[i].index]);
  Result<Exported> written = export_graph(prepare_for_export(alone).graph, {opset_, ""});
  return !written || written->graph.node_size() > 1;
}

/// Returns the node of the file and the types of its inputs as a key.
std::string Restorer::node_text(const Origin& origin) const {
  schema::Node head = origin.head;
  head.clear_name();
  std::string text = head.SerializeAsString();
  for (const Origin::Input& input : origin.inputs)
    text += input.fixed.valid()   ? " fixed " + facts_.fixed.type(input.fixed).text()
            : input.value.valid() ? " " + source_.type(input.value).text()
                                  : " -";
  for (int32_t element : origin.elements.inputs) text += " " + std::to_string(element);
  for (int32_t element : origin.elements.results) text += " " + std::to_string(element);
  return text;
}

/// Returns the operators of an expansion, with its nodes numbered, as a key: equal for expansions
/// that match the same places.
std::string Restorer::pattern_text(const Expansion& expansion) const {
  std::string text;
  llvm::DenseMap<uint32_t, size_t> number;
  for (const Origin::Input& input : expansion.origin->inputs) {
    text += input.fixed.valid() ? " f" + std::to_string(input.fixed.index) : " ";
    if (input.value.valid())
      text += std::to_string(number.try_emplace(input.value.index, number.size()).first->second);
  }
  for (NodeId id : expansion.nodes) {
    const Node& node = source_.node(id);
    text += ";" + std::to_string(static_cast<int>(node.op)) + " " +
            std::to_string(node.attrs.index) + " " + std::to_string(node.type.index);
    for (NodeId operand : source_.operands(id))
      text += is_fixed(operand) ? " w" + std::to_string(operand.index)
                                : " " + std::to_string(number.lookup(operand.index));
    number.try_emplace(id.index, number.size());
  }
  for (NodeId result : expansion.results)
    text += " y" + std::to_string(number.lookup(result.index));
  return text;
}

/// Signed integers are shifted only since opset 28, which is not written.
static bool shifts_unsigned(const Origin& origin) {
  int32_t element = origin.elements.results.front();
  return element != 0 && !element_type(element)->is_signed;
}

void Restorer::find_expansions() {
  std::map<std::string, bool> paying; // by node
  std::set<std::string> patterns;
  for (const Origin& origin : facts_.origins) {
    std::optional<Expansion> made = expansion(origin);
    if (!made) continue;
    bool has_new_types = llvm::any_of(made->results, [&](NodeId result) {
      DType dtype = source_.type(result).dtype;
      return is_half(dtype) || dtype == DType::F64;
    });
    has_new_types |= origin.head.op_type() == "BitShift" && !shifts_unsigned(origin);
    if (!is_writable(origin.head, origin.version, opset_, has_new_types)) continue;
    std::string node = node_text(origin);
    auto [pays_off, first] = paying.try_emplace(node, false);
    if (first) pays_off->second = pays(*made);
    if (pays_off->second && patterns.insert(node + pattern_text(*made)).second)
      expansions_.push_back(std::move(*made));
  }
  llvm::stable_sort(expansions_, [](const Expansion& a, const Expansion& b) {
    return a.nodes.size() > b.nodes.size();
  });
  for (size_t i = 0; i < expansions_.size(); ++i)
    for (NodeId result : expansions_[i].results)
      by_root_[source_.node(result).op].push_back({i, result});
}

// --- matching -----------------------------------------------------------------------------------

/// Returns true if a node matches the pattern's node, given that its operands do; adds
/// these to `next`.
bool Restorer::matches(NodeId pattern, NodeId node,
                       llvm::SmallVectorImpl<std::pair<NodeId, NodeId>>& next) {
  if (is_fixed(pattern)) return at_[pattern.index] == node;
  OpKind op = source_.node(pattern).op;
  llvm::ArrayRef<NodeId> wanted = source_.operands(pattern), found = graph_.operands(node);
  if (graph_.node(node).op != op || wanted.size() != found.size()) return false;
  if (source_attrs(pattern) != graph_.attrs(node)) return false;
  auto is_like = [&](NodeId a, NodeId b) {
    return is_fixed(a) ? at_[a.index] == b
                       : source_.node(a).op == graph_.node(b).op || bound_.count(a.index);
  };
  bool swaps = op_info(op).has(Trait::Commutes) && wanted.size() == 2 &&
               !(is_like(wanted[0], found[0]) && is_like(wanted[1], found[1])) &&
               is_like(wanted[0], found[1]) && is_like(wanted[1], found[0]);
  for (size_t i = 0; i < wanted.size(); ++i) next.push_back({wanted[i], found[swaps ? 1 - i : i]});
  return true;
}

/// Binds the operands of an expansion whose result is at the root.
bool Restorer::bind(const Expansion& expansion, NodeId result, NodeId root) {
  bound_.clear();
  llvm::SmallVector<std::pair<NodeId, NodeId>, 16> open{{result, root}};
  while (!open.empty()) {
    auto [pattern, node] = open.pop_back_val();
    auto [bound, first] = bound_.try_emplace(pattern.index, node);
    if (!first && !(bound->second == node)) return false;
    if (!first) continue;
    if (!(source_.type(pattern) == graph_.type(node))) return false;
    bool is_operand = llvm::any_of(expansion.origin->inputs, [&, id = pattern](const auto& input) {
      return input.value == id;
    });
    if (!is_operand && !matches(pattern, node, open)) return false;
  }
  return true;
}

/// Returns the place of an expansion on the operands found; nullopt if a result is missing.
std::optional<Place> Restorer::place(const Expansion& expansion) {
  std::vector<NodeId>& at = at_; // for the nodes of the expansion, which are not fixed
  Place made{expansion.origin, {}, {}};
  for (const Origin::Input& input : expansion.origin->inputs) {
    NodeId value = input.value.valid() ? bound_.lookup(input.value.index) : NodeId{};
    bool found = !input.value.valid() || bound_.count(input.value.index);
    if (!found) return std::nullopt;
    made.operands.push_back(value);
    if (value.valid()) at[input.value.index] = value;
  }
  for (NodeId id : expansion.nodes) {
    auto bound = bound_.find(id.index);
    at[id.index] = bound != bound_.end() ? bound->second : same(source_, id, at);
  }
  for (NodeId result : expansion.origin->results) {
    NodeId node = result.valid() ? at[result.index] : NodeId{};
    bool found = node.valid() && node.index < graph_.size() && !graph_.node(node).weight_only;
    if (!found && result.valid() && used_[result.index]) return std::nullopt;
    made.results.push_back(found ? node : NodeId{});
  }
  return made;
}

/// Restores the largest node that the root is a result of, if there is one.
bool Restorer::take(NodeId root, std::vector<bool>& needed) {
  auto candidates = by_root_.find(graph_.node(root).op);
  if (candidates == by_root_.end()) return false;
  for (const auto& [index, result] : candidates->second) {
    const Expansion& expansion = expansions_[index];
    if (!bind(expansion, result, root)) continue;
    std::optional<Place> found = place(expansion);
    if (!found) continue;
    for (NodeId node : found->results)
      if (node.valid() && made_by_[node.index] == SIZE_MAX) made_by_[node.index] = places_.size();
    for (NodeId operand : found->operands)
      if (operand.valid()) needed[operand.index] = true;
    places_.push_back(std::move(*found));
    return true;
  }
  return false;
}

/// Goes from the outputs down, so that nodes needed only by a restored node's expansion are
/// skipped.
void Restorer::find_places() {
  std::vector<bool> needed(graph_.size());
  for (const GraphOutput& output : graph_.outputs()) needed[output.node.index] = true;
  for (uint32_t i = graph_.size(); i-- > 0;) {
    if (!needed[i] || graph_.node({i}).weight_only || made_by_[i] != SIZE_MAX) continue;
    if (take({i}, needed)) continue;
    for (NodeId operand : graph_.operands({i})) needed[operand.index] = true;
  }
}

/// The operators between a place's operands and results, which are its inputs and outputs.
Graph Restorer::alone(const Place& place) const {
  Graph made(graph_.shared_symbols(), "node");
  llvm::DenseMap<uint32_t, NodeId> at;
  std::set<uint32_t> nodes;
  std::vector<uint32_t> open;
  for (NodeId operand : place.operands)
    if (operand.valid() && !at.count(operand.index))
      at[operand.index] = made.input("x" + std::to_string(at.size()), graph_.type(operand));
  for (NodeId result : place.results)
    if (result.valid()) open.push_back(result.index);
  while (!open.empty()) {
    uint32_t i = open.back();
    open.pop_back();
    if (at.count(i) || !nodes.insert(i).second || graph_.node({i}).op == OpKind::Input) continue;
    for (NodeId operand : graph_.operands({i})) open.push_back(operand.index);
  }
  for (uint32_t i : nodes) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : graph_.operands({i})) operands.push_back(at.lookup(operand.index));
    at[i] = graph_.node({i}).op == OpKind::Input
                ? made.input(graph_.attr({i}, 0).text, graph_.type({i}))
                : made.add(graph_.node({i}).op, graph_.attrs({i}), operands);
  }
  for (NodeId result : place.results)
    if (result.valid())
      made.add_output("y" + std::to_string(made.outputs().size()), at[result.index]);
  return made;
}

// --- the graph without them ---------------------------------------------------------------------

/// Copies a graph with inputs instead of the results of restored nodes.
class Cutter {
public:
  Cutter(const Graph& graph, const KeptNodes& kept)
      : graph_(graph), result_{Graph(graph.shared_symbols(), graph.name()), kept} {
    for (NodeId input : graph.inputs()) taken_.insert(graph.attr(input, 0).text);
    for (const GraphOutput& output : graph.outputs()) taken_.insert(output.name);
    for (const std::string& cut : kept.cuts) taken_.insert(cut);
  }

  std::string fresh(llvm::StringRef name) {
    std::string candidate = name.str();
    for (int& i = last_.try_emplace(name, 1).first->second; !taken_.insert(candidate).second;)
      candidate = (name + "_" + llvm::Twine(++i)).str();
    result_.kept.cuts.insert(candidate);
    return candidate;
  }

  /// Returns the name of a value that a restored node reads.
  std::string read(NodeId value, llvm::StringRef name) {
    Graph& graph = result_.graph;
    if (graph.node(value).op == OpKind::Input) return graph.attr(value, 0).text;
    auto [known, first] = read_.try_emplace(value.index);
    if (first) {
      known->second = fresh(name);
      graph.add_output(known->second, value);
    }
    return known->second;
  }

  Restored& result() { return result_; }

private:
  const Graph& graph_;
  Restored result_;
  llvm::StringSet<> taken_;
  llvm::StringMap<int> last_; // last number used for a name
  llvm::DenseMap<uint32_t, std::string> read_;
};

Restored Restorer::rebuilt() {
  Cutter cutter(graph_, kept_);
  Graph& to = cutter.result().graph;
  std::vector<NodeId> at(graph_.size()), fixed(facts_.fixed.size());
  std::vector<KeptNode> nodes;
  for (const Place& place : places_) {
    KeptNode& made = nodes.emplace_back(KeptNode{place.origin->head, 0, place.origin->elements});
    for (const TensorType& type : place.origin->types)
      made.node.add_output(type.is_none() ? "" : cutter.fresh(place.origin->head.name()));
    made.node.set_name(
        *llvm::find_if(made.node.output(), [](auto& name) { return !name.empty(); }));
  }
  for (NodeId input : graph_.inputs())
    at[input.index] = to.input(graph_.attr(input, 0).text, graph_.type(input));
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (at[i].valid()) continue;
    if (size_t place = made_by_[i]; place != SIZE_MAX) {
      const auto& results = places_[place].results;
      auto which = static_cast<int>(llvm::find(results, NodeId{i}) - results.begin());
      at[i] = to.input(nodes[place].node.output(which), graph_.type({i}));
      continue;
    }
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : graph_.operands({i})) operands.push_back(at[operand.index]);
    at[i] = to.add(graph_.node({i}).op, graph_.attrs({i}), operands);
  }
  for (size_t k = 0; k < places_.size(); ++k) // unused results have a name in a file too
    for (size_t i = 0; i < places_[k].results.size(); ++i)
      if (const TensorType& type = places_[k].origin->types[i]; !type.is_none())
        to.input(nodes[k].node.output(static_cast<int>(i)), type);
  for (const GraphOutput& output : graph_.outputs())
    to.add_output(output.name, at[output.node.index]);
  for (uint32_t i = 0; i < facts_.fixed.size(); ++i) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : facts_.fixed.operands({i})) operands.push_back(fixed[operand.index]);
    fixed[i] = to.add(facts_.fixed.node({i}).op, attrs(facts_.fixed, {i}), operands);
  }
  for (size_t k = 0; k < places_.size(); ++k)
    for (size_t i = 0; i < places_[k].operands.size(); ++i) {
      NodeId operand = places_[k].operands[i], weights = places_[k].origin->inputs[i].fixed;
      NodeId value = operand.valid()   ? at[operand.index]
                     : weights.valid() ? fixed[weights.index]
                                       : NodeId{};
      nodes[k].node.add_input(
          value.valid() ? cutter.read(value, nodes[k].node.name() + ".in" + std::to_string(i))
                        : "");
    }
  llvm::append_range(cutter.result().kept.nodes, nodes);
  for (const Place& place : places_)
    if (Graph operators = alone(place); operators.op_count() > 1)
      cutter.result().expansions.push_back(std::move(operators));
  return std::move(cutter.result());
}

} // namespace

bool is_writable(const schema::Node& head, int version, int opset, bool has_new_types) {
  // Versions newer than those that can be written changed only types, and added operators.
  if (version > kNewestExport && !has_new_types) version = kNewestExport;
  if (llvm::is_contained(kBetterExpanded, head.op_type())) return false;
  return version >= 7 && version <= opset && llvm::none_of(kChanges, [&](const Change& change) {
           return change.op == head.op_type() &&
                  (change.opset == kNever || (version < change.opset && change.opset <= opset));
         });
}

void modernise(schema::Node& node, NodeWriter& nodes) {
  llvm::StringRef op = node.op_type();
  auto* attributes = node.mutable_attribute();
  if (op == "Scatter") node.set_op_type("ScatterElements");
  auto drop = [&](const schema::Attribute* one) {
    attributes->erase(attributes->begin() + (one - &attributes->Get(0)));
  };
  if (op == "GridSample" && nodes.opset() >= 20)
    for (schema::Attribute& one : *attributes)
      if (one.name() == "mode" && llvm::StringRef(one.s()).startswith("bi"))
        one.mutable_s()->erase(0, 2);
  if (op == "Split" && nodes.opset() >= 18 && node.input_size() == 1 &&
      !find_attribute(node, "num_outputs")) {
    schema::Attribute& count = *node.add_attribute();
    count.set_name("num_outputs");
    count.set_type(schema::Attribute::INT);
    count.set_i(node.output_size());
  }
  const schema::Attribute* axes = is_reduction(op) ? find_attribute(node, "axes") : nullptr;
  if (!axes || nodes.opset() < (op == "ReduceSum" ? 13 : 18)) return;
  node.add_input(nodes.list(Shape(axes->ints().begin(), axes->ints().end())).name);
  drop(axes);
}

Restored restore_nodes(const Graph& graph, const KeptNodes& kept, const Graph& source,
                       const FileFacts& facts, int opset) {
  Restored restored = Restorer(graph, kept, source, facts, opset).run();
  // If a rule has put one result of a node behind another, the node depends on itself.
  if (WriteOrder::of(restored.graph, &restored.kept)) return restored;
  return {graph, kept};
}

} // namespace tg::onnx
