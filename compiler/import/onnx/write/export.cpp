#include "compiler/import/onnx/write/export.h"

#include "compiler/import/onnx/file/indices.h"
#include "compiler/import/onnx/write/export_forms.h"
#include "compiler/import/onnx/write/export_operators.h"
#include "compiler/import/onnx/write/flatten_rows.h"
#include "compiler/import/onnx/write/join_casts.h"
#include "compiler/import/onnx/write/restore.h"
#include "compiler/import/onnx/write/write_order.h"
#include "compiler/ir/updated.h"
#include "lang/core/semantics/winograd_transforms.h"

#include <llvm/ADT/DenseSet.h>

#include <cmath>

namespace tg::onnx {

namespace {

/// Returns the version of the file format released with the opset, so that a reader of one can
/// read the other.
int64_t ir_version(int opset) {
  if (opset < 15) return 7;
  if (opset < 19) return 8;
  if (opset < 21) return 9;
  if (opset < 23) return 10;
  return opset < 24 ? 11 : 12;
}

/// Larger constants of one repeated number are created when the model is loaded.
constexpr int64_t kMostWritten = 1024;

/// An output as written to the file.
struct ShownAs {
  NodeId node;
  std::string name;
  int32_t element = 0;   // its type in ONNX where the graph carries it in a wider one
  NodeId count = {};     // how many of its rows the file has; invalid: all
  int64_t open_axis = 0; // of these
};

class Exporter {
public:
  Exporter(const Graph& graph, const ExportOptions& options, WriteOrder order)
      : graph_(graph), options_(options), nodes_(options.opset, options.varying),
        order_(std::move(order)), ranges_(graph), needed_(graph.size()), forms_(graph.size()),
        value_(graph.size()), weight_(graph.size(), -1) {}

  Result<Exported> run();

private:
  bool is_leaf(NodeId id) const { return op_info(graph_.node(id).op).has(Trait::Leaf); }
  void mark_needed();
  void reserve_names();
  void reserve_weights(const Graph& graph);
  void add_output(const GraphOutput& output, const llvm::StringSet<>& states);
  void widen_inputs();
  /// Returns the ONNX type of an input or output of integers that Tangram lacks; otherwise 0.
  int32_t element_of(const std::string& name) const {
    if (!options_.facts) return 0;
    auto found = options_.facts->elements.find(name);
    return found == options_.facts->elements.end() ? 0 : found->second;
  }
  void note_renamed();
  void add_weight(NodeId id);
  void write_kept(const KeptNode& kept);
  std::optional<Operand> progression(NodeId id);
  Operand constant(NodeId id);
  Result<void> write(NodeId id);
  Result<Operand> written(NodeId id);
  Result<void> operation(NodeId id);
  NodeId operand_to_write(NodeId user, size_t place) const;
  Operand not_from_end(const Operand& indices, NodeId id, int64_t size);
  /// Returns the size of the axis that a gather or scatter goes along.
  int64_t axis_size(NodeId user) const {
    auto axis = static_cast<size_t>(graph_.attr(user, 0).number);
    return graph_.type(graph_.operands(user)[0])[axis];
  }
  Result<void> check_indices(NodeId user);
  Result<void> check_constant(NodeId user, NodeId indices, int64_t size);
  Operand first_rows(const Operand& rows, const ShownAs& shown);
  void finish_outputs();
  void add_defaults();
  std::string name_of(NodeId id) const;
  /// Returns true if the model has an input or output of the name.
  bool is_shown(const std::string& name) const {
    if (options_.facts)
      for (const auto& [rows, count] : options_.facts->open_counts)
        if (count == name) return false;
    return !options_.kept || options_.kept->cuts.count(name) == 0;
  }
  NodeId count_of(const std::string& name) const;

