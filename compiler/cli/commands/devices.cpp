// `tg devices`: the backends of this build and their devices.
#include "compiler/api/backends/devices.h"
#include "compiler/cli/session.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::cli {

namespace {

using PerLibrary = std::vector<std::pair<std::string, std::string>>;

/// Returns "oneDNN 2.6.3, ...".
std::string listed(const PerLibrary& versions) {
  return llvm::join(
      llvm::map_range(versions, [](const auto& v) { return v.first + " " + v.second; }), ", ");
}

/// Prints one line per problem below the device's line, unless that line already mentions it.
void print_problems(llvm::raw_ostream& out, const PerLibrary& problems, llvm::StringRef said = "") {
  for (const auto& [library, problem] : problems)
    if (!said.contains(problem)) out << "      " << problem << "\n";
}

void print(llvm::raw_ostream& out, const Device& device) {
  out << device.backend << "  " << device.name;
  if (!device.library_versions.empty()) out << ", " << listed(device.library_versions);
  out << "\n";
  print_problems(out, device.library_problems);
}

void print(llvm::raw_ostream& out, const MissingDevice& missing) {
  out << missing.backend << "  not available: " << missing.reason << "\n";
  if (!missing.library_versions.empty())
    out << "      found: " << listed(missing.library_versions) << "\n";
  print_problems(out, missing.library_problems, missing.reason);
}

/// Prints a device of either kind; `key` is "name" or "reason".
template <class D>
void print_json(llvm::json::OStream& json, const D& device, const char* key,
                const std::string& what) {
  json.object([&] {
    json.attribute("backend", device.backend);
    json.attribute(key, what);
    json.attributeObject("library_versions", [&] {
      for (const auto& [library, version] : device.library_versions)
        json.attribute(library, version);
    });
    json.attributeObject("library_problems", [&] {
      for (const auto& [library, problem] : device.library_problems)
        json.attribute(library, problem);
    });
  });
}

void print_json(llvm::json::OStream& json, const char* key,
                const std::vector<std::string>& versions) {
  json.attributeArray(key, [&] {
    for (const std::string& version : versions) json.value(version);
  });
}

/// Prints the versions of NVIDIA's libraries that were tested during development.
void print_tried(llvm::raw_ostream& out, const DeviceReport& report) {
  auto line = [&](const char* what, const std::vector<std::string>& versions) {
    if (!versions.empty()) out << what << llvm::join(versions, ", ") << "\n";
  };
  out << "\n";
  if (report.on_gpu.empty()) out << "nothing was tested on a GPU\n";
  line("  tested on a GPU: ", report.on_gpu);
  line("  only compiled kernels: ", report.compiled_only);
  line("  only planned operations: ", report.planned_only);
  line("  supported but untested: ", report.untested);
}

} // namespace

int run_devices(Session& session) {
  llvm::raw_ostream& out = session.out;
  DeviceReport report = report_devices();
  if (!session.options.json) {
    for (const Device& device : report.usable) print(out, device);
    for (const MissingDevice& missing : report.missing) print(out, missing);
    if (!report.untested.empty()) print_tried(out, report);
    return 0;
  }
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("devices", [&] {
      for (const Device& device : report.usable) print_json(json, device, "name", device.name);
    });
    json.attributeArray("missing", [&] {
      for (const MissingDevice& missing : report.missing)
        print_json(json, missing, "reason", missing.reason);
    });
    json.attributeObject("tried", [&] {
      print_json(json, "on_gpu", report.on_gpu);
      print_json(json, "compiled_only", report.compiled_only);
      print_json(json, "planned_only", report.planned_only);
    });
    print_json(json, "untested", report.untested);
  });
  out << "\n";
  return 0;
}

} // namespace tg::cli
