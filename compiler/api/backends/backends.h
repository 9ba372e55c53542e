// The backends of this build: one row each, which is all that the rest of the program knows of
// them. A new one is a file in backends/, which defines its row, and a line of CMakeLists.txt,
// which says when it is built. Nothing else names one: what a backend can do is a field of its row.
#pragma once

#include "compiler/api/backends/devices.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost.h"
#include "runtime/backend.h"
#include "tangram/choices.h"

namespace tg {

namespace tune {
class PlanDevice;
struct KernelReport;
} // namespace tune

/// What tuning on a backend needs beside the plan.
struct TuneDeviceRequest {
  int threads = 1;
  std::string cost_db = {}; // "": the user's
  int64_t memory_limit_bytes = 0;
  StopToken stop = {};
};

/// What a backend is made with.
struct BackendRequest {
  /// The file in which it keeps what it measures; "" = the user's cache folder.
  std::string cost_db = {};
  /// Milliseconds of each plan in which operators that were never tuned may try what tuned ones
  /// near to them use; 0: none.
  double tune_near_ms = 0;
};

struct BackendRow {
  llvm::StringRef name; // "cpu"
  /// Errors: `no_backend`.
  Result<std::unique_ptr<Backend>> (*make)(const BackendRequest& request);
  /// Adds what of it is here, or what is missing. Loads no more than it needs to say so.
  void (*report)(DeviceReport& report);
  /// Takes as many threads as it is given.
  bool threads = true;
  /// f32 products may be rounded to tf32.
  bool tf32 = false;
  /// Runs several instances of a program side by side; else they would share its threads.
  bool streams = false;
  /// The device profile that stands for it where it is not here;
  /// "": none, and its operators are not timed.
  llvm::StringRef profile = "";
  bool is_timed() const { return !profile.empty(); }
  /// The operators of a plan on it, to be tuned (runtime/tune); null: it has no programs to choose
  /// from. Errors: those of compile().
  Result<std::unique_ptr<tune::PlanDevice>> (*tune_device)(const Plan& plan,
                                                           const TuneDeviceRequest&) = nullptr;
  /// Measures for about so many seconds whose kernels run the operators of a plan fastest, and
  /// keeps that for all plans; null: there is no choice. Errors: those of compile() and run_once().
  Result<tune::KernelReport> (*choose_kernels)(const Plan& plan, const TuneDeviceRequest&,
                                               double seconds) = nullptr;
  /// What it does in one kernel, known without a device.
  llvm::ArrayRef<KernelPattern> (*patterns)() = nullptr;
  /// Of a backend that fuses when it loads a graph: prices of what it would launch, by a roofline.
  std::unique_ptr<GroupPricer> (*groups)(const AnalyticCost& costs) = nullptr;
};

/// In the order in which a person would name them.
std::vector<const BackendRow*> all_backends();
/// Null where this build has none of that name.
const BackendRow* find_backend(llvm::StringRef name);
const BackendRow* find_backend(tangram::Backend backend);
/// "cpu and cuda": those of this build of which it holds; "" for none.
std::string backend_names(llvm::function_ref<bool(const BackendRow&)> holds);
/// The backend that runs on the device of a profile, or null.
const BackendRow* backend_of_profile(const DeviceProfile& profile);

} // namespace tg
