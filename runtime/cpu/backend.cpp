#include "runtime/cpu/backend.h"

#include "runtime/cpu/executable.h"
#include "runtime/cpu/simd/simd.h"
#include "runtime/cpu/tile_schedules.h"

#include <llvm/ADT/StringSwitch.h>

#include <cstdio>
#include <dnnl_version.h>

namespace tg {

namespace {

const char* isa_name(dnnl_cpu_isa_t isa) {
  switch (isa) {
  case dnnl_cpu_isa_sse41: return "sse41";
  case dnnl_cpu_isa_avx: return "avx";
  case dnnl_cpu_isa_avx2: return "avx2";
  case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
  case dnnl_cpu_isa_avx512_core: return "avx512_core";
  case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
  case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
  case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
  default: return "isa?";
  }
}

/// Returns the processor's name, "cpu" if the system does not report it, with its family,
/// model and stepping. Virtual machines call processors of all generations "AMD EPYC",
/// and two of them may share one home folder.
std::string processor() {
  std::string name = "cpu", family, model, stepping;
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  if (!file) return name;
  char line[512];
  while (std::fgets(line, sizeof line, file) && line[0] != '\n') { // of the first core
    auto [key, value] = llvm::StringRef(line).split(':');
    std::string* word = llvm::StringSwitch<std::string*>(key.trim())
                            .Case("model name", &name)
                            .Case("cpu family", &family)
                            .Case("model", &model)
                            .Case("stepping", &stepping)
                            .Default(nullptr);
    if (word) *word = value.trim().str();
  }
  std::fclose(file);
  if (family.empty()) return name;
  return llvm::formatv("{0} ({1}/{2}/{3})", name, family, model, stepping);
}

/// Increased whenever a generated kernel or the choice among oneDNN's kernels becomes faster
/// or slower: prices in users' databases are keyed by it, and older ones would mislead the search.
constexpr int kKernelRevision = 13;

class CpuBackend final : public Backend {
public:
  CpuBackend(Products products, std::shared_ptr<cpu::TileSchedules> schedules)
      : products_(products), schedules_(std::move(schedules)) {}
  std::string name() const override { return "cpu"; }
  std::string description() const override {
    const dnnl_version_t* v = dnnl_version();
    return llvm::formatv("{0}, {1}, oneDNN {2}.{3}.{4}, own kernels {5} (revision {6})",
                         processor(), isa_name(dnnl_get_effective_cpu_isa()), v->major, v->minor,
                         v->patch, cpu::simd().isa, kKernelRevision)
        .str();
  }
  bool supports(const Plan& plan, const PlanStep& step) const override {
    return plan.values[step.result].type.dtype == DType::F32;
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return cpu_patterns(); }
  bool is_view(OpKind op, const TensorType& result) const override {
    return result.dtype == DType::F32 && cpu::is_always_view(op);
  }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions& options) const override {
    return cpu::CpuExecutable::make(plan, options, products_, schedules_.get());
  }

private:
  Products products_;
  std::shared_ptr<cpu::TileSchedules> schedules_;
};

} // namespace

std::unique_ptr<Backend> make_cpu_backend(Products products) {
  return make_cpu_backend(products, nullptr);
}

std::unique_ptr<Backend> make_cpu_backend(Products products,
                                          std::shared_ptr<cpu::TileSchedules> schedules) {
  return std::make_unique<CpuBackend>(products, std::move(schedules));
}

namespace cpu {
std::string processor_name() { return processor(); }
} // namespace cpu

namespace {

constexpr Act kActs[] = {Act::Relu, Act::Tanh, Act::Sigmoid, Act::Gelu, Act::Relu6};
constexpr KernelPattern kPatterns[] = {
    {OpKind::Conv2d, true, true, kActs},
    {OpKind::Matmul, true, true, kActs},
};

} // namespace

llvm::ArrayRef<KernelPattern> cpu_patterns() { return kPatterns; }

} // namespace tg
