// Prepares every example network, as written and optimised, for a recording GPU and for libraries
// that accept everything: steps are rewritten, layouts chosen, memory placed, the run captured.
// Then every distinct kernel of these runs is executed on the processor against `ref` over the same
// steps (with the model's weights and random other values). Products and convolutions run
// in the libraries. If NVRTC is installed, every kernel is compiled for GPUs:
// those of the runs, those that are only timed against a library, and those of runs
// without a library.
#include "tests/property/cuda/networks.h"
#include "tests/property/cuda/recorded_run.h"
#include "tests/unit/cuda/cpp_target.h"

#include <iostream>

namespace tg::test {
namespace {

/// A kernel, with the plan of one group that contains it.
struct Example {
  std::string network;
  DType dtype;
  Generated group;
};

/// The tolerance against `ref`, which rounds between its steps, unlike a kernel.
double bound(DType dtype) { return dtype == DType::F32 ? 1e-4 : dtype == DType::F16 ? 1e-2 : 8e-2; }

Example example_of(const Network& network, const cuda::CudaExecutable& executable,
                   const cuda::Group& group) {
  Example example{network.name, network.dtype, {}};
  Generated& alone = example.group;
  cuda::Group own;
  std::vector<PlanValueId> from;
  alone.plan = plan_of_group(executable.plan(), group, own, from);
  std::vector<Shape> strides;
  cuda::StridesOf of_whole = executable.strides();
  for (PlanValueId id : from) strides.push_back(of_whole(id));
  alone.strides = [strides](PlanValueId id) { return strides[id]; };
  alone.units = {{cuda::Unit::Kind::Generated, own}};
  std::string why;
  alone.kernels.push_back(cuda::generate(alone.plan, own, alone.strides, why));
  EXPECT_NE(alone.kernels[0], nullptr) << why;
  alone.sources.push_back(cuda::kernel_source(*alone.kernels[0]));
  return example;
}

/// The values at each address during a run.
class Contents {
public:
  void write(PlanValueId value, cuda::Address at, int64_t bytes) {
    cuda::Address end = at + static_cast<cuda::Address>(bytes);
    std::erase_if(ranges_, [&](const Range& r) { return r.begin < end && at < r.end; });
    ranges_.push_back({at, end, value});
  }
  bool has(PlanValueId value) const {
    return llvm::any_of(ranges_, [&](const Range& r) { return r.value == value; });
  }

private:
  struct Range {
    cuda::Address begin, end;
    PlanValueId value;
  };
  std::vector<Range> ranges_;
};

/// Records one network on the GPU. Checks the captured commands, and that every value
/// is intact when it is read.
class Recorded {
public:
  enum class With { Libraries, LibrariesInChannelsLast, Nothing };

  Recorded(const Network& network, With with, RecordingCompiler& compiler) {
    FakeCudnn::reset();
    FakeCudnn::only_last = with == With::LibrariesInChannelsLast;
    cuda::ExecutableLibraries libraries;
    if (with != With::Nothing) libraries = fake_libraries();
    auto made = make_recorded(network.plan, libraries, record_, compiler);
    EXPECT_TRUE(made.ok()) << network.name << ": " << (made.ok() ? "" : made.error().message);
    if (made) executable_ = std::move(*made);
  }
  explicit operator bool() const { return executable_ != nullptr; }
  const cuda::CudaExecutable& executable() const { return *executable_; }

  /// Expects only a copy in each direction, launches and library calls in the capture,
  /// and a replay as a run.
  void expect_one_replay(const Plan& source) {
    size_t generated = 0, by_library = 0;
    for (const cuda::Unit& unit : executable_->units()) {
      generated += unit.kind == cuda::Unit::Kind::Generated;
      by_library += unit.kind == cuda::Unit::Kind::Library;
    }
    std::map<std::string, size_t> wanted = {{"copy_in", source.inputs.empty() ? 0 : 1},
                                            {"copy_out", 1},
                                            {"launch", generated},
                                            {"library", by_library}};
    std::erase_if(wanted, [](const auto& call) { return call.second == 0; });
    EXPECT_EQ(record_.captured, wanted);
    record_.calls.clear();
    EXPECT_TRUE(executable_->run_once().ok());
    EXPECT_EQ(record_.calls, (std::map<std::string, size_t>{{"replay", 1}, {"synchronise", 1}}));
  }

