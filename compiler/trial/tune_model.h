// Tunes the operators of a graph on a backend, as its plan has them: what `tg tune` does. What is
// found is kept in the cost database's file, operator by operator.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"
#include "runtime/tune/kernel_report.h"
#include "runtime/tune/plan_session.h"

namespace tg {

struct TuneModelOptions {
  std::string backend = "cpu";
  int threads = 0;          // 0: all
  std::string cost_db = {}; // "": the user's
  StopToken stop = {};
  bool choose_kernels = true; // before operators are tuned
  tune::PlanTuneOptions session = {};
};

struct TunedModel {
  tune::KernelReport kernels; // what was chosen before operators were tuned
  tune::PlanTuneReport report;
  std::vector<tune::PlanOperator> operators;
  double peak_flops = 0; // of so many threads
  int threads = 1;
  std::vector<std::string> notes;
};

/// Called with each line of the report as soon as it is known.
using OnTuned = llvm::function_ref<void(const tune::PlanTuneLine&, const TunedModel&)>;
using OnChosen = llvm::function_ref<void(const tune::KernelReport&)>;

/// Errors: `usage` for a backend that has nothing to choose; those of making and loading it.
Result<TunedModel> tune_model(const Graph& graph, const TuneModelOptions& options, OnChosen chosen,
                              OnTuned done);

} // namespace tg
