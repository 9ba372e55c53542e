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
               std::shared_ptr<const tg::KeptOperators> kept, std::shared_ptr<ModelFamily> family) {
  return Model(std::make_shared<const Model::Impl>(
      Model::Impl{std::move(graph), std::move(weights), std::move(kept), std::move(family)}));
}

std::vector<OpenSize> Model::open_sizes() const {
  std::vector<OpenSize> sizes;
  if (impl_->family)
    for (const tg::OpenSize& size : impl_->family->model->sizes())
      sizes.push_back({size.name, size.range.least, size.range.most, size.sample});
  return sizes;
}

tg::Result<tg::sizes::Point> point_of(const Model& model, const Sizes& sizes) {
  std::vector<OpenSize> open = model.open_sizes();
  tg::sizes::Point point;
  for (const OpenSize& size : open) {
    auto given = sizes.find(size.name);
    point.push_back(given == sizes.end() ? size.sample : given->second);
  }
  for (const auto& [name, value] : sizes)
    if (llvm::none_of(open, [&, n = name](const OpenSize& size) { return size.name == n; }))
      return tg::error(tg::Code::usage, "`{0}` has no open size `{1}`", model.name(), name);
  return point;
}

Expected<Model> Model::at(const Sizes& sizes) const {
  tg::Result<tg::sizes::Point> point = point_of(*this, sizes);
  if (!point) return to_error(point.error());
  if (!impl_->family) return *this;
  tg::DiagnosticSink sink;
  std::optional<tg::LoadedModel> loaded = impl_->family->model->at(*point, sink);
  if (!loaded) return to_error(sink, impl_->family->sources);
  return to_model(std::move(loaded->graph), impl_->weights ? impl_->weights : loaded->weights,
                  loaded->kept);
}

Model rewritten(const Model& source, const tg::Graph& graph) {
  const Model::Impl& impl = source.impl();
  return to_model(tg::transfer(graph, std::make_shared<tg::Symbols>()), impl.weights, impl.kept);
}

tg::Graph own_graph(const Model& model) {
  return tg::transfer(model.impl().graph, std::make_shared<tg::Symbols>());
}

} // namespace tangram
