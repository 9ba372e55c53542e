// Tests the kernels that the cpu backend chooses for the networks of examples/,
// inside the network and when an operator is timed for its price: never oneDNN's plain loops
// if there is an alternative. Runs once for each instruction set to which oneDNN can be limited
// (DNNL_MAX_CPU_ISA).
#include "compiler/api/calibration/calibration.h"
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/extract/extract.h"
#include "compiler/pricing/measured_cost.h"
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/simd/simd.h"
#include "runtime/cpu/winograd/winograd.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

namespace tg {
namespace {

using Found = std::set<std::string>;

/// Collects the steps that oneDNN would run with plain loops, as text.
void plain_loops(const Plan& plan, IoLayout layout, dnnl_engine_t engine, llvm::StringRef where,
                 Found& found) {
  CompileOptions options;
  options.io_layout = layout;
  ThreadPool pool;
  cpu::Lowering lowering(plan, options, engine, pool);
  Result<void> done = lowering.run();
  ASSERT_TRUE(done.ok()) << where.str() << ": " << done.error().message;
  for (const cpu::Op& op : lowering.run_program.ops)
    if (llvm::StringRef kernel = op.implementation;
        kernel.startswith("ref:") || kernel.startswith("simple:"))
      found.insert((where + ": " + op.name + " " + op.result + " by " + op.implementation).str());
}

/// Checks each operator whose price is requested, compiled as for timing.
class LooksAtEach final : public CostModel {
public:
  LooksAtEach(dnnl_engine_t engine, Found& found) : engine_(engine), found_(found) {}
  std::string name() const override { return "none"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    std::string key = instance_key(symbols, instance);
    if (!seen.insert(key).second) return 0;
    MeasurePlan alone = make_measure_plan(step_spec(symbols, instance), 0);
    plain_loops(alone.plan, IoLayout::Native, engine_, key, found_);
    return 0;
  }
  std::set<std::string> seen;

private:
  dnnl_engine_t engine_;
  Found& found_;
};

std::vector<std::filesystem::path> networks() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"examples", "examples/paper", "tests/models"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(TG_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".tg") files.push_back(entry.path());
  return files;
}

TEST(KernelChoice, NoPlainLoopsWhereThereIsAnythingElse) {
  std::printf("oneDNN uses instruction set %x\n",
              static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
  Result<cpu::EngineHandle> engine = cpu::make_engine();
  ASSERT_TRUE(engine.ok());
  Found found;
  LooksAtEach operators(engine->get(), found);
  for (const auto& file : networks()) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_graph(sources, file.string(), {}, sink);
    ASSERT_TRUE(graph) << file;
    std::string name = file.stem().string();
    plain_loops(plan_from_graph(*graph), IoLayout::Plain, engine->get(), name, found);
    PriceCache prices(graph->symbols(), operators);
    price_graph(*graph, prices);
  }
  EXPECT_GT(operators.seen.size(), 300u);
  std::printf("%zu operators\n", operators.seen.size());
  for (const std::string& what : found) ADD_FAILURE() << what;
}

/// Returns the kernels of run steps, without instruction sets.
std::map<PlanStepId, std::string> kernels_of(const Plan& plan, IoLayout layout,
                                             dnnl_engine_t engine) {
  CompileOptions options;
  options.io_layout = layout;
  ThreadPool pool;
  cpu::Lowering lowering(plan, options, engine, pool);
  std::map<PlanStepId, std::string> kernels;
  Result<void> done = lowering.run();
  EXPECT_TRUE(done.ok()) << plan.model;
  for (const cpu::Op& op : lowering.run_program.ops) {
    auto [kernel, isa] = llvm::StringRef(op.implementation).rsplit(':');
    bool own = isa == cpu::simd().isa;
    if (op.step != kNever) kernels[op.step] = own ? kernel.str() : op.implementation;
  }
  return kernels;
}

/// Collects operators of networks whose kernels differ when they are timed alone:
/// instance keys, by operator and both kernels.
class Differing {
public:
  explicit Differing(dnnl_engine_t engine) : engine_(engine) {}
  void add(const Graph& graph) {
    PlanOfNodes planned = plan_of_nodes(graph);
    GraphInstances of = instances_of(graph);
    std::map<uint32_t, const OpInstance*> instances;
    for (size_t i = 0; i < of.nodes.size(); ++i) instances[of.nodes[i].index] = &of.instances[i];
    for (const auto& [step, kernel] : kernels_of(planned.plan, IoLayout::Plain, engine_)) {
      auto instance = instances.find(planned.nodes[step].index);
      if (instance == instances.end()) continue;
      ++compared;
      const std::string& alone = kernel_alone(graph.symbols(), *instance->second);
      std::string name(op_info(instance->second->op).name);
      if (alone != kernel)
        found[name + ": " + kernel + ", and alone " + alone].insert(
            instance_key(graph.symbols(), *instance->second));
    }
  }
  std::map<std::string, Found> found;
  size_t compared = 0;

private:
  const std::string& kernel_alone(const Symbols& symbols, const OpInstance& instance) {
    auto [at, fresh] = alone_.try_emplace(instance_key(symbols, instance));
    if (fresh) {
      MeasurePlan timed = make_measure_plan(step_spec(symbols, instance), 0);
      at->second = kernels_of(timed.plan, IoLayout::Native, engine_)[timed.copies[0].back()];
    }
    return at->second;
  }

