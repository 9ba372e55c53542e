#include "lang/core/support/threads.h"

#include <thread>
#include <vector>

namespace tg {

void in_parts(size_t count, llvm::function_ref<void(size_t)> part) {
  if (count == 0) return;
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < count; ++i) helpers.emplace_back(part, i);
  part(0);
  for (std::thread& helper : helpers) helper.join();
}

} // namespace tg
