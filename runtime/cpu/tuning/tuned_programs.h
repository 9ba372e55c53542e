// Stores programs of products and convolutions found by tuning,
// in the file of the cost database (runtime/measure/cost_db.h), which handles damage,
// foreign files and concurrent processes. Rows are separated from costs by their environment:
// processor, revision of tiles and mapping, sizes of caches. Instruction set and threads
// are part of an operator's key. A change of any of these starts from scratch.
//
// A row is text, and only a proposal: the reader checks that it is a legal program of the operator.
// A damaged row has to be tuned again; until then the default schedule is used.
// When a faster schedule is stored, or a schedule is no longer used,
// the prices of such operators and whole runs are removed, together with search results based
// on them.
#pragma once

#include "runtime/cpu/tile_schedules.h"
#include "runtime/cpu/tuning/operator_programs.h"
#include "runtime/measure/cost_db.h"
#include "runtime/tune/plan_device.h"

#include <mutex>

namespace tg::cpu {

/// Increased whenever tiles, loops of products or the mapping of programs change the speed
/// of programs.
inline constexpr int kTileRevision = 3;

class TunedPrograms final : public TileSchedules {
public:
  /// "" is the user's cache folder. `processor`: as in Backend::description. Never fails:
  /// see notes().
  static std::shared_ptr<TunedPrograms> open(llvm::StringRef path, llvm::StringRef processor);
  /// For plans: opened at the first query, and only if the file exists,
  /// so that without tuning nothing is read or written. Answers do not change.
  /// `near_ms`: milliseconds per plan in which unknown operators may try the programs
  /// of their tuned neighbours (near_tuner.h); 0: none.
  static std::shared_ptr<TileSchedules> on_demand(llvm::StringRef path, llvm::StringRef processor,
                                                  double near_ms = 0);
  /// The environment of its rows.
  static CostEnvironment environment(llvm::StringRef processor);

  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override;
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                int threads) override;
  std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) override;
  std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) override;
  /// Provides schedules only: KernelChoices has the choices of kernels.
  bool uses_own_kernel(llvm::StringRef /*op*/, bool by_rule) override { return by_rule; }

  std::optional<tune::KeptProgram> kept(const OperatorPrograms& op);
  void keep(const OperatorPrograms& op, const tune::KeptProgram& found);
  /// Returns the programs of all operators for `threads` threads, in the order of their keys,
  /// without damaged and incomplete ones. Blocks for another number of threads would leave some
  /// threads idle.
  std::vector<tune::Program> programs(int threads);
  std::vector<std::string> notes() const;

private:
  /// Returns the stored program if it is faster.
  std::optional<tune::Program> faster(const OperatorPrograms& op);

  explicit TunedPrograms(std::unique_ptr<CostDb> rows) : rows_(std::move(rows)) {}

  std::mutex mutex_;
  std::unique_ptr<CostDb> rows_;
  std::vector<std::string> damaged_;
};

/// Formats a row: "tuned from 350.2 us in 143 trials: BMM [..];
/// tiles ..", with ", cut off" after the trials of a search that ended early.
std::string kept_text(const tune::KeptProgram& found);
/// Errors: `bad_data_file`.
Result<tune::KeptProgram> read_kept(llvm::StringRef text, double microseconds);

} // namespace tg::cpu
