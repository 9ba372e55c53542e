// The two models of `tg verify`, with the files of their weights: folded weights are traced back to
// what they were computed from, so that both models are over the weights of the source.
#pragma once

#include "compiler/driver/cli/session.h"
#include "compiler/driver/unfold.h"
#include "compiler/equiv/equivalent.h"

namespace tg::cli {

/// One side: a file, the model in it ("" = --model, or the only one), and its weights.
struct VerifySide {
  std::string file, model;
  Graph graph = Graph(std::make_shared<Symbols>());
  std::shared_ptr<const Safetensors> weights = {}; // null without a file
};

struct VerifySides {
  VerifySide a, b;
  /// Of the side whose file has a record of folded weights; absent if none has.
  std::optional<FoldingCheck> folding;
  /// The folded weights were compared with what the random weights of the seed give.
  bool folded_from_seed = false;
  /// A weight that the files hold with different values.
  std::optional<WeightDifference> weight;
};

/// nullopt, with the reason in the sink, if the arguments do not name two models and their weights.
std::optional<VerifySides> load_sides(Session& session);

/// What the weights say beside the graphs: numbers in the files that part decide, and a difference
/// between models over weights that nothing is known of decides nothing.
void judge_weights(const VerifySides& sides, Equivalence& result);

} // namespace tg::cli
