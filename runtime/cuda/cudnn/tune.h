// Which of cuDNN's plans for a graph is the fastest: measured as it will run, on plain numbers in
// scratch memory, once for each distinct graph, and kept in the plan database. An entry of the
// database that the library does not take back is noted and measured anew. Where measuring is not
// possible (no memory to spare) the library's own first choice is taken.
#pragma once

#include "runtime/cuda/cudnn/plan.h"
#include "runtime/cuda/tuning/plan_db.h"
#include "runtime/cuda/tuning/scratch.h"

#include <map>

namespace tg::cuda {

struct DnnChoice {
  std::shared_ptr<const DnnPlan> plan; // null: the library has none
  double microseconds = 0;             // 0: not measured
  std::string why;                     // there is none
};

class DnnTuner {
public:
  /// `plans` may be null; all must outlive it.
  DnnTuner(ScratchTimer& timer, const Cudnn& dnn, PlanDb* plans, const DnnLimits& limits)
      : timer_(timer), dnn_(dnn), plans_(plans), limits_(limits) {}

  /// Asked once for each distinct graph. The reference holds while the tuner lives.
  const DnnChoice& best(const DnnGraph& graph);
  bool allows_tf32() const { return limits_.allow_tf32; }

private:
  DnnChoice find(const DnnGraph& graph);
  bool restore(const DnnGraph& graph, const std::string& key, DnnChoice& choice);

  ScratchTimer& timer_;
  const Cudnn& dnn_;
  PlanDb* plans_;
  DnnLimits limits_;
  std::map<std::string, DnnChoice> choices_; // by text
};

} // namespace tg::cuda
