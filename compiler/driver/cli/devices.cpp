// `tg devices`: the backends of this build and what they run on.
#include "compiler/driver/devices.h"
#include "compiler/driver/cli/session.h"

#include <llvm/ADT/StringExtras.h>

namespace tg::cli {

namespace {

using Versions = std::vector<std::pair<std::string, std::string>>;

void print_line(llvm::raw_ostream& out, const std::string& backend, const std::string& what,
                const Versions& versions) {
  out << backend << "  " << what;
  for (const auto& [library, version] : versions) out << ", " << library << " " << version;
  out << "\n";
}

void print_json(llvm::json::OStream& json, const std::string& backend, const char* key,
                const std::string& what, const Versions& versions) {
  json.object([&] {
    json.attribute("backend", backend);
    json.attribute(key, what);
    json.attributeObject("library_versions", [&] {
      for (const auto& [library, version] : versions) json.attribute(library, version);
    });
  });
}

} // namespace

int run_devices(Session& session) {
  llvm::raw_ostream& out = session.out;
  DeviceReport report = report_devices();
  if (!session.options.json) {
    for (const Device& device : report.usable)
      print_line(out, device.backend, device.name, device.library_versions);
    for (const MissingDevice& missing : report.missing)
      print_line(out, missing.backend, "cannot be used: " + missing.reason,
                 missing.library_versions);
    if (!report.untested.empty())
      out << "\nwritten for, and untested: " << llvm::join(report.untested, ", ") << "\n";
    return 0;
  }
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("devices", [&] {
      for (const Device& device : report.usable)
        print_json(json, device.backend, "name", device.name, device.library_versions);
    });
    json.attributeArray("missing", [&] {
      for (const MissingDevice& missing : report.missing)
        print_json(json, missing.backend, "reason", missing.reason, missing.library_versions);
    });
    json.attributeArray("untested", [&] {
      for (const std::string& version : report.untested) json.value(version);
    });
  });
  out << "\n";
  return 0;
}

} // namespace tg::cli
