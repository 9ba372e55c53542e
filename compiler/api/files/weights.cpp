#include "compiler/api/files/weights.h"

#include "compiler/api/files/unfold.h"
#include "compiler/ir/updated.h"
#include "lang/core/shape_rules.h"
#include "runtime/convert.h"
#include "runtime/execute.h"
#include "runtime/random.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>

namespace tg {

namespace {

/// Optimizer state of training starts with zeros and may be missing in a file.
bool begins_empty(const PlanValue& value) {
  return value.kind == PlanValue::Kind::Input && value.init == "zeros";
}

/// Number of names that a message lists before it only counts.
constexpr size_t kNamed = 5;

std::vector<NodeId> needed_weights(const Graph& graph) {
  std::vector<NodeId> ids;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (needed[i] && graph.node({i}).op == OpKind::Weight) ids.push_back({i});
  return ids;
}

llvm::StringRef path_of(const Graph& graph, NodeId id) { return graph.attr(id, 0).text; }

/// Returns true if a tensor of the file can be the weight: it has the same type, or narrower
/// floats, which can be widened exactly.
bool fits(const TensorType& file, const TensorType& model) {
  bool floats = is_float(file.dtype) && is_float(model.dtype);
  return file == model ||
         (floats && holds_all(model.dtype, file.dtype) && file.shape == model.shape);
}

CompileOptions compile_options(const PrepareOptions& options) {
  CompileOptions compile;
  compile.seed = options.seed;
  compile.weights = options.weights;
  return compile;
}

std::vector<const WeightRow*> in_state(llvm::ArrayRef<WeightRow> rows, WeightState state) {
  std::vector<const WeightRow*> found;
  for (const WeightRow& row : rows)
    if (row.state == state) found.push_back(&row);
  return found;
}

/// Adds a note for each of the first few rows, and one for the remainder.
void note_rows(Diagnostic& d, llvm::ArrayRef<const WeightRow*> rows,
               llvm::function_ref<std::string(const WeightRow&)> text) {
  for (const WeightRow* row : rows.take_front(kNamed)) d.notes.push_back(text(*row));
  if (rows.size() > kNamed)
    d.notes.push_back(llvm::formatv("and {0} more", rows.size() - kNamed).str());
}

} // namespace

PlanValue plan_value(const Graph& graph, NodeId id) {
  PlanValue value;
  value.kind = is_updated(graph, id) ? PlanValue::Kind::Input : PlanValue::Kind::Weight;
  value.type = graph.type(id);
  value.name = path_of(graph, id).str();
  value.init = declared_init(graph, id).str();
  return value;
}

llvm::StringRef state_name(WeightState state) {
  switch (state) {
  case WeightState::Random: return "random";
  case WeightState::Found: return "found";
  case WeightState::Missing: return "missing";
  case WeightState::Mismatched: return "mismatched";
  case WeightState::Unused: return "unused";
  }
  return "";
}

std::vector<WeightRow> compare_weights(const Graph& graph, const WeightFile* file) {
  std::vector<WeightRow> rows;
  llvm::StringSet<> wanted;
  for (NodeId id : needed_weights(graph)) {
    WeightRow row{path_of(graph, id).str(), graph.type(id), "", WeightState::Random};
    wanted.insert(row.path);
    if (const WeightFile::Entry* entry = file ? file->find(row.path) : nullptr) {
      row.file_type = entry->text;
      row.state = fits(entry->type, row.type) ? WeightState::Found : WeightState::Mismatched;
    } else if (file && !begins_empty(plan_value(graph, id))) {
      row.state = WeightState::Missing;
    }
    rows.push_back(std::move(row));
  }
  if (file)
    for (const WeightFile::Entry& entry : file->entries())
      if (!wanted.contains(entry.name))
        rows.push_back({entry.name, entry.type, entry.text, WeightState::Unused});
  return rows;
}

Result<void> check_weights(llvm::ArrayRef<WeightRow> rows, llvm::StringRef model,
                           llvm::StringRef file_name) {
  std::vector<const WeightRow*> missing = in_state(rows, WeightState::Missing);
  std::vector<const WeightRow*> mismatched = in_state(rows, WeightState::Mismatched);
  std::vector<const WeightRow*> unused = in_state(rows, WeightState::Unused);
  if (!mismatched.empty()) {
    Diagnostic d =
        error(Code::mismatched_weights,
              "{0} of the weights of `{1}` {2} a different type "
              "in `{3}`",
              mismatched.size(), model, mismatched.size() == 1 ? "has" : "have", file_name);
    note_rows(d, mismatched, [](const WeightRow& row) {
      return llvm::formatv("`{0}` is {1} in the model and {2} in the file", row.path,
                           row.type.text(), row.file_type)
          .str();
    });
    return d;
  }
  if (missing.empty()) return {};
  Diagnostic d = error(Code::missing_weights, "`{0}` lacks {1} of the weights of `{2}`", file_name,
                       missing.size(), model);
  std::vector<llvm::StringRef> others;
  for (const WeightRow* row : unused) others.push_back(row->path);
  note_rows(d, missing, [&](const WeightRow& row) {
    llvm::StringRef near = near_miss(row.path, others);
    std::string text = llvm::formatv("`{0}`, {1}", row.path, row.type.text());
    return near.empty() ? text : llvm::formatv("{0}; the file has `{1}`", text, near).str();
  });
  if (!unused.empty())
    d.help =
        llvm::formatv("`tg weights` lists all, including the {0} of the file that the model does "
                      "not use",
                      unused.size());
  return d;
}

WeightSource weights_from(std::shared_ptr<const WeightFile> file) {
  return [file = std::move(file)](const PlanValue& value) -> Result<Tensor> {
    const WeightFile::Entry* entry = file->find(value.name);
    if (!entry && begins_empty(value)) return Tensor::zeros(value.type);
    if (!entry)
      return error(Code::missing_weights, "`{0}` lacks the weight `{1}`", file->file_name(),
                   value.name);
    if (entry->type == value.type || !fits(entry->type, value.type)) return file->view(*entry);
    TG_TRY(const Tensor tensor, file->read(*entry));
    TG_TRY(Tensor wide, Tensor::zeros(value.type));
    convert(tensor.type().dtype, tensor.data(), value.type.dtype, wide.data(),
            value.type.elements());
    return wide;
  };
}

WeightSource weights_or_random(std::shared_ptr<const WeightFile> file, uint64_t seed) {
  return [file, known = weights_from(file), seed](const PlanValue& value) -> Result<Tensor> {
    if (file->find(value.name)) return known(value);
    return random_weight(value.name, value.type, value.init, seed);
  };
}

Result<std::shared_ptr<const WeightFile>> open_weight_file(const Graph& graph,
                                                           llvm::StringRef path) {
  TG_TRY(std::shared_ptr<const WeightFile> file, open_weight_file(path));
  TG_CHECK(check_weights(compare_weights(graph, file.get()), graph.name(), path));
  return file;
}

void take_weights(PrepareOptions& options, std::shared_ptr<const WeightFile> file) {
  options.weights = weights_from(file);
  options.weight_file = std::move(file);
}

Result<void> save_weights(const Graph& graph, const PrepareOptions& options, llvm::StringRef path,
                          Metadata metadata) {
  std::vector<NodeId> ids = needed_weights(graph);
  std::vector<SafetensorsItem> items;
  for (NodeId id : ids) items.push_back({path_of(graph, id).str(), graph.type(id)});
  CompileOptions compile = compile_options(options);
  metadata.emplace_back("model", graph.name());
  return write_safetensors(
      path, items, [&](size_t i) { return contents_of(plan_value(graph, ids[i]), compile); },
      metadata);
}

// --- folding ----------------------------------------------------------------------------------

namespace {

/// Copies a node to a graph over the same symbols, unless that is done. Its operands must be
/// copied.
void copy_node(const Graph& from, NodeId id, Graph& to, std::vector<NodeId>& at) {
  if (at[id.index].valid()) return;
  llvm::SmallVector<NodeId, 4> operands;
  for (NodeId operand : from.operands(id)) operands.push_back(at[operand.index]);
  at[id.index] = to.add(from.node(id).op, from.attrs(id), operands);
  assert(at[id.index].valid() && "a copy of a well-typed node is well typed");
}

class Folder {
public:
  Folder(const Graph& source, const std::vector<bool>* varying)
      : source_(source), varying_(varying), needed_(source.reachable()), stays_(source.size()),
        new_of_(source.size()), result_{Graph(source.shared_symbols(), source.name()),
                                        Graph(source.shared_symbols(), source.name())} {}

