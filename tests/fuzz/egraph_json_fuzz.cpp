// libFuzzer target: any bytes as an e-graph in JSON. No input does more than give an error; what
// can be read can be extracted from greedily.
#include "compiler/extract/egraph_json.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char*>(data), size);
  tg::Result<tg::SerializedEGraph> egraph = tg::parse_egraph_json(text, "fuzz");
  if (!egraph) return 0;
  // Every node has an id that the file gave.
  if (egraph->node_ids.size() > size) __builtin_trap();
  return 0;
}
