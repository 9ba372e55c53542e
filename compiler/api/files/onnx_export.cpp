#include "compiler/api/files/onnx_export.h"

#include "compiler/api/files/unfold.h"
#include "compiler/import/onnx/write/open_export.h"
#include "compiler/import/onnx/write/restore.h"
#include "compiler/import/onnx/write/write_model.h"
#include "compiler/search/portfolio/segments.h"
#include "lang/core/sizes/fit.h"
#include "lang/core/support/data_file.h"
#include "lang/core/version.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Support/SHA1.h>

#include <deque>

namespace tg {

namespace {

/// Tolerance of a transform against that of the kernel recovered from it: rounding, including
/// halves.
double transform_bound(DType dtype) { return is_half(dtype) ? 2e-2 : 1e-4; }

Result<void> check_transforms(const Graph& transforms, const PrepareOptions& options) {
  if (transforms.outputs().empty()) return {};
  TG_TRY(Prepared prepared, prepare(transforms, options));
  TG_CHECK(prepared.executable->run_once());
  TG_TRY(std::vector<Tensor> values, prepared.executable->outputs());
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    if (max_rel_diff(values[i + 1], values[i]) > transform_bound(values[i].type().dtype))
      return error(Code::unsupported,
                   "`winograd_conv2d` cannot be written: `{0}` is not the transform of a kernel",
                   transforms.outputs()[i].name);
  return {};
}

/// The graph to write, and notes on it.
struct Whole {
  Graph graph;
  std::vector<std::string> notes = {};
  std::optional<onnx::KeptNodes> kept = {};
  std::vector<Graph> restored = {}; // the operators of each node that was put back
};

/// Returns the opset of the source's file if that is newer than the usual one, or the opset that
/// kept nodes need.
int usual_opset(const KeptOperators* kept) {
  if (!kept) return onnx::kUsualExport;
  int own = std::min(kept->facts.opset, onnx::kNewestExport);
  return std::max({onnx::kUsualExport, own, kept->nodes.opset()});
}

Whole with_kept(const Graph& graph, const KeptOperators& kept) {
  if (!kept.has_nodes()) return {graph};
  std::string kinds = "kept unchanged: " + kept.nodes.text();
  if (std::optional<Graph> joined = onnx::join_kept(graph, kept.nodes))
    return {std::move(*joined), {std::move(kinds)}};
  // Uses separate symbols, because other threads may use the source.
  Graph source = transfer(kept.source, std::make_shared<Symbols>());
  std::optional<Graph> joined = onnx::join_kept(source, kept.nodes);
  assert(joined && "the graph of a file is acyclic");
  return {std::move(*joined),
          {std::move(kinds),
           "the source is written: in the new graph, a kept operator would depend "
           "on its own result"}};
}

/// Returns a note on the growth of a file by weights that were computed in advance, or "" if it is
/// small.
std::string growth_note(const Graph& source, const Folded& folded) {
  constexpr int64_t kWorthANote = 1 << 20;
  auto bytes = [](const Graph& graph) {
    int64_t sum = 0;
    std::vector<bool> needed = graph.reachable();
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed[i] && graph.node({i}).op == OpKind::Weight) sum += graph.type({i}).bytes();
    return sum;
  };
  int64_t before = bytes(source), after = bytes(folded.graph), growth = after - before;
  if (growth < kWorthANote || growth * 10 < before) return "";
  return llvm::formatv("values computed in advance take {0:f1} MB more than their "
                       "operands",
                       static_cast<double>(growth) / 1e6);
}

/// Adds the record of the folded weights' origin, with the names in the file, which may be
/// different. `source` is the file of the weights, if any.
void add_folding_record(const Folded& folded, const WeightFile* source, onnx::Exported& exported) {
  llvm::StringMap<std::string> names;
  Graph values = folded.values;
  for (const onnx::ExportedWeight& weight : exported.weights) {
    const std::string& path = folded.graph.attr(weight.node, 0).text;
    names[path] = weight.tensor.name();
    if (source && source->find(path) && weight.tensor.name() != path)
      values.add_output(path, values.weight(path, folded.graph.type(weight.node)));
  }
  for (auto& [key, text] : folding_records(values, source, &names)) {
    onnx::schema::KeyValue& note = *exported.model.add_metadata_props();
    note.set_key(key);
    note.set_value(text);
  }
}

/// Returns true if the graph equals that in its source's file, and the opset matches the request.
bool is_own_file(const Graph& graph, const KeptOperators& kept, const PrepareOptions& options,
                 int opset) {
  return kept.own_file && options.weight_file == kept.own_weights &&
         (opset == 0 || opset == kept.facts.opset) && difference(graph, kept.source).empty();
}

/// Writes a file that refers to weights in a second one, which gets a name of its own, too. All
/// else stays.
Result<OnnxExport> copy_with_data(const KeptOperators& kept, llvm::StringRef path) {
  const onnx::ModelFile& file = *kept.own_file;
  onnx::Exported same{file.model(), file.model().graph(), {}, {}};
  same.model.clear_graph();
  same.graph.clear_initializer();
  std::vector<const onnx::schema::Tensor*> apart;
  for (const onnx::schema::Tensor& tensor : file.model().graph().initializer()) {
    if (tensor.data_location() != onnx::schema::Tensor::EXTERNAL && tensor.place_end() == 0) {
      *same.graph.add_initializer() = tensor;
      continue;
    }
    onnx::ExportedWeight& weight = same.weights.emplace_back();
    weight.node = {static_cast<uint32_t>(apart.size())};
    weight.tensor.set_name(tensor.name());
    weight.tensor.set_data_type(tensor.data_type());
    *weight.tensor.mutable_dims() = tensor.dims();
    apart.push_back(&tensor);
  }
  auto elements = [&](NodeId weight, onnx::TakeElements take) -> Result<void> {
    TG_TRY(const onnx::Elements stored, file.elements(*apart[weight.index]));
    return take(stored.bytes);
  };
  TG_TRY(onnx::Written written, onnx::write_model(same, path, elements));
  return OnnxExport{
      same.graph.node_size(), kept.facts.opset, written.bytes, written.external_bytes, {}};
}

Result<OnnxExport> copy_file(const KeptOperators& kept, llvm::StringRef path) {
  const auto& weights = kept.own_file->model().graph().initializer();
  if (llvm::any_of(weights, [](const onnx::schema::Tensor& tensor) {
        return tensor.data_location() == onnx::schema::Tensor::EXTERNAL;
      }))
    return copy_with_data(kept, path);
  llvm::StringRef bytes = kept.own_file->bytes();
  TG_CHECK(write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    out << bytes;
    return {};
  }));
  return OnnxExport{
      kept.own_file->model().graph().node_size(), kept.facts.opset, bytes.size(), 0, {}};
}