  Folded run() {
    for (NodeId id : needed_weights(source_)) taken_.insert(path_of(source_, id));
    find_folded();
    compute_values();
    for (NodeId id : source_.inputs()) copy(id, result_.graph, new_of_);
    for (uint32_t i = 0; i < source_.size(); ++i) {
      NodeId id{i};
      if (!needed_[i] || (is_inner(id) && !folded_[i] && !stays_[i])) continue;
      if (folded_[i])
        new_of_[i] = result_.graph.weight(path_[i], source_.type(id));
      else
        copy(id, result_.graph, new_of_);
    }
    for (const GraphOutput& output : source_.outputs())
      result_.graph.add_output(output.name, new_of_[output.node.index]);
    return std::move(result_);
  }

private:
  bool is_leaf(NodeId id) const { return op_info(source_.node(id).op).has(Trait::Leaf); }
  bool is_inner(NodeId id) const { return source_.node(id).weight_only && !is_leaf(id); }

  /// Marks the weight-only operators to fold: those that are an output, or that a remaining
  /// operator reads. Operators whose weight would not pay remain as well.
  void find_folded() {
    folded_.resize(source_.size());
    pays_.resize(source_.size());
    for (uint32_t i = 0; i < source_.size(); ++i)
      if (needed_[i] && is_inner({i}))
        pays_[i] = !(varying_ && (*varying_)[i]) && folding_pays({i});
    std::vector<bool> read(source_.size());
    for (const GraphOutput& output : source_.outputs()) read[output.node.index] = true;
    for (uint32_t i = static_cast<uint32_t>(source_.size()); i-- > 0;) {
      bool inner = is_inner({i});
      if (!needed_[i] || (inner && !read[i])) continue;
      folded_[i] = inner && pays_[i];
      stays_[i] = !folded_[i];
      if (stays_[i])
        for (NodeId operand : source_.operands({i})) read[operand.index] = true;
    }
  }

