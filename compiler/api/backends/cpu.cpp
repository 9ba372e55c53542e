#include "compiler/api/backends/backends.h"
#include "runtime/cpu/backend.h"
#include "runtime/cpu/tuning/choose_kernels.h"
#include "runtime/cpu/tuning/tune_device.h"
#include "runtime/cpu/tuning/tuned_programs.h"

#include <llvm/Support/FormatVariadic.h>
#include <oneapi/dnnl/dnnl.h>

namespace tg {

namespace {

void report_cpu(DeviceReport& report) {
  const dnnl_version_t* v = dnnl_version();
  std::string version = llvm::formatv("{0}.{1}.{2}", v->major, v->minor, v->patch);
  report.usable.push_back({"cpu", processor_text(), {{"oneDNN", version}}});
}

cpu::TuneDeviceOptions device_options(const TuneDeviceRequest& request) {
  return {.threads = request.threads,
          .database = request.cost_db,
          .memory_limit_bytes = request.memory_limit_bytes,
          .stop = request.stop};
}

Result<std::unique_ptr<tune::PlanDevice>> tune_device(const Plan& plan,
                                                      const TuneDeviceRequest& request) {
  return cpu::make_tune_device(plan, device_options(request));
}

Result<tune::KernelReport> choose_kernels(const Plan& plan, const TuneDeviceRequest& request,
                                          double seconds) {
  return cpu::choose_kernels(plan, device_options(request), seconds);
}

} // namespace

const BackendRow& cpu_backend_row() {
  static const BackendRow row = {
      .name = "cpu",
      .make = [](const BackendRequest& request) -> Result<std::unique_ptr<Backend>> {
        return make_cpu_backend(
            Products::Chosen, cpu::TunedPrograms::on_demand(request.cost_db, cpu::processor_name(),
                                                            request.tune_near_ms));
      },
      .report = report_cpu,
      .profile = "cpu",
      .tune_device = tune_device,
      .choose_kernels = choose_kernels,
      .patterns = cpu_patterns,
  };
  return row;
}

} // namespace tg
