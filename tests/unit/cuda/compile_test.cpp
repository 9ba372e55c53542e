// Tests compilation with NVRTC, if it is installed: kernels of random networks compile
// for Hopper, use 16-byte accesses and no stack. Also tests the cache of compiled kernels
// with a fake compiler.
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cuda/device/compile.h"
#include "runtime/cuda/device/libraries.h"
#include "tests/property/backends/random_graph.h"
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

class FakeCompiler final : public cuda::KernelCompiler {
public:
  std::string version() const override { return version_; }
  std::string options() const override { return options_; }
  llvm::ArrayRef<int> capabilities() const override { return knows; }
  Result<cuda::Cubin> compile(const std::string& source, const std::string& target) override {
    ++compiled;
    return "code of " + source + " for " + target;
  }
  Result<std::string> assembly(const std::string&, const std::string&) override {
    return std::string();
  }
  int compiled = 0;
  std::string version_ = "fake 1", options_ = "-plain";
  std::vector<int> knows = {75, 80, 90};
};

struct Folder {
  Folder() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-cache", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(path, error), end; it != end; it.increment(error))
      found.push_back(it->path());
    return found;
  }
  llvm::SmallString<128> path;
};

TEST(CubinCache, CompilesOnceForEachSourceArchitectureCompilerAndOptions) {
  Folder folder;
  FakeCompiler compiler;
  for (int round = 0; round < 2; ++round) {
    cuda::CubinCache cache(folder.path.str().str(), compiler);
    for (const char* arch : {"sm_80", "sm_90"})
      EXPECT_EQ(*cache.get("k", arch), std::string("code of k for ") + arch);
    EXPECT_EQ(cache.hits(), round == 0 ? 0u : 2u);
    EXPECT_TRUE(cache.notes().empty());
  }
  EXPECT_EQ(compiler.compiled, 2);
  compiler.version_ = "fake 2";
  EXPECT_TRUE(cuda::CubinCache(folder.path.str().str(), compiler).get("k", "sm_90").ok());
  EXPECT_EQ(compiler.compiled, 3);
  compiler.options_ = "-fast";
  EXPECT_TRUE(cuda::CubinCache(folder.path.str().str(), compiler).get("k", "sm_90").ok());
  EXPECT_EQ(compiler.compiled, 4);
}

TEST(CompileTarget, IsMachineCodeOfTheGpuOrTheNewestPtxBeforeIt) {
  FakeCompiler compiler;
  EXPECT_EQ(*cuda::compile_target(compiler, "sm_75"), "sm_75");
  EXPECT_EQ(*cuda::compile_target(compiler, "sm_90"), "sm_90");
  EXPECT_EQ(*cuda::compile_target(compiler, "sm_86"), "compute_80");
  EXPECT_EQ(*cuda::compile_target(compiler, "sm_121"), "compute_90") << "by number, not by text";
  auto older = cuda::compile_target(compiler, "sm_61");
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().message, "fake 1 does not support sm_61, only sm_75 and newer");
  EXPECT_EQ(older.error().code, Code::no_backend);
  EXPECT_FALSE(cuda::compile_target(compiler, "gfx90a").ok());
}

TEST(CubinCache, KeepsPtxApartFromMachineCode) {
  Folder folder;
  FakeCompiler compiler;
  auto get = [&](const char* arch) {
    return *cuda::CubinCache(folder.path.str().str(), compiler).get("k", arch);
  };
  EXPECT_EQ(get("sm_90"), "code of k for sm_90");
  EXPECT_EQ(get("sm_120"), "code of k for compute_90");
  EXPECT_EQ(get("sm_121"), "code of k for compute_90");
  EXPECT_EQ(compiler.compiled, 2) << "the same PTX for both newer ones";
  compiler.version_ = "fake 2";
  compiler.knows.push_back(120);
  EXPECT_EQ(get("sm_120"), "code of k for sm_120") << "a newer NVRTC knows the GPU";
  EXPECT_EQ(get("sm_90"), "code of k for sm_90");
  EXPECT_FALSE(cuda::CubinCache("", compiler).get("k", "sm_61").ok());
}

