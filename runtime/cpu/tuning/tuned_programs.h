// Programs of products and convolutions that were found by tuning, kept in the file of the cost
// database (runtime/measure/cost_db.h), which looks after damage, foreign files and processes side
// by side. Rows are apart from costs by their environment: processor, revision of tiles and
// mapping, sizes of caches. Instruction set and threads are part of an operator's key. A changed
// one starts anew.
//
// A row is text, and only a proposal: whoever reads it checks that it is a legal program of the
// operator at hand. What is damaged costs tuning anew, and until then the schedule by rule. When a
// faster schedule is kept, or one is no longer used, prices of such operators are forgotten, and
// whole runs, with what searches found by them.
#pragma once

#include "runtime/cpu/tile_schedules.h"
#include "runtime/cpu/tuning/operator_programs.h"
#include "runtime/measure/cost_db.h"
#include "runtime/tune/plan_device.h"

#include <mutex>

namespace tg::cpu {

/// Raised whenever tiles, loops of products or the mapping of programs change what is fast.
inline constexpr int kTileRevision = 3;

class TunedPrograms final : public TileSchedules {
public:
  /// "" for the user's cache folder. `processor`: as Backend::description names it. Never fails:
  /// see notes().
  static std::shared_ptr<TunedPrograms> open(llvm::StringRef path, llvm::StringRef processor);
  /// For plans: opened when the first operator asks, and only if the file is there, so that what
  /// has none, or was never tuned, reads and writes nothing. What it once said it says again.
  /// `near_ms`: milliseconds of each plan in which operators of which nothing is known may try what
  /// their tuned neighbours use (near_look.h); 0: none.
  static std::shared_ptr<TileSchedules> on_demand(llvm::StringRef path, llvm::StringRef processor,
                                                  double near_ms = 0);
  /// Of its rows.
  static CostEnvironment environment(llvm::StringRef processor);

  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override;
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                int threads) override;
  std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) override;
  std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) override;
  /// It has schedules alone: what is chosen of whose kernels run is in KernelChoices.
  bool ours(llvm::StringRef /*op*/, bool by_rule) override { return by_rule; }

  std::optional<tune::KeptProgram> kept(const OperatorPrograms& op);
  void keep(const OperatorPrograms& op, const tune::KeptProgram& found);
  /// Of all operators on so many threads, in the order of their keys; what is damaged, or was cut
  /// off, is left out. Blocks for other threads would leave some without work.
  std::vector<tune::Program> programs(int threads);
  std::vector<std::string> notes() const;

private:
  /// What is kept and faster.
  std::optional<tune::Program> faster(const OperatorPrograms& op);

  explicit TunedPrograms(std::unique_ptr<CostDb> rows) : rows_(std::move(rows)) {}

  std::mutex mutex_;
  std::unique_ptr<CostDb> rows_;
  std::vector<std::string> damaged_;
};

/// What stands in a row: "tuned from 350.2 us in 143 trials: BMM [..]; tiles ..", and ", cut off"
/// behind the trials of a search that ended early.
std::string kept_text(const tune::KeptProgram& found);
/// Errors: `bad_data_file`.
Result<tune::KeptProgram> read_kept(llvm::StringRef text, double microseconds);

} // namespace tg::cpu
