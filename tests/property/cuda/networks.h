// The networks of examples/ as plans: source and rewritten graphs, in f32 and in narrower types.
// Also plans of single groups.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/retype.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/from_ast.h"
#include "runtime/cuda/backend.h"
#include "runtime/cuda/codegen/fusion.h"
#include "runtime/cuda/cudnn/conv_lowering.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace tg::test {

struct Network {
  std::string name; // "paper/bert.tg, optimised, f16"
  Plan plan;
  DType dtype = DType::F32;
};

/// `./dev test --full`.
inline bool is_full_test() { return std::getenv("TANGRAM_FULL_TESTS") != nullptr; }

inline std::vector<std::string> example_files() {
  std::vector<std::string> files;
  for (const char* folder : {"/examples", "/examples/paper"}) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(std::string(TG_SOURCE_DIR) + folder, error), end;
         it != end && !error; it.increment(error))
      if (llvm::sys::path::extension(it->path()) == ".tg") files.push_back(it->path());
  }
  llvm::sort(files);
  return files;
}

/// Replaces the results of the load phase by weights. The host computes them by `ref`,
/// which would take most of the time here. Winograd's kernels are identified by the load phase,
/// so that they are lowered first.
inline Plan without_load_phase(const Plan& whole) {
  Plan plan = cuda::lower_winograd(whole).plan;
  for (const PlanStep& step : plan.steps)
    if (step.phase == Phase::Load) {
      PlanValue& value = plan.values[step.result];
      const PlanValue& from = plan.values[step.operands.empty() ? step.result : step.operands[0]];
      if (step.op == OpKind::Cast && from.kind == PlanValue::Kind::Weight) {
        TensorType type = value.type; // the weight itself, rounded: variances stay positive
        value = from;
        value.type = type;
        continue;
      }
      if (step.op == OpKind::Cast && from.kind == PlanValue::Kind::Constant) { // the number itself
        value.kind = PlanValue::Kind::Constant;
        value.constant = from.constant;
        continue;
      }
      value.kind = PlanValue::Kind::Weight;
      value.name = "loaded." + std::to_string(step.result);
    }
  cuda::PlanEdit edit(plan);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].phase == Phase::Run) edit.emit(plan.steps[s], s);
  return edit.finish().plan;
}

/// Options of a search that stops only by iterations and nodes, so that every run gives the same
/// graph. Rules fire in every part of a network, but the search is far from complete.
inline OptimizeOptions small_search() {
  OptimizeOptions options;
  options.search = Search::Saturate;
  options.explore.iterations = 3;
  options.explore.multi_iterations = 1;
  options.explore.node_limit = 3000;
  options.explore.time_limit_s = 600;
  options.extract.extractor = Extractor::GreedyDag;
  options.kernels = true;
  return options;
}

inline constexpr llvm::StringRef kFewInHalves[] = {"mobilenetv2.tg", "paper/bert.tg", "lstm.tg"};

/// Adds the network in f32, and retyped like `tg run --dtype`: in the full test in both half types,
/// otherwise a few of each kind in f16.
inline void add_in_dtypes(std::vector<Network>& networks, const std::string& name,
                          const Graph& graph) {
  networks.push_back({name, without_load_phase(plan_from_graph(graph))});
  for (DType dtype : {DType::F16, DType::BF16}) {
    bool few = llvm::is_contained(kFewInHalves, name);
    if (!is_full_test() && (!few || dtype != DType::F16)) continue;
    Result<Graph> narrow = retype(graph, dtype);
    if (!narrow) continue; // an operator does not support the dtype
    networks.push_back({name + ", " + dtype_name(dtype).str(),
                        without_load_phase(plan_from_graph(*narrow)), dtype});
  }
}

/// Every example, source and optimised. `changed` counts those that rewriting changed.
inline std::vector<Network> example_networks(size_t& changed) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {}, sink);
  EXPECT_TRUE(rules);
  std::vector<Network> networks;
  changed = 0;
  for (const std::string& file : example_files()) {
    DiagnosticSink own;
    std::optional<Graph> graph = load_graph(sources, file, {}, own);
    if (!graph) continue; // a file of several models
    llvm::StringRef name =
        llvm::StringRef(file).substr(std::string(TG_SOURCE_DIR "/examples/").size());
    add_in_dtypes(networks, name.str(), *graph);
    AnalyticCost costs(*find_device_profile("h200"), cuda_patterns());
    Result<Optimized> optimised = optimize(*graph, *rules, costs, small_search(), nullptr);
    EXPECT_TRUE(optimised.ok()) << file;
    if (!optimised || !optimised->report.changed()) continue;
    ++changed;
    add_in_dtypes(networks, name.str() + ", optimised", optimised->graph);
  }
  return networks;
}

/// Returns the steps of a group as a separate plan, whose inputs are the values that the group
/// reads. `own` gets the group in that plan, and `from` the original of each of its values.
inline Plan plan_of_group(const Plan& plan, const cuda::Group& group, cuda::Group& own,
                          std::vector<PlanValueId>& from) {
  Plan small;
  small.model = "group";
  std::map<PlanValueId, PlanValueId> id_of;
  auto add = [&](PlanValueId id, PlanValue value) {
    id_of[id] = static_cast<PlanValueId>(small.values.size());
    small.values.push_back(std::move(value));
    from.push_back(id);
  };
  for (PlanValueId operand : cuda::operands_of(plan, group)) {
    PlanValue value = plan.values[operand];
    value.is_output = value.pinned = false;
    value.defined_by = kNever;
    if (value.kind != PlanValue::Kind::Constant && value.kind != PlanValue::Kind::Weight) {
      value.kind = PlanValue::Kind::Input;
      value.name = "x" + std::to_string(small.values.size());
      small.inputs.push_back(static_cast<PlanValueId>(small.values.size()));
    }
    add(operand, std::move(value));
  }
  for (PlanStepId s : group.steps) {
    PlanStep step = plan.steps[s];
    for (PlanValueId& operand : step.operands)
      if (operand != kNoValue) {
        operand = id_of.at(operand);
        small.values[operand].last_use = static_cast<PlanStepId>(small.steps.size());
      }
    PlanValue value = plan.values[step.result];
    value.defined_by = static_cast<PlanStepId>(small.steps.size());
    value.last_use = kNever;
    value.is_output = value.pinned = llvm::is_contained(group.results, step.result);
    add(step.result, std::move(value));
    step.result = id_of.at(step.result);
    step.in_place = kNoValue;
    small.steps.push_back(std::move(step));
  }
  for (PlanStepId s = 0; s < small.steps.size(); ++s) own.steps.push_back(s);
  for (PlanValueId result : group.results) {
    own.results.push_back(id_of.at(result));
    small.outputs.push_back({"y" + std::to_string(small.outputs.size()), id_of.at(result)});
  }
  return small;
}

} // namespace tg::test
