// libFuzzer target: parses any bytes as a cost table (`--cost file:TABLE`). The worst outcome is an
// error. Prices of a parsed table are finite and >= 0.
#include "compiler/extract/cost/cost_table.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char*>(data), size);
  tg::Result<tg::CostTable> table = tg::parse_cost_table(text, "fuzz");
  if (!table) return 0;
  for (const auto& [key, price] : table->microseconds)
    if (!std::isfinite(price) || price < 0) __builtin_trap();
  return 0;
}
