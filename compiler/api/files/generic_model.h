// Models whose sizes stay open, fitted to graphs at several sizes.
#pragma once

#include "compiler/api/files/open_model.h"

namespace tg {

struct GenericModel {
  LoadedModel sample; // at points.front()
  OpenGraph graph;
  /// The sizes at which the model was built, and its graphs there. The expressions of `graph` have
  /// the right values at all of them.
  std::vector<sizes::Point> points;
  std::vector<Graph> graphs;

  /// Returns the generic `.tg` text, which gives the graphs at the points.
  Result<std::string> text() const;
};

/// Rewrites the graph of a model at the sizes of a point.
using RewriteAt = std::function<Result<Graph>(const Graph&)>;

/// Builds a model with open sizes at points of their ranges, and fits expressions of the sizes to
/// its integers. Returns nullopt if the sink got errors: those of OpenModel::at, with the sizes,
/// and those of fit_graph. `refused`: as in OpenModel::at. `rewrite`, if given, is applied to each
/// graph.
std::optional<GenericModel> fit_model(const OpenModel& model, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused = nullptr,
                                      RewriteAt rewrite = nullptr);

/// Checks the generic text of a model for all sizes in its ranges, as `tg check` does for a file.
/// Returns false if the sink got errors.
bool check_generic_text(SourceManager& sources, const std::string& name, const std::string& text,
                        DiagnosticSink& sink);

} // namespace tg
