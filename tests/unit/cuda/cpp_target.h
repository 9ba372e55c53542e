// Executes the C++ form of generated kernels on the processor: compiles it with the system's
// compiler and loads it. A plan runs unit by unit over host memory that is filled
// with NaN first. `ref` runs the steps of libraries. The result is compared with the whole plan
// on `ref`.
#pragma once

#include "runtime/cuda/codegen/fusion.h"
#include "runtime/cuda/codegen/generate.h"
#include "runtime/execute.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"
#include "runtime/ref/kernels.h"
#include "tests/unit/cuda/host_prelude.h"
#include "tests/unit/cuda/plain_strides.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace tg::test {

/// Returns the function for the processor: `void NAME(void** parameters, int blocks)`.
inline std::string host_function(const cuda::KernelSource& source) {
  llvm::SmallVector<llvm::StringRef, 16> types;
  llvm::StringRef(source.parameters).split(types, ", ");
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "extern \"C\" void " << source.name << "(void** parameters, int TG_BLOCKS) {\n"
      << "  enum { TG_THREADS = " << source.threads << " };\n";
  for (size_t i = 0; i < types.size(); ++i)
    out << "  " << types[i] << " p" << i << " = (" << types[i] << ")parameters[" << i << "];\n";
  out << "  for (int TG_BLOCK = 0; TG_BLOCK < TG_BLOCKS; ++TG_BLOCK) {\n"
      << source.body << "  }\n}\n";
  return out.str();
}

class CppLibrary {
public:
  using Function = void (*)(void** parameters, int blocks);

  using TextOf = std::string (*)(const cuda::KernelSource&);

  /// Compiles all missing functions at once.
  void compile(llvm::ArrayRef<cuda::KernelSource> sources) {
    compile(sources, cuda::prelude_text(kHostMacros), host_function);
  }
  /// Compiles another form of the same functions.
  void compile(llvm::ArrayRef<cuda::KernelSource> sources, const std::string& prelude,
               TextOf text_of) {
    llvm::SmallString<128> folder;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-kernels", folder));
    std::string base = (folder + "/kernels").str();
    {
      std::ofstream out(base + ".cpp");
      out << prelude;
      for (const cuda::KernelSource& source : sources)
        if (known_.insert(source.name).second) out << text_of(source);
    }
    std::string command = std::string(TG_CXX) + " -std=c++17 -O1 -w -shared -fPIC -o " + base +
                          ".so " + base + ".cpp";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    handles_.push_back(dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL));
    ASSERT_NE(handles_.back(), nullptr) << dlerror();
    llvm::sys::fs::remove_directories(folder);
  }
  ~CppLibrary() {
    for (void* handle : handles_) dlclose(handle);
  }

  Function find(const std::string& name) const {
    for (void* handle : handles_)
      if (void* function = dlsym(handle, name.c_str())) return reinterpret_cast<Function>(function);
    return nullptr;
  }
  size_t size() const { return known_.size(); }

private:
  std::vector<void*> handles_;
  std::set<std::string> known_;
};

/// A plan with its units, kernels and sources.
struct Generated {
  Plan plan;
  std::vector<cuda::Unit> units;
  std::vector<std::unique_ptr<cuda::Kernel>> kernels; // null for units that are not generated
  std::vector<cuda::KernelSource> sources;
  /// Strides of values in a HostRun; empty: row-major. Steps that `ref` runs require row-major
  /// values.
  cuda::StridesOf strides = {};
};

/// `make_strides` returns the strides of values, by default row-major.
inline Generated generate_all(Plan plan, const cuda::IsLibrary& library,
                              cuda::StridesOf (*make_strides)(const Plan&) = cuda::plain_strides) {
  Generated g;
  g.plan = std::move(plan);
  cuda::StridesOf strides = make_strides(g.plan);
  auto units = cuda::fuse(g.plan, strides, library);
  EXPECT_TRUE(units.ok()) << (units.ok() ? "" : units.error().message);
  if (!units) return g;
  g.units = std::move(*units);
  for (const cuda::Unit& unit : g.units) {
    g.kernels.emplace_back();
    g.sources.emplace_back();
    if (unit.kind != cuda::Unit::Kind::Generated) continue;
    std::string why;
    g.kernels.back() = cuda::generate(g.plan, unit.group, strides, why);
    EXPECT_NE(g.kernels.back(), nullptr) << why;
    if (g.kernels.back()) g.sources.back() = cuda::kernel_source(*g.kernels.back());
  }
  return g;
}

inline std::vector<cuda::KernelSource> sources_of(const Generated& g) {
  std::vector<cuda::KernelSource> sources;
  for (const cuda::KernelSource& source : g.sources)
    if (!source.name.empty()) sources.push_back(source);
  return sources;
}

/// The memory of all values of a plan after a run.
class HostRun {
public:
  HostRun(const Generated& g, const CppLibrary& library) : g_(g), library_(library) {}

