// `tg run --steps N`: a training step run again and again, with the weights kept.
#pragma once

#include "compiler/cli/pipeline.h"
#include "compiler/trial/run_steps.h"
#include "lang/core/const_math.h"

namespace tg::cli {

/// An output of one element, as it was looked at.
struct StepValues {
  size_t step = 0;
  std::vector<std::pair<std::string, ConstNumber>> values; // integers exact
};

struct StepsRun {
  RunReport report; // of the last step
  std::vector<StepValues> history;
};

/// Runs `graph`, which is `source`, perhaps optimised; prints values as they come, and writes what
/// --output and --weights-out ask for.
Result<StepsRun> run_steps_as_told(Session& session, const Graph& source, const Graph& graph,
                                   PrepareOptions options);

} // namespace tg::cli
