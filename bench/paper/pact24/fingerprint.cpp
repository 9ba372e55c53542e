#include "bench/paper/pact24/fingerprint.h"

#include "compiler/search/node_prices.h"

namespace tg::paper {

namespace {

/// Mixes one word into a hash (the finaliser of MurmurHash3 over a running sum).
uint64_t mix(uint64_t hash, uint64_t word) {
  uint64_t h = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ull;
  return h ^ (h >> 29);
}

} // namespace

uint64_t fingerprint(const EGraph& egraph) {
  ClassOrder order;
  std::vector<uint64_t> hashes(egraph.class_bound());
  uint64_t state = 0;
  for (ClassId cls : order.compute(egraph)) {
    uint64_t sum = 0;
    for (ENodeId id : egraph.nodes(cls)) {
      if (!usable(egraph, id)) continue;
      const ENode& node = egraph.node(id);
      uint64_t hash = mix(static_cast<uint64_t>(node.op) + 1, node.attrs.index);
      for (ClassId child : egraph.children(id)) hash = mix(hash, hashes[egraph.find(child).index]);
      sum += mix(hash, 1);
    }
    hashes[cls.index] = mix(sum, class_at(egraph, cls).type.index);
    state += mix(hashes[cls.index], 2);
  }
  return state;
}

} // namespace tg::paper