constexpr llvm::StringLiteral kCommutative[] = {"Add", "And", "Equal", "Max",
                                                "Min", "Mul", "Or",    "Xor"};

/// Digests of the values of a file by their computation. Inputs and weights are identified by name.
class MessageDigest {
public:
  explicit MessageDigest(const onnx::schema::Graph& graph, const llvm::StringSet<>& weights = {}) {
    for (onnx::schema::Tensor tensor : graph.initializer()) {
      std::string name = tensor.name();
      if (weights.contains(name)) continue;
      constants_.insert(name);
      tensor.clear_name();
      of_value_[name] = hashed(tensor.SerializeAsString(), {});
    }
    for (const onnx::schema::Node& node : graph.node()) add(node);
    all_ = std::to_string(nodes_.size());
    for (const onnx::schema::ValueInfo& output : graph.output())
      all_ += " " + output.name() + of(output.name());
  }
  const std::string& all() const { return all_; }
  size_t node_count() const { return nodes_.size(); }

private:
  static std::string hashed(const std::string& head, llvm::ArrayRef<std::string> inputs) {
    llvm::SHA1 hash;
    hash.update(head);
    for (const std::string& input : inputs) hash.update(";" + input);
    return hash.final().str();
  }
  std::string of(const std::string& name) const {
    auto known = of_value_.find(name);
    return known == of_value_.end() ? name : known->second;
  }
  /// Returns true for a node that a runtime computes at load.
  bool is_constant(const onnx::schema::Node& node) const {
    return node.input_size() > 0 && llvm::all_of(node.input(), [&](const std::string& input) {
             return constants_.contains(input);
           });
  }
  std::string made(onnx::schema::Node head, std::vector<std::string> inputs, bool counts = true) {
    head.clear_name(), head.clear_input(), head.clear_output();
    if (llvm::is_contained(kCommutative, head.op_type())) llvm::sort(inputs);
    std::string digest = hashed(head.SerializeAsString(), inputs);
    if (counts) nodes_.insert(digest);
    return digest;
  }
  /// Counts a product with a bias as the two nodes that it may be written as, and nodes of
  /// constants not at all, since a later run may write their value.
  void add(const onnx::schema::Node& node) {
    std::vector<std::string> inputs;
    for (const std::string& input : node.input()) inputs.push_back(of(input));
    onnx::schema::Node head = node;
    const bool constant = is_constant(node);
    if (!constant && node.op_type() == "Gemm" && node.attribute_size() == 0 && inputs.size() == 3) {
      head.set_op_type("MatMul");
      inputs = {made(head, {inputs[0], inputs[1]}) + "0", inputs[2]};
      head.set_op_type("Add");
    }
    std::string digest = made(head, std::move(inputs), !constant);
    for (int i = 0; i < node.output_size(); ++i) {
      of_value_[node.output(i)] = digest + std::to_string(i);
      if (constant) constants_.insert(node.output(i));
    }
  }