  /// Follows the captured run by the addresses of its launches: memory in the arena
  /// is reused only after its last reader, and no kernel overwrites its operands.
  /// `see` is called with each generated unit's kernel.
  template <class See> void follow(const See& see) {
    const Plan& plan = executable_->plan();
    find_addresses(see);
    Contents contents;
    auto write = [&](PlanValueId value) {
      if (auto it = address_.find(root_[value]); it != address_.end())
        contents.write(root_[value], it->second, plan.values[root_[value]].type.bytes());
    };
    for (PlanValueId id = 0; id < plan.values.size(); ++id) {
      PlanStepId made = plan.values[id].defined_by;
      if (made == kNever || plan.steps[made].phase == Phase::Load) write(id);
    }
    auto expect = [&](PlanValueId value, const char* reader) {
      bool known = address_.count(root_[value]) > 0;
      EXPECT_TRUE(!known || contents.has(root_[value]))
          << "value " << value << " is gone for " << reader;
    };
    for (const cuda::Unit& unit : executable_->units()) {
      if (unit.kind == cuda::Unit::Kind::View) continue;
      auto operands = cuda::operands_of(plan, unit.group);
      for (PlanValueId operand : operands) expect(operand, "a unit");
      for (PlanValueId result : results_of(unit)) write(result);
      if (unit.kind == cuda::Unit::Kind::Generated)
        for (PlanValueId operand : operands) expect(operand, "the rest of its unit");
    }
    for (const PlanOutput& output : plan.outputs) expect(output.value, "an output");
  }

  size_t live_after() {
    executable_.reset();
    return record_.live;
  }

private:
  std::vector<PlanValueId> results_of(const cuda::Unit& unit) const {
    if (unit.kind == cuda::Unit::Kind::Library)
      return {executable_->plan().steps[unit.group.steps[0]].result};
    return {unit.group.results.begin(), unit.group.results.end()};
  }

  /// Finds the addresses of values that generated kernels read and write.
  /// Views share their operand's address.
  template <class See> void find_addresses(const See& see) {
    const Plan& plan = executable_->plan();
    cuda::StridesOf strides = executable_->strides();
    for (PlanValueId id = 0; id < plan.values.size(); ++id) root_.push_back(id);
    size_t launch = 0;
    for (const cuda::Unit& unit : executable_->units()) {
      const PlanStep& step = plan.steps[unit.group.steps[0]];
      if (unit.kind == cuda::Unit::Kind::View) root_[step.result] = root_[step.operands[0]];
      if (unit.kind != cuda::Unit::Kind::Generated) continue;
      std::string why;
      auto kernel = cuda::generate(plan, unit.group, strides, why);
      ASSERT_NE(kernel, nullptr) << why;
      ASSERT_LT(launch, record_.launches.size());
      const GpuRecord::Launch& made = record_.launches[launch++];
      cuda::KernelSource source = cuda::kernel_source(*kernel);
      EXPECT_EQ(made.kernel, source.name);
      ASSERT_EQ(made.parameters.size(), kernel->parameters.size());
      for (size_t i = 0; i < made.parameters.size(); ++i) {
        PlanValueId value = root_[kernel->parameters[i].value];
        EXPECT_EQ(address_.try_emplace(value, made.parameters[i]).first->second,
                  made.parameters[i]);
      }
      see(unit.group, source);
    }
  }

