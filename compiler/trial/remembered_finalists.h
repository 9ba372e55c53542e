// Results and comparisons of whole graphs that outlive a run. Of each source, with rules and
// options, the last result that was run: the next search has to better it (settled_search.h), so
// that none ends with less than one before it. And comparisons: what has met its source on this
// machine once need not meet it again, as long as graphs, backend, libraries, number of threads and
// types are the same (the environment of runtime/measure/cost_db.h). Where nothing was found, or
// what was lost to the source while others took a little of the machine, it is tried once more. Of
// comparisons, remembered is only what is worth it: a comparison that says which graph is faster,
// or that neither is by much, while nobody else computed; or what two comparisons in turn came to,
// of which others took a little at most. And only where outputs agreed and there was nothing to be
// said about the run.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "runtime/backend.h"
#include "runtime/measure/cost_db.h"

namespace tg {

class RememberedFinalists final : public FinalistRunner {
public:
  /// `conditions`: what the runner's times depend on beside graphs and environment ("f32").
  /// `runner` must outlive it.
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

/// The database of measured costs at `path` ("": the user's own),
/// where it keeps whole runs on this backend.
std::unique_ptr<CostDb> open_whole_runs(const std::string& path, const Backend& backend,
                                        int threads);

} // namespace tg
