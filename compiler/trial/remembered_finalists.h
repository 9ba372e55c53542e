// Persistent results and comparisons of whole graphs.
//
// For each source, with rules and options, the last result that was run is stored. The next search
// must improve on it (refined_search.h), so results never get worse. A search is repeated if
// nothing was found, or if its result lost to the source while other programs took a little of the
// machine.
//
// A comparison on this machine is reused while graphs, backend, libraries, number of threads and
// types are the same (the environment of runtime/measure/cost_db.h). It is stored if it was made on
// an idle machine and shows which graph is faster, or that they are nearly equal. The common result
// of two successive comparisons is also stored if other programs took at most a little of the
// machine. In all cases outputs must agree, and there must be no notes on the run.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "runtime/backend.h"
#include "runtime/measure/cost_db.h"

namespace tg {

class RememberedFinalists final : public FinalistRunner {
public:
  /// `conditions` holds the dependencies of the runner's times besides graphs and environment
  /// ("f32"). `runner` must outlive the object.
  RememberedFinalists(FinalistRunner& runner, std::unique_ptr<CostDb> database,
                      std::string conditions)
      : runner_(runner), database_(std::move(database)), conditions_(std::move(conditions)) {}

  Result<WholeRuns> compare(const Graph& first, const Graph& second) override;
  Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                              llvm::ArrayRef<const Graph*> graphs) override {
    return runner_.screen(source, graphs);
  }
  Result<std::vector<PlacedNodes>> time_in_place(const Graph& source, const Graph* other) override {
    return runner_.time_in_place(source, other);
  }
  std::optional<KnownResult> recall(const Graph& source, llvm::ArrayRef<Rule> rules,
                                    const OptimizeOptions& options) override;
  void keep(const Graph& source, llvm::ArrayRef<Rule> rules, const OptimizeOptions& options,
            const Optimized& result) override;

private:
  std::optional<Comparison> known(const std::string& pair);
  void keep_times(const std::string& pair, const Comparison& times);

  FinalistRunner& runner_;
  std::unique_ptr<CostDb> database_;
  std::string conditions_;
};

/// Opens the database of measured costs at `path` ("": the user's own) for whole runs on this
/// backend.
std::unique_ptr<CostDb> open_whole_runs(const std::string& path, const Backend& backend,
                                        int threads);

} // namespace tg
