#include "compiler/driver/backends.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

// TG_BACKEND(name): a row of this build. TG_NO_BACKEND(name, switch): one that was left out.
#define TG_BACKEND(name) const BackendRow& name##_backend_row();
#define TG_NO_BACKEND(name, off)
#include "backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND

std::vector<const BackendRow*> all_backends() {
  return {
#define TG_BACKEND(name) &name##_backend_row(),
#define TG_NO_BACKEND(name, off)
#include "backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND
  };
}

const BackendRow* find_backend(llvm::StringRef name) {
  for (const BackendRow* row : all_backends())
    if (row->name == name) return row;
  return nullptr;
}

const BackendRow* backend_of_profile(const DeviceProfile& profile) {
  return find_backend(profile.backend);
}

DeviceReport report_devices() {
  DeviceReport report;
  for (const BackendRow* row : all_backends()) row->report(report);
#define TG_BACKEND(name)
#define TG_NO_BACKEND(name, off)                                                                   \
  report.missing.push_back({#name, "this build has no " #name " backend (" #off " was off)", {}});
#include "backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND
  return report;
}

} // namespace tg
