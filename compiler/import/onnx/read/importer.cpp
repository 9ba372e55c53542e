// Converts an open file to a graph: scopes of names, nodes in a valid order, functions, and
// declared types.
#include "compiler/import/onnx/read/tensors.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSet.h>

#include <llvm/ADT/StringExtras.h>

#include "compiler/import/onnx/file/elements.h"
#include "compiler/import/onnx/read/input_dims.h"
#include "compiler/import/onnx/read/keep.h"
#include "compiler/import/onnx/read/module_path.h"
#include "compiler/import/onnx/read/order.h"
#include "compiler/import/onnx/read/shared/narrow.h"
#include "compiler/import/onnx/read/shared/open_rows.h"

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

constexpr int64_t kNewestFormat = 14; // `ir_version`
constexpr int kMaxBodyDepth = 64;
constexpr int64_t kMaxOps = 2'000'000;
/// Limit on the kinds of rejected nodes in messages.
constexpr size_t kMaxMessages = 10;

/// The names that nodes of a graph can read.
struct Scope {
  const Scope* outer = nullptr;
  llvm::StringMap<FileValue> values;
  llvm::StringMap<const schema::Tensor*> initializers; // not read yet
  llvm::StringMap<const schema::Type*> declared;
  const llvm::StringMap<const schema::Attribute*>* attributes = nullptr; // of a function's call
  const llvm::StringMap<int>* opsets = nullptr;                          // by domain
  const google::protobuf::RepeatedPtrField<schema::Node>* nodes = nullptr;
  std::vector<std::string> outputs;

  bool is_needed(const schema::Node& node) const {
    for (int i = 0; nodes && i < nodes->size(); ++i)
      if (&nodes->Get(i) == &node) return needed_nodes(*nodes, outputs)[static_cast<size_t>(i)];
    return true;
  }
};

