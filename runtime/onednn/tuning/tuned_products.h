// Programs of products that were found by tuning, kept in the file of the cost database
// (runtime/measure/cost_db.h), which looks after damage, foreign files and processes side by side.
// Rows are apart from costs by their environment: processor, revision of tiles and mapping, sizes
// of caches. Instruction set and threads are part of a product's key. A changed one starts anew.
//
// A row is text, and only a proposal: whoever reads it checks that it is a legal program of the
// product at hand. What is damaged costs tuning anew, and until then the schedule by rule. Prices
// of products that were measured by rule are forgotten when a faster schedule is kept.
#pragma once

#include "runtime/measure/cost_db.h"
#include "runtime/onednn/product_schedules.h"
#include "runtime/onednn/tuning/product_programs.h"
#include "runtime/tune/plan_device.h"

#include <mutex>

namespace tg::cpu {

/// Raised whenever tiles, loops of products or the mapping of programs change what is fast.
inline constexpr int kTileRevision = 1;

class TunedProducts final : public ProductSchedules {
public:
  /// "" for the user's cache folder. `processor`: as Backend::description names it. Never fails:
  /// see notes().
  static std::shared_ptr<TunedProducts> open(llvm::StringRef path, llvm::StringRef processor);
  /// For plans: opened when the first product asks, and only if the file is there, so that what has
  /// no products, or was never tuned, reads and writes nothing. What it once said it says again.
  static std::shared_ptr<ProductSchedules> on_demand(llvm::StringRef path,
                                                     llvm::StringRef processor);
  /// Of its rows.
  static CostEnvironment environment(llvm::StringRef processor);

  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override;

  std::optional<tune::KeptProgram> kept(const ProductPrograms& product);
  void keep(const ProductPrograms& product, const tune::KeptProgram& found);
  /// Of all products, in the order of their keys; what is damaged, or was cut off, is left out.
  std::vector<tune::Program> programs();
  std::vector<std::string> notes() const;

private:
  explicit TunedProducts(std::unique_ptr<CostDb> rows) : rows_(std::move(rows)) {}

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
