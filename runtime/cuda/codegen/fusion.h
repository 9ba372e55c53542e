// Groups the steps of a plan into kernels. From the last step of the plan to the first,
// producers join the group of their consumers if one kernel can be generated for the whole
// and recomputes little.
// Values with other readers become additional results. Moves (slices, reshapes, transposes)
// may belong to several groups, because they cost nothing inside a kernel.
//
// Source and optimized graphs are grouped in the same way, so the gain of a rewrite
// is measured under the same fusion.
#pragma once

#include "lang/core/result.h"
#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// The unit of launching.
struct Unit {
  enum class Kind : uint8_t {
    Generated, // a kernel made by generate()
    Library,   // one step, run by a library
    View,      // one step that only renames its operand's memory
  };
  Kind kind{};
  Group group;
};

/// Returns true for the steps that a library runs.
using IsLibrary = std::function<bool(const PlanStep&)>;

/// Returns the run steps of the plan in a launchable order. Every result that a later unit
/// or an output needs is a result of exactly one unit.
/// Errors: `no_kernel` names an operator that neither a library nor the generator supports.
Result<std::vector<Unit>> fuse(const Plan& plan, const StridesOf& strides,
                               const IsLibrary& library);

/// Returns the values that a unit reads but does not produce, in the order of their first use.
std::vector<PlanValueId> operands_of(const Plan& plan, const Group& group);

} // namespace tg::cuda
