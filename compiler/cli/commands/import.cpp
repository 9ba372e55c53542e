// `tg import`: converts an ONNX file to a readable model with its weights in a second file, or to
// an ONNX file with only ONNX's own operators.
#include "compiler/api/files/onnx_export.h"
#include "compiler/api/files/weights.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/import/text/import_text.h"
#include "lang/core/diagnostics/escape.h"

namespace tg::cli {
namespace {

void write_type(llvm::json::OStream& json, llvm::StringRef name, const TensorType& type) {
  json.object([&] {
    json.attribute("name", name);
    json.attributeArray("shape", [&] {
      for (int64_t size : type.shape) json.value(size);
    });
    json.attribute("dtype", dtype_name(type.dtype));
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

void print_import_json(Session& session, const LoadedModel& model) {
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
          write_type(json, name, graph.type(id));
    });
    json.attributeArray("outputs", [&] {
      for (const GraphOutput& output : graph.outputs())
        if (shown(output.name)) write_type(json, output.name, graph.type(output.node));
    });
    write_refused(json, {});
  });
  session.out << "\n";
}

/// Reports the errors of reading, with all rejected nodes.
int fail(Session& session, llvm::ArrayRef<onnx::Refusal> refused) {
  if (!session.options.json) return session.fail();
  return session.fail([&](llvm::json::OStream& json) { write_refused(json, refused); });
}

void print_import(llvm::raw_ostream& out, const LoadedModel& model) {
  size_t ops = ops_of(model);
  out << printable(model.graph.name()) << ": " << counted(static_cast<uint64_t>(model.ops), "node")
      << " of the file, " << counted(ops, "operator") << "\n";
}

Result<void> write_import(Session& session, const LoadedModel& model) {
  const Options& o = session.options;
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
  return write_text_file(session, o.out_file, import_text(model.graph, model.names, library()));
}

} // namespace

int run_import(Session& session) {
  const Options& o = session.options;
  Result<ModelRequest> request = model_request(o);
  if (!request) return session.fail(request.error());
  std::vector<onnx::Refusal> refused;
  std::optional<LoadedModel> model =
      load_model(session.sources, o.files.front(), *request, session.sink, &refused);
  if (!model) return fail(session, refused);
  if (Result<void> written = write_import(session, *model); !written) {
    session.sink.report(written.error());
    return fail(session, {});
  }
  session.print_warnings();
  if (o.json)
    print_import_json(session, *model);
  else if (!o.quiet)
    print_import(o.out_file == "-" ? session.err : session.out, *model);
  return 0;
}

} // namespace tg::cli
