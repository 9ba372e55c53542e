// Tests the time of each operator within whole runs. Steps of a plan are mapped back to nodes
// of the graph, on an invented executable and on real backends.
#include "compiler/trial/backend_finalists.h"

#include "compiler/ir/retype.h"
#include "tests/unit/api/loading.h"

namespace tg {
namespace {

constexpr const char* kModel = "model m(x: f32[8, 16]) -> (y: f32[16, 8]) {\n"
                               "  param w: f32[16, 16]\n"
                               "  let scaled = relu(w)\n"
                               "  transpose(tanh(x @ scaled), perm = [1, 0])\n}\n";

/// An executable that takes no time and reports the given steps.
class MadeUpExecutable : public Executable {
public:
  explicit MadeUpExecutable(std::vector<StepInfo> steps) : steps_(std::move(steps)) {}
  Result<void> bind_inputs(llvm::ArrayRef<Tensor>) override { return {}; }
  Result<void> run_once() override {
    ++(profiled_ ? runs_profiled : runs_before);
    return {};
  }
  Result<std::vector<Tensor>> outputs() const override { return std::vector<Tensor>(); }
  std::vector<StepInfo> steps() const override { return steps_; }
  MemoryUse memory() const override { return {}; }
  void profile(bool on) override { profiled_ = on; }

  int runs_profiled = 0, runs_before = 0;

private:
  std::vector<StepInfo> steps_;
  bool profiled_ = false;
};

StepInfo info(PlanStepId step, double us, std::string implementation = "") {
  StepInfo info;
  info.step = step;
  info.implementation = std::move(implementation);
  info.measured_us = us;
  return info;
}

using Prepare = test::Loading;

/// Follows the counting in runtime/measure/measure.cpp.
TEST_F(Prepare, ReordersCountWithTheStepThatTheyStandBefore) {
  Prepared prepared;
  prepared.nodes = {{7}, {3}, {5}};
  auto runs = std::make_unique<MadeUpExecutable>(
      std::vector<StepInfo>{info(kNever, 5), info(kNever, 1), info(0, 10, "gemm"), info(2, 3),
                            info(kNever, 2), info(2, 4), info(1, 0, "view"), info(kNever, 8)});
  MadeUpExecutable& executable = *runs;
  prepared.executable = std::move(runs);
  auto times = time_nodes(prepared, {.runs = 4, .warmup = 3});
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 3u);
  auto expect = [&](size_t i, uint32_t node, double us, double reorders_us) {
    EXPECT_EQ((*times)[i].node.index, node);
    EXPECT_EQ((*times)[i].microseconds, us);
    EXPECT_EQ((*times)[i].reorders_us, reorders_us);
  };
  expect(0, 7, 16, 6);
  expect(1, 5, 9, 2); // one step in two parts
  expect(2, 3, 8, 8);
  EXPECT_EQ((*times)[0].implementation, "gemm");
  EXPECT_EQ(executable.runs_before, 3) << "to warm up, and not counted";
  EXPECT_EQ(executable.runs_profiled, 4);
  ASSERT_TRUE(executable.run_once().ok());
  EXPECT_EQ(executable.runs_before, 4) << "the profile is off again";
}

/// Expects a time for each operator that a run computes, once, and none for those computed at load.
template <class Time> void expect_operators(const Graph& graph, const std::vector<Time>& times) {
  std::vector<bool> needed = graph.reachable();
  std::vector<int> seen(graph.size());
  for (const Time& time : times) ++seen[time.node.index];
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    bool computed = needed[i] && !node.weight_only && !op_info(node.op).has(Trait::Leaf);
    EXPECT_EQ(seen[i], computed ? 1 : 0) << "node " << i << ", " << op_info(node.op).name;
  }
}

TEST_F(Prepare, EachOperatorOfARunHasATime) {
  Graph graph = load(kModel);
  for (const char* backend : {"ref", "cpu"}) {
    PrepareOptions options;
    options.backend = backend;
    if (!make_backend(backend)) continue;
    auto times = time_nodes(graph, options, {.runs = 3});
    ASSERT_TRUE(times.ok()) << backend;
    expect_operators(graph, *times);
    for (const NodeTime& time : *times) {
      bool computes = graph.node(time.node).op == OpKind::Tanh;
      EXPECT_TRUE(time.microseconds > 0 || !computes) << backend;
    }
  }
}

TEST_F(Prepare, NodesAreThoseOfTheGraphThatRuns) {
  Graph graph = load(kModel);
  PrepareOptions options;
  options.backend = "ref";
  options.dtype = DType::BF16;
  auto times = time_nodes(graph, options, {.runs = 1});
  auto typed = retype(graph, DType::BF16);
  ASSERT_TRUE(times.ok() && typed.ok());
  expect_operators(*typed, *times);
}

/// It is loaded once for all callers.
TEST_F(Prepare, TimesOfTheSourceComeFromTheProgramThatIsCompared) {
  Graph graph = load(kModel), other = load(kModel);
  int made = 0;
  PrepareOptions options;
  options.backend = "ref";
  options.weights = [&](const PlanValue& value) {
    ++made;
    return Tensor::zeros(value.type);
  };
  BackendFinalists finalists(options, {.runs = 2});
  auto times = finalists.time_in_place(graph, nullptr);
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 1u);
  expect_operators(graph, times->front().nodes);
  auto both = finalists.time_in_place(graph, &other);
  ASSERT_TRUE(both.ok());
  ASSERT_EQ(both->size(), 2u);
  expect_operators(other, both->back().nodes);
  ASSERT_TRUE(finalists.compare(graph, other).ok());
  ASSERT_TRUE(finalists.screen(graph, {&other}).ok());
  EXPECT_EQ(made, 1);
}

} // namespace
} // namespace tg
