// Maintains a topological order while edges are added (Pearce and Kelly, "A dynamic topological
// sort algorithm for directed acyclic graphs", JEA 2006). Vertices are 0 .. n - 1. An edge goes
// from a user to a child, and a child's place is below its user's. Work is bounded by the places
// between the ends of an edge that contradicts the order.
#pragma once

#include <cstdint>
#include <vector>

namespace tg {

class TopoOrder {
public:
  explicit TopoOrder(uint32_t vertices);
  /// Returns false, without an effect, if the edge would close a cycle.
  bool can_add(uint32_t user, uint32_t child);
  /// Requires can_add.
  void add(uint32_t user, uint32_t child);
  uint32_t place(uint32_t vertex) const { return place_[vertex]; }

private:
  void collect(uint32_t start, bool down, uint32_t bound, std::vector<uint32_t>& found);
  void reorder();

  std::vector<uint32_t> place_;
  std::vector<std::vector<uint32_t>> children_, users_;
  std::vector<bool> seen_;
  std::vector<uint32_t> below_, above_; // scratch: found from the child down, from the user up
};

} // namespace tg
