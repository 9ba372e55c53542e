// The extraction problem, in the one form that all extractors share: classes, each with alternative
// nodes. A node has a cost and needs one node of each class among its children. A solution (Choice)
// picks a node for every class that is reached from the roots, without cycles. Its cost is the sum
// over the distinct nodes that it uses, so shared work is counted once.
//
// Built from an e-graph (extract.h) or by hand. Classes and nodes keep the order in which they were
// added. Every algorithm breaks ties by this order, so that equal problems have equal answers.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tg {

/// A class and a node of an ExtractionProblem: indices of this problem, not of an e-graph.
struct ClassIx {
  uint32_t index = UINT32_MAX;
  bool operator==(const ClassIx&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};
struct NodeIx {
  uint32_t index = UINT32_MAX;
  bool operator==(const NodeIx&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

inline constexpr double kInfiniteCost = std::numeric_limits<double>::infinity();
/// Relative threshold of an improvement. Smaller differences are rounding: sums in another order
/// differ as much.
inline constexpr double kLeastGain = 1e-9;

class ExtractionProblem {
public:
  // --- building ---------------------------------------------------------------------------------
  ClassIx add_class();
  /// Adds a node. `cost` may be negative (a reward), but not NaN or -infinity; a node of infinite
  /// cost is never chosen. Children may repeat. A node that has its own class as a child is never
  /// chosen. Classes must exist.
  NodeIx add_node(ClassIx cls, double cost, llvm::ArrayRef<ClassIx> children);
  /// Roots may repeat: the tree cost counts each, the DAG cost does not.
  void add_root(ClassIx cls) { roots_.push_back(cls); }
  void forbid(NodeIx node) { nodes_[node.index].forbidden = true; }
  /// Sets the bytes of the class's result. They count once if a chosen node that is not a load node
  /// uses the result. Default 0.
  void set_stored_bytes(ClassIx cls, double bytes) { stored_bytes_[cls.index] = bytes; }
  /// Marks a node that is computed at load: its operands need not be stored afterwards. All nodes
  /// of the classes that it needs must be load nodes too.
  void set_load(NodeIx node) { nodes_[node.index].load = true; }
  /// Limits the sum of stored bytes. Default: no limit.
  void set_byte_limit(double bytes) { byte_limit_ = bytes; }
  /// Builds the indexes below. Called once, after the last change and before any algorithm.
  void seal();

  // --- reading (after seal) ----------------------------------------------------------------------
  size_t class_count() const { return stored_bytes_.size(); }
  size_t node_count() const { return nodes_.size(); }
  /// Nodes of a class, in the order in which they were added.
  llvm::ArrayRef<NodeIx> nodes(ClassIx cls) const {
    return llvm::ArrayRef<NodeIx>(class_nodes_)
        .slice(class_start_[cls.index], class_start_[cls.index + 1] - class_start_[cls.index]);
  }
  /// Nodes that have the class as a child. A node that has it twice is listed once.
  llvm::ArrayRef<NodeIx> users(ClassIx cls) const {
    return llvm::ArrayRef<NodeIx>(class_users_)
        .slice(user_start_[cls.index], user_start_[cls.index + 1] - user_start_[cls.index]);
  }
  ClassIx class_of(NodeIx node) const { return nodes_[node.index].cls; }
  double cost(NodeIx node) const { return nodes_[node.index].cost; }
  bool load(NodeIx node) const { return nodes_[node.index].load; }
  /// Returns true unless the node is forbidden, has an infinite cost, or is its own child.
  bool usable(NodeIx node) const { return nodes_[node.index].usable; }
  /// Returns true if a usable node has a negative cost; then choosing more nodes can cost less.
  bool has_rewards() const { return has_rewards_; }
  llvm::ArrayRef<ClassIx> children(NodeIx node) const {
    const NodeRow& row = nodes_[node.index];
    return llvm::ArrayRef<ClassIx>(children_).slice(row.first_child, row.child_count);
  }
  llvm::ArrayRef<ClassIx> roots() const { return roots_; }
  double stored_bytes(ClassIx cls) const { return stored_bytes_[cls.index]; }
  double byte_limit() const { return byte_limit_; }

private:
  struct NodeRow {
    ClassIx cls;
    uint32_t first_child = 0, child_count = 0;
    double cost = 0;
    bool forbidden = false, load = false;
    bool usable = false; // valid after seal()
  };
  std::vector<NodeRow> nodes_;
  std::vector<ClassIx> children_; // children of all NodeRows
  std::vector<ClassIx> roots_;
  std::vector<double> stored_bytes_; // by class
  double byte_limit_ = kInfiniteCost;
  bool has_rewards_ = false; // valid after seal()
  // By class, compressed rows; valid after seal().
  std::vector<uint32_t> class_start_, user_start_;
  std::vector<NodeIx> class_nodes_, class_users_;
};

/// A node for each class that the solution uses; invalid for the others.
struct Choice {
  std::vector<NodeIx> node; // by class

  explicit Choice(size_t classes = 0) : node(classes) {}
  NodeIx operator[](ClassIx cls) const { return node[cls.index]; }
  bool operator==(const Choice&) const = default;
};

/// The verdict of a checker that shares no code with the algorithms.
struct CheckedChoice {
  /// Empty if the choice is complete, acyclic and uses only usable nodes; otherwise the fault, and
  /// the figures below are undefined.
  std::string fault;
  double dag_cost = 0;     // distinct nodes, each once
  double tree_cost = 0;    // every use and every root counted; saturates at the largest double
  double stored_bytes = 0; // of classes that chosen nodes other than load nodes use
  /// The reached classes, children before their users.
  std::vector<ClassIx> order;

  bool ok() const { return fault.empty(); }
};
CheckedChoice check_choice(const ExtractionProblem& problem, const Choice& choice);

/// Removes classes that the roots do not reach. The choice must be complete and acyclic.
void trim(const ExtractionProblem& problem, Choice& choice);

/// Adds two costs; the sum of finite costs stays finite. A tree cost doubles with every level of
/// sharing, and a class with a huge but finite cost must remain extractable.
inline double add_costs(double a, double b) {
  constexpr double kMost = std::numeric_limits<double>::max();
  double sum = a + b;
  if (sum == -kInfiniteCost) return -kMost;
  return sum == kInfiniteCost && a != kInfiniteCost && b != kInfiniteCost ? kMost : sum;
}

// The classes of a problem as a graph: an edge goes from a class to every child of each of its
// usable nodes.

/// Returns all classes, children before their users except on cycles: the post-order of a
/// depth-first walk that starts at the first class, then at the second and so on.
std::vector<ClassIx> children_first(const ExtractionProblem& problem);

/// Returns the independent parts of a sealed problem, which share no class: by class,
/// numbered from 0.
std::vector<uint32_t> independent_parts(const ExtractionProblem& problem);

/// Returns the strongly connected components over all usable nodes: by class, numbered from 0, and
/// -1 for classes on no cycle. Tarjan (1972), without recursion.
std::vector<int32_t> cyclic_components(const ExtractionProblem& problem);

} // namespace tg
