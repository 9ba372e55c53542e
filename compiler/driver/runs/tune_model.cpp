// A plan, its device, a session.
#include "compiler/driver/runs/tune_model.h"

#include "compiler/driver/backends.h"
#include "compiler/driver/runs/prepare.h"
#include "compiler/emit/plan_from_graph.h"

#include <algorithm>

namespace tg {

Result<TunedModel> tune_model(const Graph& graph, const TuneModelOptions& options, OnTuned done) {
  const BackendRow* row = find_backend(options.backend);
  if (!row || !row->tune_device)
    return error(Code::usage, "operators are tuned on {0}, not on `{1}`",
                 backend_names([](const BackendRow& one) { return one.tune_device != nullptr; }),
                 options.backend);
  TunedModel model;
  model.threads = thread_count(options.threads);
  TG_TRY(std::unique_ptr<tune::PlanDevice> device,
         row->tune_device(plan_from_graph(graph), {.threads = model.threads,
                                                   .cost_db = options.cost_db,
                                                   .memory_limit_bytes = memory_limit_bytes(0),
                                                   .stop = options.stop}));
  model.operators = device->operators().vec();
  model.peak_flops = device->peak_flops();
  model.report = tune::tune_plan(*device, options.session, [&](const tune::PlanTuneLine& line) {
    // Again: others may have computed meanwhile.
    model.peak_flops = std::max(model.peak_flops, device->peak_flops());
    done(line, model);
  });
  model.notes = device->notes();
  return model;
}

} // namespace tg