  llvm::StringMap<std::string> of_value_;
  llvm::StringSet<> constants_; // initializers, except weights, and values computed from them
  llvm::StringSet<> nodes_;     // nodes with the same computation are one
  std::string all_;
};

/// Returns the graph with the restored nodes of its source.
Whole with_source_nodes(const Graph& graph, const KeptOperators* kept, int opset) {
  if (!kept) return {graph};
  Whole whole = with_kept(graph, *kept);
  onnx::Restored restored =
      onnx::restore_nodes(whole.graph, kept->nodes, kept->source, kept->facts, opset);
  whole.graph = std::move(restored.graph);
  whole.kept = std::move(restored.kept);
  whole.restored = std::move(restored.expansions);
  return whole;
}

/// Returns the operators of each node of the file that stands for several. `whole` is the file's
/// graph with the operands of kept nodes.
std::vector<Graph> expansions_of(const Graph& whole, const KeptOperators& kept) {
  return onnx::restore_nodes(whole, kept.nodes, kept.source, kept.facts, usual_opset(&kept))
      .expansions;
}

bool have_equal_ends(const Graph& a, const Graph& b) {
  auto name = [](const Graph& graph) {
    std::string names;
    for (NodeId input : graph.inputs()) names += graph.attr(input, 0).text + ",";
    for (const GraphOutput& output : graph.outputs()) names += output.name + ",";
    return names;
  };
  return name(a) == name(b);
}

/// A file that was written, as a later run reads it.
struct ReadAgain {
  Graph graph; // over the symbols and weights of the graph that was written
  std::vector<Graph> expansions = {};
};

/// Returns true if all weights of `graph` are weights of `source`.
bool has_only_weights_of(const Graph& graph, const Graph& source) {
  llvm::StringSet<> known = weight_paths(source);
  for (const auto& path : weight_paths(graph))
    if (!known.contains(path.getKey())) return false;
  return true;
}

