// A source of weights that reads from a file, checked against a model.
#pragma once

#include "compiler/api/files/weights.h"

namespace tg {

inline Result<WeightSource> open_weights(const Graph& graph, llvm::StringRef path) {
  TG_TRY(std::shared_ptr<const WeightFile> file, open_weight_file(graph, path));
  return weights_from(std::move(file));
}

} // namespace tg
