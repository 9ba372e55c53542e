// Fixtures for tests of register tiles: arrays between inaccessible pages,
// and the instruction sets of this processor.
#pragma once

#include "runtime/cpu/tile/register_tile.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

namespace tg::tile {

/// Elements between two inaccessible pages, adjacent to one of them.
template <class T> class GuardedArray {
public:
  GuardedArray(int64_t count, bool at_end) : count_(static_cast<size_t>(count)) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t room = (count_ * sizeof(T) + page - 1) / page * page;
    bytes_ = room + 2 * page;
    base_ = static_cast<char*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + room, page, PROT_NONE);
    data = reinterpret_cast<T*>(base_ + page + (at_end ? room - count_ * sizeof(T) : 0));
  }
  ~GuardedArray() { munmap(base_, bytes_); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;
  T* begin() { return data; }
  T* end() { return data + count_; }
  int64_t size() const { return static_cast<int64_t>(count_); }
  T* data = nullptr;

private:
  size_t count_, bytes_ = 0;
  char* base_ = nullptr;
};

using Guarded = GuardedArray<float>;

inline std::vector<Isa> instruction_sets() {
  std::vector<Isa> found;
  for (Isa isa : {Isa::Avx2, Isa::Avx512})
    if (processor_has(isa)) found.push_back(isa);
  return found;
}

inline const TileKernels& kernels(Isa isa) {
  static std::vector<std::unique_ptr<TileKernels>> made;
  auto result = TileKernels::make(isa);
  EXPECT_TRUE(result.ok());
  made.push_back(std::move(*result));
  return *made.back();
}

} // namespace tg::tile
