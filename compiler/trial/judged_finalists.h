// The FinalistRunner that leaves building and running to somebody else: runtimes that we do not
// know are optimised for by how long a graph takes there.
#pragma once

#include "compiler/optimizer/optimize.h"

#include <functional>

namespace tg {

/// Makes a graph ready; what it returns runs it once and gives microseconds, less than 0 where that
/// failed. Empty: the graph is refused.
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
  /// Made ready once.
  const Run& ready(const Graph& graph);

  GraphJudge judge_;
  StopToken stop_;
  std::vector<Ready> ready_;
};

} // namespace tg
