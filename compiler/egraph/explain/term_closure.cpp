#include "compiler/egraph/explain/term_closure.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <memory>

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

void TermClosure::include_new_nodes() {
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

/// Finds the term with the current signature of this term, or records this term for it.
void TermClosure::look_up(uint32_t term) {
  if (terms_.node({term}).operand_count == 0) return; // a leaf is equal only to itself
  auto& bucket = table_[signature(term)];
  for (uint32_t other : bucket)
    if (congruent(term, other)) {
      if (leader_[other] != leader_[term]) pending_.push_back({term, other, kCongruence});
      return;
    }
  bucket.push_back(term);
}

void TermClosure::merge(NodeId a, NodeId b, uint32_t why) {
  include_new_nodes();
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

/// Reverses the edges from a term to the root of its tree.
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

/// Returns the path from a to b through the forest.
std::vector<TermClosure::Edge> TermClosure::path(NodeId a, NodeId b) const {
  assert(same(a, b));
  llvm::DenseMap<uint32_t, uint32_t> above; // by ancestor of a: number of edges up
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

// --- proofs --------------------------------------------------------------------------------------

/// The open goals are on a stack, with the next one on top.
class TermClosure::Proof {
public:
  Proof(const TermClosure& closure, ProofPaths ways) : closure_(closure), ways_(ways) {}

  void ask(NodeId a, NodeId b) { open_.push_back({kCongruence, a, b}); }

  std::vector<Edge> run(const StopToken& stop) {
    for (size_t count = 0; !open_.empty(); ++count) {
      if (count % kBetweenLooks == 0 && stop.asked()) return {};
      Edge next = open_.back();
      open_.pop_back();
      if (next.why != kCongruence) {
        if (told_.insert(next.why).second) edges_.push_back(next);
      } else {
        show(next.from, next.to);
      }
    }
    return std::move(edges_);
  }

private:
  void show(NodeId a, NodeId b) {
    auto [low, high] = std::minmax(a.index, b.index);
    if (a == b || !asked_.insert({low, high}).second) return;
    bool shortest = ways_ == ProofPaths::Shortest && work_ < kMostWork;
    std::vector<Edge> way = shortest ? shortest_way(a, b) : closure_.path(a, b);
    for (const Edge& edge : llvm::reverse(way)) {
      if (edge.why != kCongruence) {
        open_.push_back(edge);
        continue;
      }
      auto left = closure_.terms_.operands(edge.from), right = closure_.terms_.operands(edge.to);
      for (size_t i = left.size(); i-- > 0;) ask(left[i], right[i]);
    }
  }

  /// Groups congruent terms of a class. If two groups share a signature, their equality is only
  /// found later.
  uint64_t group_of(uint32_t term) const {
    return closure_.terms_.node({term}).operand_count == 0 ? uint64_t{term} << 33 | 1
                                                           : closure_.signature(term);
  }
  using Groups = llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 2>>;
  const Groups& groups(NodeId term) {
    std::unique_ptr<Groups>& known = groups_[closure_.leader_[term.index]];
    if (!known) {
      known = std::make_unique<Groups>();
      for (uint32_t member : closure_.members(term)) (*known)[group_of(member)].push_back(member);
    }
    return *known;
  }

  /// Breadth-first search from b.
  std::vector<Edge> shortest_way(NodeId a, NodeId b) {
    const Groups& groups = this->groups(a);
    uint64_t start = group_of(a.index), goal = group_of(b.index);
    llvm::DenseMap<uint64_t, Edge> towards_b{{goal, Edge{}}}; // by group: the equation to take next
    std::vector<uint64_t> queue{goal};
    for (size_t i = 0; i < queue.size() && !towards_b.count(start); ++i)
      for (uint32_t term : groups.find(queue[i])->second) {
        auto stated = closure_.stated_.find(term);
        if (stated == closure_.stated_.end()) continue;
        work_ += stated->second.size();
        for (const Edge& edge : stated->second)
          if (towards_b.try_emplace(group_of(edge.to.index), Edge{edge.why, edge.to, edge.from})
                  .second)
            queue.push_back(group_of(edge.to.index));
      }
    std::vector<Edge> way;
    for (NodeId at = a;;) {
      auto next = towards_b.find(group_of(at.index));
      if (next == towards_b.end()) return closure_.path(a, b); // two groups share a signature
      Edge edge = group_of(at.index) == goal ? Edge{kCongruence, at, b} : next->second;
      if (!(at == edge.from) && edge.why != kCongruence)
        way.push_back({kCongruence, at, edge.from});
      way.push_back(edge);
      if (edge.to == b && edge.why == kCongruence) return way;
      at = edge.to;
    }
  }

  static constexpr size_t kBetweenLooks = 256, kMostWork = 4'000'000;

  const TermClosure& closure_;
  ProofPaths ways_;
  std::vector<Edge> open_, edges_; // in `open_`, congruence edges are pairs still to be proved
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> asked_;
  llvm::DenseSet<uint32_t> told_;
  llvm::DenseMap<uint32_t, std::unique_ptr<Groups>> groups_; // by leader
  size_t work_ = 0;
};

std::vector<TermClosure::Edge> TermClosure::proof(llvm::ArrayRef<NodeId> from,
                                                  llvm::ArrayRef<NodeId> to, ProofPaths ways,
                                                  const StopToken& stop) const {
  Proof proof(*this, ways);
  for (size_t i = from.size(); i-- > 0;) {
    assert(same(from[i], to[i]));
    proof.ask(from[i], to[i]);
  }
  return proof.run(stop);
}

} // namespace tg
