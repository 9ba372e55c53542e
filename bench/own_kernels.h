// Helpers of the benchmarks that compare an operator by our own kernels with the library's,
// interleaved.
#pragma once

#include "bench/peak.h"
#include "runtime/cpu/backend.h"
#include "runtime/measure/time_runs.h"
#include "runtime/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <string>

namespace tg {

/// The command line: [--threads N] [--seconds S] [--FLAG] [NAME ...].
struct KernelBenchOptions {
  int threads = 1;
  double seconds = 1;
  std::vector<std::string> flags, names;

  bool has(llvm::StringRef flag) const { return llvm::is_contained(flags, flag); }
  /// Returns true if no NAME is given or `row` contains one.
  bool wants(llvm::StringRef row) const {
    return names.empty() ||
           llvm::any_of(names, [&](const std::string& name) { return row.contains(name); });
  }
  /// Parses the command line. Exits if a flag is not in `known`.
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

/// Loads the plan in the backend's own layouts and binds random inputs.
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

/// Returns the kernels of all steps except views, comma-separated.
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
  return time_interleaved(theirs, ours, timing);
}

/// Returns the cells of a row: medians in microseconds, the speedup of the second with its
/// interval, shares of the peak, and the kernels of either side.
inline std::string compared_cells(const Comparison& times, double flops, double peak,
                                  const Executable& theirs, const Executable& ours) {
  auto share = [&](double us) { return 100 * flops / us / 1e-6 / peak; };
  double first = times.first.median_us, second = times.second.median_us;
  return llvm::formatv("{0:f1} | {1:f1} | {2:f2} ({3:f2}..{4:f2}) | {5:f0}% | {6:f0}% | {7} | {8}",
                       first, second, times.ratio, times.low, times.high, share(first),
                       share(second), kernels_of(theirs), kernels_of(ours));
}

/// Returns the largest relative difference of the first outputs.
inline Result<double> output_difference(const Executable& theirs, const Executable& ours) {
  TG_TRY(std::vector<Tensor> a, theirs.outputs());
  TG_TRY(std::vector<Tensor> b, ours.outputs());
  return max_rel_diff(b[0], a[0]);
}

/// Prints the backend and the machine's peak, and returns the peak in flops per second.
inline double print_machine(int threads) {
  double peak = peak_flops(threads);
  llvm::outs() << make_cpu_backend()->description() << "\n"
               << llvm::formatv("{0} threads, peak {1:f0} GFLOP/s\n\n", threads, peak / 1e9);
  return peak;
}

/// Prints a table of the selected rows; `print(row)` prints one row. Returns the program's exit
/// code.
template <class Row, class Print>
int print_rows(const KernelBenchOptions& options, llvm::StringRef columns, llvm::ArrayRef<Row> rows,
               const Print& print) {
  llvm::outs() << columns << "\n";
  for (size_t i = columns.count('|'); i-- > 1;) llvm::outs() << "|---";
  llvm::outs() << "|\n";
  for (const Row& row : rows) {
    if (!options.wants(row.name)) continue;
    Result<void> done = print(row);
    llvm::outs().flush();
    if (done) continue;
    llvm::errs() << row.name << ": " << done.error().message << "\n";
    return 1;
  }
  return 0;
}

} // namespace tg
