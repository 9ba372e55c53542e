#include "compiler/api/files/unfold.h"

#include "compiler/api/files/json_files.h"
#include "compiler/api/files/model.h"
#include "compiler/api/files/weights.h"
#include "compiler/ir/evaluate.h"
#include "compiler/ir/to_text.h"
#include "compiler/verify/counterexample/typed.h"
#include "lang/core/support/round_number.h"
#include "runtime/convert.h"
#include "runtime/execute.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/JSON.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace tg {

namespace {

constexpr llvm::StringLiteral kModel = "tangram.folded", kPaths = "tangram.folded_paths";

/// Returns the key of the record this many files back: "tangram.folded", "tangram.folded.2", ...
std::string key_of(llvm::StringRef key, size_t back) {
  return back == 0 ? key.str() : (key + "." + llvm::Twine(back + 1)).str();
}

/// Relative tolerance between a folded weight and its recomputation: long sums in f32, or
/// intermediate results in halves.
double folding_bound(bool has_halves) { return has_halves ? 2e-2 : 1e-4; }

/// Copies `from` into `to`, without the nodes in `at`.
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
    assert(at[i].valid() && "a copy of a well-typed node is well typed");
  }
}

NodeValues numbers(const TypedValues& values) {
  NodeValues result(values.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = values.at(i);
  return result;
}

/// Returns, by node, whether it or one of its dependencies has such a dtype.
std::vector<bool> nodes_with(bool (*is_such)(DType), const Graph& graph) {
  std::vector<bool> such(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    such[i] = is_such(graph.type({i}).dtype);
    for (NodeId operand : graph.operands({i})) such[i] = such[i] || such[operand.index];
  }
  return such;
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

/// Like max_rel_diff, but equal non-finite values are not a difference. Returns infinity for
/// different `exact` integers, which are computed from integers only.
double relative_difference(const TypedValues& x, const TypedValues& y, bool exact) {
  if (exact) return x.wholes == y.wholes ? 0 : std::numeric_limits<double>::infinity();
  NodeValues a = numbers(x), b = numbers(y);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if ((std::isnan(a[i]) && std::isnan(b[i])) || (std::isinf(a[i]) && a[i] == b[i]))
      a[i] = b[i] = 0;
  return max_rel_diff(a, b);
}

WeightDifference difference_at(llvm::StringRef path, const TensorType& type, size_t position,
                               const TypedValues& a, const TypedValues& b) {
  WeightDifference result{path.str(), Shape(type.shape.size()), a.number(position),
                          b.number(position)};
  for (size_t axis = result.index.size(); axis-- > 0;
       position /= static_cast<size_t>(type.shape[axis]))
    result.index[axis] = static_cast<int64_t>(position) % type.shape[axis];
  return result;
}

/// Returns the position of the largest difference.
size_t worst_position(const TypedValues& a, const TypedValues& b) {
  size_t worst = 0;
  double largest = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    bool same = a.at(i) == b.at(i) || (std::isnan(a.at(i)) && std::isnan(b.at(i)));
    double distance = same ? 0 : std::abs(a.at(i) - b.at(i));
    if (a.whole() && !a.same(b, i)) distance = std::max(distance, 1.0);
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

Diagnostic unreadable(const WeightFile& file) {
  return error(Code::bad_data_file,
               "the record of the sources of folded weights in `{0}` is not "
               "readable",
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

/// A record as stored in the file.
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
      parse_json(record.paths, file.file_name(), Code::bad_data_file); // deep nesting is rejected
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

void add_folded_paths(llvm::StringRef key, llvm::StringRef text, llvm::StringSet<>& paths) {
  if (!key.startswith(kPaths)) return;
  Result<llvm::json::Value> parsed = parse_json(text, key, Code::bad_data_file);
  const llvm::json::Array* names = parsed ? parsed->getAsArray() : nullptr;
  if (!names) return; // read_foldings() reports the error
  for (const llvm::json::Value& name : *names)
    if (auto path = name.getAsString()) paths.insert(*path);
}

namespace {

/// Returns the graph with leaves of one kind replaced by the nodes that `other` adds. An invalid id
/// keeps the leaf.
Graph with_other_leaves(const Graph& graph, OpKind kind,
                        llvm::function_ref<NodeId(Graph&, NodeId leaf)> other) {
  Graph result(std::make_shared<Symbols>(), graph.name());
  std::vector<NodeId> at(graph.size());
  for (NodeId id : graph.inputs()) // first, in order
    at[id.index] = result.input(graph.attr(id, 0).text, graph.type(id));
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.node({i}).op == kind) at[i] = other(result, {i});
  copy_nodes(graph, result, at);
  for (const GraphOutput& output : graph.outputs())
    result.add_output(output.name, at[output.node.index]);
  return result;
}

NodeId add_constant(Graph& graph, const Tensor& tensor) {
  TypedValues values = typed_numbers(tensor);
  if (is_float(tensor.type().dtype)) return graph.constant(std::move(values.reals), tensor.type());
  std::vector<int64_t> wholes;
  for (Integer x : values.wholes) wholes.push_back(x.value);
  return graph.whole_constant(wholes, tensor.type());
}

} // namespace

llvm::StringSet<> weight_paths(const Graph& graph) {
  llvm::StringSet<> paths;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (needed[i] && graph.node({i}).op == OpKind::Weight) paths.insert(graph.attr({i}, 0).text);
  return paths;
}

Graph unfold(const Graph& graph, const Graph& values, const WeightFile* source) {
  llvm::StringMap<NodeId> folded;
  for (const GraphOutput& output : values.outputs()) folded[output.name] = output.node;
  std::vector<NodeId> made(values.size());
  bool copied = false;
  return with_other_leaves(graph, OpKind::Weight, [&](Graph& result, NodeId weight) {
    if (!std::exchange(copied, true)) copy_nodes(values, result, made);
    const std::string& path = graph.attr(weight, 0).text;
    const WeightFile::Entry* own = source ? source->find(path) : nullptr;
    if (own && own->type == graph.type(weight)) return NodeId();
    auto found = folded.find(path);
    bool same = found != folded.end() && values.type(found->second) == graph.type(weight);
    return same ? made[found->second.index] : NodeId();
  });
}

Result<Graph> with_known_weights(const Graph& graph, llvm::ArrayRef<std::string> paths,
                                 const WeightFile& file) {
  constexpr int64_t kMostElements = int64_t{1} << 18;
  llvm::StringMap<Tensor> known;
  for (const std::string& path : paths) {
    const WeightFile::Entry* entry = file.find(path);
    if (!entry || entry->type.elements() > kMostElements) continue;
    TG_TRY(Tensor tensor, file.read(*entry));
    known.try_emplace(path, std::move(tensor));
  }
  return with_other_leaves(graph, OpKind::Weight, [&](Graph& result, NodeId weight) {
    auto found = known.find(graph.attr(weight, 0).text);
    bool same = found != known.end() && found->second.type() == graph.type(weight);
    return same ? add_constant(result, found->second) : NodeId();
  });
}

Graph with_renamed_weights(const Graph& graph, const llvm::StringMap<std::string>& names) {
  return with_other_leaves(graph, OpKind::Weight, [&](Graph& result, NodeId weight) {
    auto found = names.find(graph.attr(weight, 0).text);
    return found == names.end() ? NodeId() : result.weight(found->second, graph.type(weight));
  });
}

Graph with_short_constants(const Graph& graph) {
  return with_other_leaves(graph, OpKind::Constant, [&](Graph& result, NodeId constant) {
    const TensorType& type = graph.type(constant);
    std::vector<double> reals = graph.attr(constant, 0).reals;
    if (!is_float(type.dtype) || reals.empty()) return NodeId();
    for (double& x : reals) x = shortest_number(x, type.dtype);
    return result.constant(std::move(reals), type);
  });
}

namespace {

/// Runs check_folding() on some of the weights.
Result<void> check_batch(const Graph& values, const CompileOptions& source, const WeightFile& file,
                         FoldingCheck& check) {
  std::optional<Diagnostic> fault;
  auto leaves = [&](const Graph& graph, NodeId id) {
    Result<Tensor> tensor = materialise(plan_value(graph, id), source);
    if (tensor) return typed_numbers(*tensor);
    fault = std::move(tensor.error());
    return zeros(graph.type(id));
  };
  llvm::SmallVector<NodeId, 8> wanted;
  for (const GraphOutput& output : values.outputs()) wanted.push_back(output.node);
  TypedRun computed = evaluate_typed(values, leaves, wanted, Rounding::None);
  if (fault) return std::move(*fault);
  std::vector<bool> rounded = nodes_with(is_float, values), halves = nodes_with(is_half, values);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const GraphOutput& output = values.outputs()[i];
    if (!file.find(output.name)) {
      check.incomplete = true;
      continue;
    }
    TG_TRY(Tensor stored, read_weight(file, output.name));
    if (!(stored.type() == values.type(output.node)))
      return error(Code::mismatched_weights, "`{0}` is {1} in `{2}`, but its record says {3}",
                   output.name, stored.type().text(), file.file_name(),
                   values.type(output.node).text());
    TypedValues held = typed_numbers(stored);
    const TypedValues& wanted_values = computed.wanted[i];
    double difference = relative_difference(held, wanted_values, !rounded[wanted[i].index]);
    ++check.weights;
    check.max_rel_diff = std::max(check.max_rel_diff, difference);
    if (difference > folding_bound(halves[wanted[i].index]) && !check.wrong)
      check.wrong = difference_at(output.name, stored.type(), worst_position(wanted_values, held),
                                  wanted_values, held);
  }
  return {};
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

} // namespace

Result<FoldingCheck> check_folding(const Graph& values, const PrepareOptions& source,
                                   const WeightFile& file) {
  CompileOptions compile;
  compile.seed = source.seed;
  compile.stop = source.interrupt;
  compile.weights = source.weights;
  FoldingCheck check;
  for (const Graph& batch : in_batches(values)) TG_CHECK(check_batch(batch, compile, file, check));
  return check;
}

Result<std::optional<WeightDifference>> differing_weight(const Graph& graph, const WeightFile& a,
                                                         const WeightFile& b,
                                                         const StopToken& stop) {
  llvm::StringSet<> needed = weight_paths(graph);
  for (const WeightFile::Entry& entry : b.entries()) {
    const WeightFile::Entry* other = a.find(entry.name);
    if (!other || !needed.contains(entry.name)) continue;
    if (stop.asked()) return error(Code::limit_no_answer, "the weights were not compared in time");
    TG_TRY(const Tensor left, a.view(*other));
    TG_TRY(const Tensor right, b.view(entry));
    // Types were compared before.
    if (!(left.type() == right.type()) || same_bytes(left, right)) continue;
    TG_TRY(Tensor aligned_left, Tensor::aligned(left));
    TG_TRY(Tensor aligned_right, Tensor::aligned(right));
    TypedValues x = typed_numbers(aligned_left), y = typed_numbers(aligned_right);
    for (size_t i = 0; i < x.size(); ++i)
      if (!x.same(y, i)) return std::optional(difference_at(entry.name, left.type(), i, x, y));
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
