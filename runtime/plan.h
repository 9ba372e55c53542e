// What the runtime executes: values and steps, neutral to the device. The compiler (emit) decides
// order, lifetimes and what is computed at load; a backend decides layouts, kernels and offsets
// when it compiles the plan. The plan builder never fuses; rules do.
//
// Invariants (verify): a value is defined before it is used; only `Temporary` values are defined by
// steps; load steps use only weights, constants and results of load steps; `last_use` is right;
// outputs, and results of load steps that run steps read, are pinned; across streams every read and
// every overwriting is ordered by events.
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
  std::string name;             // of inputs; path of weights
  std::string init;             // of weights: how to fill them when no file gives them
  std::vector<double> constant; // one element, or all; or, of i64 that no double holds,
  std::vector<int64_t> exact;   // these instead
  /// Step that defines it (Temporary) and the last that reads it; kNever if none. Outputs and
  /// results that run steps need from load steps live for ever: `pinned`.
  PlanStepId defined_by = kNever;
  PlanStepId last_use = kNever;
  bool pinned = false;
  bool is_output = false;
};

enum class Phase : uint8_t { Load, Run };

struct PlanStep {
  OpKind op{};
  std::vector<Value> attrs; // in normal form, one per slot
  std::vector<PlanValueId> operands;
  PlanValueId result = kNoValue;
  Phase phase = Phase::Run;
  /// The operand that dies here and whose buffer the result may take over: same type, and read at
  /// an element before that is written (pointwise, fused_map, norms, softmax, the residual of
  /// conv2d and matmul). kNoValue if there is none. A backend that makes views must refuse it where
  /// another view of the buffer lives on (arena.h).
  PlanValueId in_place = kNoValue;
  uint32_t stream = 0;
  /// Events to wait for before, and to record after, the step; empty on one stream.
  std::vector<uint32_t> waits, signals;
};

struct PlanOutput {
  std::string name;
  PlanValueId value = kNoValue;
};

struct Plan {
  std::string model;
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps; // all load steps first
  std::vector<PlanValueId> inputs;
  std::vector<PlanOutput> outputs;
  uint32_t streams = 1, events = 0;
};

/// Empty if the invariants hold, else what is wrong.
std::string verify(const Plan& plan);
/// One step a line, for golden tests.
std::string dump(const Plan& plan);

} // namespace tg