llvm::StringRef domain_of(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

std::string function_key(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (domain_of(domain) + ":" + name + ":" + overload).str();
}

std::string title(const schema::Node& node) {
  return domain_of(node.domain()).empty() ? node.op_type() : node.domain() + "." + node.op_type();
}

/// Returns true if the known sizes match the shape.
bool fits(const schema::Shape& declared, const Shape& shape) {
  if (declared.dim_size() != static_cast<int>(shape.size())) return false;
  for (int i = 0; i < declared.dim_size(); ++i) {
    const schema::Shape::Dimension& dim = declared.dim(i);
    bool known = dim.has_dim_value() && dim.dim_value() > 0;
    if (known && dim.dim_value() != shape[static_cast<size_t>(i)]) return false;
  }
  return true;
}

/// Formats "1, N, ?".
std::string sizes_text(const schema::Shape& declared) {
  std::string sizes;
  for (const schema::Shape::Dimension& dim : declared.dim())
    sizes += (sizes.empty() ? "" : ", ") + (dim.has_dim_value() ? std::to_string(dim.dim_value())
                                            : dim.dim_param().empty() ? "?"
                                                                      : dim.dim_param());
  return sizes;
}

class Importer : public Bodies {
public:
  Importer(std::shared_ptr<const ModelFile> file, const ImportOptions& options,
           DiagnosticSink& sink)
      : file_(std::move(file)), options_(options), sink_(sink),
        graph_(std::make_shared<Symbols>(), file_->model().graph().name()),
        emit_(graph_, *file_, options.most_folded),
        keeper_(emit_, file_->model().graph(), options.keep_for),
        facts_{0, {}, Graph(graph_.shared_symbols())} {}

  std::optional<Imported> run(std::vector<Refusal>* refused);

private:
  std::optional<std::vector<FileValue>> run(const schema::Graph& body,
                                            llvm::ArrayRef<FileValue> inputs) override;
  bool read_format(int64_t version);
  template <class Sets> bool read_opsets(const Sets& sets, llvm::StringMap<int>& versions);
  bool read_functions();

  bool add_inputs(Scope& scope);
  bool has_default(const schema::ValueInfo& input, Scope& scope);
  std::optional<TensorType> input_type(const schema::ValueInfo& input);
  bool check_sizes();
  bool add_outputs(Scope& scope);
  void read_renamed();
  void add_padded_output(const std::string& name, const FileValue& rows);
  void remember(const schema::Node& node, int version, llvm::ArrayRef<FileValue> inputs,
                const llvm::StringMap<const schema::Attribute*>& attributes,
                llvm::ArrayRef<FileValue> results);
  FileFacts finish_facts();
  bool writes() const { return options_.keep_for > 0; }

  bool declare(const schema::Graph& graph, Scope& scope);
  bool nodes(const google::protobuf::RepeatedPtrField<schema::Node>& nodes, Scope& scope);
  bool node(const schema::Node& node, Scope& scope);
  bool call(const schema::Node& node, const Form& form, Scope& scope,
            std::vector<FileValue> inputs);
  bool call_function(const schema::Node& node, const schema::Function& function, Scope& scope,
                     const std::vector<FileValue>& inputs);
  std::optional<FileValue> find(llvm::StringRef name, const schema::Node& reader,
                                const Scope& scope);
  FileValue read_initializer(const schema::Tensor& tensor, Scope& scope);
  bool define(const schema::Node& node, llvm::ArrayRef<FileValue> results, Scope& scope);
  bool agrees(llvm::StringRef name, const FileValue& value, const schema::Type& declared);
  void report_stale();

  bool refuse(const schema::Node& node, Scope& scope, const llvm::Twine& why);
  bool bad(const llvm::Twine& what, Code code = Code::bad_data_file);
  void report_refused();

  std::shared_ptr<const ModelFile> file_;
  const ImportOptions& options_;
  DiagnosticSink& sink_;
  Graph graph_;
  Emitter emit_;
  Keeper keeper_;
  FileFacts facts_;
  llvm::StringMap<std::string> renamed_; // outputs of the file: their names in the graph
  llvm::StringMap<int> opsets_;
  llvm::StringMap<const schema::Function*> functions_;
  InputDims dims_;
  std::map<std::string, std::string> stale_; // values with another declared shape: both shapes
  llvm::DenseMap<uint32_t, std::string> names_;
  llvm::StringSet<> outputs_;
  std::vector<Refusal> refused_;
  Scope* scope_ = nullptr; // of the current node
  int depth_ = 0;
  int64_t ops_ = 0;
  bool broken_ = false; // an error was reported that ends the import
};

bool Importer::bad(const llvm::Twine& what, Code code) {
  sink_.report(error(code, "`{0}`: {1}", file_->file_name(), what.str()));
  broken_ = true;
  return false;
}

/// Rejects a node; it is reported if something depends on it.
bool Importer::refuse(const schema::Node& node, Scope& scope, const llvm::Twine& why) {
  if (scope.is_needed(node)) refused_.push_back({title(node), name_of(node), why.str()});
  for (const std::string& output : node.output())
    if (!output.empty()) scope.values[output] = FileValue::of(Kind::Refused);
  return true;
}

// --- versions of the format and the operator sets ------------------------------------------------

/// Older versions need no special handling; features of a newer version could be missed.
bool Importer::read_format(int64_t version) {
  if (version <= kNewestFormat) return true;
  return bad("version " + llvm::Twine(version) + " of the format is not supported: the newest is " +
                 llvm::Twine(kNewestFormat),
             Code::unsupported);
}

template <class Sets> bool Importer::read_opsets(const Sets& sets, llvm::StringMap<int>& versions) {
  for (const schema::OperatorSet& set : sets)
    versions[domain_of(set.domain())] = static_cast<int>(std::min<int64_t>(set.version(), 9999));
  auto own = versions.find("");
  if (own == versions.end()) return true;
  if (own->second < kOldestImport || own->second > kNewestImport)
    return bad("operator set " + llvm::Twine(own->second) + " is not supported: use " +
                   llvm::Twine(kOldestImport) + " to " + llvm::Twine(kNewestImport),
               Code::unsupported);
  return true;
}

bool Importer::read_functions() {
  for (const schema::Function& function : file_->model().functions()) {
    std::string key = function_key(function.domain(), function.name(), function.overload());
    if (!functions_.try_emplace(key, &function).second)
      return bad("the function `" + function.name() + "` is defined twice");
  }
  return true;
}

// --- inputs and outputs --------------------------------------------------------------------------

/// Returns nullopt if a size is open, or the type is wrong.
std::optional<TensorType> Importer::input_type(const schema::ValueInfo& input) {
  if (!input.type().has_tensor_type()) {
    bad("the input `" + input.name() + "` is not a tensor", Code::unsupported);
    return std::nullopt;
  }
  const schema::Type::OfTensor& tensor = input.type().tensor_type();
  Result<DType> dtype = carrier_of(tensor.elem_type());
  if (*dtype != DType::None)
    facts_.elements[input.name()] = tensor.elem_type();
  else
    dtype = dtype_of(tensor.elem_type());
  if (!dtype) {
    bad("the input `" + input.name() + "`: " + dtype.error().message, dtype.error().code);
    return std::nullopt;
  }
  TensorType type{*dtype, {}};
  auto dims = dims_.inputs.find(input.name());
  if (dims == dims_.inputs.end()) return std::nullopt;
  for (const InputDim& dim : dims->second) {
    std::optional<int64_t> size = dim.value(dims_.fixed);
    if (!size) return std::nullopt;
    type.shape.push_back(*size);
  }
  return type;
}

/// Returns true if an input is a weight whose value is in the file. Since version 4 of the format
/// such a value is a default, and a given shape makes it an input.
bool Importer::has_default(const schema::ValueInfo& input, Scope& scope) {
  auto initializer = scope.initializers.find(input.name());
  if (initializer == scope.initializers.end()) return false;
  if (dims_.inputs.count(input.name())) { // a shape is given
    scope.initializers.erase(initializer);
    return false;
  }
  if (file_->model().ir_version() >= 4) facts_.defaults.insert(input.name());
  scope.declared[input.name()] = &input.type();
  return true;
}

bool Importer::add_inputs(Scope& scope) {
  Result<InputDims> dims = input_dims(*file_, options_);
  if (!dims) {
    sink_.report(std::move(dims.error()));
    broken_ = true;
    return false;
  }
  dims_ = std::move(*dims);
  const schema::Graph& graph = file_->model().graph();
  for (const schema::ValueInfo& input : graph.input()) {
    if (has_default(input, scope)) continue;
    std::optional<TensorType> type = input_type(input);
    if (broken_) return false;
    if (!type) continue;
    if (scope.values.count(input.name()))
      return bad("two inputs have the name `" + input.name() + "`");
    std::string why;
    NodeId node = graph_.add(OpKind::Input,
                             {graph_.symbols().value(Value::of_string(input.name())),
                              graph_.symbols().value(Value::of_type(*type))},
                             {}, &why);
    if (!node.valid()) return bad("the input `" + input.name() + "`: " + why);
    auto element = facts_.elements.find(input.name());
    FileValue& value = scope.values[input.name()] = FileValue{Kind::Tensor, node, *type, {}};
    if (element != facts_.elements.end()) value = FileValue::narrow(node, *type, element->second);
    if (llvm::is_contained(type->shape, 0)) value.kind = Kind::Empty;
  }
  return check_sizes();
}

/// Reports sizes that are still open.
bool Importer::check_sizes() {
  std::vector<std::string> open;
  for (const std::string& input : dims_.unranked) open.push_back("the shape of `" + input + "`");
  for (const OpenDim& dim : dims_.open) open.push_back(dim.place);
  if (open.empty()) return true;
  std::string list = llvm::join(open, ", ");
  sink_.report(error(Code::not_constant, "`{0}` does not fix {1}", file_->file_name(), list)
                   .suggest("set symbolic dimensions with --dim NAME=N, whole shapes with --shape "
                            "INPUT=1,3,224,224"));
  return false;
}

/// Adds an output of padded rows, and one with their number; a written file has just the rows.
void Importer::add_padded_output(const std::string& name, const FileValue& rows) {
  graph_.add_output(name, rows.node);
  if (writes()) facts_.open_outputs[name] = rows.axis;
  bool is_one_operator =
      !rows.count.valid() || graph_.node(rows.node).op == OpKind::NonMaxSuppression;
  if (writes() && is_one_operator) return;
  std::string count = name + "_count";
  graph_.add_output(count, rows.count);
  if (writes()) facts_.open_counts[name] = count;
}

/// Restores the names of outputs that the exporter renamed because an input or a changing weight
/// has their name.
void Importer::read_renamed() {
  const schema::Model& model = file_->model();
  llvm::StringSet<> inputs, weights;
  for (const schema::ValueInfo& input : model.graph().input()) inputs.insert(input.name());
  for (const schema::Tensor& weight : model.graph().initializer()) weights.insert(weight.name());
  for (const schema::KeyValue& note : model.metadata_props()) {
    llvm::StringRef key = note.key();
    if (!key.consume_front(kRenamedOutput)) continue;
    if (inputs.contains(note.value()) || weights.contains(note.value()))
      renamed_[key] = note.value();
    if (weights.contains(note.value())) emit_.set_updated(note.value());
  }
}

bool Importer::add_outputs(Scope& scope) {
  const schema::Graph& graph = file_->model().graph();
  if (graph.output().empty()) return bad("the graph has no outputs");
  schema::Node reader;
  reader.set_op_type("graph");
  reader.set_name(graph.name());
  llvm::StringSet<> seen;
  for (const schema::ValueInfo& output : graph.output()) {
    if (!seen.insert(output.name()).second)
      return bad("two outputs have the name `" + output.name() + "`");
    std::optional<FileValue> value = find(output.name(), reader, scope);
    if (!value) return false;
    if (value->is(Kind::Refused)) continue;
    if (value->element) facts_.elements[output.name()] = value->element;
    if (value->is(Kind::Padded)) {
      add_padded_output(output.name(), *value);
      continue;
    }
    auto own = renamed_.find(output.name());
    const std::string& name = own == renamed_.end() ? output.name() : own->second;
    bool empty = value->is(Kind::Empty);
    if (!empty && !value->is(Kind::Tensor) && !value->is(Kind::Narrow))
      return bad("the output `" + output.name() + "` is not a tensor", Code::unsupported);
    graph_.add_output(name, empty ? emit_.filled(0, value->type) : value->node);
  }
  return true;
}

// --- scopes --------------------------------------------------------------------------------------

bool Importer::declare(const schema::Graph& graph, Scope& scope) {
  for (const schema::Tensor& tensor : graph.initializer())
    if (!scope.initializers.try_emplace(tensor.name(), &tensor).second)
      return bad("two initialisers have the name `" + tensor.name() + "`");
  for (const schema::SparseTensor& sparse : graph.sparse_initializer())
    return bad("the sparse initialiser `" + sparse.values().name() +
                   "` cannot be read: its sizes, indices and values do not match, or its "
                   "elements have fewer than 8 bits",
               Code::unsupported);
  for (const schema::ValueInfo& info : graph.value_info())
    scope.declared[info.name()] = &info.type();
  for (const schema::ValueInfo& info : graph.output()) scope.declared[info.name()] = &info.type();
  return true;
}

FileValue Importer::read_initializer(const schema::Tensor& tensor, Scope& scope) {
  bool folded = options_.folded.contains(tensor.name());
  auto value = value_of_tensor(emit_, *file_, tensor, tensor.name(),
                               folded ? TensorRole::Weight : TensorRole::Initializer);
  if (value) {
    auto declared = scope.declared.find(tensor.name());
    if (declared != scope.declared.end()) agrees(tensor.name(), *value, *declared->second);
    return scope.values[tensor.name()] = std::move(*value);
  }
  sink_.report(std::move(value.error()));
  broken_ = true;
  return FileValue::of(Kind::Refused);
}

std::optional<FileValue> Importer::find(llvm::StringRef name, const schema::Node& reader,
                                        const Scope& scope) {
  for (const Scope* at = &scope; at; at = at->outer) {
    auto value = at->values.find(name);
    if (value != at->values.end()) return value->second;
    auto initializer = at->initializers.find(name);
    if (initializer == at->initializers.end()) continue;
    FileValue read = read_initializer(*initializer->second, const_cast<Scope&>(*at));
    if (broken_) return std::nullopt;
    return read;
  }
  bad("`" + name + "`, which the node `" + name_of(reader) + "` (" + title(reader) +
      ") reads, has no definition");
  return std::nullopt;
}

/// Checks a value against the type declared in the file. Another dtype is an error. Another shape
/// is recorded, and the computed one is used, as in ONNX Runtime.
bool Importer::agrees(llvm::StringRef name, const FileValue& value, const schema::Type& declared) {
  if (!value.is(Kind::Tensor) && !value.is(Kind::Narrow) && !value.is(Kind::Empty)) return true;
  if (!declared.has_tensor_type()) return true;
  const schema::Type::OfTensor& tensor = declared.tensor_type();
  auto dtype = dtype_of(tensor.elem_type());
  bool same_dtype =
      tensor.elem_type() == 0 ||
      (value.element ? tensor.elem_type() == value.element : dtype && *dtype == value.type.dtype);
  if (same_dtype && (!tensor.has_shape() || fits(tensor.shape(), value.type.shape))) return true;
  std::string text = element_type_name(tensor.elem_type()) + "[" + sizes_text(tensor.shape()) + "]";
  if (!same_dtype)
    return bad("`" + name + "` is declared as " + text + ", and is " +
               (value.element ? element_type_name(value.element) : value.type.text()));
  stale_.insert({name.str(), text + ", computed " + value.type.text()});
  return true;
}

/// Reports all declared shapes that differ from the computed ones in one warning, with the first
/// few.
void Importer::report_stale() {
  if (stale_.empty()) return;
  constexpr size_t kMostNamed = 3;
  Diagnostic d =
      error(Code::bad_data_file,
            "`{0}` declares {1} that {2} nodes do not compute: the computed shapes are used",
            file_->file_name(),
            stale_.size() == 1 ? "a shape" : std::to_string(stale_.size()) + " shapes", "its");
  d.severity = Severity::Warning;
  for (const auto& [name, shapes] : stale_) {
    if (d.notes.size() == kMostNamed) break;
    d.notes.push_back("`" + name + "` is declared as " + shapes);
  }
  sink_.report(std::move(d));
}

bool Importer::define(const schema::Node& node, llvm::ArrayRef<FileValue> results, Scope& scope) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    const FileValue& value = results[static_cast<size_t>(i)];
    if (scope.values.count(name) || scope.initializers.count(name))
      return bad("`" + name + "` is defined twice, the second time by the node `" + name_of(node) +
                 "` (" + title(node) + ")");
    auto declared = scope.declared.find(name);
    if (declared != scope.declared.end() && !agrees(name, value, *declared->second)) return false;
    if (value.is(Kind::Tensor) || value.is(Kind::Narrow)) {
      std::string path = outputs_.contains(name) ? "" : module_path(node);
      names_.try_emplace(value.node.index, path.empty() ? name : path + "/" + node.op_type());
    }
    scope.values[name] = value;
  }
  return true;
}

