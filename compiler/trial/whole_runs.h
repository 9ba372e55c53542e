// Selects the whole runs for the costs in use. If the costs are of this machine, the chosen graph
// is compared with the source before it is returned (cost_model.h, is_compared_with_source).
#pragma once

#include "compiler/trial/backend_finalists.h"
#include "compiler/trial/remembered_finalists.h"
#include "tangram/choices.h"

namespace tg {

/// Returns an identifier of the weights that a graph reads, by path and elements, equal in all
/// processes; "" if one cannot be read.
std::string digest_of_weights(const Graph& graph, const PrepareOptions& run);

struct WholeRunOptions {
  tangram::CostSpec cost;
  bool wanted = true;   // false: nothing is run, without a note
  size_t finalists = 8; // 0: nothing is run
  bool remember = true; // with guessed costs, earlier comparisons are reused
  /// Results depend on the user's weights for this graph; null: such results are not stored.
  const Graph* source = nullptr;
  FinalistRunner* judge = nullptr; // replaces the backend

  /// True if whole runs are wanted and these costs require them.
  bool asked() const;
};

class WholeRunPolicy {
public:
  WholeRunPolicy(const WholeRunPolicy&) = delete;
  WholeRunPolicy& operator=(const WholeRunPolicy&) = delete;
  /// `run.backend` is that of the costs (backend_of_costs).
  WholeRunPolicy(const WholeRunOptions& options, const PrepareOptions& run, const TimePlan& time);

  /// Owned by this object. Null: nothing is run.
  FinalistRunner* runner();
  /// True if whole runs are required but turned off.
  bool turned_off() const { return asked_ && !run_; }
  /// Sets the options that depend on whole runs: the number of graphs to run, and whether a result
  /// must gain.
  void set(OptimizeOptions& options) const;

private:
  FinalistRunner* judge_;
  bool measured_, asked_, run_;
  size_t finalists_;
  BackendFinalists runner_;
  std::optional<RememberedFinalists> remembered_;
};

} // namespace tg
