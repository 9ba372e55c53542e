// The input of the runtime: a sequence of steps over values, independent of the device.
//
// The compiler (compiler/emit) makes a plan from a graph. It decides the order of steps,
// the lifetimes of values, and which steps run once at load.
// A backend decides layouts, kernels and arena offsets when it compiles the plan (backend.h).
// The plan builder never fuses operators; rules do.
//
// Example: relu(x + tanh(w)) becomes five values and three steps.
//
//   Graph graph(std::make_shared<Symbols>(), "m");
//   NodeId x = graph.input("x", f32({4, 8})), w = graph.weight("w", f32({4, 8}));
//   NodeId sum = graph.add(OpKind::Add, {}, {x, graph.add(OpKind::Tanh, {}, {w})});
//   graph.add_output("y", graph.add(OpKind::Relu, {}, {sum}));
//   Plan plan = plan_from_graph(graph);
//   dump(plan); // prints
//   // plan m
//   // %0 = input x : f32[4, 8]
//   // %1 = weight w : f32[4, 8]
//   // load %2 = tanh(%1) : f32[4, 8]
//   // run %3 = add(%0, %2) : f32[4, 8]
//   // run %4 = relu(%3) : f32[4, 8] in place of %3
//   // output y = %4
//
// `tanh` depends on weights alone, so it is a load step, and its result is pinned.
// %3 dies at `relu`, which may overwrite its buffer.
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