// --- nodes ---------------------------------------------------------------------------------------

bool Importer::call(const schema::Node& node, const Form& form, Scope& scope,
                    std::vector<FileValue> inputs) {
  static const llvm::StringMap<const schema::Attribute*> none;
  const auto& attributes = scope.attributes ? *scope.attributes : none;
  auto version = scope.opsets->find(domain_of(node.domain()));
  if (version == scope.opsets->end())
    return bad("the node `" + name_of(node) + "` (" + title(node) +
               ") belongs to an operator set without a version in the file");
  std::optional<KeptNode> kept = keeper_.choose(node, version->second, inputs, attributes);
  std::vector<FileValue> carried = inputs;
  int32_t element = 0;
  const NarrowUse* use = domain_of(node.domain()).empty() ? narrow_use(node.op_type()) : nullptr;
  if (use && !carry_inputs(*use, inputs, carried, element)) {
    carried = inputs;
    element = 0;
  }
  std::optional<OpenRows> rows;
  if (domain_of(node.domain()).empty())
    rows = OpenRows::of(emit_, node.op_type(), llvm::makeArrayRef(carried).vec(), carried);
  Call call(emit_, *this, *file_, node, version->second, carried, attributes, kept.has_value());
  form.write(call);
  if (rows) rows->mark(call);
  if (use && element) narrow_results(emit_, *use, element, call.results());
  std::string fault = emit_.take_fault();
  if (broken_) return false;
  if (fault.empty()) fault = call.unused_parts();
  if (!fault.empty()) return refuse(node, scope, fault);
  if (kept && keeper_.is_to_keep(*kept, node, call.results()))
    keeper_.keep(std::move(*kept), node, inputs, call.results());
  else if (writes())
    remember(node, version->second, inputs, attributes, call.results());
  return define(node, call.results(), scope);
}

