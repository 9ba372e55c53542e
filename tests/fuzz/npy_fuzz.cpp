// libFuzzer target: parses any bytes as a .npy file. The worst outcome is an error.
#include "runtime/files/numpy.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char*>(data), size);
  tg::Result<tg::Tensor> tensor = tg::parse_npy(bytes, "fuzz");
  if (tensor && tg::format_npy(*tensor).size() < static_cast<size_t>(tensor->bytes()))
    __builtin_trap();
  return 0;
}
