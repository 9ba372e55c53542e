#include "compiler/egraph/topo_order.h"

#include <algorithm>
#include <cassert>

namespace tg {

TopoOrder::TopoOrder(uint32_t vertices)
    : place_(vertices), children_(vertices), users_(vertices), seen_(vertices) {
  for (uint32_t i = 0; i < vertices; ++i) place_[i] = i;
}

/// Collects the vertices reachable from `start`: downwards while place >= bound, or upwards while
/// place <= bound.
void TopoOrder::collect(uint32_t start, bool down, uint32_t bound, std::vector<uint32_t>& found) {
  found.assign(1, start);
  seen_[start] = true;
  for (size_t i = 0; i < found.size(); ++i)
    for (uint32_t next : down ? children_[found[i]] : users_[found[i]]) {
      if (seen_[next] || (down ? place_[next] < bound : place_[next] > bound)) continue;
      seen_[next] = true;
      found.push_back(next);
    }
  for (uint32_t v : found) seen_[v] = false;
}

bool TopoOrder::can_add(uint32_t user, uint32_t child) {
  if (user == child) return false;
  if (place_[child] < place_[user]) return true;
  collect(child, true, place_[user], below_);
  return std::find(below_.begin(), below_.end(), user) == below_.end();
}

void TopoOrder::add(uint32_t user, uint32_t child) {
  if (place_[child] > place_[user]) {
    collect(child, true, place_[user], below_);
    collect(user, false, place_[child], above_);
    reorder();
  }
  children_[user].push_back(child);
  users_[child].push_back(user);
}

/// Reassigns the places of the collected vertices: the lower part first, each part in its old
/// order.
void TopoOrder::reorder() {
  auto by_place = [&](uint32_t a, uint32_t b) { return place_[a] < place_[b]; };
  std::sort(below_.begin(), below_.end(), by_place);
  std::sort(above_.begin(), above_.end(), by_place);
  std::vector<uint32_t> places;
  for (uint32_t v : below_) places.push_back(place_[v]);
  for (uint32_t v : above_) places.push_back(place_[v]);
  std::inplace_merge(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(below_.size()),
                     places.end());
  size_t next = 0;
  for (uint32_t v : below_) place_[v] = places[next++];
  for (uint32_t v : above_) place_[v] = places[next++];
}

} // namespace tg