/// Records a node of ONNX's own domain that reads and makes tensors, so that it can be restored.
void Importer::remember(const schema::Node& node, int version, llvm::ArrayRef<FileValue> inputs,
                        const llvm::StringMap<const schema::Attribute*>& attributes,
                        llvm::ArrayRef<FileValue> results) {
  auto is_plain = [](const FileValue& value) {
    return value.is(Kind::Tensor) || value.is(Kind::Narrow) || value.is(Kind::Absent);
  };
  if (!domain_of(node.domain()).empty() || !llvm::all_of(inputs, is_plain) ||
      !llvm::all_of(results, is_plain))
    return;
  Origin origin{head_of(node, version, attributes), version, {}, {}, {}, {}};
  bool depends = false;
  for (const FileValue& result : results) {
    origin.results.push_back(result.node);
    origin.types.push_back(result.type);
    origin.elements.results.push_back(result.element);
    depends |= !result.is(Kind::Absent) && !graph_.node(result.node).weight_only;
  }
  bool has_graphs = llvm::any_of(origin.head.attribute(), [](const schema::Attribute& given) {
    return given.type() == schema::Attribute::GRAPH;
  });
  if (!depends || has_graphs) return;
  for (const FileValue& input : inputs) {
    bool fixed = !input.is(Kind::Absent) && graph_.node(input.node).weight_only;
    origin.elements.inputs.push_back(input.element);
    origin.inputs.push_back({fixed ? NodeId{} : input.node, fixed ? input.node : NodeId{}});
  }
  facts_.origins.push_back(std::move(origin));
}

