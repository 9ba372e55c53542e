// Which of cuDNN's plans for a graph is the fastest: measured as it will run, on random operands in
// scratch memory, once for each distinct graph, and kept in the plan database. An entry of the
// database that the library does not take back is noted and measured anew. Where measuring is not
// possible (no memory to spare) the library's own first choice is taken.
#pragma once

#include "runtime/cuda/cudnn_plan.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/graph_time.h"
#include "runtime/cuda/plan_db.h"

#include <map>

namespace tg::cuda {

struct DnnChoice {
  std::shared_ptr<const DnnPlan> plan; // null: the library has none
  double microseconds = 0;             // 0: not measured
  std::string why;                     // there is none
};

/// Memory to time work on, filled with random numbers; given back when it goes.
class Scratch {
public:
  explicit Scratch(GpuDevice& device) : device_(device) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// At least so many bytes. What was there before is gone. Errors: `memory_limit`, `device`.
  Result<Address> get(int64_t bytes, DType dtype, Stream stream);

private:
  GpuDevice& device_;
  Address memory_ = 0;
  int64_t bytes_ = 0;
  DType dtype_{};
};

class DnnTuner {
public:
  /// `plans` may be null.
  DnnTuner(GpuDevice& device, Stream stream, const Cudnn& dnn, PlanDb* plans,
           const DnnLimits& limits)
      : device_(device), stream_(stream), dnn_(dnn), plans_(plans), limits_(limits),
        scratch_(device), timer_(device, stream) {}

  /// Asked once for each distinct graph. The reference holds while the tuner lives.
  const DnnChoice& best(const DnnGraph& graph);
  /// Microseconds of other work on `bytes` of scratch memory. Errors: as those of the work.
  Result<double> time(int64_t bytes, DType dtype,
                      const std::function<Result<void>(Address scratch, Stream)>& work);

private:
  DnnChoice find(const DnnGraph& graph);
  bool restore(const DnnGraph& graph, const std::string& key, DnnChoice& choice);
  Result<double> time(const DnnGraph& graph, const DnnPlan& plan);

  GpuDevice& device_;
  Stream stream_;
  const Cudnn& dnn_;
  PlanDb* plans_;
  DnnLimits limits_;
  Scratch scratch_;
  GraphTimer timer_;
  std::map<std::string, DnnChoice> choices_; // by text
};

} // namespace tg::cuda
