// Builds small graphs by operator name and runs them on `ref` and `cpu` with the same random
// weights and inputs.
#pragma once

#include "compiler/emit/plan_from_graph.h"
#include "runtime/cpu/backend.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tg::test {

class Builder {
public:
  Graph graph{std::make_shared<Symbols>(), "test"};

  NodeId input(llvm::StringRef name, Shape shape) { return graph.input(name, f32(shape)); }
  NodeId weight(llvm::StringRef path, Shape shape, llvm::StringRef init = "") {
    return graph.weight(path, f32(shape), init);
  }
  NodeId none() { return graph.none(); }
  /// Adds an operator with attributes by slot. Missing attributes have their defaults.
  NodeId op(OpKind kind, llvm::ArrayRef<NodeId> operands, std::vector<Value> attrs = {}) {
    const OpInfo& info = op_info(kind);
    llvm::SmallVector<ValueId> ids;
    for (size_t i = 0; i < info.attr_count; ++i)
      ids.push_back(
          graph.symbols().value(i < attrs.size() ? attrs[i] : default_value(info.attrs()[i])));
    std::string why;
    NodeId node = graph.add(kind, ids, operands, &why);
    EXPECT_TRUE(node.valid()) << std::string(info.name) << ": " << why;
    return node;
  }
  void output(NodeId node) { graph.add_output("y" + std::to_string(graph.outputs().size()), node); }
};

inline Value pair(int64_t a, int64_t b) { return Value::of_ints({a, b}); }
inline Value act(llvm::StringRef name) { return Value::of_enum(name); }

struct Comparison {
  double difference = 0; // largest over all outputs
  std::vector<StepInfo> steps;
  MemoryUse memory;
};

inline std::vector<Tensor> outputs_of(const Backend& backend, const Plan& plan,
                                      const CompileOptions& options, int runs = 1,
                                      Comparison* info = nullptr) {
  auto executable = backend.compile(plan, options);
  EXPECT_TRUE(executable.ok()) << (executable.ok() ? "" : executable.error().message);
  if (!executable) return {};
  auto inputs = random_inputs(plan, 7);
  EXPECT_TRUE(inputs.ok());
  EXPECT_TRUE((*executable)->bind_inputs(*inputs).ok());
  for (int i = 0; i < runs; ++i) EXPECT_TRUE((*executable)->run_once().ok());
  auto outputs = (*executable)->outputs();
  EXPECT_TRUE(outputs.ok());
  if (info) {
    info->steps = (*executable)->steps();
    info->memory = (*executable)->memory();
  }
  return std::move(*outputs);
}

/// Replaces f32 by f64 in the plan, also in its casts. Returns false if the plan creates f32
/// itself.
inline bool in_doubles(Plan& plan) {
  for (PlanValue& value : plan.values)
    if (value.type.dtype == DType::F32) value.type.dtype = DType::F64;
  for (PlanStep& step : plan.steps) {
    if (step.op == OpKind::Cast && step.attrs[0].text == "f32")
      step.attrs[0] = Value::of_enum("f64");
    if (step.op == OpKind::Iota || step.op == OpKind::Extern) return false;
  }
  return true;
}

/// Returns max_rel_diff. In graphs with a gelu, outputs that are all small are compared against
/// 0.02: on its far negative side, gelu has only the digits that 1 + erf leaves.
inline double difference_of(const Graph& graph, const Tensor& got, const Tensor& want) {
  constexpr double kSmall = 0.02;
  double difference = max_rel_diff(got, want), largest = 0;
  if (want.type().dtype != DType::F32 || dump(graph).find("gelu") == std::string::npos)
    return difference;
  for (float x : want.floats()) largest = std::max(largest, std::abs(static_cast<double>(x)));
  return largest > 0 ? difference * std::min(1.0, largest / kSmall) : difference;
}

/// Runs twice on `cpu`, so that a run that overwrites its inputs or weights is detected.
inline Comparison compare(const Graph& graph, int threads = 1, IoLayout layout = IoLayout::Plain,
                          Products products = Products::Chosen) {
  Plan plan = plan_from_graph(graph);
  EXPECT_EQ(verify(plan), "");
  Comparison result;
  auto want = outputs_of(*make_ref_backend(), plan, {});
  CompileOptions options;
  options.threads = threads;
  options.share_short_work = true;
  options.io_layout = layout;
  auto got = outputs_of(*make_cpu_backend(products), plan, options, 2, &result);
  EXPECT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size() && i < got.size(); ++i)
    result.difference = std::max(result.difference, difference_of(graph, got[i], want[i]));
  return result;
}

inline std::string implementations(const Comparison& c) {
  std::string text;
  for (const StepInfo& step : c.steps) text += step.name + " " + step.implementation + "\n";
  return text;
}

} // namespace tg::test