/// Adds the graph of values that depend on no input.
FileFacts Importer::finish_facts() {
  facts_.opset = opsets_.lookup("");
  std::vector<bool> needed(graph_.size());
  for (const Origin& origin : facts_.origins)
    for (const Origin::Input& input : origin.inputs)
      if (input.fixed.valid()) needed[input.fixed.index] = true;
  std::vector<NodeId> at = copy_below(graph_, std::move(needed), facts_.fixed);
  for (Origin& origin : facts_.origins)
    for (Origin::Input& input : origin.inputs)
      if (input.fixed.valid()) input.fixed = at[input.fixed.index];
  return std::move(facts_);
}

bool Importer::call_function(const schema::Node& node, const schema::Function& function,
                             Scope& scope, const std::vector<FileValue>& inputs) {
  if (++depth_ > kMaxBodyDepth)
    return bad("functions and graphs are nested more than " + llvm::Twine(kMaxBodyDepth) +
               " deep at the node `" + name_of(node) + "`");
  if (inputs.size() > static_cast<size_t>(function.input_size()))
    return bad("the node `" + name_of(node) + "` has more inputs than its function `" +
               function.name() + "`");
  llvm::StringMap<const schema::Attribute*> attributes;
  for (const schema::Attribute& given : function.attribute_proto())
    attributes[given.name()] = &given;
  for (const schema::Attribute& given : node.attribute()) {
    bool passed_on = !given.ref_attr_name().empty();
    const schema::Attribute* value =
        !passed_on ? &given
                   : (scope.attributes ? scope.attributes->lookup(given.ref_attr_name()) : nullptr);
    if (value) attributes[given.name()] = value;
  }
  llvm::StringMap<int> opsets;
  if (!read_opsets(function.opset_import(), opsets)) return false;
  Scope inner;
  inner.outputs.assign(function.output().begin(), function.output().end());
  inner.attributes = &attributes;
  inner.opsets = function.opset_import().empty() ? scope.opsets : &opsets;
  for (int i = 0; i < function.input_size(); ++i)
    inner.values[function.input(i)] = static_cast<size_t>(i) < inputs.size()
                                          ? inputs[static_cast<size_t>(i)]
                                          : FileValue::of(Kind::Absent);
  if (!nodes(function.node(), inner)) return false;
  std::vector<FileValue> results;
  for (int i = 0; i < node.output_size(); ++i) {
    if (i >= function.output_size())
      return bad("the node `" + name_of(node) + "` has more results than its function `" +
                 function.name() + "`");
    std::optional<FileValue> value = find(function.output(i), node, inner);
    if (!value) return false;
    results.push_back(std::move(*value));
  }
  --depth_;
  return define(node, results, scope);
}