  std::vector<Tensor> outputs(uint64_t seed) {
    leaves(seed);
    for (const PlanStep& step : g_.plan.steps)
      if (step.phase == Phase::Load) by_ref(step);
    for (size_t u = 0; u < g_.units.size(); ++u) run(u);
    std::vector<Tensor> outputs;
    for (const PlanOutput& output : g_.plan.outputs) {
      auto tensor = Tensor::zeros(g_.plan.values[output.value].type);
      each_element(output.value, [&](size_t plain, size_t lies, size_t bytes) {
        std::memcpy(tensor->data() + plain, memory(output.value) + lies, bytes);
      });
      outputs.push_back(std::move(*tensor));
    }
    return outputs;
  }

private:
  std::byte* memory(PlanValueId id) {
    AlignedBuffer& buffer = memory_[id];
    if (!buffer) {
      int64_t bytes = std::max<int64_t>(g_.plan.values[id].type.bytes(), 1);
      buffer = allocate_aligned(bytes);
      std::memset(buffer.get(), 0xff, static_cast<size_t>(bytes));
    }
    return buffer.get();
  }

  void leaves(uint64_t seed) {
    auto inputs = random_inputs(g_.plan, seed);
    ASSERT_TRUE(inputs.ok());
    for (size_t i = 0; i < inputs->size(); ++i) put(g_.plan.inputs[i], (*inputs)[i]);
    for (PlanValueId id = 0; id < g_.plan.values.size(); ++id) {
      const PlanValue& v = g_.plan.values[id];
      if (v.kind != PlanValue::Kind::Weight && v.kind != PlanValue::Kind::Constant) continue;
      auto tensor = materialise(v, {});
      ASSERT_TRUE(tensor.ok());
      put(id, *tensor);
    }
  }

  void put(PlanValueId id, const Tensor& tensor) {
    each_element(id, [&](size_t plain, size_t lies, size_t bytes) {
      std::memcpy(memory(id) + lies, tensor.data() + plain, bytes);
    });
  }

  /// Calls move(row-major offset, offset by the value's strides, bytes) for each element or block.
  template <class Move> void each_element(PlanValueId id, const Move& move) const {
    const TensorType& type = g_.plan.values[id].type;
    Shape strides = g_.strides ? g_.strides(id) : contiguous_strides(type.shape);
    if (strides == contiguous_strides(type.shape))
      return move(0, 0, static_cast<size_t>(type.bytes()));
    Shape at(type.shape.size(), 0);
    auto size = static_cast<size_t>(dtype_size(type.dtype));
    for (size_t plain = 0; plain < static_cast<size_t>(type.bytes()); plain += size) {
      int64_t lies = 0;
      for (size_t axis = 0; axis < at.size(); ++axis) lies += at[axis] * strides[axis];
      move(plain, static_cast<size_t>(lies) * size, size);
      for (size_t axis = at.size(); axis-- > 0 && ++at[axis] == type.shape[axis];) at[axis] = 0;
    }
  }

  void by_ref(const PlanStep& step) {
    RefStep kernel(g_.plan, step);
    AlignedBuffer workspace = allocate_aligned(kernel.workspace_bytes());
    std::vector<const std::byte*> operands;
    for (PlanValueId id : step.operands) operands.push_back(id == kNoValue ? nullptr : memory(id));
    kernel.bind(operands, memory(step.result), workspace.get());
    kernel.run();
  }

  void run(size_t u) {
    const cuda::Unit& unit = g_.units[u];
    if (unit.kind != cuda::Unit::Kind::Generated) {
      by_ref(g_.plan.steps[unit.group.steps[0]]);
      return;
    }
    const cuda::Kernel& kernel = *g_.kernels[u];
    std::vector<void*> parameters;
    for (const cuda::KernelParameter& p : kernel.parameters) parameters.push_back(memory(p.value));
    CppLibrary::Function function = library_.find(g_.sources[u].name);
    ASSERT_NE(function, nullptr) << g_.sources[u].name;
    // Fewer blocks than rows, so that the kernel's grid loop is used.
    auto blocks = static_cast<int>(std::min<int64_t>(kernel.full_blocks(), 3));
    function(parameters.data(), blocks);
  }

  const Generated& g_;
  const CppLibrary& library_;
  std::map<PlanValueId, AlignedBuffer> memory_;
};

inline std::vector<Tensor> by_ref(const Plan& plan, uint64_t seed) {
  auto executable = make_ref_backend()->compile(plan, {});
  EXPECT_TRUE(executable.ok());
  auto inputs = random_inputs(plan, seed);
  auto outputs = (*executable)->run(*inputs);
  EXPECT_TRUE(outputs.ok());
  return std::move(*outputs);
}

inline std::string texts(const Generated& g) {
  std::string all;
  for (const cuda::KernelSource& source : g.sources)
    if (!source.name.empty()) all += host_function(source);
  return all;
}

/// Returns the largest difference over the outputs.
inline double difference(const Generated& g, const CppLibrary& library) {
  auto want = by_ref(g.plan, 7), got = HostRun(g, library).outputs(7);
  double largest = 0;
  for (size_t i = 0; i < want.size(); ++i)
    largest = std::max(largest, max_rel_diff(got[i], want[i]));
  return largest;
}

/// Compiles all kernels at once. Expects differences of at most 1e-4 in f32 and `half`
/// in narrower types.
inline void expect_like_ref(llvm::ArrayRef<Generated> all, double half) {
  std::vector<cuda::KernelSource> sources;
  for (const Generated& g : all)
    for (const cuda::KernelSource& source : sources_of(g)) sources.push_back(source);
  CppLibrary library;
  library.compile(sources);
  for (const Generated& g : all) {
    bool wide = g.plan.values[g.plan.inputs[0]].type.dtype == DType::F32;
    EXPECT_LE(difference(g, library), wide ? 1e-4 : half) << dump(g.plan) << texts(g);
  }
}

} // namespace tg::test
