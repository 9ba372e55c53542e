// Buffers that end a test when a kernel reads or writes beyond them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace tg::tile {

/// Floats between two pages without access, side by side with the one or the other.
class Guarded {
public:
  Guarded(int64_t count, bool at_end) : count_(static_cast<size_t>(count)) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t room = (count_ * sizeof(float) + page - 1) / page * page;
    bytes_ = room + 2 * page;
    base_ = static_cast<char*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + room, page, PROT_NONE);
    data = reinterpret_cast<float*>(base_ + page + (at_end ? room - count_ * sizeof(float) : 0));
  }
  ~Guarded() { munmap(base_, bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  float* begin() { return data; }
  float* end() { return data + count_; }
  float* data = nullptr;

private:
  size_t count_, bytes_ = 0;
  char* base_ = nullptr;
};

} // namespace tg::tile
