#include "compiler/api/public_types.h"

#include "compiler/api/files/weights.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg {

std::string number_text(double number) {
  if (number == std::floor(number)) return llvm::formatv("{0:f0}", number);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

StopToken stop_within(double time_limit_s, int64_t memory_limit_mb,
                      const std::optional<tangram::Interrupt>& interrupt) {
  StopToken stop = interrupt ? StopToken(&interrupt->impl().wish) : StopToken();
  if (time_limit_s >= 0) stop = stop.within(time_limit_s);
  return stop.holding(resident_bytes() +
                      static_cast<uint64_t>(memory_limit_bytes(memory_limit_mb)));
}

PrepareOptions run_options(const tangram::CompileOptions& o) {
  PrepareOptions run;
  run.backend = name_of(o.backend);
  run.dtype = to_internal(o.dtype);
  run.threads = o.threads;
  run.memory_limit_bytes = memory_limit_bytes(o.memory_limit_mb);
  run.seed = o.seed;
  run.allow_tf32 = o.allow_tf32;
  run.recompute = o.recompute;
  run.cost_db = o.cost_db;
  run.tune_near_ms = o.tune_near_ms;
  return run;
}

Result<PrepareOptions> run_options(const tangram::CompileOptions& o, const Graph& model,
                                   const std::shared_ptr<const WeightFile>& own) {
  PrepareOptions run = run_options(o);
  if (o.weights_file.empty()) {
    if (own) take_weights(run, own);
    return run;
  }
  TG_TRY(std::shared_ptr<const WeightFile> file, open_weight_file(model, o.weights_file));
  take_weights(run, std::move(file));
  return run;
}

} // namespace tg
