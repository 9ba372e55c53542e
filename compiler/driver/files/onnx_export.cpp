#include "compiler/driver/files/onnx_export.h"

#include "compiler/driver/files/unfold.h"
#include "compiler/import/onnx/write/restore.h"
#include "compiler/import/onnx/write/write_model.h"
#include "compiler/search/portfolio/segments.h"
#include "lang/core/version.h"

namespace tg {

namespace {

/// How far a transform may be from that of the kernel that was found from it: rounding, of halves
/// where they are.
double transform_bound(DType dtype) { return is_half(dtype) ? 2e-2 : 1e-4; }

Result<void> check_transforms(const Graph& transforms, const PrepareOptions& options) {
  if (transforms.outputs().empty()) return {};
  TG_TRY(Prepared prepared, prepare(transforms, options));
  TG_CHECK(prepared.executable->run_once());
  TG_TRY(std::vector<Tensor> values, prepared.executable->outputs());
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    if (max_rel_diff(values[i + 1], values[i]) > transform_bound(values[i].type().dtype))
      return error(Code::unsupported,
                   "`winograd_conv2d` cannot be written: `{0}` is the transform of no kernel",
                   transforms.outputs()[i].name);
  return {};
}

/// What is written, and what is to be said of that.
struct Whole {
  Graph graph;
  std::vector<std::string> notes = {};
  std::optional<onnx::KeptNodes> kept = {};
};

/// That of the source's file where it is newer than the usual one, or what kept nodes need.
int usual_opset(const KeptOperators* kept) {
  if (!kept) return onnx::kUsualExport;
  int own = std::min(kept->facts.opset, onnx::kNewestExport);
  return std::max({onnx::kUsualExport, own, kept->nodes.opset()});
}

Whole with_kept(const Graph& graph, const KeptOperators& kept) {
  if (!kept.has_nodes()) return {graph};
  std::string kinds = "kept as they are: " + kept.nodes.text();
  if (std::optional<Graph> joined = onnx::join_kept(graph, kept.nodes))
    return {std::move(*joined), {std::move(kinds)}};
  // Others may have the source, too: with symbols of its own.
  Graph source = transfer(kept.source, std::make_shared<Symbols>());
  std::optional<Graph> joined = onnx::join_kept(source, kept.nodes);
  assert(joined && "no file has a circle");
  return {std::move(*joined),
          {std::move(kinds), "the source is written: in what was found, an operator that is kept "
                             "would wait for its own result"}};
}

/// Says how much larger a file is by the weights that were computed in advance than by those that
/// they were computed from. Empty where that is little.
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
  return llvm::formatv("values that are computed in advance take {0:f1} MB more than what they are "
                       "computed from",
                       static_cast<double>(growth) / 1e6);
}

/// What the folded weights were computed from, under the names that they have in the file, which
/// has others for some. `source`: the file of the weights, if there is one.
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

} // namespace

int newest_opset(int opset) { return opset > 0 ? opset : onnx::kNewestExport; }

Result<OnnxExport> export_onnx(const Graph& graph, const KeptOperators* kept,
                               const PrepareOptions& options, int opset, llvm::StringRef path) {
  if (opset == 0) opset = usual_opset(kept);
  Whole whole = kept ? with_kept(graph, *kept) : Whole{graph};
  if (kept) {
    onnx::Restored restored =
        onnx::restore_nodes(whole.graph, kept->nodes, kept->source, kept->facts, opset);
    whole.graph = std::move(restored.graph);
    whole.kept = std::move(restored.kept);
  }
  onnx::PreparedGraph plain = onnx::prepare_for_export(whole.graph);
  TG_CHECK(check_transforms(plain.transforms, options));
  Folded folded = fold_weights(plain.graph);
  onnx::ExportOptions how{opset, kProgramVersion, whole.kept ? &*whole.kept : nullptr,
                          &folded.values, kept ? &kept->facts : nullptr};
  TG_TRY(onnx::Exported exported, onnx::export_graph(folded.graph, how));
  if (std::string growth = growth_note(whole.graph, folded); !growth.empty())
    whole.notes.push_back(std::move(growth));
  add_folding_record(folded, options.weight_file.get(), exported);
  TG_TRY(WeightSource weights, folded_weights(folded, options));
  auto elements = [&](NodeId weight, onnx::TakeElements take) -> Result<void> {
    TG_TRY(const Tensor tensor, weights(plan_value(folded.graph, weight)));
    return take(
        {reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes())});
  };
  TG_TRY(onnx::Written written, onnx::write_model(exported, path, elements));
  llvm::append_range(whole.notes, exported.notes);
  return OnnxExport{exported.graph.node_size(), opset, written.bytes, written.external_bytes,
                    std::move(whole.notes)};
}

Result<OnnxExport> export_onnx(const LoadedModel& source, const Graph& graph,
                               const PrepareOptions& options, int opset, llvm::StringRef path) {
  TG_TRY(OnnxExport exported, export_onnx(graph, source.kept.get(), options, opset, path));
  if (const std::vector<std::string>& nodes = source.written_out; !nodes.empty())
    exported.notes.push_back(llvm::formatv(
        "{0}{1} written out: a runtime that has the operator itself may run the original file "
        "faster",
        nodes[0],
        nodes.size() > 1 ? llvm::formatv(" and {0} more are", nodes.size() - 1).str() : " is"));
  return exported;
}

} // namespace tg