  const Graph& graph_;
  const ExportOptions& options_;
  NodeWriter nodes_;
  WriteOrder order_;
  WholeRanges ranges_;
  std::vector<bool> needed_;                      // all others are not written
  std::vector<std::optional<WrittenForm>> forms_; // of nodes that are needed, those that are roots
  std::vector<Operand> value_;                    // of each node
  std::vector<int> weight_;                       // of each weight, its place in exported_.weights
  llvm::DenseMap<uint32_t, std::string> named_;   // nodes that are outputs: the first one's name
  std::vector<ShownAs> shown_as_;                 // outputs
  std::vector<std::pair<std::string, std::string>> renamed_; // outputs: in the file, in the graph
  llvm::DenseSet<uint32_t> open_;                            // outputs without their padding
  Exported exported_;
};

/// Marks the nodes that the outputs need. A form needs only its own operands.
void Exporter::mark_needed() {
  for (const GraphOutput& output : graph_.outputs()) needed_[output.node.index] = true;
  for (uint32_t i = graph_.size(); i-- > 0;) {
    if (!needed_[i]) continue;
    forms_[i] = form_of(graph_, {i});
    if (forms_[i] && forms_[i]->kind == WrittenForm::Kind::RmsNorm && nodes_.varies({i}))
      if (!forms_[i]->scale.valid()) forms_[i].reset(); // ones may have an open size
    if (forms_[i]) {
      needed_[forms_[i]->x.index] = true;
      if (forms_[i]->scale.valid()) needed_[forms_[i]->scale.index] = true;
    } else {
      for (size_t place = 0; place < graph_.operands({i}).size(); ++place)
        needed_[operand_to_write({i}, place).index] = true;
    }
  }
}

bool picks(OpKind op) { return op_info(op).index_operand() >= 0; }

/// Returns the operand. For indices that the graph converts from counting from the end, returns the
/// original indices, since ONNX counts from the end by itself.
NodeId Exporter::operand_to_write(NodeId user, size_t place) const {
  NodeId operand = graph_.operands(user)[place];
  if (!picks(graph_.node(user).op) || place != 1) return operand;
  NodeId from_end = counted_from_end(graph_, operand, axis_size(user));
  return from_end.valid() ? from_end : operand;
}

/// Writes indices so that possible negative ones, which are out of range in Tangram, are so
/// in ONNX too.
Operand Exporter::not_from_end(const Operand& indices, NodeId id, int64_t size) {
  bool known = graph_.node(id).op == OpKind::Constant || weight_[id.index] >= 0;
  if (known || ranges_.of(id).low >= 0) return indices;
  auto number = [&](int64_t n) { return nodes_.whole_scalar(n, indices.dtype); };
  Operand below = nodes_.node("Less", {indices, number(0)}, DType::Bool);
  return nodes_.node("Where", {below, number(size), indices}, indices.dtype);
}

/// Reserves user-visible names first, so that no other value takes them.
void Exporter::reserve_names() {
  llvm::StringSet<> states; // inputs and weights
  for (NodeId id : graph_.inputs()) {
    const std::string& name = graph_.attr(id, 0).text;
    if (!is_shown(name)) continue;
    states.insert(name);
    nodes_.reserve(name);
    nodes_.add_input(name, graph_.type(id), element_of(name));
    value_[id.index] = {name, graph_.type(id).dtype};
  }
  llvm::StringMap<NodeId> updated = updated_weights(graph_);
  for (const auto& weight : updated) {
    nodes_.reserve(weight.first());
    states.insert(weight.first());
    value_[weight.second.index].name = weight.first().str();
  }
  for (const GraphOutput& output : graph_.outputs())
    if (is_shown(output.name)) nodes_.reserve(output.name);
  reserve_weights(graph_);
  if (options_.folded_from) reserve_weights(*options_.folded_from);
  for (const GraphOutput& output : graph_.outputs())
    if (is_shown(output.name)) add_output(output, states);
  note_renamed();
}

/// How many rows of the output there are, where another output of the graph says so.
NodeId Exporter::count_of(const std::string& name) const {
  if (!options_.facts) return {};
  auto count = options_.facts->open_counts.find(name);
  if (count == options_.facts->open_counts.end()) return {};
  const GraphOutput* found = llvm::find_if(
      graph_.outputs(), [&](const GraphOutput& output) { return output.name == count->second; });
  return found == graph_.outputs().end() ? NodeId{} : found->node;
}

/// A state and its next value have one name here and two in the file; one that stays as it is, is
/// one value there, too.
void Exporter::add_output(const GraphOutput& output, const llvm::StringSet<>& states) {
  bool is_state = states.contains(output.name);
  OpKind op = graph_.node(output.node).op;
  bool unchanged = op == OpKind::Input && value_[output.node.index].name == output.name;
  std::string name = is_state && !unchanged ? nodes_.fresh(output.name + ".next") : output.name;
  if (name != output.name) renamed_.push_back({name, output.name});
  int64_t open_axis = -1;
  NodeId count = count_of(output.name);
  bool is_open = count.valid() || op == OpKind::NonMaxSuppression || op == OpKind::Input;
  if (options_.facts && is_open)
    if (auto open = options_.facts->open_outputs.find(output.name);
        open != options_.facts->open_outputs.end())
      open_axis = open->second;
  if (open_axis >= 0 && !count.valid()) open_.insert(output.node.index);
  int32_t element = element_of(output.name);
  nodes_.add_output(name, graph_.type(output.node), element, open_axis);
  if (unchanged) return;
  if (element == 0 && !count.valid()) named_.try_emplace(output.node.index, name);
  shown_as_.push_back({output.node, std::move(name), element, count, open_axis});
}

/// Casts inputs of integer types that the graph lacks to their carriers.
void Exporter::widen_inputs() {
  for (NodeId id : graph_.inputs()) {
    Operand& value = value_[id.index];
    if (value.name.empty() || element_of(value.name) == 0) continue;
    nodes_.begin(value.name + ".wide");
    value = nodes_.cast_element(value, data_type(value.dtype), value.dtype);
  }
}

void Exporter::note_renamed() {
  for (const auto& [name, state] : renamed_) {
    schema::KeyValue& record = *exported_.model.add_metadata_props();
    record.set_key((kRenamedOutput + name).str());
    record.set_value(state);
  }
  if (renamed_.empty()) return;
  std::string names;
  for (const auto& [name, state] : renamed_) names += (names.empty() ? "`" : ", `") + name + "`";
  exported_.notes.push_back("outputs that share a name with an input or weight are renamed: " +
                            names);
}

/// Reserves the names of the weights of a graph, including those from which folded weights were
/// computed, so that no constant gets one: files are compared by names.
void Exporter::reserve_weights(const Graph& graph) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.node({i}).op != OpKind::Weight) continue;
    const std::string& path = graph.attr({i}, 0).text;
    if (nodes_.reserve(path) && &graph == &graph_) value_[i].name = path;
  }
}