bool Importer::node(const schema::Node& node, Scope& scope) {
  if (++ops_ > kMaxOps)
    return bad("functions and loops unfold into more than " + llvm::Twine(kMaxOps) + " nodes");
  std::vector<FileValue> inputs;
  bool refused = false;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      inputs.push_back(FileValue::of(Kind::Absent));
      continue;
    }
    std::optional<FileValue> value = find(name, node, scope);
    if (!value) return false;
    refused |= value->is(Kind::Refused);
    inputs.push_back(std::move(*value));
  }
  if (refused) {
    for (const std::string& output : node.output())
      if (!output.empty()) scope.values[output] = FileValue::of(Kind::Refused);
    return true;
  }
  llvm::StringRef domain = domain_of(node.domain());
  auto function = functions_.find(function_key(domain, node.op_type(), node.overload()));
  if (function != functions_.end()) return call_function(node, *function->second, scope, inputs);
  const Form* form = find_form(title(node));
  if (form) return call(node, *form, scope, std::move(inputs));
  if (!domain.empty()) return refuse(node, scope, "the operator of this domain is not supported");
  llvm::StringRef near = near_form(node.op_type());
  return refuse(node, scope,
                near.empty() ? "the operator is not supported"
                             : "the operator is not supported (" + near + " is)");
}

