// Models and errors of the public API, and what they are made of.
#pragma once

#include "compiler/api/files/model.h"
#include "tangram/tangram.h"

struct tangram::Model::Impl {
  tg::Graph graph;
  std::shared_ptr<const tg::WeightFile> weights = {}; // of an .onnx file
  std::shared_ptr<const tg::KeptOperators> kept = {}; // of one that becomes one again
};

namespace tangram {

Error to_error(tg::DiagnosticSink& sink, const tg::SourceManager& sources);
/// Of what has no place in a source.
Error to_error(const tg::Diagnostic& d);

Model to_model(tg::Graph graph, std::shared_ptr<const tg::WeightFile> weights = nullptr,
               std::shared_ptr<const tg::KeptOperators> kept = nullptr);
/// The graph as a model with the weights of its source, over symbols of its own, since who rewrites
/// goes on.
Model rewritten(const Model& source, const tg::Graph& graph);

/// With symbols of its own: others may work on the model at the same time, and whoever rewrites or
/// retypes a graph adds to its symbols.
tg::Graph own_graph(const Model& model);

} // namespace tangram