void Exporter::add_weight(NodeId id) {
  ExportedWeight weight;
  std::string name = std::move(value_[id.index].name);
  if (name.empty()) name = nodes_.fresh(graph_.attr(id, 0).text);
  describe(weight.tensor, name, graph_.type(id));
  weight.node = id;
  value_[id.index] = {std::move(name), graph_.type(id).dtype};
  weight_[id.index] = static_cast<int>(exported_.weights.size());
  exported_.weights.push_back(std::move(weight));
}

/// Writes a kept node with its inner results under new names; results that are outputs of the model
/// keep their names. Values that the graph carries in a wider type are cast to and from their own.
void Exporter::write_kept(const KeptNode& kept) {
  schema::Node node = kept.node;
  auto element = [](llvm::ArrayRef<int32_t> all, int i) {
    return static_cast<size_t>(i) < all.size() ? all[static_cast<size_t>(i)] : 0;
  };
  nodes_.begin(node.name());
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    Operand value = value_[order_.of_name.lookup(node.input(i)).index];
    if (int32_t to = element(kept.elements.inputs, i))
      value = nodes_.cast_element(value, to, value.dtype);
    node.set_input(i, value.name);
  }
  std::vector<std::pair<NodeId, Operand>> narrow;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    NodeId id = order_.of_name.lookup(node.output(i));
    auto output = named_.find(id.index);
    bool shown = output != named_.end();
    int32_t own = element(kept.elements.results, i);
    node.set_output(i, shown ? output->second : nodes_.fresh(node.output(i)));
    value_[id.index] = {node.output(i), graph_.type(id).dtype};
    if (own) narrow.push_back({id, value_[id.index]});
    if (!shown) nodes_.add_value_info(node.output(i), graph_.type(id), own);
  }
  node.set_name(nodes_.fresh(node.name()));
  modernise(node, nodes_);
  nodes_.add(std::move(node));
  for (const auto& [id, value] : narrow)
    value_[id.index] = nodes_.cast_element(value, data_type(value.dtype), value.dtype);
}