bool Importer::nodes(const google::protobuf::RepeatedPtrField<schema::Node>& nodes, Scope& scope) {
  std::string cycle;
  std::vector<int> order = order_of(nodes, cycle);
  if (!cycle.empty()) return bad("the nodes " + cycle + " form a cycle");
  Scope* outer = std::exchange(scope_, &scope);
  scope.nodes = &nodes;
  bool fine = true;
  for (int i : order)
    if (!(fine = node(nodes.Get(i), scope))) break;
  scope_ = outer;
  return fine;
}

std::optional<std::vector<FileValue>> Importer::run(const schema::Graph& body,
                                                    llvm::ArrayRef<FileValue> inputs) {
  Scope scope;
  scope.outer = scope_;
  scope.attributes = scope_->attributes;
  scope.opsets = scope_->opsets;
  if (++depth_ > kMaxBodyDepth) {
    bad("functions and graphs are nested more than " + llvm::Twine(kMaxBodyDepth) +
        " deep at the graph `" + body.name() + "`");
    return std::nullopt;
  }
  for (const schema::ValueInfo& output : body.output()) scope.outputs.push_back(output.name());
  if (!declare(body, scope)) return std::nullopt;
  if (static_cast<size_t>(body.input_size()) != inputs.size()) {
    bad("the graph `" + body.name() + "` has " + llvm::Twine(body.input_size()) +
        " inputs, but the node around it has " + llvm::Twine(inputs.size()));
    return std::nullopt;
  }
  for (int i = 0; i < body.input_size(); ++i)
    scope.values[body.input(i).name()] = inputs[static_cast<size_t>(i)];
  if (!nodes(body.node(), scope)) return std::nullopt;
  std::vector<FileValue> results;
  schema::Node reader;
  reader.set_op_type("graph");
  reader.set_name(body.name());
  bool refused = false;
  for (const schema::ValueInfo& output : body.output()) {
    std::optional<FileValue> value = find(output.name(), reader, scope);
    if (!value) return std::nullopt;
    refused |= value->is(Kind::Refused);
    results.push_back(std::move(*value));
  }
  --depth_;
  if (refused) return std::nullopt;
  return results;
}

