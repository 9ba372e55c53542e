#include "compiler/driver/backends.h"
#include "runtime/onednn/backend.h"

#include <llvm/Support/FormatVariadic.h>
#include <oneapi/dnnl/dnnl.h>

namespace tg {

namespace {

void report_cpu(DeviceReport& report) {
  const dnnl_version_t* v = dnnl_version();
  std::string version = llvm::formatv("{0}.{1}.{2}", v->major, v->minor, v->patch);
  report.usable.push_back({"cpu", processor_text(), {{"oneDNN", version}}});
}

} // namespace

const BackendRow& cpu_backend_row() {
  static const BackendRow row = {
      .name = "cpu",
      .make = [](const std::string&) -> Result<std::unique_ptr<Backend>> {
        return make_cpu_backend();
      },
      .report = report_cpu,
      .profile = "cpu",
      .patterns = cpu_patterns,
  };
  return row;
}

} // namespace tg
