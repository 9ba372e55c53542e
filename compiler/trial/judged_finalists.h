// The FinalistRunner that delegates building and running to a callback, to optimise for an external
// runtime by the time of a graph there.
#pragma once

#include "compiler/optimizer/optimize.h"

#include <functional>

namespace tg {

/// Prepares a graph. The result runs it once and returns microseconds, negative if the run failed.
/// An empty result means that the graph is rejected.
using GraphJudge = std::function<std::function<double()>(const Graph& graph)>;

class JudgedFinalists : public FinalistRunner {
public:
  JudgedFinalists(GraphJudge judge, const TimePlan& time)
      : judge_(std::move(judge)), stop_(time.whole_runs()) {}
  Result<WholeRuns> compare(const Graph& first, const Graph& second) override;
  Result<std::vector<ScreeningResult>> screen(const Graph& source,
                                              llvm::ArrayRef<const Graph*> graphs) override;

private:
  using Run = std::function<double()>;
  struct Ready {
    Graph graph;
    Run run;
  };
  /// Prepares a graph once.
  const Run& ready(const Graph& graph);

  GraphJudge judge_;
  StopToken stop_;
  std::vector<Ready> ready_;
};

} // namespace tg
