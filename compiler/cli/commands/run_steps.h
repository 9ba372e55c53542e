// `tg run --steps N`: runs a training step repeatedly and keeps the weights.
#pragma once

#include "compiler/cli/pipeline.h"
#include "compiler/trial/run_steps.h"
#include "lang/core/const_math.h"

namespace tg::cli {

/// Outputs of one element, as printed at a step.
struct StepValues {
  size_t step = 0;
  std::vector<std::pair<std::string, ConstNumber>> values; // integers are exact
};

struct StepsRun {
  RunReport report; // of the last step
  std::vector<StepValues> history;
};

/// Runs `graph`, which is `source` or its optimised form. Prints values as they arrive, and writes
/// the files of --output and --weights-out.
Result<StepsRun> run_steps_with_options(Session& session, const Graph& source, const Graph& graph,
                                        PrepareOptions options);

} // namespace tg::cli
