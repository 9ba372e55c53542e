#include "compiler/driver/files/unfold.h"

#include "compiler/driver/files/json_files.h"
#include "compiler/driver/files/model.h"
#include "compiler/driver/files/weights.h"
#include "compiler/equiv/counterexample/typed.h"
#include "compiler/ir/evaluate.h"
#include "compiler/ir/to_text.h"
#include "runtime/convert.h"
#include "runtime/execute.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/JSON.h>

#include <cmath>

namespace tg {

namespace {

constexpr llvm::StringLiteral kModel = "tangram.folded", kPaths = "tangram.folded_paths";

/// The key of the record so many files back: "tangram.folded", "tangram.folded.2", ...
std::string key_of(llvm::StringRef key, size_t back) {
  return back == 0 ? key.str() : (key + "." + llvm::Twine(back + 1)).str();
}
constexpr double kFoldedInFloat32 = 1e-4; // relative: sums as long as those of layers, in f32

/// `from` copied into `to`, but for the nodes that `at` has already.
void copy_nodes(const Graph& from, Graph& to, std::vector<NodeId>& at) {
  std::vector<bool> needed = from.reachable();
  for (NodeId id : from.inputs()) needed[id.index] = true;
  Symbols& symbols = to.symbols();
  for (uint32_t i = 0; i < from.size(); ++i) {
    if (!needed[i] || at[i].valid()) continue;
    llvm::SmallVector<ValueId, 4> attrs;
    for (size_t slot = 0; slot < from.attrs({i}).size(); ++slot)
      attrs.push_back(symbols.value(from.attr({i}, slot)));
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from.operands({i})) operands.push_back(at[operand.index]);
    at[i] = to.add(from.node({i}).op, attrs, operands);
    assert(at[i].valid() && "what was well typed stays so");
  }
}

NodeValues numbers(const Tensor& tensor) {
  NodeValues values(static_cast<size_t>(tensor.type().elements()));
  widen(tensor.type().dtype, tensor.data(), values.data(), tensor.type().elements());
  return values;
}

NodeValues numbers(const TypedValues& values) {
  NodeValues result(values.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = values.at(i);
  return result;
}

TypedValues zeros(const TensorType& type) {
  auto elements = static_cast<size_t>(type.elements());
  TypedValues values;
  if (is_float(type.dtype))
    values.reals.resize(elements);
  else
    values.wholes.resize(elements);
  return values;
}

TypedValues typed_numbers(const Tensor& tensor) {
  const TensorType& type = tensor.type();
  TypedValues values = zeros(type);
  if (is_float(type.dtype))
    widen(type.dtype, tensor.data(), values.reals.data(), type.elements());
  else
    widen(type.dtype, tensor.data(), values.wholes.data(), type.elements());
  return values;
}

/// max_rel_diff, where what is not finite on both sides alike is no difference.
double relative_difference(NodeValues a, NodeValues b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if ((std::isnan(a[i]) && std::isnan(b[i])) || (std::isinf(a[i]) && a[i] == b[i]))
      a[i] = b[i] = 0;
  return max_rel_diff(a, b);
}

WeightDifference difference_at(llvm::StringRef path, const TensorType& type, size_t position,
                               llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  WeightDifference result{path.str(), Shape(type.shape.size()), a[position], b[position]};
  for (size_t axis = result.index.size(); axis-- > 0;
       position /= static_cast<size_t>(type.shape[axis]))
    result.index[axis] = static_cast<int64_t>(position) % type.shape[axis];
  return result;
}

/// Where the two are farthest apart.
size_t worst_position(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  size_t worst = 0;
  double largest = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    double distance = std::abs(a[i] - b[i]);
    if (std::isnan(distance)) return i;
    if (distance > largest) largest = distance, worst = i;
  }
  return worst;
}

Result<Tensor> read_weight(const WeightFile& file, llvm::StringRef path) {
  const WeightFile::Entry* entry = file.find(path);
  if (!entry)
    return error(Code::missing_weights, "`{0}` lacks the weight `{1}`", file.file_name(), path);
  return file.read(*entry);
}

llvm::StringSet<> weight_paths(const Graph& graph) {
  llvm::StringSet<> paths;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (needed[i] && graph.node({i}).op == OpKind::Weight) paths.insert(graph.attr({i}, 0).text);
  return paths;
}

Diagnostic unreadable(const WeightFile& file) {
  return error(Code::bad_data_file,
               "`{0}` does not say in a form that can be read what its folded "
               "weights were computed from",
               file.file_name());
}

} // namespace

Metadata folding_record(const Graph& values, const llvm::StringMap<std::string>* names) {
  Graph named(std::make_shared<Symbols>(), "folded");
  std::vector<NodeId> at(values.size());
  copy_nodes(values, named, at);
  llvm::json::Array paths;
  for (const GraphOutput& output : values.outputs()) {
    auto renamed =
        names ? names->find(output.name) : llvm::StringMap<std::string>::const_iterator();
    if (names && renamed == names->end()) continue;
    named.add_output("w" + std::to_string(paths.size()), at[output.node.index]);
    paths.push_back(names ? renamed->second : output.name);
  }
  if (paths.empty()) return {};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(paths));
  return {{kModel.str(), to_text(named)}, {kPaths.str(), text}};
}

