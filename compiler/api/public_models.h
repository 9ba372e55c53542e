// Converts models and errors to those of the public API.
#pragma once

#include "compiler/api/files/model.h"
#include "tangram/tangram.h"

struct tangram::Model::Impl {
  tg::Graph graph;
  std::shared_ptr<const tg::WeightFile> weights = {}; // from an .onnx file
  std::shared_ptr<const tg::KeptOperators> kept = {}; // from one that will be exported again
};

namespace tangram {

Error to_error(tg::DiagnosticSink& sink, const tg::SourceManager& sources);
/// For errors without a source position.
Error to_error(const tg::Diagnostic& d);

Model to_model(tg::Graph graph, std::shared_ptr<const tg::WeightFile> weights = nullptr,
               std::shared_ptr<const tg::KeptOperators> kept = nullptr);
/// Returns the graph as a model with the weights of its source. Copies its symbols, because
/// rewriting continues on the graph.
Model rewritten(const Model& source, const tg::Graph& graph);

/// Returns a copy with its own symbols, because other threads may use the model, and rewriting or
/// retyping a graph adds to its symbols.
tg::Graph own_graph(const Model& model);

} // namespace tangram
