// Congruence closure over terms that can say why two are equal: a forest over all terms, with an
// edge for each union that was news, labelled with the equation that gave it or with congruence
// (Nieuwenhuis and Oliveras 2005, "Proof-producing congruence closure"). Terms are the nodes of a
// graph; what is added to the graph takes part with the next catch_up().
//
// The e-graph keeps a record of what it did and nothing more (EGraph::history); the closure is made
// of that when an explanation is wanted.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"

namespace tg {

class TermClosure {
public:
  static constexpr uint32_t kCongruence = UINT32_MAX;

  explicit TermClosure(const Graph& terms) : terms_(terms) {}

  /// Takes in nodes that were added to the graph since.
  void catch_up();
  /// States that two terms are equal, because of equation number `why`.
  void merge(NodeId a, NodeId b, uint32_t why);
  bool same(NodeId a, NodeId b) const { return leader_[a.index] == leader_[b.index]; }
  /// The terms equal to one, in no particular order that means anything, but always the same.
  llvm::ArrayRef<uint32_t> members(NodeId a) const { return members_[leader_[a.index]]; }

  struct Edge {
    uint32_t why = kCongruence;
    NodeId from, to; // in the direction of the path
  };
  /// How a proof goes from one term to another of its class.
  enum class Ways : uint8_t {
    Forest,  // along the forest: always a proof
    Shortest // by as few equations as possible, of all that were stated, those included that were
             // no news; congruent terms are taken for one. Mostly a proof, and a shorter one; but
             // congruences may then rest on each other, so it has to be checked.
  };
  /// The equations by which each term of `from` equals that of `to` in its place, each once, in an
  /// order in which they can be used as rewrites: what is below first, where the way begins there.
  /// Empty, too, where `stop` ended it. Requires same(from[i], to[i]).
  std::vector<Edge> proof(llvm::ArrayRef<NodeId> from, llvm::ArrayRef<NodeId> to, Ways ways,
                          const StopToken& stop = {}) const;

private:
  class Proof;
  std::vector<Edge> path(NodeId a, NodeId b) const;

  struct Pending {
    uint32_t a, b, why;
  };
  uint64_t signature(uint32_t term) const;
  bool congruent(uint32_t a, uint32_t b) const;
  void look_up(uint32_t term);
  void drain();
  void unite(const Pending& p);
  void reroot(uint32_t term);

  const Graph& terms_;
  std::vector<uint32_t> leader_;
  std::vector<std::vector<uint32_t>> members_, users_; // by leader
  std::vector<uint32_t> parent_, why_;                 // the forest
  llvm::DenseMap<uint32_t, std::vector<Edge>> stated_; // by term: all equations that start there
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>> table_;
  std::vector<Pending> pending_;
};

} // namespace tg