  dnnl_engine_t engine_;
  std::map<std::string, std::string> alone_; // by instance key
};

/// The timed kernel is the one that runs. There are two exceptions: a concat,
/// whose neighbours may write the pieces in place; and a mean over images that no step has
/// converted to an image layout.
TEST(KernelChoice, RunsTheKernelThatWasTimedAlone) {
  const std::set<std::string> known = {"concat: copy:rows, and alone in place",
                                       "concat: in place, and alone copy:rows",
                                       "reduce_mean: reduce rows, and alone reduce columns"};
  Result<cpu::EngineHandle> engine = cpu::make_engine();
  ASSERT_TRUE(engine.ok());
  Differing differing(engine->get());
  for (const auto& file : networks()) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_graph(sources, file.string(), {}, sink);
    ASSERT_TRUE(graph) << file;
    differing.add(*graph);
  }
  // With operators that rewriting creates.
  for (const ModelRequest& network : calibration_networks())
    differing.add(calibration_graph(network));
  EXPECT_GT(differing.compared, 3000u);
  std::printf("%zu steps\n", differing.compared);
  for (const auto& [what, keys] : differing.found)
    EXPECT_TRUE(known.count(what)) << what << ", of " << keys.size() << ", first " << *keys.begin();
  for (const std::string& what : known) EXPECT_TRUE(differing.found.count(what)) << what;
}

/// DNNL_MAX_CPU_ISA also limits the own kernels.
TEST(KernelChoice, OwnKernelsAreOfTheInstructionSetThatOneDnnUses) {
  auto allows = [](dnnl_cpu_isa_t isa) { return (dnnl_get_effective_cpu_isa() & isa) == isa; };
  const char* isa = allows(dnnl_cpu_isa_avx512_core) ? "avx512"
                    : allows(dnnl_cpu_isa_avx2)      ? "avx2"
                                                     : "base";
  EXPECT_STREQ(cpu::simd().isa, isa);
  EXPECT_STREQ(cpu::winograd_table().isa, isa);
}

/// The result of a convolution is channels last, a layout that oneDNN's products do not support.
TEST(KernelChoice, AProductOfImages) {
  Result<cpu::EngineHandle> engine = cpu::make_engine();
  ASSERT_TRUE(engine.ok());
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, sources.add("q.tg", R"(
    model q(x: f32[1, 12, 128, 64], k: f32[12, 12, 1, 1]) {
      let a = conv2d(x, k)
      a @ transpose(a, perm = [0, 1, 3, 2])
    })"),
                                          {}, sink);
  ASSERT_TRUE(graph);
  Found found;
  plain_loops(plan_from_graph(*graph), IoLayout::Plain, engine->get(), "q", found);
  EXPECT_TRUE(found.empty()) << *found.begin();
}

} // namespace
} // namespace tg