/// Returns true if the same nodes are kept, around the same inputs and outputs of the graph.
bool have_equal_nodes(const KeptOperators& a, const KeptOperators* b) {
  if (!a.has_nodes() || !b) return !a.has_nodes() && !(b && b->has_nodes());
  auto texts = [](const onnx::KeptNodes& kept) {
    std::vector<std::string> all;
    for (const onnx::KeptNode& one : kept.nodes) {
      onnx::schema::Node node = one.node;
      node.clear_name();
      all.push_back(node.SerializeAsString());
    }
    llvm::sort(all);
    return all;
  };
  return a.nodes.cuts == b->nodes.cuts && texts(a.nodes) == texts(b->nodes) &&
         difference(a.nodes.fixed, b->nodes.fixed).empty();
}

/// Reads a file that is to be written.
std::optional<LoadedModel> read_in_memory(const onnx::Exported& exported,
                                          onnx::ImportOptions options) {
  onnx::schema::Model model = exported.model;
  *model.mutable_graph() = exported.graph;
  options.keep_for = onnx::kNewestExport;
  for (const onnx::ExportedWeight& weight : exported.weights) {
    *model.mutable_graph()->add_initializer() = weight.tensor;
    options.folded.insert(weight.tensor.name());
  }
  auto file =
      onnx::ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(model.SerializeAsString()), "");
  return file ? model_without_elements(std::move(*file), options) : std::nullopt;
}

/// Returns the file as a later run reads it. nullopt if it would be read with other inputs, outputs
/// or kept nodes than those of the graph and `kept`, or with huge constants as weights.
std::optional<ReadAgain> read_again(const Graph& graph, const Folded& folded,
                                    const onnx::Exported& exported, const KeptOperators* kept) {
  std::vector<std::string> constants; // tables, which are read as weights
  for (const onnx::schema::Tensor& tensor : exported.graph.initializer())
    constants.push_back(tensor.name());
  llvm::StringMap<std::string> paths; // by name in the file
  for (const onnx::ExportedWeight& weight : exported.weights)
    paths[weight.tensor.name()] = folded.graph.attr(weight.node, 0).text;
  std::optional<LoadedModel> read = read_in_memory(exported, {});
  if (!read || !read->kept || !have_equal_nodes(*read->kept, kept)) return std::nullopt;
  Result<Graph> with_tables = with_known_weights(read->graph, constants, *read->weights);
  if (!with_tables) return std::nullopt;
  auto in_symbols = [&](const Graph& one) { return transfer(one, graph.shared_symbols()); };
  ReadAgain again{in_symbols(unfold(with_renamed_weights(*with_tables, paths), folded.values))};
  if (!have_equal_ends(graph, again.graph) || !has_only_weights_of(again.graph, graph))
    return std::nullopt;
  for (const Graph& one : expansions_of(with_kept(read->graph, *read->kept).graph, *read->kept))
    again.expansions.push_back(in_symbols(one));
  return again;
}

Result<OnnxExport> write_exported(const onnx::Exported& exported, const Folded& folded,
                                  const PrepareOptions& options, int opset,
                                  std::vector<std::string> notes, llvm::StringRef path) {
  WeightSource weights = folded_weights(folded, options);
  auto elements = [&](NodeId weight, onnx::TakeElements take) -> Result<void> {
    TG_TRY(const Tensor tensor, weights(plan_value(folded.graph, weight)));
    return take(
        {reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes())});
  };
  TG_TRY(onnx::Written written, onnx::write_model(exported, path, elements));
  return OnnxExport{exported.graph.node_size(), opset, written.bytes, written.external_bytes,
                    std::move(notes)};
}

} // namespace

