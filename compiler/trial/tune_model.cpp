// Implements tune_model.h with a plan, its device and a session.
#include "compiler/trial/tune_model.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/backends/prepare.h"
#include "compiler/emit/plan_from_graph.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <chrono>

namespace tg {

namespace {

/// For runs, besides loading the plan; each operator has six pairs of runs in any case.
constexpr double kChoiceSeconds = 1;
/// Measuring the peak takes a few hundredths of a second.
constexpr std::chrono::seconds kPeakEvery{1};

} // namespace

Result<TunedModel> tune_model(const Graph& graph, const TuneModelOptions& options, OnChosen chosen,
                              OnTuned done) {
  const BackendRow* row = find_backend(options.backend);
  if (!row || !row->tune_device)
    return error(Code::usage, "operators are tuned on {0}, not on `{1}`",
                 backend_names([](const BackendRow& one) { return one.tune_device != nullptr; }),
                 options.backend);
  TunedModel model;
  model.threads = thread_count(options.threads);
  Plan plan = plan_from_graph(graph);
  TuneDeviceRequest request{.threads = model.threads,
                            .cost_db = options.cost_db,
                            .memory_limit_bytes = memory_limit_bytes(0),
                            .stop = options.stop};
  if (row->choose_kernels && options.choose_kernels) {
    TG_TRY(model.kernels, row->choose_kernels(plan, request, kChoiceSeconds));
    chosen(model.kernels);
  }
  TG_TRY(std::unique_ptr<tune::PlanDevice> device, row->tune_device(plan, request));
  model.operators = device->operators().vec();
  model.peak_flops = device->peak_flops();
  auto asked = std::chrono::steady_clock::now();
  model.report = tune::tune_plan(*device, options.session, [&](const tune::PlanTuneLine& line) {
    // Measure again, because other programs may have computed meanwhile.
    if (std::chrono::steady_clock::now() - asked > kPeakEvery) {
      model.peak_flops = std::max(model.peak_flops, device->peak_flops());
      asked = std::chrono::steady_clock::now();
    }
    done(line, model);
  });
  model.notes = model.kernels.notes;
  llvm::append_range(model.notes, device->notes());
  return model;
}

} // namespace tg
