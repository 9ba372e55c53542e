// The input of the runtime: a sequence of steps over values, independent of the device.
//
// The compiler (compiler/emit) makes a plan from a graph. It decides the order of steps,
// the lifetimes of values, and which steps run once at load.
// A backend decides layouts, kernels and arena offsets when it compiles the plan (backend.h).
// The plan builder never fuses operators; rules do.
//
// Example: the model `relu(matmul(x, transpose(w)))` becomes five values and three steps:
//
//   %0 input x          steps:  load  %2 = transpose(%1)     pinned: a run step reads it
//   %1 weight w                 run   %3 = matmul(%0, %2)
//   %2, %3, %4 temporaries      run   %4 = relu(%3)          in_place: %3 dies here
//
// The transpose depends on weights alone, so it is a load step.
// `relu` may overwrite the buffer of %3.
//
// Invariants, checked by verify():
//  - a value is defined before it is used, and steps define `Temporary` values only;
//  - load steps come first and read only weights, constants and results of load steps;
//  - `last_use` is the last step that reads the value;
//  - outputs, and results of load steps that run steps read, are pinned;
//  - across streams, events order every read and every overwrite after what it depends on.
#pragma once

#include "lang/core/op.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tg {

using PlanValueId = uint32_t;
inline constexpr PlanValueId kNoValue = UINT32_MAX; // an absent operand
using PlanStepId = uint32_t;
inline constexpr PlanStepId kNever = UINT32_MAX;

struct PlanValue {
  enum class Kind : uint8_t { Input, Weight, Constant, Temporary };
  Kind kind{};
  TensorType type;
  std::string name;             // name of an input; path of a weight
  std::string init;             // for a weight: how to fill it when no file provides it
  std::vector<double> constant; // one element, or all; i64 values that no double represents
  std::vector<int64_t> exact;   // are here instead
  /// The step that defines it (Temporary) and the last step that reads it; kNever if none.
  /// Outputs, and results of load steps that run steps read, live for ever: `pinned`.
  PlanStepId defined_by = kNever;
  PlanStepId last_use = kNever;
  bool pinned = false;
  bool is_output = false;
};

enum class Phase : uint8_t { Load, Run };

struct PlanStep {
  OpKind op{};
  std::vector<Value> attrs; // normalized, one per slot
  std::vector<PlanValueId> operands;
  PlanValueId result = kNoValue;
  Phase phase = Phase::Run;
  /// The operand that dies at this step and whose buffer the result may reuse.
  /// It has the type of the result, and each element is read before it is written (pointwise,
  /// fused_map, norms, softmax, the residual of conv2d and matmul).
  /// kNoValue if there is none. A backend with views must refuse it if another view
  /// of the buffer is used later (arena.h).
  PlanValueId in_place = kNoValue;
  uint32_t stream = 0;
  /// Events to wait for before the step and to record after it; empty on one stream.
  std::vector<uint32_t> waits, signals;
};

struct PlanOutput {
  std::string name;
  PlanValueId value = kNoValue;
};

struct Plan {
  std::string model;
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps; // load steps first
  std::vector<PlanValueId> inputs;
  std::vector<PlanOutput> outputs;
  uint32_t streams = 1, events = 0;
};

/// Returns "" if the invariants hold, else a description of the violation.
std::string verify(const Plan& plan);
/// Prints one step per line, for golden tests.
std::string dump(const Plan& plan);

} // namespace tg