  /// Returns true if the weight is not much larger than the weights below it, or saves more time
  /// than reading it takes. Operators below that would be folded count as weights, so that folding
  /// a folded graph changes nothing; they are decided first.
  bool folding_pays(NodeId root) const {
    constexpr double kSmall = 64 * 1024, kMostGrowth = 8, kFlopsOfRead = 16;
    constexpr size_t kMostNodes = 4096;
    const TensorType& type = source_.type(root);
    auto bytes = static_cast<double>(type.bytes());
    if (bytes <= kSmall) return true;
    double below = 0, flops = 0;
    llvm::DenseSet<uint32_t> seen{root.index};
    llvm::SmallVector<NodeId, 16> open{root};
    while (!open.empty()) {
      NodeId id = open.pop_back_val();
      const Node& node = source_.node(id);
      bool weight = node.op == OpKind::Weight || (id != root && pays_[id.index]);
      if (weight) below += static_cast<double>(source_.type(id).bytes());
      if (weight) continue;
      llvm::SmallVector<TypeId, 5> operands;
      for (NodeId operand : source_.operands(id)) {
        operands.push_back(source_.node(operand).type);
        if (seen.insert(operand.index).second) open.push_back(operand);
      }
      if (!is_leaf(id))
        flops += op_work(source_.symbols(), node.op, node.attrs, operands, node.type).flops;
      if (seen.size() > kMostNodes) return true;
    }
    return bytes <= kMostGrowth * below ||
           flops >= kFlopsOfRead * static_cast<double>(type.elements());
  }

  void compute_values() {
    std::vector<NodeId> at(source_.size());
    path_.resize(source_.size());
    for (uint32_t i = 0; i < source_.size(); ++i)
      if (needed_[i] && source_.node({i}).weight_only && below_folded(i))
        copy({i}, result_.values, at);
    for (uint32_t i = 0; i < source_.size(); ++i) {
      if (!folded_[i]) continue;
      path_[i] = fresh_path({i});
      result_.values.add_output(path_[i], at[i]);
    }
  }

  /// Returns true if a folded node needs it. Computed once for all nodes, from back to front.
  bool below_folded(uint32_t index) {
    if (below_.empty()) {
      below_ = folded_;
      for (uint32_t i = static_cast<uint32_t>(source_.size()); i-- > 0;)
        if (below_[i])
          for (NodeId operand : source_.operands({i})) below_[operand.index] = true;
    }
    return below_[index];
  }

  /// Returns the path of the first weight below, with a suffix for the folding.
  std::string fresh_path(NodeId id) {
    while (!source_.operands(id).empty()) { // iota has no operands, and is not a leaf
      llvm::ArrayRef<NodeId> operands = source_.operands(id);
      const auto* next = llvm::find_if(operands, [&](NodeId operand) {
        OpKind op = source_.node(operand).op;
        return op != OpKind::None && op != OpKind::Constant;
      });
      id = next == operands.end() ? operands[0] : *next;
    }
    bool named = source_.node(id).op == OpKind::Weight;
    std::string base = (named ? path_of(source_, id).str() : "constant") + ".folded", path = base;
    for (int i = 2; !taken_.insert(path).second; ++i) path = base + std::to_string(i);
    return path;
  }

