// Which whole runs the costs in use ask for: what they choose meets its source before it is
// returned, where the costs are of this machine (cost_model.h, meets_source).
#pragma once

#include "compiler/trial/backend_finalists.h"
#include "compiler/trial/remembered_finalists.h"
#include "tangram/choices.h"

namespace tg {

/// Names the weights that a graph reads, by path and elements, alike in all processes; "" if one
/// cannot be read.
std::string digest_of_weights(const Graph& graph, const PrepareOptions& run);

struct WholeRunOptions {
  tangram::CostSpec cost;
  bool wanted = true;   // false: nothing is run, and nobody misses it
  size_t finalists = 8; // 0: nothing is run
  bool remember =
      true; // comparisons that were made before are not made again, where costs are guesses
  /// Results depend on its weights where the user gives them; null: those are not remembered.
  const Graph* source = nullptr;
  FinalistRunner* judge = nullptr; // runs them in the place of a backend

  /// True if whole runs belong to these costs.
  bool asked() const;
};

class WholeRunPolicy {
public:
  WholeRunPolicy(const WholeRunPolicy&) = delete;
  WholeRunPolicy& operator=(const WholeRunPolicy&) = delete;
  /// `run.backend` is that of the costs (backend_of_costs).
  WholeRunPolicy(const WholeRunOptions& options, const PrepareOptions& run, const TimePlan& time);

  /// Null: nothing is run. Of this object.
  FinalistRunner* runner();
  /// They belong to these costs and were turned off.
  bool turned_off() const { return asked_ && !run_; }
  /// What whole runs have to say about `optimize`: how many graphs are run, and whether a result
  /// has to gain.
  void set(OptimizeOptions& options) const;

private:
  FinalistRunner* judge_;
  bool measured_, asked_, run_;
  size_t finalists_;
  BackendFinalists runner_;
  std::optional<RememberedFinalists> remembered_;
};

} // namespace tg
