// libFuzzer target: parses any bytes as a .safetensors file. The worst outcome is an error.
#include "runtime/files/safetensors.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char*>(data), size);
  tg::Result<tg::Safetensors> file =
      tg::Safetensors::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz");
  if (!file) return 0;
  uint64_t total = 0; // tensors do not overlap: their total is at most the file's size
  for (const tg::Safetensors::Entry& entry : file->entries()) {
    tg::Result<tg::Tensor> tensor = file->read(entry);
    if (tensor) total += static_cast<uint64_t>(tensor->bytes());
  }
  if (total > size) __builtin_trap();
  return 0;
}