// --- the whole -----------------------------------------------------------------------------------

/// Reports each kind of rejected node once, with the number of nodes.
void Importer::report_refused() {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const Refusal& one : refused_) ++counts[{one.op, one.why}];
  size_t told = 0;
  for (const Refusal& one : refused_) {
    auto count = counts.find({one.op, one.why});
    if (count == counts.end()) continue;
    if (++told > kMaxMessages) break;
    Diagnostic d = error(Code::unsupported, "`{0}`: node `{1}` ({2}): {3}", file_->file_name(),
                         one.node, one.op, one.why);
    if (count->second > 1)
      d.notes.push_back(
          llvm::formatv("{0} nodes are rejected for this reason", count->second).str());
    if (told == kMaxMessages && counts.size() > 1)
      d.notes.push_back(
          llvm::formatv("{0} more kinds of nodes are rejected; --json lists all", counts.size() - 1)
              .str());
    counts.erase(count);
    sink_.report(std::move(d));
  }
}

std::optional<Imported> Importer::run(std::vector<Refusal>* refused) {
  const schema::Model& model = file_->model();
  Scope scope;
  scope.opsets = &opsets_;
  for (const schema::ValueInfo& output : model.graph().output()) {
    outputs_.insert(output.name());
    scope.outputs.push_back(output.name());
  }
  if (!read_format(model.ir_version())) return std::nullopt;
  if (!read_opsets(model.opset_import(), opsets_) || !read_functions()) return std::nullopt;
  read_renamed();
  if (!declare(model.graph(), scope) || !add_inputs(scope)) return std::nullopt;
  if (!nodes(model.graph().node(), scope)) return std::nullopt;
  if (refused_.empty() && !add_outputs(scope)) return std::nullopt;
  report_refused();
  report_stale();
  if (refused) *refused = std::move(refused_);
  if (sink_.failed()) return std::nullopt;
  std::optional<KeptNodes> kept;
  std::optional<FileFacts> facts;
  InputRanges ranges;
  for (NodeId input : graph_.inputs())
    if (auto element = facts_.elements.find(graph_.attr(input, 0).text);
        element != facts_.elements.end())
      ranges[element->first] = range_of(*element_type(element->second));
  if (writes()) {
    kept = keeper_.finish();
    facts = finish_facts();
  }
  Imported imported{std::move(graph_),
                    std::move(file_),
                    emit_.weights(),
                    std::move(names_),
                    ops_,
                    std::move(kept),
                    std::move(facts),
                    std::move(ranges),
                    keeper_.written_out(),
                    emit_.decisions()};
  return imported;
}

} // namespace

std::optional<Imported> import_model(std::shared_ptr<const ModelFile> file,
                                     const ImportOptions& options, DiagnosticSink& sink,
                                     std::vector<Refusal>* refused) {
  return Importer(std::move(file), options, sink).run(refused);
}

} // namespace tg::onnx
