// The tuner's view of products on register tiles: the operator of a product,
// and the schedule of runtime/cpu/tile of each program. DECISIONS.md of runtime/tune
// has the mapping as a table.
//
// The operator's loops are those of the product, rounded up to numbers with many divisors:
// the tuner's factors multiply to its loops exactly, but the tiles of a schedule need not.
// So 128 rows become 144, of which a tile may have 6, and a block of 72 rows is half
// of the actual 22 tiles.
//
// Invariant: a schedule depends only on shape, program, instruction set, threads and caches.
#pragma once

#include "runtime/cpu/tuning/operator_programs.h"

namespace tg::cpu {

/// Returns the product as one line with everything that its time depends on except the machine:
/// the key of its schedule.
std::string product_key(const tile::ProductShape& shape, tile::Isa isa, int threads);
/// Formats "128 x 768 x 768", "12 of 128 x 64 x 128": rows, depth, columns.
std::string product_name(const tile::ProductShape& shape);
double product_flops(const tile::ProductShape& shape);

/// The programs of one product.
class ProductPrograms final : public OperatorPrograms {
public:
  ProductPrograms(tile::ProductShape shape, tile::Isa isa, int threads, const tile::Caches& caches);
  /// For an operator that does not represent a product of a plan:
  /// its loops unchanged, with dense operands.
  ProductPrograms(const tune::Operator& op, tile::Isa isa, int threads, const tile::Caches& caches);

  const tile::ProductShape& shape() const { return shape_; }
  tile::Isa isa() const { return isa_; }

  std::string key() const override { return product_key(shape_, isa_, threads()); }
  std::string name() const override { return product_name(shape_); }
  double flops() const override { return product_flops(shape_); }
  tune::Program adapted(tune::Program program) const override;
  std::string why_not(const tune::Program& program) const override;
  tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override;
  std::optional<tune::ThreadShape> choose_threads(const tune::Extents& block,
                                                  int64_t threads) const override;
  std::optional<tune::Program> guess() const override;
  bool is_untuned(const tune::Program& program) const override {
    return tile::text(schedule(program), isa_) == tile::text(untuned(), isa_);
  }
  Result<std::unique_ptr<Implementation>> implementation(const tune::Program* program,
                                                         Runs& runs) const override;

  /// Requires a legal program.
  tile::Schedule schedule(const tune::Program& program) const;
  /// Returns the schedule that is used without tuning.
  tile::Schedule untuned() const {
    return tile::default_schedule(shape_, isa_, threads(), caches_);
  }

private:
  struct Parts {
    int64_t batch = 1, rows = 1, columns = 1;
    int64_t all() const { return batch * rows * columns; }
  };
  Parts parts(int64_t batch, int64_t rows, int64_t columns) const;
  int64_t most_parts() const;
  bool enough(const Parts& parts) const;
  bool may_span(int64_t tile_rows, int64_t panels) const;
  std::string why_not_tile(const tune::Tile& tile) const;

  tile::ProductShape shape_;
  tile::Isa isa_;
  tile::Caches caches_;
  int64_t width_, least_parts_;
};

} // namespace tg::cpu
