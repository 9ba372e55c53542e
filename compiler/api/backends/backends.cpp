#include "compiler/api/backends/backends.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg {

// TG_BACKEND(name, id): a row of this build.
// TG_NO_BACKEND(name, id, switch): a backend that was left out.
#define TG_BACKEND(name, id) const BackendRow& name##_backend_row();
#define TG_NO_BACKEND(name, id, off)
#include "tangram/tables/backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND

std::vector<const BackendRow*> all_backends() {
  return {
#define TG_BACKEND(name, id) &name##_backend_row(),
#define TG_NO_BACKEND(name, id, off)
#include "tangram/tables/backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND
  };
}

const BackendRow* find_backend(llvm::StringRef name) {
  for (const BackendRow* row : all_backends())
    if (row->name == name) return row;
  return nullptr;
}

const BackendRow* find_backend(tangram::Backend backend) {
  return find_backend(tangram::word(backend));
}

std::string backend_names(llvm::function_ref<bool(const BackendRow&)> holds) {
  std::vector<llvm::StringRef> names;
  for (const BackendRow* row : all_backends())
    if (holds(*row)) names.push_back(row->name);
  return llvm::join(names, " and ");
}

const BackendRow* backend_of_profile(const DeviceProfile& profile) {
  return find_backend(profile.backend);
}

DeviceReport report_devices() {
  DeviceReport report;
  for (const BackendRow* row : all_backends()) row->report(report);
#define TG_BACKEND(name, id)
#define TG_NO_BACKEND(name, id, off)                                                               \
  report.missing.push_back({#name, "this build has no " #name " backend (" #off " was off)", {}});
#include "tangram/tables/backends.def"
#undef TG_BACKEND
#undef TG_NO_BACKEND
  return report;
}

} // namespace tg
