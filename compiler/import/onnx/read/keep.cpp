#include "compiler/import/onnx/read/keep.h"

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

/// From opset 7 on they changed by an attribute and a dtype.
int opset_of_recurrence(const schema::Node& node, int, DType dtype) {
  if (dtype == DType::BF16) return 22;
  bool layout = llvm::any_of(
      node.attribute(), [](const schema::Attribute& given) { return given.name() == "layout"; });
  return layout ? 14 : 7;
}

/// Its attributes are converted to this opset (head_of).
int opset_of_regions(const schema::Node&, int version, DType) { return std::max(version, 16); }

/// Since opset 13 only dtypes were added; bf16 is newer than the opsets that are written.
int opset_of_types(const schema::Node&, int, DType dtype) {
  return dtype == DType::BF16 ? kNewestImport : 13;
}

/// Any version may have added inputs or attributes.
int opset_of_version(const schema::Node&, int version, DType) { return version; }

/// Returns true for several steps; a single step is as fast when expanded.
bool has_steps(const schema::Node& node, const TensorType& x) {
  if (x.rank() != 3) return false; // its form refuses it
  bool batch_first = llvm::any_of(node.attribute(), [](const schema::Attribute& given) {
    return given.name() == "layout" && given.i() != 0;
  });
  return x[batch_first ? 1 : 0] > 1;
}

bool always(const schema::Node&, const TensorType&) { return true; }

/// An operator of the default domain.
struct Row {
  llvm::StringLiteral op;
  /// Returns true if runtimes run the node faster than its expansion. `x`: its first operand.
  bool (*pays)(const schema::Node& node, const TensorType& x);
  /// Returns the oldest opset in which a node of this version has the same meaning.
  int (*opset)(const schema::Node& node, int version, DType dtype);
  /// True for a node that is kept only if the size of a result depends on data, which graphs lack.
  bool is_open = false;
};
constexpr Row kRows[] = {
    {"Attention", always, opset_of_version},
    {"Compress", always, opset_of_types, true},
    {"Det", always, opset_of_types},
    {"GRU", has_steps, opset_of_recurrence},
    {"GridSample", always, opset_of_version},
    {"LSTM", has_steps, opset_of_recurrence},
    {"NonZero", always, opset_of_types, true},
    {"RNN", has_steps, opset_of_recurrence},
    {"ReverseSequence", always, opset_of_types},
    {"RoiAlign", always, opset_of_regions},
    {"RotaryEmbedding", always, opset_of_version},
    {"Unique", always, opset_of_types, true},
};

const Row* row_of(const schema::Node& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  const Row* found = llvm::find_if(kRows, [&](const Row& row) { return row.op == node.op_type(); });
  return found == std::end(kRows) ? nullptr : found;
}

/// Returns true if all values are absent or tensors with elements.
bool are_tensors(llvm::ArrayRef<FileValue> values) {
  return llvm::all_of(values, [](const FileValue& value) {
    return value.is(Kind::Tensor) || value.is(Kind::Narrow) || value.is(Kind::Absent);
  });
}

} // namespace

schema::Node head_of(const schema::Node& node, int version,
                     const llvm::StringMap<const schema::Attribute*>& attributes) {
  schema::Node head;
  head.set_op_type(node.op_type());
  head.set_name(name_of(node));
  for (const schema::Attribute& own : node.attribute()) {
    const schema::Attribute* value =
        own.ref_attr_name().empty() ? &own : attributes.lookup(own.ref_attr_name());
    if (!value) continue;
    schema::Attribute& made = *head.add_attribute();
    made = *value;
    made.set_name(own.name());
  }
  if (node.op_type() == "RoiAlign" && version < 16) {
    schema::Attribute& made = *head.add_attribute();
    made.set_name("coordinate_transformation_mode");
    made.set_type(schema::Attribute::STRING);
    made.set_s("output_half_pixel");
  }
  return head;
}

std::vector<NodeId> copy_below(const Graph& from, std::vector<bool> needed, Graph& to) {
  for (uint32_t i = from.size(); i-- > 0;)
    if (needed[i])
      for (NodeId operand : from.operands({i})) needed[operand.index] = true;
  std::vector<NodeId> at(from.size());
  for (uint32_t i = 0; i < from.size(); ++i) {
    if (!needed[i]) continue;
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from.operands({i})) operands.push_back(at[operand.index]);
    at[i] = to.add(from.node({i}).op, from.attrs({i}), operands);
  }
  return at;
}

