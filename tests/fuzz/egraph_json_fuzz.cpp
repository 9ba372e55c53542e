// libFuzzer target: parses any bytes as an e-graph in JSON. The worst outcome is an error.
#include "compiler/extract/egraph_json.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char*>(data), size);
  tg::Result<tg::SerializedEGraph> egraph = tg::parse_egraph_json(text, "fuzz");
  if (!egraph) return 0;
  // Ids come from the file, so that there are fewer nodes than bytes.
  if (egraph->node_ids.size() > size) __builtin_trap();
  return 0;
}
