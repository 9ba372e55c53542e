#include "lang/core/support/threads.h"

#include <vector>

#include <pthread.h>
#include <sched.h>

namespace tg {
namespace {

// std::thread reports a failed start by an exception, but our libraries are built without
// exceptions.
struct Helper {
  llvm::function_ref<void(size_t)> part;
  size_t number;
  pthread_t thread = {};
  bool started = false;

  void start() { started = pthread_create(&thread, nullptr, run, this) == 0; }
  static void* run(void* self) {
    auto& helper = *static_cast<Helper*>(self);
    helper.part(helper.number);
    return nullptr;
  }
};

} // namespace

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

void in_parts(size_t count, llvm::function_ref<void(size_t)> part,
              llvm::function_ref<void(llvm::function_ref<void()>)> finish) {
  if (count == 0) return;
  std::vector<Helper> helpers;
  for (size_t i = 1; i < count; ++i) helpers.push_back({part, i});
  for (Helper& helper : helpers) helper.start();
  part(0);
  auto wait = [&] {
    for (Helper& helper : helpers)
      if (!helper.started) part(helper.number);
    for (Helper& helper : helpers)
      if (helper.started) pthread_join(helper.thread, nullptr);
  };
  if (finish)
    finish(wait);
  else
    wait();
}

} // namespace tg