namespace {

/// A record as the file has it.
struct RecordText {
  llvm::StringRef model, paths;
  explicit operator bool() const { return !model.empty() || !paths.empty(); }
};

RecordText record_text(const WeightFile& file, size_t back) {
  RecordText record;
  for (const auto& [key, value] : file.metadata())
    if (key == key_of(kModel, back))
      record.model = value;
    else if (key == key_of(kPaths, back))
      record.paths = value;
  return record;
}

Result<Graph> read_record(const WeightFile& file, const RecordText& record) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId id =
      sources.add((file.file_name() + " (record of folded weights)").str(), record.model.str());
  std::optional<Graph> model = load_model(sources, id, {}, sink);
  Result<llvm::json::Value> parsed =
      parse_json(record.paths, file.file_name(), Code::bad_data_file); // deep nesting is refused
  const llvm::json::Array* paths = parsed ? parsed->getAsArray() : nullptr;
  if (!model || !paths || paths->size() != model->outputs().size() || !model->inputs().empty())
    return unreadable(file);
  Graph values(model->shared_symbols(), "folded");
  std::vector<NodeId> at(model->size());
  copy_nodes(*model, values, at);
  for (size_t i = 0; i < paths->size(); ++i) {
    auto path = (*paths)[i].getAsString();
    if (!path) return unreadable(file);
    values.add_output(path->str(), at[model->outputs()[i].node.index]);
  }
  return values;
}

} // namespace

Metadata folding_records(const Graph& values, const WeightFile* source,
                         const llvm::StringMap<std::string>* names) {
  Metadata records = folding_record(values, names);
  if (!source) return records;
  size_t back = records.empty() ? 0 : 1;
  for (size_t i = 0; RecordText record = record_text(*source, i); ++i, ++back) {
    records.emplace_back(key_of(kModel, back), record.model.str());
    records.emplace_back(key_of(kPaths, back), record.paths.str());
  }
  return records;
}

Result<std::vector<Graph>> read_foldings(const WeightFile& file) {
  std::vector<Graph> foldings;
  for (size_t i = 0; RecordText record = record_text(file, i); ++i) {
    TG_TRY(Graph values, read_record(file, record));
    foldings.push_back(std::move(values));
  }
  return foldings;
}

Graph unfold(const Graph& graph, const Graph& values) {
  Graph result(std::make_shared<Symbols>(), graph.name());
  std::vector<NodeId> at(graph.size()), made(values.size());
  for (NodeId id : graph.inputs()) // first, in their order
    at[id.index] = result.input(graph.attr(id, 0).text, graph.type(id));
  copy_nodes(values, result, made);
  llvm::StringMap<NodeId> folded;
  for (const GraphOutput& output : values.outputs()) folded[output.name] = output.node;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.node({i}).op != OpKind::Weight) continue;
    auto found = folded.find(graph.attr({i}, 0).text);
    if (found != folded.end() && values.type(found->second) == graph.type({i}))
      at[i] = made[found->second.index];
  }
  copy_nodes(graph, result, at);
  for (const GraphOutput& output : graph.outputs())
    result.add_output(output.name, at[output.node.index]);
  return result;
}

Result<FoldingCheck> check_folding(const Graph& values, const PrepareOptions& source,
                                   const WeightFile& file) {
  CompileOptions compile;
  compile.seed = source.seed;
  compile.weights = source.weights;
  std::optional<Diagnostic> fault;
  auto leaves = [&](const Graph& graph, NodeId id) {
    Result<Tensor> tensor = materialise(plan_value(graph, id), compile);
    if (tensor) return typed_numbers(*tensor);
    fault = std::move(tensor.error());
    return zeros(graph.type(id));
  };
  llvm::SmallVector<NodeId, 8> wanted;
  for (const GraphOutput& output : values.outputs()) wanted.push_back(output.node);
  TypedRun computed = evaluate_typed(values, leaves, wanted, Rounding::None);
  if (fault) return std::move(*fault);
  FoldingCheck check;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const GraphOutput& output = values.outputs()[i];
    TG_TRY(Tensor stored, read_weight(file, output.name));
    if (!(stored.type() == values.type(output.node)))
      return error(Code::mismatched_weights,
                   "`{0}` is {1} in `{2}`, where the record of it says {3}", output.name,
                   stored.type().text(), file.file_name(), values.type(output.node).text());
    NodeValues held = numbers(stored), wanted_values = numbers(computed.wanted[i]);
    double difference = relative_difference(held, wanted_values);
    ++check.weights;
    check.max_rel_diff = std::max(check.max_rel_diff, difference);
    if (difference > kFoldedInFloat32 && !check.wrong)
      check.wrong = difference_at(output.name, stored.type(), worst_position(wanted_values, held),
                                  wanted_values, held);
  }
  return check;
}

Result<std::optional<WeightDifference>> differing_weight(const Graph& graph, const WeightFile& a,
                                                         const WeightFile& b) {
  llvm::StringSet<> needed = weight_paths(graph);
  for (const WeightFile::Entry& entry : b.entries()) {
    if (!a.find(entry.name) || !needed.contains(entry.name)) continue;
    TG_TRY(Tensor left, read_weight(a, entry.name));
    TG_TRY(Tensor right, b.read(entry));
    NodeValues x = numbers(left), y = numbers(right);
    if (x.size() != y.size()) continue; // types are compared before
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])))
        return std::optional(difference_at(entry.name, left.type(), i, x, y));
  }
  return std::optional<WeightDifference>();
}

std::vector<std::string> weights_of_one_side(const Graph& graph, const Graph& other) {
  llvm::StringSet<> known = weight_paths(other);
  std::vector<std::string> alone;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (needed[i] && graph.node({i}).op == OpKind::Weight &&
        !known.contains(graph.attr({i}, 0).text))
      alone.push_back(graph.attr({i}, 0).text);
  return alone;
}

} // namespace tg
