#include "compiler/api/backends/backends.h"
#include "runtime/ref/backend.h"

namespace tg {

const BackendRow& ref_backend_row() {
  static const BackendRow row = {
      .name = "ref",
      .make = [](const BackendRequest&) -> Result<std::unique_ptr<Backend>> {
        return make_ref_backend();
      },
      .report =
          [](DeviceReport& report) {
            report.usable.push_back({"ref", processor_text(), {}});
          },
      .threads = false,
  };
  return row;
}

} // namespace tg