  GpuRecord record_;
  std::unique_ptr<cuda::CudaExecutable> executable_;
  std::vector<PlanValueId> root_; // for each value, the owner of its memory
  std::map<PlanValueId, cuda::Address> address_;
};

bool has_images(const Plan& plan) {
  return llvm::any_of(plan.steps, [](const PlanStep& s) { return s.op == OpKind::Conv2d; });
}

class Examples : public testing::Test {
protected:
  using With = Recorded::With;
  struct All {
    size_t changed = 0;
    std::vector<Network> networks = example_networks(changed);
    RecordingCompiler compiler;
    std::vector<Example> kernels; // one for each source
  };
  static void SetUpTestSuite() {
    all_ = new All;
    std::set<std::string> seen;
    for (const Network& network : all_->networks)
      for (With with : {With::Libraries, With::LibrariesInChannelsLast, With::Nothing}) {
        if (with == With::LibrariesInChannelsLast && !has_images(network.plan)) continue;
        SCOPED_TRACE(network.name + (with == With::Libraries                 ? ""
                                     : with == With::LibrariesInChannelsLast ? ", channels last"
                                                                             : ", no libraries"));
        record(network, with, seen);
      }
  }
  static void record(const Network& network, With with, std::set<std::string>& seen) {
    Recorded recorded(network, with, all_->compiler);
    ASSERT_TRUE(recorded);
    recorded.expect_one_replay(network.plan);
    recorded.follow([&](const cuda::Group& group, const cuda::KernelSource& source) {
      EXPECT_TRUE(all_->compiler.functions.count(source.name));
      // Whole products and convolutions would take `ref` minutes. tiles_test.cpp executes some
      // of them.
      if (with == With::Nothing || !seen.insert(source.name).second) return;
      all_->kernels.push_back(example_of(network, recorded.executable(), group));
      EXPECT_EQ(all_->kernels.back().group.sources[0].name, source.name)
          << "the plan around it shows";
    });
    EXPECT_EQ(recorded.live_after(), 0u);
  }
  static void TearDownTestSuite() { delete all_; }
  static All* all_;
};
Examples::All* Examples::all_ = nullptr;

TEST_F(Examples, GroupsAgreeWithRef) {
  EXPECT_GE(all_->networks.size(), 50u);
  EXPECT_GE(all_->changed, 25u);
  ASSERT_GE(all_->kernels.size(), 300u);
  std::vector<cuda::KernelSource> sources;
  for (const Example& example : all_->kernels) sources.push_back(example.group.sources[0]);
  CppLibrary library;
  library.compile(sources);
  for (const Example& example : all_->kernels) {
    ASSERT_EQ(verify(example.group.plan), "");
    EXPECT_LE(difference(example.group, library), bound(example.dtype))
        << example.network << "\n"
        << dump(example.group.plan) << texts(example.group);
  }
}

/// Local memory is slow, so that spills and arrays in it are faults of the kernel's form.
/// Two tiles with a batch norm after a short sum keep 32 bytes of that norm's parameters;
/// older compilers kept twice as much.
void expect_no_local_memory(cuda::KernelCompiler& compiler, const std::string& architecture,
                            llvm::ArrayRef<std::pair<std::string, std::string>> functions) {
  constexpr size_t kAtOnce = 200; // one program of thousands of kernels takes gigabytes
  size_t compiled = functions.size();
  std::string keeping; // bytes of each kernel that has any
  int most = llvm::StringRef(compiler.version()).startswith("NVRTC 11") ? 64 : 32;
  for (; !functions.empty();
       functions = functions.drop_front(std::min(kAtOnce, functions.size()))) {
    auto part = functions.take_front(kAtOnce);
    std::string text = cuda::prelude_text();
    for (const auto& [name, function] : part) text += function;
    auto cubin = compiler.compile(text, architecture);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message << cubin.error().notes[0];
    for (const auto& [name, function] : part) {
      auto use = cuda::kernel_use(*cubin, name);
      ASSERT_TRUE(use.ok()) << use.error().message;
      EXPECT_LE(use->stack_bytes, most) << architecture << " " << function;
      if (use->stack_bytes > 0) keeping += " " + std::to_string(use->stack_bytes);
    }
  }
  // These numbers are in runtime/cuda/DECISIONS.md.
  std::cout << compiler.version() << ", " << architecture << ": " << compiled
            << " kernels, bytes of local memory of those that keep any:"
            << (keeping.empty() ? " none" : keeping) << "\n";
}

TEST_F(Examples, KernelsUseHardlyAnyLocalMemory) {
  auto compiler = cuda::open_nvrtc();
  if (!compiler) GTEST_SKIP() << compiler.error().message; // NVRTC is not installed
  const std::map<std::string, std::string>& all = all_->compiler.functions;
  EXPECT_GE(all.size(), all_->kernels.size() * 3 / 2) << "without libraries, too";
  std::vector<std::pair<std::string, std::string>> functions(all.begin(), all.end());
  expect_no_local_memory(**compiler, "sm_90", functions);
  if (!is_full_test()) return; // minutes for each architecture
  for (const char* older : {"sm_75", "sm_80"}) expect_no_local_memory(**compiler, older, functions);
}

} // namespace
} // namespace tg::test