/// Writes equally spaced integers of an open size, such as 0 to S - 1, as a Range.
std::optional<Operand> Exporter::progression(NodeId id) {
  const TensorType& type = graph_.type(id);
  const Value& values = graph_.attr(id, 0);
  llvm::SmallVector<int64_t, 8> all(values.ints.begin(), values.ints.end());
  for (double value : values.reals) {
    if (value != std::floor(value) || std::fabs(value) > 0x1p24) return std::nullopt;
    all.push_back(static_cast<int64_t>(value));
  }
  auto count = static_cast<int64_t>(all.size());
  if (!nodes_.varies(id) || count < 2 || count != type.elements()) return std::nullopt;
  int64_t step = all[1] - all[0];
  for (int64_t i = 0; i < count; ++i)
    if (step == 0 || all[i] != all[0] + i * step) return std::nullopt;
  nodes_.begin("constant");
  auto number = [&](int64_t n) { return nodes_.whole_scalar(n, DType::I64); };
  Operand range = nodes_.node(
      "Range", {number(all[0]), number(all[0] + count * step), number(step)}, DType::I64);
  if (type.rank() != 1)
    range = nodes_.node("Reshape", {range, nodes_.list(type.shape)}, DType::I64);
  return nodes_.cast(range, type.dtype);
}

Operand Exporter::constant(NodeId id) {
  const Value& values = graph_.attr(id, 0);
  const TensorType& type = graph_.type(id);
  if (std::optional<Operand> range = progression(id)) return *range;
  std::string bytes = values.ints.empty() ? element_bytes(values.reals, type.dtype)
                                          : element_bytes(values.ints, type.dtype);
  size_t count = values.ints.size() + values.reals.size();
  int64_t repeats = count == 0 ? 0 : type.elements() / static_cast<int64_t>(count);
  if (repeats > kMostWritten || (count == 1 && type.rank() > 0 && nodes_.varies(id)))
    return nodes_.filled(type, bytes);
  std::string all;
  for (int64_t i = 0; i < repeats; ++i) all += bytes;
  return nodes_.tensor("constant", type, std::move(all));
}

std::string Exporter::name_of(NodeId id) const {
  auto output = named_.find(id.index);
  if (output != named_.end()) return output->second;
  return llvm::formatv("{0}_{1}", op_info(graph_.node(id).op).name, id.index);
}

Result<Operand> Exporter::written(NodeId id) {
  if (const std::optional<WrittenForm>& form = forms_[id.index])
    return write_form(nodes_, *form, graph_.type(id), value_[form->x.index],
                      form->scale.valid() ? value_[form->scale.index] : Operand{});
  llvm::SmallVector<Operand, 5> operands;
  for (size_t place = 0; place < graph_.operands(id).size(); ++place) {
    NodeId operand = operand_to_write(id, place);
    operands.push_back(value_[operand.index]);
    if (is_integer(graph_.type(operand).dtype)) operands.back().range = ranges_.of(operand);
  }
  if (picks(graph_.node(id).op) && operand_to_write(id, 1) == graph_.operands(id)[1])
    operands[1] = not_from_end(operands[1], graph_.operands(id)[1], axis_size(id));
  return write_operator(nodes_, graph_, id, operands, open_.contains(id.index));
}

Result<void> Exporter::operation(NodeId id) {
  nodes_.begin(name_of(id));
  size_t before = nodes_.node_count();
  TG_TRY(Operand value, written(id));
  if (nodes_.node_count() > before && nodes_.is_last(value)) {
    bool output = named_.count(id.index) > 0;
    std::string name = output ? name_of(id) : nodes_.fresh(name_of(id));
    nodes_.name_result(value, name, graph_.type(id), /*describe=*/!output);
  }
  value_[id.index] = std::move(value);
  return picks(graph_.node(id).op) ? check_indices(id) : Result<void>();
}

