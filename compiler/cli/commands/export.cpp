// `tg export`: writes a model and its weights as an ONNX file.
#include "compiler/api/files/onnx_export.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "lang/core/diagnostics/escape.h"

namespace tg::cli {
namespace {

void print_export(Session& session, llvm::StringRef model, const OnnxExport& exported) {
  session.out << printable(model) << ": "
              << counted(static_cast<uint64_t>(exported.ops), "operator") << " of opset "
              << exported.opset << ", " << bytes_text(static_cast<double>(exported.bytes)) << "\n";
  for (const std::string& note : exported.notes) session.out << "note: " << printable(note) << "\n";
}

void print_export_json(Session& session, const OnnxExport& exported) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("ok", true);
    json.attribute("ops", exported.ops);
    json.attribute("opset", exported.opset);
    json.attribute("bytes", static_cast<int64_t>(exported.bytes));
    json.attribute("external_bytes", static_cast<int64_t>(exported.external_bytes));
    json.attributeArray("notes", [&] {
      for (const std::string& note : exported.notes) json.value(note);
    });
  });
  session.out << "\n";
}

Result<OnnxExport> exported(const Options& o, const LoadedModel& model) {
  TG_TRY(PrepareOptions options, prepare_options(o, model));
  return export_onnx(model, model.graph, options, static_cast<int>(o.opset), o.out_file);
}

} // namespace

int run_export(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedModel> model = load(session);
  if (!model) return session.fail();
  Result<OnnxExport> result = exported(o, *model);
  if (!result) return session.fail(result.error());
  session.print_warnings();
  if (o.json)
    print_export_json(session, *result);
  else if (!o.quiet)
    print_export(session, model->graph.name(), *result);
  return 0;
}

} // namespace tg::cli
