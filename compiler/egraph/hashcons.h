// The hash table of the e-graph, from the hash of (operator, attributes, children) to e-nodes. Open
// addressing with linear probing. Erasing shifts later entries back (Knuth, TAOCP 3, 6.4, algorithm
// R), so there are no tombstones, and undoing an insertion restores the table.
//
// It stores only hashes and node numbers; the caller compares nodes. A node whose children were
// renamed keeps its old entry besides the new one. The old key is not queried while the names are
// merged, and a rollback makes it valid again without a change to the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tg {

class Hashcons {
public:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  Hashcons() : slots_(16, Slot{}), mask_(15) {}

  /// Returns the first entry with this hash for which `equal(node)` holds, or kEmpty.
  template <class Equal> uint32_t find(uint32_t hash, Equal equal) const {
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& s = slots_[i];
      if (s.node == kEmpty) return kEmpty;
      if (s.hash == hash && equal(s.node)) return s.node;
    }
  }

  bool full() const { return (size_ + 1) * 4 > slots_.size() * 3; }
  /// Requires !full().
  void insert(uint32_t hash, uint32_t node);
  /// Requires that the entry exists.
  void erase(uint32_t hash, uint32_t node);

  /// Doubles the capacity, and drops entries for which `keep(hash, node)` returns false.
  template <class Keep> void grow(Keep keep) {
    std::vector<Slot> old(size_);
    size_t kept = 0;
    for (const Slot& s : slots_)
      if (s.node != kEmpty && keep(s.hash, s.node)) old[kept++] = s;
    size_t capacity = 16;
    while (capacity < kept * 2 + 2) capacity *= 2;
    slots_.assign(capacity, Slot{});
    mask_ = capacity - 1;
    size_ = 0;
    for (size_t i = 0; i < kept; ++i) insert(old[i].hash, old[i].node);
  }

  size_t size() const { return size_; }
  size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t node = kEmpty;
  };
  std::vector<Slot> slots_; // a power of two, at most three quarters used
  size_t mask_;
  size_t size_ = 0;
};

inline void Hashcons::insert(uint32_t hash, uint32_t node) {
  size_t i = hash & mask_;
  while (slots_[i].node != kEmpty) i = (i + 1) & mask_;
  slots_[i] = {hash, node};
  ++size_;
}

inline void Hashcons::erase(uint32_t hash, uint32_t node) {
  size_t hole = hash & mask_;
  while (slots_[hole].node != node || slots_[hole].hash != hash) hole = (hole + 1) & mask_;
  for (size_t i = (hole + 1) & mask_; slots_[i].node != kEmpty; i = (i + 1) & mask_) {
    size_t home = slots_[i].hash & mask_;
    if (((i - home) & mask_) < ((i - hole) & mask_)) continue; // would move before its home slot
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = Slot{};
  --size_;
}

/// Hashes a sequence of words, well mixed in the low bits.
class WordHash {
public:
  explicit WordHash(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  void add(uint32_t word) {
    state_ = (state_ ^ word) * 0xff51afd7ed558ccdu;
    state_ ^= state_ >> 32;
  }
  uint32_t finish() const {
    uint64_t h = state_ * 0xc4ceb9fe1a85ec53u;
    return static_cast<uint32_t>(h >> 32);
  }

private:
  uint64_t state_;
};

} // namespace tg
