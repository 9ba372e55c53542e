// Chooses the fastest of cuBLASLt's algorithms for a product: measured on scratch memory,
// once for each distinct problem, and stored in the plan database.
// A product that the library cannot run, or that a generated kernel runs no slower, is generated:
// products of few rows have such a rival.
#pragma once

#include "runtime/cuda/cublas/matmul.h"
#include "runtime/cuda/tuning/plan_db.h"
#include "runtime/cuda/tuning/rivals.h"
#include "runtime/cuda/tuning/scratch.h"

#include <map>

namespace tg::cuda {

struct MatmulChoice {
  std::shared_ptr<const MatmulPlan> plan; // null: the library does not run the product
  size_t candidate = 0;                   // the fastest
  double microseconds = 0;                // 0: not measured
  std::string why;                        // reason if it is generated although the library has it
};

class MatmulTuner {
public:
  /// `plans` may be null; all must outlive this object.
  MatmulTuner(ScratchTimer& timer, const BlasLt& blas, PlanDb* plans, TimeGenerated generated)
      : timer_(timer), blas_(blas), plans_(plans), generated_(std::move(generated)) {}

  /// Evaluated once for each distinct problem. The reference is valid while the tuner lives.
  const MatmulChoice& best(const MatmulProblem& problem);
  /// Returns the earlier result of best() for the problem; null if there is none.
  const MatmulChoice* known(const MatmulProblem& problem) const;

private:
  MatmulChoice find(const MatmulProblem& problem);
  bool restore(const MatmulProblem& problem, MatmulChoice& choice);
  bool measure(const MatmulProblem& problem, MatmulChoice& choice);
  std::string rival(const MatmulProblem& problem, double library);
  std::string key_of(const MatmulProblem& problem) const {
    return timer_.conditions() + text(problem);
  }

  ScratchTimer& timer_;
  const BlasLt& blas_;
  PlanDb* plans_;
  TimeGenerated generated_;
  std::map<MatmulProblem, MatmulChoice> choices_;
};

} // namespace tg::cuda