  void copy(NodeId id, Graph& graph, std::vector<NodeId>& at) { copy_node(source_, id, graph, at); }

  const Graph& source_;
  const std::vector<bool>* varying_;
  std::vector<bool> needed_, folded_, below_;
  std::vector<bool> stays_; // operators that are not folded
  std::vector<bool> pays_;  // results of folding_pays() for weight-only operators
  std::vector<NodeId> new_of_;
  std::vector<std::string> path_; // by folded node
  llvm::StringSet<> taken_;
  Folded result_;
};

} // namespace

Folded fold_weights(const Graph& graph, const std::vector<bool>* varying) {
  return Folder(graph, varying).run();
}

Graph with_outputs(const Graph& graph, llvm::ArrayRef<GraphOutput> outputs) {
  std::vector<bool> needed(graph.size());
  for (NodeId id : graph.inputs()) needed[id.index] = true;
  for (const GraphOutput& output : outputs) needed[output.node.index] = true;
  for (auto i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    if (needed[i])
      for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  Graph result(graph.shared_symbols(), graph.name());
  std::vector<NodeId> at(graph.size());
  for (NodeId id : graph.inputs()) copy_node(graph, id, result, at); // in order
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (needed[i]) copy_node(graph, {i}, result, at);
  for (const GraphOutput& output : outputs) result.add_output(output.name, at[output.node.index]);
  return result;
}

std::vector<Graph> in_batches(const Graph& graph, int64_t bytes) {
  std::vector<Graph> batches;
  llvm::ArrayRef<GraphOutput> outputs = graph.outputs();
  while (!outputs.empty()) {
    size_t count = 0;
    for (int64_t sum = 0; count < outputs.size() && sum < bytes; ++count)
      sum = add_bytes(sum, graph.type(outputs[count].node).bytes());
    batches.push_back(with_outputs(graph, outputs.take_front(count)));
    outputs = outputs.drop_front(count);
  }
  return batches;
}

namespace {

/// Folded weights that are computed on request.
class FoldedValues {
public:
  FoldedValues(const Graph& values, PrepareOptions options)
      : options_(std::move(options)), batches_(in_batches(values)) {
    for (size_t i = 0; i < batches_.size(); ++i)
      for (const GraphOutput& output : batches_[i].outputs()) batch_of_[output.name] = i;
  }
  bool has(llvm::StringRef path) const { return batch_of_.count(path) != 0; }
  Result<Tensor> take(llvm::StringRef path) {
    if (!computed_.count(path)) TG_CHECK(compute(batches_[batch_of_.lookup(path)]));
    Tensor value = std::move(computed_[path]);
    computed_.erase(path);
    return value;
  }

private:
  Result<void> compute(const Graph& batch) {
    TG_TRY(Prepared prepared, prepare(batch, options_));
    TG_CHECK(prepared.executable->run_once());
    TG_TRY(std::vector<Tensor> values, prepared.executable->outputs());
    for (size_t i = 0; i < values.size(); ++i)
      computed_[batch.outputs()[i].name] = std::move(values[i]);
    return {};
  }

  PrepareOptions options_;
  std::vector<Graph> batches_;
  llvm::StringMap<size_t> batch_of_; // by path
  llvm::StringMap<Tensor> computed_;
};

} // namespace

WeightSource folded_weights(const Folded& folded, const PrepareOptions& options) {
  auto values = std::make_shared<FoldedValues>(folded.values, options);
  return [values, compile = compile_options(options)](const PlanValue& value) -> Result<Tensor> {
    if (values->has(value.name)) return values->take(value.name);
    return contents_of(value, compile);
  };
}

Result<void> save_folded_weights(const Folded& folded, const PrepareOptions& options,
                                 llvm::StringRef path) {
  PrepareOptions with_folded = options;
  with_folded.weights = folded_weights(folded, options);
  return save_weights(folded.graph, with_folded, path,
                      folding_records(folded.values, options.weight_file.get()));
}

Result<Graph> save_folded(const Graph& graph, const PrepareOptions& options, llvm::StringRef path) {
  Folded folded = fold_weights(graph);
  TG_CHECK(save_folded_weights(folded, options, path));
  return std::move(folded.graph);
}

} // namespace tg
