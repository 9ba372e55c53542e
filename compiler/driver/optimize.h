// The optimiser as one call: rules over a source graph, prices from a cost model, the cheapest
// graph out, with a report of what happened. The result never costs more than the source under the
// model in use; where costs are measured, both graphs are run and the source is returned if the new
// one is not faster beyond the noise.
#pragma once

#include "compiler/driver/timing.h"
#include "compiler/egraph/rule.h"
#include "compiler/extract/cost.h"
#include "compiler/ir/graph.h"

#include <optional>

namespace tg {

enum class Search : uint8_t { None, Saturate, Random };
enum class Extract : uint8_t { Greedy, Ilp };

struct OptimizeOptions {
  Search search = Search::Saturate;
  Extract extract = Extract::Ilp;
  Numerics numerics = Numerics::Reassociates; // the least exact class of rules that may be used
  size_t iterations = 15, multi_iterations = 1;
  bool backoff = false;
  std::string cycle_filter = "efficient", ilp_cycles = "none";
  size_t budget = 64, depth = 16; // of Search::Random
  double time_limit_s = 60;       // of exploration and of extraction, each
  size_t node_limit = 50'000;
  int64_t memory_limit_bytes = 0; // 0: none
  uint64_t seed = 1;
};

struct RuleCount {
  std::string rule;
  size_t count = 0;
};

struct OptimizeReport {
  std::string model, search, extract, cost_model;
  size_t rules = 0;                         // in use
  size_t nodes_before = 0, nodes_after = 0; // operators that the outputs need
  double cost_before_us = 0, cost_after_us = 0;
  std::optional<double> lower_bound_us; // of the extraction, where it gives one
  size_t egraph_nodes = 0, egraph_classes = 0;
  double explore_s = 0, extract_s = 0, total_s = 0;
  double peak_memory_mb = 0;
  uint64_t seed = 0;
  std::string stopped_by;
  /// Rules that made nodes of the result, most often used first, then by name.
  std::vector<RuleCount> rules_applied;
  /// What a person should know: a solver that failed, a source returned because it was faster, ...
  std::vector<std::string> notes;

  /// With measured costs: medians of whole runs of the source and of the graph returned.
  struct Measured {
    double before_us = 0, after_us = 0;
    bool source_returned = false;
  };
  std::optional<Measured> measured;
};

struct Optimized {
  Graph graph;
  OptimizeReport report;
};

/// Builds and times whole graphs: the compiler's door to a device.
class FinalistRunner {
public:
  virtual ~FinalistRunner() = default;
  /// Whole runs of both, in turns (timing.h). Errors: those of the backend.
  virtual Result<Comparison> compare(const Graph& first, const Graph& second) = 0;
};

/// `finalists` may be null: then nothing is run. Errors: `no_solution`, `memory_limit`, and those
/// of the finalists' backend.
Result<Optimized> optimize(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                           const OptimizeOptions& options, FinalistRunner* finalists);

} // namespace tg