Result<void> Exporter::check_constant(NodeId user, NodeId indices, int64_t size) {
  const Value& values = graph_.attr(indices, 0);
  llvm::SmallVector<int64_t, 8> all(values.ints.begin(), values.ints.end());
  for (double index : values.reals) all.push_back(static_cast<int64_t>(index));
  for (int64_t index : all)
    if (index < 0 || index >= size)
      return error(Code::unsupported,
                   "`{0}` takes index {1} of an axis of {2}: ONNX rejects it, or counts it from "
                   "the end",
                   op_info(graph_.node(user).op).name, index, size);
  return {};
}

/// Checks the indices of a gather or scatter. Known indices are checked here, or when their
/// elements are written. Indices from an argmax or top_k along an axis of that size are valid. For
/// all others a note states the assumption.
Result<void> Exporter::check_indices(NodeId user) {
  NodeId indices = operand_to_write(user, 1);
  int64_t size = axis_size(user);
  const Node& node = graph_.node(indices);
  if (node.op == OpKind::Constant) return check_constant(user, indices, size);
  if (weight_[indices.index] >= 0) {
    ExportedWeight& weight = exported_.weights[weight_[indices.index]];
    if (weight.indices_below != 0 && weight.indices_below <= size) return {};
    weight.indices_below = size;
    weight.picks = graph_.node(user).op;
    return {};
  }
  if (node.op == OpKind::Argmax || node.op == OpKind::TopK) {
    NodeId ranked = graph_.operands(indices)[0];
    if (graph_.type(ranked)[static_cast<size_t>(graph_.attr(indices, 0).number)] <= size) return {};
  }
  bool from_end = indices != graph_.operands(user)[1];
  exported_.notes.push_back(
      llvm::formatv("`{0}` must contain rows from {1} to {2}: ONNX reports others as errors",
                    value_[indices.index].name, from_end ? -size : 0, size - 1));
  return {};
}

/// The first rows of those that may be, which a reader of the file recognises as such.
Operand Exporter::first_rows(const Operand& rows, const ShownAs& shown) {
  Shape numbers;
  int64_t size = graph_.type(shown.node)[static_cast<size_t>(shown.open_axis)];
  for (int64_t i = 0; i < size; ++i) numbers.push_back(i);
  nodes_.begin(shown.name);
  Operand there =
      nodes_.node("Less", {nodes_.list(numbers), value_[shown.count.index]}, DType::Bool);
  return nodes_.node("Compress", {rows, there}, rows.dtype, {Attr::whole("axis", shown.open_axis)});
}

/// Adds nodes for outputs whose name no node has: those that are an input or a weight, and second
/// names of a value.
void Exporter::finish_outputs() {
  for (const ShownAs& shown : shown_as_) {
    Operand value = value_[shown.node.index];
    if (shown.count.valid()) value = first_rows(value, shown);
    if (shown.element) value = nodes_.cast_element(value, shown.element, value.dtype);
    if (value.name != shown.name) nodes_.alias(value, shown.name);
  }
}

/// Makes inputs of the weights that a caller of the source may replace, unless folded weights
/// depend on them.
void Exporter::add_defaults() {
  if (!options_.facts) return;
  llvm::StringSet<> folded;
  if (const Graph* from = options_.folded_from)
    for (uint32_t i = 0; i < from->size(); ++i)
      if (from->node({i}).op == OpKind::Weight) folded.insert(from->attr({i}, 0).text);
  std::vector<std::string> lost;
  for (const std::string& name : options_.facts->defaults) {
    auto weight = llvm::find_if(exported_.weights, [&](const ExportedWeight& one) {
      return one.tensor.name() == name && !folded.contains(name);
    });
    if (weight == exported_.weights.end())
      lost.push_back(name);
    else
      nodes_.add_input(name, graph_.type(weight->node));
  }
  if (lost.empty()) return;
  std::string others =
      lost.size() > 1 ? llvm::formatv(" and {0} more are", lost.size() - 1).str() : " is";
  exported_.notes.push_back(
      llvm::formatv("`{0}`{1} not an input of this file: the default value is used; `--shape "
                    "{0}=SIZES` makes it an input",
                    lost.front(), others));
}

Result<void> Exporter::write(NodeId id) {
  OpKind op = graph_.node(id).op;
  if (!needed_[id.index] || op == OpKind::None || op == OpKind::Input) return {};
  if (op == OpKind::Weight)
    add_weight(id);
  else if (op == OpKind::Constant)
    value_[id.index] = constant(id);
  else
    return operation(id);
  return {};
}

