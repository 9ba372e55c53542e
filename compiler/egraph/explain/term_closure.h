// Congruence closure over terms that produces proofs (Nieuwenhuis and Oliveras 2005,
// "Proof-producing congruence closure"). A forest over all terms has an edge for each effective
// union, labelled with its equation or with congruence. Terms are the nodes of a graph; nodes added
// to the graph are included by the next include_new_nodes().
//
// The e-graph records only its operations (EGraph::history). The closure is built from that record
// when an explanation is requested.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"

namespace tg {

class TermClosure {
public:
  static constexpr uint32_t kCongruence = UINT32_MAX;

  explicit TermClosure(const Graph& terms) : terms_(terms) {}

  /// Includes the nodes added to the graph since the last call.
  void include_new_nodes();
  /// States that two terms are equal because of equation number `why`.
  void merge(NodeId a, NodeId b, uint32_t why);
  bool same(NodeId a, NodeId b) const { return leader_[a.index] == leader_[b.index]; }
  /// Returns the terms equal to one, in an arbitrary but deterministic order.
  llvm::ArrayRef<uint32_t> members(NodeId a) const { return members_[leader_[a.index]]; }

  struct Edge {
    uint32_t why = kCongruence;
    NodeId from, to; // in the direction of the path
  };
  /// How a proof connects two terms of a class.
  enum class ProofPaths : uint8_t {
    Forest,  // along the forest: always a proof
    Shortest // by the fewest of all stated equations, including
             // redundant ones; congruent terms count as one. Usually a shorter proof, but
             // congruences may then depend on each other, so it must be checked.
  };
  /// Returns equations by which each term of `from` equals the corresponding term of `to`, each
  /// once, in an order in which they can be used as rewrites: equations on lower terms first, where
  /// the path starts there. Empty also if `stop` ended it. Requires same(from[i], to[i]).
  std::vector<Edge> proof(llvm::ArrayRef<NodeId> from, llvm::ArrayRef<NodeId> to, ProofPaths ways,
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
