// Chooses the fastest of cuDNN's plans for a graph: measured under run conditions,
// on plain numbers in scratch memory, once for each distinct graph,
// and stored in the plan database.
// A database entry that the library rejects is reported and measured again.
// If measuring is not possible (not enough memory), the library's first choice is used.
#pragma once

#include "runtime/cuda/cudnn/plan.h"
#include "runtime/cuda/tuning/plan_db.h"
#include "runtime/cuda/tuning/scratch.h"

#include <map>

namespace tg::cuda {

struct DnnChoice {
  std::shared_ptr<const DnnPlan> plan; // null: the library has none
  double microseconds = 0;             // 0: not measured
  std::string why;                     // reason if there is none
};

class DnnTuner {
public:
  /// `plans` may be null; all must outlive this object.
  DnnTuner(ScratchTimer& timer, const Cudnn& dnn, PlanDb* plans, const DnnLimits& limits)
      : timer_(timer), dnn_(dnn), plans_(plans), limits_(limits) {}

  /// Evaluated once for each distinct graph. The reference is valid while the tuner lives.
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
