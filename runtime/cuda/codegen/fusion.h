// Which steps of a plan become one kernel. Producers join the group of their consumers, from the
// last step of the plan to the first, where one kernel can be generated for the whole and computes
// nothing much more often than before. Values that others read as well become further results;
// moves (slices, reshapes, transposes) may belong to several groups, since they cost nothing there.
//
// Every graph is grouped in the same way, source and optimised, so what a rewrite gains is measured
// over the same fusion.
#pragma once

#include "lang/core/result.h"
#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// What is launched at once.
struct Unit {
  enum class Kind : uint8_t {
    Generated, // a kernel of generate()
    Library,   // one step, by a library
    View,      // one step that only names its operand's memory anew
  };
  Kind kind{};
  Group group;
};

/// True for the steps that a library runs.
using IsLibrary = std::function<bool(const PlanStep&)>;

/// The run steps of the plan in an order in which they can be launched; every result that a later
/// unit or an output needs is a result of exactly one unit. Errors: `no_kernel` names an operator
/// that neither a library nor the generator has.
Result<std::vector<Unit>> fuse(const Plan& plan, const StridesOf& strides,
                               const IsLibrary& library);

/// Values that a unit reads and does not make, in the order of their first use.
std::vector<PlanValueId> operands_of(const Plan& plan, const Group& group);

} // namespace tg::cuda
