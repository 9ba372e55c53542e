// `tg export`: writes a model and its weights as an ONNX file.
#include "compiler/api/files/onnx_export.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "lang/core/diagnostics/escape.h"

namespace tg::cli {
namespace {

void print_export(Session& session, llvm::StringRef name, const OpenModel& model,
                  const OnnxExport& exported) {
  session.out << printable(name) << ": " << counted(static_cast<uint64_t>(exported.ops), "operator")
              << " of opset " << exported.opset << ", "
              << bytes_text(static_cast<double>(exported.bytes));
  if (model.is_open()) session.out << ", for " << text_of(model.sizes());
  session.out << "\n";
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

/// Exports the model for all of its open sizes, or a model without them. `sample`: the model at the
/// sizes of a plain run.
Result<OnnxExport> exported(const Options& o, const OpenModel& open, const LoadedModel& sample) {
  TG_TRY(PrepareOptions options, prepare_options(o, sample));
  int opset = static_cast<int>(o.opset);
  if (!open.is_open()) return export_onnx(sample, sample.graph, options, opset, o.out_file);
  auto at = [&](llvm::ArrayRef<int64_t> point) { return open.at(point); };
  return export_open_onnx(open.sizes(), at, options, opset, o.out_file);
}

} // namespace

int run_export(Session& session) {
  const Options& o = session.options;
  Result<ModelRequest> request = model_request(o);
  if (!request) return session.fail(request.error());
  std::optional<OpenModel> model =
      OpenModel::open(session.sources, o.files.front(), std::move(*request), session.sink);
  if (!model || !model->check(session.sink)) return session.fail();
  std::optional<LoadedModel> sample = model->at(model->sample(), session.sink);
  if (!sample) return session.fail();
  Result<OnnxExport> result = exported(o, *model, *sample);
  if (!result) return session.fail(result.error());
  session.print_warnings();
  if (o.json)
    print_export_json(session, *result);
  else if (!o.quiet)
    print_export(session, sample->graph.name(), *model, *result);
  return 0;
}

} // namespace tg::cli
