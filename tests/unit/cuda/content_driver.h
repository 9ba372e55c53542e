// The source of a CUDA driver that accepts every call and does nothing. Without a GPU,
// cuDNN needs it to plan engines that compile and load their kernels. `others.inc` lists all
// functions of a driver as OTHER(name). Functions that return a value are defined here.
#pragma once

namespace tg::test {

inline constexpr const char* kContentOthers = R"(
#define OTHER(name) extern "C" __attribute__((weak)) int name() { return 0; }
#include "others.inc"
)";

inline constexpr const char* kContentDriver = R"(
#include <dlfcn.h>
#include <stdio.h>
static int made;
extern "C" {
int cuGetErrorString(int, const char** s) { *s = ""; return 0; }
int cuGetErrorName(int, const char** s) { *s = ""; return 0; }
int cuGetExportTable(void** p, void*) { *p = 0; return 500; }
int cuDriverGetVersion(int* v) { *v = 13000; return 0; }
int cuDeviceGetCount(int* v) { *v = 1; return 0; }
int cuDeviceGetAttribute(int* v, int which, int) {
  *v = which == 75 ? 9 : which == 76 ? 0 : which == 16 ? 132 : 1 << 20;
  return 0;
}
int cuLibraryLoadData(void** p) { *p = &made; return 0; }
int cuLibraryGetKernel(void** p) { *p = &made; return 0; }
// The newest version of a function, as a driver gives it.
int cuGetProcAddress_v2(const char* name, void** p, int, unsigned long long, int* status) {
  Dl_info here;
  dladdr((void*)cuLibraryLoadData, &here);
  void* driver = dlopen(here.dli_fname, RTLD_NOW);
  *p = nullptr;
  const char* const versions[] = {"_v3", "_v2", ""};
  for (const char* version : versions) {
    char full[200];
    snprintf(full, sizeof full, "%s%s", name, version);
    if (!*p) *p = dlsym(driver, full);
  }
  if (status) *status = *p ? 0 : 1;
  return *p ? 0 : 500;
}
int cuGetProcAddress(const char* name, void** p, int v, unsigned long long f) {
  return cuGetProcAddress_v2(name, p, v, f, nullptr);
}
}
)";

} // namespace tg::test
