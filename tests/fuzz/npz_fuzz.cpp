// libFuzzer target: parses any bytes as a .npz file. The worst outcome is an error.
#include "runtime/files/numpy.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char*>(data), size);
  tg::Result<std::vector<tg::NamedTensor>> tensors = tg::parse_npz(bytes, "fuzz");
  // Parsed tensors can be written and parsed again.
  if (tensors && tg::parse_npz(tg::format_npz(*tensors), "again")->size() != tensors->size())
    __builtin_trap();
  return 0;
}
