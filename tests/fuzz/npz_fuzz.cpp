// libFuzzer target: any bytes as a .npz file. No input does more than give an error.
#include "runtime/files/npz.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char*>(data), size);
  tg::Result<std::vector<tg::NamedTensor>> tensors = tg::parse_npz(bytes, "fuzz");
  // What can be read can be written, and reads the same.
  if (tensors && tg::parse_npz(tg::format_npz(*tensors), "again")->size() != tensors->size())
    __builtin_trap();
  return 0;
}