std::optional<UsedForm> written_form(const Graph& graph, const KeptOperators* kept) {
  int opset = usual_opset(kept);
  Whole whole = with_source_nodes(graph, kept, opset);
  onnx::PreparedGraph plain = onnx::prepare_for_export(whole.graph);
  Folded folded = fold_weights(plain.graph);
  onnx::ExportOptions how{opset, kProgramVersion, whole.kept ? &*whole.kept : nullptr,
                          &folded.values, kept ? &kept->facts : nullptr};
  Result<onnx::Exported> exported = onnx::export_graph(folded.graph, how);
  if (!exported) return std::nullopt;
  const std::string weights = digest(folded.values);
  // An unchanged file is copied. To write its graph again may take more nodes.
  if (kept && kept->own_file && difference(graph, kept->source).empty()) {
    MessageDigest digests(kept->own_file->model().graph(), weight_paths(graph));
    return UsedForm{with_kept(graph, *kept).graph, digests.node_count(), digests.all() + weights,
                    std::move(whole.restored), !kept->has_nodes()};
  }
  MessageDigest digests(exported->graph);
  UsedForm form{graph, digests.node_count(), digests.all() + weights};
  if (std::optional<ReadAgain> again = read_again(graph, folded, *exported, kept)) {
    form.graph = std::move(again->graph);
    form.joined = std::move(again->expansions);
    form.is_source = true;
    return form;
  }
  Whole expanded = kept ? with_kept(graph, *kept) : Whole{graph};
  form.graph = onnx::prepare_for_export(expanded.graph).graph;
  form.joined = std::move(whole.restored);
  return form;
}

int newest_opset(int opset) { return opset > 0 ? opset : onnx::kNewestExport; }

Result<OnnxExport> export_onnx(const Graph& graph, const KeptOperators* kept,
                               const PrepareOptions& options, int opset, llvm::StringRef path) {
  if (kept && is_own_file(graph, *kept, options, opset)) return copy_file(*kept, path);
  if (opset == 0) opset = usual_opset(kept);
  Whole whole = with_source_nodes(graph, kept, opset);
  onnx::PreparedGraph plain = onnx::prepare_for_export(whole.graph);
  TG_CHECK(check_transforms(plain.transforms, options));
  Folded folded = fold_weights(plain.graph);
  onnx::ExportOptions how{opset, kProgramVersion, whole.kept ? &*whole.kept : nullptr,
                          &folded.values, kept ? &kept->facts : nullptr};
  TG_TRY(onnx::Exported exported, onnx::export_graph(folded.graph, how));
  if (std::string growth = growth_note(whole.graph, folded); !growth.empty())
    whole.notes.push_back(std::move(growth));
  add_folding_record(folded, options.weight_file.get(), exported);
  llvm::append_range(whole.notes, exported.notes);
  return write_exported(exported, folded, options, opset, std::move(whole.notes), path);
}

namespace {

void add_note_on_nodes(const LoadedModel& source, OnnxExport& exported) {
  const std::vector<std::string>& nodes = source.written_out;
  if (nodes.empty()) return;
  exported.notes.push_back(llvm::formatv(
      "{0}{1} decomposed: a runtime that has the operator itself may run the original file "
      "faster",
      nodes[0],
      nodes.size() > 1 ? llvm::formatv(" and {0} more are", nodes.size() - 1).str() : " is"));
}

/// A model at several points of its open sizes, each as it is written.
class OpenExporter {
public:
  OpenExporter(llvm::ArrayRef<OpenSize> sizes, ModelAt at, const PrepareOptions& options, int opset)
      : at_(at), options_(options), opset_(opset) {
    sizes::Point sample;
    for (const OpenSize& size : sizes) {
      points_.names.push_back(size.name);
      points_.ranges.push_back({size.range.least, size.range.most});
      sample.push_back(size.sample);
    }
    all_ = sizes::fit_points(points_.ranges, sample);
  }

  Result<OnnxExport> run(llvm::StringRef path) {
    size_t few = std::min(all_.size(), sizes::points_for_polynomials(points_.names.size()));
    Result<onnx::Exported> joined = joined_at(few);
    if (!joined && few < all_.size()) joined = joined_at(all_.size());
    if (!joined) return joined.error();
    TG_CHECK(check(*joined));
    Part& first = parts_.front();
    if (std::string growth = growth_note(first.whole.graph, first.folded); !growth.empty())
      first.whole.notes.push_back(std::move(growth));
    add_folding_record(first.folded, options_.weight_file.get(), *joined);
    llvm::append_range(first.whole.notes, joined->notes);
    TG_TRY(OnnxExport written, write_exported(*joined, first.folded, options_, opset_,
                                              std::move(first.whole.notes), path));
    add_note_on_nodes(first.model, written);
    return written;
  }

private:
  struct Part {
    LoadedModel model;
    Whole whole;
    onnx::PreparedGraph plain;
    Folded folded;
    onnx::Exported exported = {};
  };

