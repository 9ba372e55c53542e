#include "compiler/api/public_models.h"

#include "compiler/search/portfolio/segments.h"

namespace tangram {

namespace {

Diagnostic to_public(const tg::Diagnostic& d, const tg::SourceManager& sources) {
  Diagnostic out;
  out.code = tg::code_text(d.code);
  out.message = d.message;
  if (d.span.valid()) {
    const tg::SourceFile& file = sources.file(d.span.file);
    tg::LineColumn at = file.position(d.span.begin);
    out.file = file.name().str();
    out.line = at.line;
    out.column = at.column;
  }
  llvm::raw_string_ostream text(out.text);
  tg::render(d, sources, text);
  text.flush();
  return out;
}

} // namespace

Error to_error(tg::DiagnosticSink& sink, const tg::SourceManager& sources) {
  sink.sort();
  Error error;
  for (const tg::Diagnostic& d : sink.all())
    if (d.severity == tg::Severity::Error) error.diagnostics.push_back(to_public(d, sources));
  return error;
}

Error to_error(const tg::Diagnostic& d) { return Error{{to_public(d, tg::SourceManager())}}; }

Model to_model(tg::Graph graph, std::shared_ptr<const tg::WeightFile> weights,
               std::shared_ptr<const tg::KeptOperators> kept) {
  return Model(std::make_shared<const Model::Impl>(
      Model::Impl{std::move(graph), std::move(weights), std::move(kept)}));
}

Model rewritten(const Model& source, const tg::Graph& graph) {
  const Model::Impl& impl = source.impl();
  return to_model(tg::transfer(graph, std::make_shared<tg::Symbols>()), impl.weights, impl.kept);
}

tg::Graph own_graph(const Model& model) {
  return tg::transfer(model.impl().graph, std::make_shared<tg::Symbols>());
}

} // namespace tangram
