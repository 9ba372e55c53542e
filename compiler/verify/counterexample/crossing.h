// Drives operators with a threshold across it: a clip, a comparison or a maximum that was only
// evaluated on one side is untested, whatever the values. The distance to a threshold is a node
// like any other (x - y for x < y, x - low for a clip). The inputs climb towards its other side by
// pattern search (Hooke and Jeeves 1961) over elements, whole leaves and their scale, with steps
// that double while they succeed. Then a bisection finds the last value on this side and the first
// on the other.
#pragma once

#include "compiler/verify/counterexample/trial.h"

#include <string>

namespace tg {

class Crossing {
public:
  /// Considers the operators that only one side has and that inputs influence. Ends early if `stop`
  /// returns true.
  explicit Crossing(const Trial& trial, llvm::function_ref<bool()> stop = nullptr);

  bool empty() const { return switches_.empty(); }
  /// Records the sides of thresholds on which these values are.
  void see(const LeafValues& values);
  /// Climbs from `base` to every side not reached yet. Calls `visit` with the values at and beyond
  /// each crossed threshold. Ends early if `visit` returns true.
  void search(const LeafValues& base, uint64_t seed,
              llvm::function_ref<bool(const LeafValues&)> visit);
  /// Returns the operators with a side that was never reached, each once: "`clip`".
  std::vector<std::string> unreached() const;

private:
  struct Switch {
    OpKind op;
    NodeId distance;
    bool exact; // the threshold itself is a side: x == y
    bool below = false, at = false, above = false;
    bool seen() const { return below && above && (!exact || at); }
  };
  void add_switches(NodeId id);
  void add_formula(NodeId id);
  void add(OpKind op, NodeId x, std::optional<double> threshold, bool exact = false);
  NodeValues distances(const Switch& s, const LeafValues& values);
  void note(Switch& s, llvm::ArrayRef<double> distances);
  double reach(const Switch& s, double side, const LeafValues& values);
  bool climb(Switch& s, double side, LeafValues at, uint64_t seed,
             llvm::function_ref<bool(const LeafValues&)> visit);
  bool stopped() const { return stop_ && stop_(); }
  bool affordable();

  const Trial& trial_;
  llvm::function_ref<bool()> stop_;
  Graph graph_; // the models' nodes, and the distances
  std::vector<Switch> switches_;
  double flops_, budget_;
};

} // namespace tg
