#include "runtime/cpu/tuning/kernel_choices.h"

#include "runtime/cpu/simd/simd.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/measure/whole_run_keys.h"

#include <dnnl_version.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/FormatVariadic.h>
#include <oneapi/dnnl/dnnl.h>

namespace tg::cpu {

namespace {

constexpr llvm::StringLiteral kRule = "by rule", kOurs = "ours", kLibrary = "library";

llvm::StringRef word(KernelOwner whose) {
  return whose == KernelOwner::Ours ? kOurs : whose == KernelOwner::Library ? kLibrary : kRule;
}

/// Has another prefix than the keys of prices, which are removed by prefix.
std::string key_of(llvm::StringRef op) { return "kernel of " + op.str(); }

} // namespace

CostEnvironment KernelChoices::environment(llvm::StringRef processor) {
  const dnnl_version_t* v = dnnl_version();
  CostEnvironment rows;
  rows.processor = processor.str();
  // Instruction sets that DNNL_MAX_CPU_ISA forbids cannot be chosen.
  rows.instruction_set =
      llvm::formatv("{0}, library {1}", simd().isa, static_cast<int>(dnnl_get_effective_cpu_isa()));
  rows.library = llvm::formatv("oneDNN {0}.{1}.{2}, tiles, revision {3}", v->major, v->minor,
                               v->patch, kTileRevision);
  rows.layout = "whose kernels";
  rows.dtype = "f32";
  rows.threads = 0; // an operator's text includes the number
  return rows;
}

std::unique_ptr<KernelChoices> KernelChoices::open(llvm::StringRef path,
                                                   llvm::StringRef processor) {
  std::string file = path.empty() ? default_cost_db_path() : path.str();
  return std::unique_ptr<KernelChoices>(
      new KernelChoices(CostDb::open(file, environment(processor))));
}

std::optional<KernelOwner> KernelChoices::find(llvm::StringRef op) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::optional<CostRow> row = rows_->find_row(key_of(op));
  if (!row) return std::nullopt;
  return llvm::StringSwitch<std::optional<KernelOwner>>(row->implementation)
      .Case(kRule, KernelOwner::Rule)
      .Case(kOurs, KernelOwner::Ours)
      .Case(kLibrary, KernelOwner::Library)
      .Default(std::nullopt);
}

void KernelChoices::keep(llvm::StringRef op, KernelOwner whose, double microseconds) {
  KernelOwner before = find(op).value_or(KernelOwner::Rule);
  std::lock_guard<std::mutex> lock(mutex_);
  rows_->store(CostRow{key_of(op), microseconds, word(whose).str()});
  if (whose == before) return;
  rows_->forget(op.take_until([](char c) { return c == '('; }).str() + "(", "");
  forget_whole_runs(*rows_);
}

} // namespace tg::cpu