  Result<void> add_part(const sizes::Point& point) {
    TG_TRY(LoadedModel model, at_(point));
    if (opset_ == 0) opset_ = usual_opset(model.kept.get());
    Whole whole = with_source_nodes(model.graph, model.kept.get(), opset_);
    onnx::PreparedGraph plain = onnx::prepare_for_export(whole.graph);
    if (parts_.empty()) TG_CHECK(check_transforms(plain.transforms, options_));
    Folded none{plain.graph, plain.graph};
    parts_.push_back({std::move(model), std::move(whole), std::move(plain), std::move(none)});
    return {};
  }

  Result<std::vector<bool>> varying(llvm::function_ref<const Graph*(const Part&)> graph) const {
    std::vector<const Graph*> graphs;
    for (const Part& part : parts_) graphs.push_back(graph(part));
    return onnx::varying_nodes(points_, graphs);
  }

  Result<onnx::Exported> joined_at(size_t count) {
    points_.points.assign(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(count));
    while (parts_.size() < count) TG_CHECK(add_part(all_[parts_.size()]));
    TG_TRY(std::vector<bool> varies, varying([](const Part& part) { return &part.plain.graph; }));
    for (Part& part : parts_) part.folded = fold_weights(part.plain.graph, &varies);
    TG_TRY(varies, varying([](const Part& part) { return &part.folded.graph; }));
    std::vector<onnx::Exported> files;
    for (Part& part : parts_) {
      const KeptOperators* kept = part.model.kept.get();
      onnx::ExportOptions how{opset_,
                              kProgramVersion,
                              part.whole.kept ? &*part.whole.kept : nullptr,
                              &part.folded.values,
                              kept ? &kept->facts : nullptr,
                              &varies};
      TG_TRY(part.exported, onnx::export_graph(part.folded.graph, how));
      files.push_back(part.exported);
    }
    return onnx::join_open(points_, std::move(files));
  }

  /// Compares the file with those for fixed sizes, as they are read.
  Result<void> check(const onnx::Exported& joined) const {
    for (size_t part : {size_t{0}, parts_.size() / 2, parts_.size() - 1}) {
      const onnx::Exported& fixed = parts_[part].exported;
      onnx::ImportOptions options;
      for (const onnx::schema::ValueInfo& input : fixed.graph.input())
        for (const auto& dim : input.type().tensor_type().shape().dim())
          options.shapes[input.name()].push_back(dim.dim_value());
      std::optional<LoadedModel> expected = read_in_memory(fixed, options);
      if (!expected) continue; // elements of a weight decide its operators
      std::optional<LoadedModel> read = read_in_memory(joined, options);
      std::string difference =
          read ? tg::difference(expected->graph, read->graph) : "it cannot be read at these sizes";
      if (!difference.empty())
        return error(Code::internal, "the file is not the model at {0}: {1}", points_.text(part),
                     difference);
    }
    return {};
  }

  ModelAt at_;
  const PrepareOptions& options_;
  int opset_;
  onnx::OpenPoints points_; // of parts_
  std::vector<sizes::Point> all_;
  std::deque<Part> parts_;
};

} // namespace

Result<OnnxExport> export_onnx(const LoadedModel& source, const Graph& graph,
                               const PrepareOptions& options, int opset, llvm::StringRef path) {
  TG_TRY(OnnxExport exported, export_onnx(graph, source.kept.get(), options, opset, path));
  add_note_on_nodes(source, exported);
  return exported;
}

Result<OnnxExport> export_open_onnx(llvm::ArrayRef<OpenSize> sizes, ModelAt at,
                                    const PrepareOptions& options, int opset,
                                    llvm::StringRef path) {
  return OpenExporter(sizes, at, options, opset).run(path);
}

} // namespace tg