Result<Exported> Exporter::run() {
  mark_needed();
  reserve_names();
  widen_inputs();
  for (const WriteOrder::Step& step : order_.steps) {
    if (step.is_kept)
      write_kept(options_.kept->nodes[step.index]);
    else
      TG_CHECK(write({step.index}));
  }
  finish_outputs();
  add_defaults();
  exported_.graph = nodes_.take();
  if (options_.facts) join_casts(exported_.graph);
  exported_.graph.set_name(graph_.name());
  exported_.model.set_ir_version(ir_version(options_.opset));
  exported_.model.set_producer_name(kProducer.str());
  exported_.model.set_producer_version(options_.version);
  exported_.model.add_opset_import()->set_version(options_.opset);
  return std::move(exported_);
}

// --- preparing ----------------------------------------------------------------------------------

/// Returns the matrix that recovers a kernel's rows and columns from its transform: K with K G = 1,
/// so that the transform G w G' gives w. It adds at most two rows, and multiplies by at most 1.2.
std::vector<double> kernel_of_transform(const Winograd& winograd) {
  std::vector<double> one(static_cast<size_t>(3 * winograd.tile)), both;
  double scale = winograd.denominator;
  auto at = [&](int64_t row, int64_t column) -> double& {
    return one[row * winograd.tile + column];
  };
  at(0, 0) = scale / winograd.weights[0][0];
  at(1, 2) = scale / (2.0 * winograd.weights[2][1]);
  at(1, 1) = -at(1, 2);
  at(2, winograd.tile - 1) = scale / winograd.weights[winograd.tile - 1][2];
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t p = 0; p < winograd.products(); ++p)
      both.push_back(at(i / 3, p / winograd.tile) * at(i % 3, p % winograd.tile));
  return both;
}

/// Copies nodes from one graph to another.
class Copier {
public:
  Copier(const Graph& from, Graph& to) : from_(from), to_(to), made_(from.size()) {}
  NodeId of(NodeId id) const { return made_[id.index]; }
  void set(NodeId id, NodeId made) { made_[id.index] = made; }
  llvm::SmallVector<NodeId, 5> operands(NodeId id) const {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : from_.operands(id)) operands.push_back(of(operand));
    return operands;
  }
  void copy(NodeId id) { set(id, to_.add(from_.node(id).op, from_.attrs(id), operands(id))); }

private:
  const Graph& from_;
  Graph& to_;
  std::vector<NodeId> made_;
};

/// Copies the nodes that the outputs need, and all inputs.
class ExportPreparation {
public:
  explicit ExportPreparation(const Graph& from)
      : from_(from), to_(from.shared_symbols(), from.name()), copier_(from, to_) {}

  PreparedGraph run() {
    std::vector<bool> needed = from_.reachable();
    for (NodeId input : from_.inputs()) needed[input.index] = true;
    for (uint32_t i = 0; i < from_.size(); ++i) {
      if (!needed[i]) continue;
      if (NodeId kernel = kernel_of({i}); kernel.valid())
        copier_.set({i}, conv2d({i}, kernel));
      else if (from_.node({i}).op == OpKind::Attention)
        copier_.set({i}, attention_in_pieces({i}));
      else
        copier_.copy({i});
      assert(copier_.of({i}).valid() && "a copy of a well-typed node is well typed");
    }
    for (const GraphOutput& output : from_.outputs())
      to_.add_output(output.name, copier_.of(output.node));
    Graph transforms = transforms_alone();
    return {std::move(to_), std::move(transforms)};
  }

private:
  /// Returns the kernel of a winograd_conv2d if it can be recovered, otherwise none.
  NodeId kernel_of(NodeId id) {
    if (from_.node(id).op != OpKind::WinogradConv2d) return {};
    NodeId transform = from_.operands(id)[1];
    const Node& node = from_.node(transform);
    if (node.op == OpKind::WinogradWeight) return copier_.of(from_.operands(transform)[0]);
    return node.weight_only ? recovered(copier_.of(transform)) : NodeId{};
  }

