// Which of cuBLASLt's algorithms for a product is the fastest: measured on scratch memory, once for
// each distinct problem, and kept in the plan database. What the library does not run, and what a
// generated kernel does no slower, is not its: products of few rows have such a rival.
#pragma once

#include "runtime/cuda/cublas/matmul.h"
#include "runtime/cuda/tuning/plan_db.h"
#include "runtime/cuda/tuning/rivals.h"
#include "runtime/cuda/tuning/scratch.h"

#include <map>

namespace tg::cuda {

struct MatmulChoice {
  std::shared_ptr<const MatmulPlan> plan; // null: the product is not the library's
  size_t candidate = 0;                   // the fastest
  double microseconds = 0;                // 0: not measured
  std::string why;                        // it is generated, though the library has it
};

class MatmulTuner {
public:
  /// `plans` may be null; all must outlive it.
  MatmulTuner(ScratchTimer& timer, const BlasLt& blas, PlanDb* plans, TimeGenerated generated)
      : timer_(timer), blas_(blas), plans_(plans), generated_(std::move(generated)) {}

  /// Asked once for each distinct problem. The reference holds while the tuner lives.
  const MatmulChoice& best(const MatmulProblem& problem);
  /// Of what best() was asked for; null otherwise.
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
