// Which kernels the cpu backend chooses for the networks of examples/, inside of the network and
// where an operator is timed for its price: never oneDNN's plain loops where it has anything else.
// Run once for each instruction set that oneDNN can be told to use (DNNL_MAX_CPU_ISA).
#include "compiler/driver/measured_cost.h"
#include "compiler/driver/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/extract/cost.h"
#include "runtime/onednn/lowering.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>

namespace tg {
namespace {

using Found = std::set<std::string>;

/// The steps that oneDNN would run by plain loops, as text.
void plain_loops(const Plan& plan, IoLayout layout, dnnl_engine_t engine, llvm::StringRef where,
                 Found& found) {
  CompileOptions options;
  options.io_layout = layout;
  cpu::Lowering lowering(plan, options, engine);
  Result<void> done = lowering.run();
  ASSERT_TRUE(done.ok()) << where.str() << ": " << done.error().message;
  for (const cpu::Op& op : lowering.run_program.ops)
    if (llvm::StringRef kernel = op.implementation;
        kernel.startswith("ref:") || kernel.startswith("simple:"))
      found.insert((where + ": " + op.name + " " + op.result + " by " + op.implementation).str());
}

/// A node as prices see it.
OpInstance instance_of(const Graph& graph, NodeId id, llvm::SmallVectorImpl<TypeId>& types) {
  const Node& node = graph.node(id);
  OpInstance instance{node.op, node.attrs, {}, node.type, 0};
  for (NodeId operand : graph.operands(id)) {
    const Node& from = graph.node(operand);
    if (from.weight_only && !graph.type(operand).is_none())
      instance.weight_operands |= uint32_t{1} << types.size();
    types.push_back(from.type);
  }
  instance.operands = types;
  return instance;
}

std::vector<std::filesystem::path> networks() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"examples", "examples/paper", "tests/models"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(TG_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".tg") files.push_back(entry.path());
  return files;
}

TEST(KernelChoice, NoPlainLoopsWhereThereIsAnythingElse) {
  Result<cpu::EngineHandle> engine = cpu::make_engine();
  ASSERT_TRUE(engine.ok());
  Found found;
  std::set<std::string> seen; // operators that were looked at alone
  for (const auto& file : networks()) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_model(sources, file.string(), {}, sink);
    if (!graph) continue; // a file of several models
    std::string name = file.stem().string();
    plain_loops(plan_from_graph(*graph), IoLayout::Plain, engine->get(), name, found);
    std::vector<bool> needed = graph->reachable();
    for (uint32_t i = 0; i < graph->size(); ++i) {
      const OpInfo& info = op_info(graph->node({i}).op);
      if (!needed[i] || info.has(Trait::Leaf) || graph->node({i}).weight_only) continue;
      llvm::SmallVector<TypeId, 5> types;
      OpInstance instance = instance_of(*graph, {i}, types);
      std::string key = instance_key(graph->symbols(), instance);
      if (!seen.insert(key).second) continue;
      StepSpec spec = step_spec(graph->symbols(), instance);
      plain_loops(make_measure_plan(spec, 0).plan, IoLayout::Native, engine->get(), key, found);
    }
  }
  EXPECT_GT(seen.size(), 300u);
  std::printf("%zu operators\n", seen.size());
  for (const std::string& what : found) ADD_FAILURE() << what;
}

/// What a convolution leaves lies channels last, of which oneDNN's products know nothing.
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
