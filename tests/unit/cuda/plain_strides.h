// Row-major strides for all values of a plan.
#pragma once

#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

inline StridesOf plain_strides(const Plan& plan) {
  return [&plan](PlanValueId id) { return contiguous_strides(plan.values[id].type.shape); };
}

} // namespace tg::cuda
