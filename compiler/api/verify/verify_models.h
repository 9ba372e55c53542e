// Whether two models compute the same function, with the files of their weights: folded weights are
// traced back to what they were computed from, so that both models are over the weights of the
// source. `tangram::verify`, `tg verify` and `:verify` come this way.
#pragma once

#include "compiler/api/files/unfold.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/support/stop.h"
#include "tangram/tangram.h"

namespace tg {

/// A model, how its file is called in messages, and the weights that the file has itself.
struct VerifySide {
  Graph graph;
  std::string file = {};
  std::shared_ptr<const WeightFile> weights = {};
  InputRanges ranges = {}; // that the file gives its inputs
};

struct ModelsVerified {
  Equivalence result;
  /// Of the side whose file has a record of folded weights; absent if none has.
  std::optional<FoldingCheck> folding = {};
  /// A weight that the files hold with different values.
  std::optional<WeightDifference> weight = {};
};

/// `stop` is that of all of it. Errors: `models_differ`, those of files of weights.
Result<ModelsVerified> verify_models(VerifySide a, VerifySide b,
                                     const tangram::VerifyOptions& options, const StopToken& stop);

} // namespace tg
