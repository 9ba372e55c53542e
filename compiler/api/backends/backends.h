// The backends of this build, one row each. To add one, write a file in backends/ that defines its
// row, and a line of CMakeLists.txt that says when it is built. The remaining program does not
// refer to backends by name: the capabilities of a backend are fields of its row.
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

/// The inputs for tuning on a backend, besides the plan.
struct TuneDeviceRequest {
  int threads = 1;
  std::string cost_db = {}; // "": the user's
  int64_t memory_limit_bytes = 0;
  StopToken stop = {};
};

/// The inputs for making a backend.
struct BackendRequest {
  /// The file for its measurements; "" = the user's cache folder.
  std::string cost_db = {};
  /// Milliseconds per plan in which operators that were never tuned may try the choices of similar
  /// tuned ones; 0: none.
  double tune_near_ms = 0;
};

struct BackendRow {
  llvm::StringRef name; // "cpu"
  /// Errors: `no_backend`.
  Result<std::unique_ptr<Backend>> (*make)(const BackendRequest& request);
  /// Adds the available devices, or the missing ones, to the report. Loads as little as needed.
  void (*report)(DeviceReport& report);
  /// Uses as many threads as it is given.
  bool threads = true;
  /// f32 products may be rounded to tf32.
  bool tf32 = false;
  /// Runs several instances of a program side by side; otherwise they would share its threads.
  bool streams = false;
  /// The device profile that replaces it if it is missing here. "": none, and its operators are not
  /// timed.
  llvm::StringRef profile = "";
  bool is_timed() const { return !profile.empty(); }
  /// Returns the operators of a plan, to be tuned (runtime/tune). Null: it has no programs to
  /// choose from. Errors: those of compile().
  Result<std::unique_ptr<tune::PlanDevice>> (*tune_device)(const Plan& plan,
                                                           const TuneDeviceRequest&) = nullptr;
  /// Measures for about this many seconds which library's kernels run the operators of a plan
  /// fastest, and stores that for all plans. Null: there is no choice. Errors: those of compile()
  /// and run_once().
  Result<tune::KernelReport> (*choose_kernels)(const Plan& plan, const TuneDeviceRequest&,
                                               double seconds) = nullptr;
  /// The operator patterns that it runs in one kernel, known without a device.
  llvm::ArrayRef<KernelPattern> (*patterns)() = nullptr;
  /// For a backend that fuses when it loads a graph: prices of its launches, by a roofline.
  std::unique_ptr<GroupPricer> (*groups)(const AnalyticCost& costs) = nullptr;
};

/// Returns the backends in the order in which users would list them.
std::vector<const BackendRow*> all_backends();
/// Returns null if this build has no backend of that name.
const BackendRow* find_backend(llvm::StringRef name);
const BackendRow* find_backend(tangram::Backend backend);
/// Returns the names of the backends for which `holds` is true: "cpu and cuda"; "" for none.
std::string backend_names(llvm::function_ref<bool(const BackendRow&)> holds);
/// Returns the backend that runs on the device of a profile, or null.
const BackendRow* backend_of_profile(const DeviceProfile& profile);

} // namespace tg
