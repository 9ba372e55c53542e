// Compares two models as functions, including files of their weights. Folded weights are traced
// back to the weights from which they were computed, so that both models are over the weights of
// the source. Used by `tangram::verify`, `tg verify` and `:verify`.
#pragma once

#include "compiler/api/files/unfold.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/support/stop.h"
#include "tangram/tangram.h"

namespace tg {

/// A model, the name of its file in messages, and the weights in the file itself.
struct VerifySide {
  Graph graph;
  std::string file = {};
  std::shared_ptr<const WeightFile> weights = {};
  InputRanges ranges = {}; // that the file gives its inputs
};

struct ModelsVerified {
  Equivalence result;
  /// For the side whose file has a record of folded weights; absent if neither has.
  std::optional<FoldingCheck> folding = {};
  /// A weight with different values in the files.
  std::optional<WeightDifference> weight = {};
};

/// `stop` applies to everything. Errors: `models_differ`, those of files of weights.
Result<ModelsVerified> verify_models(VerifySide a, VerifySide b,
                                     const tangram::VerifyOptions& options, const StopToken& stop);

} // namespace tg
