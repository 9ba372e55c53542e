// `tg import`: converts an ONNX file to a readable model with its weights in a second file, or to
// an ONNX file with only ONNX's own operators.
#include "compiler/api/files/generic_model.h"
#include "compiler/api/files/onnx_export.h"
#include "compiler/api/files/weights.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/import/text/import_text.h"
#include "lang/core/diagnostics/escape.h"

namespace tg::cli {
namespace {

/// The result of reading a file. With open sizes, `model` is at the first of the points.
struct ImportedFile {
  LoadedModel model;
  std::optional<OpenGraph> open = {};
  std::string text = {}; // of the generic model
  size_t points = 0;
};

/// Writes sizes as numbers, and open ones as text.
void write_type(llvm::json::OStream& json, llvm::StringRef name, const ImportedFile& file,
                NodeId id) {
  const TensorType& type = file.model.graph.type(id);
  json.object([&] {
    json.attribute("name", name);
    json.attributeArray("shape", [&] {
      for (uint32_t axis = 0; axis < type.shape.size(); ++axis)
        if (std::optional<sizes::Expr> size =
                file.open ? file.open->find({id.index, IntegerPlace::kShape, axis}) : std::nullopt)
          json.value(file.open->algebra->text(*size));
        else
          json.value(type.shape[axis]);
    });
    json.attribute("dtype", dtype_name(type.dtype));
  });
}

void write_sizes(llvm::json::OStream& json, llvm::ArrayRef<OpenSize> sizes) {
  json.attributeArray("open_sizes", [&] {
    for (const OpenSize& size : sizes)
      json.object([&] {
        json.attribute("name", size.name);
        json.attribute("least", size.range.least);
        if (size.range.most) json.attribute("most", *size.range.most);
        json.attribute("default", size.sample);
      });
  });
}

void write_refused(llvm::json::OStream& json, llvm::ArrayRef<onnx::Refusal> refused) {
  json.attributeArray("unsupported", [&] {
    for (const onnx::Refusal& one : refused)
      json.object([&] {
        json.attribute("op", one.op);
        json.attribute("node", one.node);
        json.attribute("why", one.why);
      });
  });
}

size_t ops_of(const LoadedModel& model) {
  return model.graph.op_count() + (model.kept ? model.kept->nodes.nodes.size() : 0);
}

void print_import_json(Session& session, const ImportedFile& file) {
  const LoadedModel& model = file.model;
  const Graph& graph = model.graph;
  auto shown = [&](const std::string& name) {
    return !model.kept || !model.kept->nodes.cuts.count(name);
  };
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("ok", true);
    json.attribute("model", graph.name());
    json.attribute("ops_in", model.ops);
    json.attribute("ops_out", static_cast<int64_t>(ops_of(model)));
    json.attributeArray("inputs", [&] {
      for (NodeId id : graph.inputs())
        if (const std::string& name = graph.attr(id, 0).text; shown(name))
          write_type(json, name, file, id);
    });
    json.attributeArray("outputs", [&] {
      for (const GraphOutput& output : graph.outputs())
        if (shown(output.name)) write_type(json, output.name, file, output.node);
    });
    if (file.open) write_sizes(json, file.open->sizes);
    write_refused(json, {});
  });
  session.out << "\n";
}

/// Reports the errors of reading, with all rejected nodes.
int fail(Session& session, llvm::ArrayRef<onnx::Refusal> refused) {
  if (!session.options.json) return session.fail();
  return session.fail([&](llvm::json::OStream& json) { write_refused(json, refused); });
}

void print_import(llvm::raw_ostream& out, const ImportedFile& file) {
  const LoadedModel& model = file.model;
  out << printable(model.graph.name()) << ": " << counted(static_cast<uint64_t>(model.ops), "node")
      << " of the file, " << counted(ops_of(model), "operator") << "\n";
  if (file.open)
    out << "  for " << text_of(file.open->sizes) << ", from the file at "
        << counted(file.points, "combination") << " of sizes\n";
}

Result<void> write_import(Session& session, const ImportedFile& file) {
  const Options& o = session.options;
  const LoadedModel& model = file.model;
  TG_TRY(PrepareOptions options, prepare_options(o, model));
  if (is_onnx_path(o.out_file)) {
    TG_TRY(OnnxExport exported,
           export_onnx(model, model.graph, options, static_cast<int>(o.opset), o.out_file));
    for (const std::string& note : exported.notes)
      session.err << "note: " << printable(note) << "\n";
    return {};
  }
  if (!o.weights_out.empty()) TG_CHECK(save_weights(model.graph, options, o.weights_out));
  if (o.out_file.empty()) return {};
  std::string text = file.open ? file.text : import_text(model.graph, model.names, library());
  return write_text_file(session, o.out_file, text);
}

/// Reads a file whose sizes stay open. Shapes that do not hold for all sizes are a warning.
std::optional<ImportedFile> read_generic(Session& session, const OpenModel& file,
                                         std::vector<onnx::Refusal>& refused) {
  std::optional<GenericModel> model = fit_model(file, session.sink, &refused);
  if (!model) return std::nullopt;
  Result<std::string> text = model->text();
  if (!text) {
    session.sink.report(std::move(text.error()));
    return std::nullopt;
  }
  DiagnosticSink found;
  check_generic_text(session.sources, session.options.files.front() + ".tg", *text, found);
  for (Diagnostic d : found.all()) {
    d.severity = Severity::Warning;
    session.sink.report(std::move(d));
  }
  return ImportedFile{std::move(model->sample), std::move(model->graph), std::move(*text),
                      model->points.size()};
}

std::optional<ImportedFile> read_file(Session& session, const ModelRequest& request,
                                      std::vector<onnx::Refusal>& refused) {
  const Options& o = session.options;
  const std::string& path = o.files.front();
  if (is_onnx_path(path) && !is_onnx_path(o.out_file)) {
    std::optional<OpenModel> file = OpenModel::open(session.sources, path, request, session.sink);
    if (!file) return std::nullopt;
    if (file->is_open()) return read_generic(session, *file, refused);
  }
  std::optional<LoadedModel> model =
      load_model(session.sources, path, request, session.sink, &refused);
  if (!model) return std::nullopt;
  return ImportedFile{std::move(*model)};
}

} // namespace

int run_import(Session& session) {
  const Options& o = session.options;
  Result<ModelRequest> request = model_request(o);
  if (!request) return session.fail(request.error());
  std::vector<onnx::Refusal> refused;
  std::optional<ImportedFile> file = read_file(session, *request, refused);
  if (!file) return fail(session, refused);
  if (Result<void> written = write_import(session, *file); !written) {
    session.sink.report(written.error());
    return fail(session, {});
  }
  session.print_warnings();
  if (o.json)
    print_import_json(session, *file);
  else if (!o.quiet)
    print_import(o.out_file == "-" ? session.err : session.out, *file);
  return 0;
}

} // namespace tg::cli
