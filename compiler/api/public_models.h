// Converts models and errors to those of the public API.
#pragma once

#include "compiler/api/files/open_model.h"
#include "compiler/api/size_recipes.h"
#include "tangram/tangram.h"

namespace tangram {

/// A model as a function of its open sizes.
struct ModelFamily {
  tg::SourceManager sources;
  std::optional<tg::OpenModel> model; // set
};

} // namespace tangram

struct tangram::Model::Impl {
  tg::Graph graph;
  std::shared_ptr<const tg::WeightFile> weights = {}; // from an .onnx file
  std::shared_ptr<const tg::KeptOperators> kept = {}; // from one that will be exported again
  std::shared_ptr<tangram::ModelFamily> family = {};  // if it has open sizes
};

struct tangram::Optimized::ForSizes {
  Model source;
  std::shared_ptr<const tg::SizeRecipes> recipes;
};

namespace tangram {

Error to_error(tg::DiagnosticSink& sink, const tg::SourceManager& sources);
/// For errors without a source position.
Error to_error(const tg::Diagnostic& d);

Model to_model(tg::Graph graph, std::shared_ptr<const tg::WeightFile> weights = nullptr,
               std::shared_ptr<const tg::KeptOperators> kept = nullptr,
               std::shared_ptr<ModelFamily> family = nullptr);
/// Returns one value for each open size of the model. Errors: `usage` for other names.
tg::Result<tg::sizes::Point> point_of(const Model& model, const Sizes& sizes);
/// Returns the graph as a model with the weights of its source. Copies its symbols, because
/// rewriting continues on the graph.
Model rewritten(const Model& source, const tg::Graph& graph);

/// Returns a copy with its own symbols, because other threads may use the model, and rewriting or
/// retyping a graph adds to its symbols.
tg::Graph own_graph(const Model& model);

} // namespace tangram
