// `tg devices`: the backends of this build and what they run on.
#include "compiler/driver/devices.h"
#include "compiler/driver/cli/session.h"

namespace tg::cli {

int run_devices(Session& session) {
  llvm::raw_ostream& out = session.out;
  if (!session.options.json) {
    for (const Device& device : devices()) {
      out << device.backend << "  " << device.name;
      for (const auto& [library, version] : device.library_versions)
        out << ", " << library << " " << version;
      out << "\n";
    }
    return 0;
  }
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("devices", [&] {
      for (const Device& device : devices())
        json.object([&] {
          json.attribute("backend", device.backend);
          json.attribute("name", device.name);
          json.attributeObject("library_versions", [&] {
            for (const auto& [library, version] : device.library_versions)
              json.attribute(library, version);
          });
        });
    });
  });
  out << "\n";
  return 0;
}

} // namespace tg::cli