  NodeId conv2d(NodeId id, NodeId kernel) {
    llvm::SmallVector<NodeId, 5> operands = copier_.operands(id);
    operands[1] = kernel;
    ValueId one = value(Value::of_ints({1, 1}));
    llvm::ArrayRef<ValueId> attrs = from_.attrs(id); // pad, act
    return to_.add(OpKind::Conv2d, {one, attrs[0], one, attrs[1]}, operands);
  }

  /// Recovers a kernel from its transform [products, O, I], by operators on weights, which are
  /// folded.
  NodeId recovered(NodeId transform) {
    TensorType type = to_.type(transform);
    const Winograd& winograd = winograd_of_products(type[0]);
    NodeId matrix = to_.constant(kernel_of_transform(winograd), {type.dtype, {9, type[0]}});
    NodeId rows = reshape(transform, {type[0], type[1] * type[2]});
    NodeId columns = product(matrix, rows);
    NodeId kernels = to_.add(OpKind::Transpose, {value(Value::of_ints({1, 0}))}, {columns});
    NodeId kernel = reshape(kernels, {type[1], type[2], 3, 3});
    NodeId again =
        to_.add(OpKind::WinogradWeight, {value(Value::of_int(winograd.results))}, {kernel});
    transforms_.push_back({transform, again});
    return kernel;
  }
  /// Writes attention by its definition.
  NodeId attention_in_pieces(NodeId id) {
    llvm::SmallVector<NodeId, 5> x = copier_.operands(id);
    auto given = [&](size_t i) { return !to_.type(x[i]).is_none(); };
    NodeId scores = product(x[0], x[1]);
    if (given(3)) scores = to_.add(OpKind::Add, {}, {scores, x[3]});
    if (given(4)) {
      NodeId otherwise = to_.constant({from_.attr(id, 0).real}, {to_.type(scores).dtype, {}});
      scores = to_.add(OpKind::Select, {}, {x[4], scores, otherwise});
    }
    ValueId last = value(Value::of_int(to_.type(scores).rank() - 1));
    return product(to_.add(OpKind::Softmax, {last}, {scores}), x[2]);
  }
  NodeId product(NodeId x, NodeId y) {
    return to_.add(OpKind::Matmul, {value(Value::of_enum("none"))}, {x, y, to_.none(), to_.none()});
  }
  NodeId reshape(NodeId x, llvm::ArrayRef<int64_t> shape) {
    return to_.add(OpKind::Reshape, {value(Value::of_ints(shape))}, {x});
  }
  ValueId value(const Value& v) { return to_.symbols().value(v); }

  Graph transforms_alone() const {
    Graph alone(to_.shared_symbols(), to_.name());
    if (transforms_.empty()) return alone;
    Copier copier(to_, alone);
    for (uint32_t i = 0; i < to_.size(); ++i)
      if (to_.node({i}).weight_only) copier.copy({i});
    for (auto [given, again] : transforms_) {
      bool named = to_.node(given).op == OpKind::Weight;
      std::string name = named ? to_.attr(given, 0).text : "a weight";
      for (NodeId node : {given, again}) alone.add_output(name, copier.of(node));
    }
    return alone;
  }

  const Graph& from_;
  Graph to_;
  Copier copier_;
  std::vector<std::pair<NodeId, NodeId>> transforms_; // in to_
};

} // namespace

PreparedGraph prepare_for_export(const Graph& graph) {
  PreparedGraph prepared = ExportPreparation(graph).run();
  prepared.graph = flatten_rows(prepared.graph);
  return prepared;
}

Result<Exported> export_graph(const Graph& graph, const ExportOptions& options) {
  if (options.opset < kOldestExport || options.opset > kNewestExport)
    return error(Code::unsupported, "opset {0} cannot be written: use {1} to {2}", options.opset,
                 kOldestExport, kNewestExport);
  std::optional<WriteOrder> order = WriteOrder::of(graph, options.kept);
  assert(order && "join_kept() found an order");
  if (options.kept && options.kept->opset() > options.opset)
    return error(Code::unsupported,
                 "opset {0} is too old for the kept nodes ({1}), which require {2}", options.opset,
                 options.kept->text(), options.kept->opset());
  return Exporter(graph, options, std::move(*order)).run();
}

} // namespace tg::onnx
