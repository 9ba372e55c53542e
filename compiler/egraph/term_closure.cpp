#include "compiler/egraph/term_closure.h"

#include <llvm/ADT/STLExtras.h>

#include <cassert>

namespace tg {

uint64_t TermClosure::signature(uint32_t term) const {
  const Node& node = terms_.node({term});
  llvm::hash_code hash = llvm::hash_combine(static_cast<unsigned>(node.op), node.attrs.index);
  for (NodeId operand : terms_.operands({term}))
    hash = llvm::hash_combine(hash, leader_[operand.index]);
  return static_cast<uint64_t>(static_cast<size_t>(hash)) >> 2; // DenseMap reserves the largest
}

bool TermClosure::congruent(uint32_t a, uint32_t b) const {
  const Node &x = terms_.node({a}), &y = terms_.node({b});
  if (x.op != y.op || !(x.attrs == y.attrs) || x.operand_count != y.operand_count) return false;
  return llvm::all_of(llvm::zip(terms_.operands({a}), terms_.operands({b})), [&](auto pair) {
    return leader_[std::get<0>(pair).index] == leader_[std::get<1>(pair).index];
  });
}

void TermClosure::catch_up() {
  for (uint32_t term = static_cast<uint32_t>(leader_.size()); term < terms_.size(); ++term) {
    leader_.push_back(term);
    members_.push_back({term});
    users_.push_back({});
    parent_.push_back(term);
    why_.push_back(kCongruence);
    for (NodeId operand : terms_.operands({term})) users_[leader_[operand.index]].push_back(term);
    look_up(term);
    drain();
  }
}

/// Finds who has the signature that the term has now, or notes that it is the term's.
void TermClosure::look_up(uint32_t term) {
  if (terms_.node({term}).operand_count == 0) return; // a leaf is equal to itself alone
  auto& bucket = table_[signature(term)];
  for (uint32_t other : bucket)
    if (congruent(term, other)) {
      if (leader_[other] != leader_[term]) pending_.push_back({term, other, kCongruence});
      return;
    }
  bucket.push_back(term);
}

void TermClosure::merge(NodeId a, NodeId b, uint32_t why) {
  catch_up();
  stated_[a.index].push_back({why, a, b});
  stated_[b.index].push_back({why, b, a});
  pending_.push_back({a.index, b.index, why});
  drain();
}

void TermClosure::drain() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    Pending next = pending_[i];
    if (leader_[next.a] != leader_[next.b]) unite(next);
  }
  pending_.clear();
}

void TermClosure::unite(const Pending& p) {
  uint32_t a = p.a, b = p.b;
  if (members_[leader_[a]].size() < members_[leader_[b]].size()) std::swap(a, b);
  reroot(b);
  parent_[b] = a;
  why_[b] = p.why;
  uint32_t kept = leader_[a], gone = leader_[b];
  std::vector<uint32_t> members = std::move(members_[gone]), users = std::move(users_[gone]);
  members_[gone].clear(), users_[gone].clear();
  for (uint32_t member : members) leader_[member] = kept;
  llvm::append_range(members_[kept], members);
  llvm::append_range(users_[kept], users);
  for (uint32_t user : users) look_up(user);
}

/// Turns the edges from a term to the root of its tree around.
void TermClosure::reroot(uint32_t term) {
  uint32_t parent = term, why = kCongruence;
  while (true) {
    uint32_t next = parent_[term], next_why = why_[term];
    parent_[term] = parent;
    why_[term] = why;
    if (next == term) return;
    parent = term;
    why = next_why;
    term = next;
  }
}

/// Breadth first from b, over groups of congruent terms.
std::optional<TermClosure::Edge> TermClosure::first_of_shortest(NodeId a, NodeId b) const {
  assert(same(a, b));
  // By signature; two groups of one signature would be found equal sooner than they are, no more.
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 2>> groups;
  auto group_of = [&](uint32_t term) {
    return terms_.node({term}).operand_count == 0 ? uint64_t{term} << 33 | 1 : signature(term);
  };
  for (uint32_t member : members(a)) groups[group_of(member)].push_back(member);
  uint64_t start = group_of(a.index);
  llvm::DenseMap<uint64_t, bool> seen{{group_of(b.index), true}};
  std::vector<uint64_t> queue{group_of(b.index)};
  if (queue[0] == start) return std::nullopt;
  for (size_t i = 0; i < queue.size(); ++i)
    for (uint32_t term : groups[queue[i]]) {
      auto stated = stated_.find(term);
      if (stated == stated_.end()) continue;
      for (const Edge& edge : stated->second) {
        uint64_t other = group_of(edge.to.index);
        if (other == start) return Edge{edge.why, edge.to, edge.from};
        if (seen.try_emplace(other, true).second) queue.push_back(other);
      }
    }
  assert(false && "the forest is part of it");
  return std::nullopt;
}

std::vector<TermClosure::Edge> TermClosure::path(NodeId a, NodeId b) const {
  assert(same(a, b));
  llvm::DenseMap<uint32_t, uint32_t> above; // of a: how many edges up
  uint32_t count = 0;
  for (uint32_t at = a.index;; at = parent_[at]) {
    above[at] = count++;
    if (parent_[at] == at) break;
  }
  std::vector<Edge> down;
  uint32_t meet = b.index;
  for (; !above.count(meet); meet = parent_[meet])
    down.push_back({why_[meet], {parent_[meet]}, {meet}});
  std::vector<Edge> edges;
  for (uint32_t at = a.index; at != meet; at = parent_[at])
    edges.push_back({why_[at], {at}, {parent_[at]}});
  edges.insert(edges.end(), down.rbegin(), down.rend());
  return edges;
}

} // namespace tg
