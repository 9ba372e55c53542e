// Joins the files of one model at several sizes into one file for all sizes. The files must have
// the same nodes; integers that differ become expressions of the sizes (lang/core/sizes/fit.h):
// dimensions of inputs and outputs get the name of a size, and tensors of integers, such as the
// shape of a Reshape, are computed at run time from the shapes of the inputs.
#pragma once

#include "compiler/import/onnx/write/export.h"
#include "lang/core/sizes/region.h"

namespace tg::onnx {

/// The open sizes of a model, and the points at which it was written, which fit_points() chose.
struct OpenPoints {
  std::vector<std::string> names;
  std::vector<sizes::Interval> ranges;
  std::vector<sizes::Point> points;

  /// Returns "S = 17, N = 23".
  std::string text(size_t point) const;
};

/// Returns the nodes whose shape or attributes are not the same in all graphs, and the nodes that
/// read these before anything that an input decides. Errors: `unsupported`, which names the first
/// node that is another operator or has other operands.
Result<std::vector<bool>> varying_nodes(const OpenPoints& at, llvm::ArrayRef<const Graph*> graphs);

/// Joins the results of export_graph(), each with ExportOptions::varying. Errors: `unsupported`,
/// which names the node or tensor: for other nodes, for attributes and weights that depend on a
/// size, for integers that are not an expression of the sizes, and for a size that no input has.
Result<Exported> join_open(const OpenPoints& at, std::vector<Exported> files);

} // namespace tg::onnx
