// What benchmarks of kernels of our own share: one operator by them and by the library, in turns.
#pragma once

#include "bench/peak.h"
#include "runtime/measure/time_runs.h"
#include "runtime/onednn/backend.h"
#include "runtime/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <string>

namespace tg {

/// Of the command line: [--threads N] [--seconds S] [--FLAG] [NAME ...].
struct KernelBenchOptions {
  int threads = 1;
  double seconds = 1;
  std::vector<std::string> flags, names;

  bool has(llvm::StringRef flag) const { return llvm::is_contained(flags, flag); }
  /// NAME keeps the rows whose name holds it.
  bool wants(llvm::StringRef row) const {
    return names.empty() ||
           llvm::any_of(names, [&](const std::string& name) { return row.contains(name); });
  }
  /// Ends the program where a flag is none of these.
  static KernelBenchOptions read(int argc, char** argv, llvm::ArrayRef<llvm::StringRef> known) {
    KernelBenchOptions options;
    for (int i = 1; i < argc; ++i) {
      llvm::StringRef word(argv[i]);
      bool more = i + 1 < argc;
      if (word == "--threads" && more)
        options.threads = std::max(1, std::atoi(argv[++i]));
      else if (word == "--seconds" && more)
        options.seconds = std::atof(argv[++i]);
      else if (!word.startswith("--"))
        options.names.push_back(word.str());
      else if (llvm::is_contained(known, word))
        options.flags.push_back(word.str());
      else
        llvm::errs() << argv[0] << ": no option " << word << "\n", std::exit(1);
    }
    return options;
  }
};

/// In the backend's own layouts, on random inputs.
inline Result<std::unique_ptr<Executable>> load_native(const Plan& plan, Products products,
                                                       int threads) {
  CompileOptions options;
  options.threads = threads;
  options.io_layout = IoLayout::Native;
  TG_TRY(std::unique_ptr<Executable> executable,
         make_cpu_backend(products)->compile(plan, options));
  TG_TRY(std::vector<Tensor> inputs, random_inputs(plan, 1));
  TG_CHECK(executable->bind_inputs(inputs));
  return executable;
}

/// Of all steps that run.
inline std::string kernels_of(const Executable& executable) {
  std::string text;
  for (const StepInfo& step : executable.steps())
    if (step.implementation != "view") text += (text.empty() ? "" : ", ") + step.implementation;
  return text;
}

inline Result<Comparison> compare_kernels(Executable& theirs, Executable& ours, double seconds) {
  TimingOptions timing;
  timing.seconds = seconds;
  timing.max_runs = 2000;
  timing.warmup = 10;
  return time_in_turns(theirs, ours, timing);
}

} // namespace tg
