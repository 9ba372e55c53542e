// libFuzzer target: parses any bytes as the key of an operator instance (a row of the cost
// database). A parsed instance has one text, from which it can be parsed again, and its features
// are finite.
#include "compiler/extract/cost/price_features.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char*>(data), size);
  tg::Symbols symbols;
  std::optional<tg::OwnedInstance> read = tg::read_instance(symbols, text.rtrim('\n'));
  if (!read) return 0;
  std::string key = tg::instance_key(symbols, read->instance());
  std::optional<tg::OwnedInstance> again = tg::read_instance(symbols, key);
  if (!again || tg::instance_key(symbols, again->instance()) != key) __builtin_trap();
  tg::AnalyticCost roofline(*tg::find_device_profile("cpu"));
  tg::PriceFeatures features = tg::price_features(roofline, symbols, read->instance(), 16);
  for (double number : features.x)
    if (!std::isfinite(number)) __builtin_trap();
  return 0;
}