Keeper::Keeper(Emitter& emit, const schema::Graph& graph, int newest)
    : emit_(emit), newest_(newest) {
  std::vector<const schema::Graph*> graphs = {&graph};
  while (!graphs.empty()) {
    const schema::Graph& here = *graphs.back();
    graphs.pop_back();
    for (const schema::Node& node : here.node()) {
      for (const std::string& input : node.input()) read_by_nodes_.insert(input);
      for (const schema::Attribute& given : node.attribute())
        if (given.has_g()) graphs.push_back(&given.g());
    }
    if (&here != &graph)
      for (const schema::ValueInfo& output : here.output()) read_by_nodes_.insert(output.name());
  }
  for (const schema::ValueInfo& input : graph.input()) taken_.insert(input.name());
  for (const schema::ValueInfo& output : graph.output()) {
    taken_.insert(output.name());
    taken_.insert(output.name() + "_count"); // the number of rows that data selects
  }
}

std::string Keeper::fresh(llvm::StringRef name) {
  std::string candidate = name.str();
  for (int i = 2; !taken_.insert(candidate).second; ++i)
    candidate = (name + "_" + llvm::Twine(i)).str();
  cuts_.insert(candidate);
  return candidate;
}

/// Returns the name of the input that a value is; any other value becomes an output.
std::string Keeper::read(NodeId value, llvm::StringRef name) {
  const Graph& graph = emit_.graph();
  if (graph.node(value).op == OpKind::Input) return graph.attr(value, 0).text;
  auto [known, first] = read_.try_emplace(value.index);
  if (first) {
    known->second = fresh(name);
    cut_.push_back(value);
  }
  return known->second;
}

/// Adds an input of the result's type.
FileValue Keeper::given(const FileValue& result, llvm::StringRef name, std::string& input) {
  if (!result.node.valid()) return result;
  input = fresh(name);
  FileValue made = result;
  made.node = emit_.graph().input(input, result.type);
  made.count = {}; // a written file has no counts
  return made;
}

std::optional<KeptNode>
Keeper::choose(const schema::Node& node, int version, llvm::ArrayRef<FileValue> inputs,
               const llvm::StringMap<const schema::Attribute*>& attributes) {
  const Row* row = newest_ > 0 && !inputs.empty() ? row_of(node) : nullptr;
  if (!row) return std::nullopt;
  KeptNode kept{head_of(node, version, attributes), 0};
  const TensorType& x = inputs[0].type;
  if (!row->pays(kept.node, x)) return std::nullopt;
  kept.opset = row->opset(kept.node, version, x.dtype);
  if (kept.opset <= newest_ && are_tensors(inputs)) return kept;
  written_out_.push_back(node.op_type() + " `" + name_of(node) + "`");
  return std::nullopt;
}

bool Keeper::is_to_keep(const KeptNode& chosen, const schema::Node& node,
                        llvm::ArrayRef<FileValue> results) const {
  if (!row_of(chosen.node)->is_open) return true;
  bool is_read = llvm::any_of(node.output(), [&](const std::string& name) {
    return !name.empty() && read_by_nodes_.contains(name);
  });
  return !is_read &&
         llvm::any_of(results, [](const FileValue& result) { return result.is(Kind::Padded); });
}

void Keeper::keep(KeptNode chosen, const schema::Node& node, llvm::ArrayRef<FileValue> inputs,
                  std::vector<FileValue>& results) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    chosen.node.add_input(
        inputs[i].node.valid() ? read(inputs[i].node, node.input(static_cast<int>(i))) : "");
    chosen.elements.inputs.push_back(inputs[i].element);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = given(results[i], node.output(static_cast<int>(i)), *chosen.node.add_output());
    chosen.elements.results.push_back(results[i].element);
  }
  nodes_.push_back(std::move(chosen));
}

std::optional<KeptNodes> Keeper::finish() {
  if (nodes_.empty()) return std::nullopt;
  Graph& graph = emit_.graph();
  Graph fixed(graph.shared_symbols(), graph.name());
  std::vector<bool> needed(graph.size());
  for (NodeId value : cut_)
    if (graph.node(value).weight_only)
      needed[value.index] = true;
    else
      graph.add_output(read_[value.index], value);
  std::vector<NodeId> at = copy_below(graph, std::move(needed), fixed);
  for (NodeId value : cut_)
    if (graph.node(value).weight_only) fixed.add_output(read_[value.index], at[value.index]);
  return KeptNodes{std::move(nodes_), std::move(fixed), std::move(cuts_)};
}

} // namespace tg::onnx