TEST(CubinCache, MakesADamagedEntryAnew) {
  Folder folder;
  FakeCompiler compiler;
  EXPECT_TRUE(cuda::CubinCache(folder.path.str().str(), compiler).get("k", "sm_90").ok());
  ASSERT_EQ(folder.files().size(), 1u);
  std::string path = folder.files()[0], whole;
  {
    std::ifstream in(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::vector<std::string> damaged = {"", "x", whole.substr(0, whole.size() - 1), whole + "y"};
  for (size_t i = 0; i < whole.size(); i += 5) {
    damaged.push_back(whole);
    damaged.back()[i] ^= 1;
  }
  for (const std::string& content : damaged) {
    std::ofstream(path, std::ios::binary) << content;
    cuda::CubinCache cache(folder.path.str().str(), compiler);
    int before = compiler.compiled;
    EXPECT_EQ(*cache.get("k", "sm_90"), "code of k for sm_90");
    EXPECT_EQ(compiler.compiled, before + 1);
    EXPECT_EQ(cache.notes().size(), 1u);
    EXPECT_EQ(*cache.get("k", "sm_90"), "code of k for sm_90");
    EXPECT_EQ(cache.hits(), 1u);
  }
}

TEST(CubinCache, WorksWithoutAFolder) {
  FakeCompiler compiler;
  cuda::CubinCache nowhere("/proc/no/such/place", compiler);
  EXPECT_TRUE(nowhere.get("k", "sm_90").ok());
  EXPECT_EQ(nowhere.notes().size(), 1u);
  cuda::CubinCache none("", compiler);
  EXPECT_TRUE(none.get("k", "sm_90").ok());
  EXPECT_TRUE(none.notes().empty());
}

TEST(KernelUse, RefusesInvalidMachineCode) {
  for (const char* bytes : {"", "ELF",
                            "\x7f"
                            "ELF\x02 and then nothing of use, but long enough to have a "
                            "header of sixty-four bytes in all"})
    EXPECT_FALSE(cuda::kernel_use(bytes, "k").ok());
}

class Nvrtc : public testing::Test {
protected:
  void SetUp() override {
    auto opened = cuda::open_nvrtc();
    if (!opened) GTEST_SKIP() << opened.error().message;
    compiler = std::move(*opened);
  }
  static std::string program(llvm::ArrayRef<cuda::KernelSource> sources) {
    std::string text = cuda::prelude_text();
    std::set<std::string> seen;
    for (const cuda::KernelSource& source : sources)
      if (seen.insert(source.name).second) text += cuda::function_text(source);
    return text;
  }
  std::unique_ptr<cuda::KernelCompiler> compiler;
};

TEST_F(Nvrtc, CompilesKernelsOfRandomNetworks) {
  std::vector<cuda::KernelSource> sources;
  auto winograd = [](const PlanStep& step) {
    return step.op == OpKind::WinogradConv2d || step.op == OpKind::WinogradWeight;
  };
  for (uint64_t seed = 0; seed < 12; ++seed) {
    RandomGraph random(seed, 12, Operators::Generated);
    for (auto& source : sources_of(generate_all(plan_from_graph(random.graph), winograd)))
      sources.push_back(source);
  }
  auto cubin = compiler->compile(program(sources), "sm_90");
  ASSERT_TRUE(cubin.ok()) << cubin.error().message << cubin.error().notes[0];
  for (const cuda::KernelSource& source : sources) {
    auto use = cuda::kernel_use(*cubin, source.name);
    ASSERT_TRUE(use.ok()) << use.error().message;
    EXPECT_GE(use->registers, 8);
    EXPECT_LE(use->registers, 255);
  }
}

TEST_F(Nvrtc, RowsAndMapsMoveSixteenBytesAtATime) {
  PlanWriter w;
  PlanValueId x = w.input("x", {128, 1024});
  PlanValueId y = w.run(OpKind::Gelu, {}, {x});
  w.output("y", y);
  w.output("z", w.run(OpKind::Softmax, {Value::of_int(1)}, {x}));
  auto sources = sources_of(generate_all(w.finish(), [](const PlanStep&) { return false; }));
  ASSERT_EQ(sources.size(), 2u);
  for (const cuda::KernelSource& source : sources) {
    auto text = compiler->assembly(program({source}), "sm_90");
    ASSERT_TRUE(text.ok());
    EXPECT_NE(text->find("ld.global.nc.v4"), std::string::npos) << *text;
    EXPECT_NE(text->find("st.global.v4"), std::string::npos);
    auto cubin = compiler->compile(program({source}), "sm_90");
    ASSERT_TRUE(cubin.ok());
    auto use = cuda::kernel_use(*cubin, source.name);
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(use->stack_bytes, 0) << "the row is kept in registers\n" << source.body;
  }
}

TEST_F(Nvrtc, MakesPtxForGpusThatItDoesNotKnow) {
  llvm::ArrayRef<int> known = compiler->capabilities();
  ASSERT_FALSE(known.empty());
  EXPECT_TRUE(llvm::is_sorted(known));
  EXPECT_TRUE(llvm::is_contained(known, 90));
  int newest = known.back();
  auto target = cuda::compile_target(*compiler, "sm_" + std::to_string(newest + 1));
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(*target, "compute_" + std::to_string(newest));
  auto ptx = compiler->compile("extern \"C\" __global__ void k() {}", *target);
  ASSERT_TRUE(ptx.ok()) << ptx.error().message;
  EXPECT_NE(ptx->find(".target sm_" + std::to_string(newest)), std::string::npos) << *ptx;
  EXPECT_EQ(ptx->back(), '\0') << "the driver reads to the end of the text";
  EXPECT_FALSE(cuda::kernel_use(*ptx, "k").ok());
}

TEST_F(Nvrtc, ReportsCompileErrors) {
  auto cubin = compiler->compile("no kernel", "sm_90");
  ASSERT_FALSE(cubin.ok());
  EXPECT_NE(cubin.error().notes[0].find("kernel.cu"), std::string::npos);
}

} // namespace
} // namespace tg::test
