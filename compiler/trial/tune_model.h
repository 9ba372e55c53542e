// Tunes the operators of a graph on a backend in the form of its plan, for `tg tune`. The results
// are stored in the cost database's file by operator.
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
  bool choose_kernels = true; // before tuning the operators
  tune::PlanTuneOptions session = {};
};

struct TunedModel {
  tune::KernelReport kernels; // choices made before tuning the operators
  tune::PlanTuneReport report;
  std::vector<tune::PlanOperator> operators;
  double peak_flops = 0; // with that number of threads
  int threads = 1;
  std::vector<std::string> notes;
};

/// Called with each line of the report as soon as it is available.
using OnTuned = llvm::function_ref<void(const tune::PlanTuneLine&, const TunedModel&)>;
using OnChosen = llvm::function_ref<void(const tune::KernelReport&)>;

/// Errors: `usage` for a backend without choices; those of creating and loading it.
Result<TunedModel> tune_model(const Graph& graph, const TuneModelOptions& options, OnChosen chosen,
                              OnTuned done);

} // namespace tg
