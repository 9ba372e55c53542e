// Every fused group of every example model: its kernel, executed on the processor, against `ref`
// over the same steps (weights as the model has them, all else random), and compiled for a GPU
// where NVRTC is installed. Groups with one source are one. Products and convolutions are the
// libraries'.
#include "compiler/driver/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cuda/compile.h"
#include "tests/unit/cuda/cpp_target.h"

namespace tg::test {
namespace {

bool library(const PlanStep& step) {
  return step.op == OpKind::Matmul || step.op == OpKind::Conv2d ||
         step.op == OpKind::WinogradConv2d || !cuda::can_generate(step.op);
}

std::vector<std::string> example_files() {
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

/// The steps of a group as a plan of its own: what the group reads are inputs. `own` is the group
/// in that plan.
Plan plan_of_group(const Plan& plan, const cuda::Group& group, cuda::Group& own) {
  Plan small;
  small.model = "group";
  std::map<PlanValueId, PlanValueId> id_of;
  for (PlanValueId operand : cuda::operands_of(plan, group)) {
    PlanValue value = plan.values[operand];
    auto id = static_cast<PlanValueId>(small.values.size());
    value.is_output = value.pinned = false;
    value.defined_by = kNever;
    if (value.kind != PlanValue::Kind::Constant && value.kind != PlanValue::Kind::Weight) {
      value.kind = PlanValue::Kind::Input;
      value.name = "x" + std::to_string(id);
      small.inputs.push_back(id);
    }
    id_of[operand] = id;
    small.values.push_back(std::move(value));
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
    id_of[step.result] = static_cast<PlanValueId>(small.values.size());
    step.result = static_cast<PlanValueId>(small.values.size());
    step.in_place = kNoValue;
    small.values.push_back(std::move(value));
    small.steps.push_back(std::move(step));
  }
  for (PlanStepId s = 0; s < small.steps.size(); ++s) own.steps.push_back(s);
  for (PlanValueId result : group.results) {
    own.results.push_back(id_of.at(result));
    small.outputs.push_back({"y" + std::to_string(small.outputs.size()), id_of.at(result)});
  }
  return small;
}

/// All kernels of the examples, each source once, with the plan of one group that has it.
struct Example {
  std::string file;
  Generated group;
};

std::vector<Example> examples() {
  std::vector<Example> found;
  std::set<std::string> seen;
  for (const std::string& file : example_files()) {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<Graph> graph = load_model(sources, file, {}, sink);
    if (!graph) continue; // several models: their tests name them
    Plan plan = plan_from_graph(*graph);
    Generated all = generate_all(plan, library);
    for (size_t u = 0; u < all.units.size(); ++u) {
      if (all.sources[u].name.empty() || !seen.insert(all.sources[u].name).second) continue;
      found.push_back({llvm::sys::path::filename(file).str(), {}});
      Generated& alone = found.back().group;
      cuda::Group own;
      alone.plan = plan_of_group(plan, all.units[u].group, own);
      alone.units = {{cuda::Unit::Kind::Generated, own}};
      std::string why;
      alone.kernels.push_back(
          cuda::generate(alone.plan, own, cuda::plain_strides(alone.plan), why));
      EXPECT_NE(alone.kernels[0], nullptr) << why;
      alone.sources.push_back(cuda::kernel_source(*alone.kernels[0]));
      EXPECT_EQ(alone.sources[0].name, all.sources[u].name) << "the plan around it shows";
    }
  }
  return found;
}

class Examples : public testing::Test {
protected:
  static void SetUpTestSuite() { all_ = new std::vector<Example>(examples()); }
  static void TearDownTestSuite() { delete all_; }
  static std::vector<Example>* all_;
};
std::vector<Example>* Examples::all_ = nullptr;

TEST_F(Examples, GroupsAgreeWithRef) {
  ASSERT_GE(all_->size(), 200u);
  std::vector<cuda::KernelSource> sources;
  for (const Example& example : *all_) sources.push_back(example.group.sources[0]);
  CppLibrary library;
  library.compile(sources);
  for (const Example& example : *all_) {
    ASSERT_EQ(verify(example.group.plan), "");
    EXPECT_LE(difference(example.group, library), 1e-4)
        << example.file << "\n"
        << dump(example.group.plan) << texts(example.group);
  }
}

TEST_F(Examples, KernelsCompileForHopper) {
  auto compiler = cuda::open_nvrtc();
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  std::string text = cuda::prelude_text(cuda::Target::Cuda);
  for (const Example& example : *all_)
    text += cuda::function_text(example.group.sources[0], cuda::Target::Cuda);
  // Older ones, which take as long again, with `./dev test --full`.
  std::vector<std::string> architectures = {"sm_90"};
  if (std::getenv("TANGRAM_FULL_TESTS")) architectures = {"sm_75", "sm_80", "sm_90"};
  for (const std::string& architecture : architectures) {
    auto cubin = (*compiler)->compile(text, architecture);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message << cubin.error().notes[0];
    for (const Example& example : *all_) {
      auto use = cuda::kernel_use(*cubin, example.group.sources[0].name);
      ASSERT_TRUE(use.ok()) << use.error().message;
      EXPECT_EQ(use->stack_bytes, 0) << architecture << " " << texts(example.group);
    }
  }
}

} // namespace
} // namespace tg::test
