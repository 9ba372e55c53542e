// Maps programs to schedules, and checks legality.
#include "runtime/cpu/tuning/product_programs.h"

#include "runtime/cpu/tuning/loops.h"
#include "runtime/tune/factors.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg::cpu {

namespace {

using tile::ceil_div;

/// Rounds up rows that do not fit in one tile: to tiles of the most rows, and blocks of many sizes.
int64_t padded_rows(int64_t rows, tile::Isa isa) {
  int64_t most = tile::most_rows(isa), unit = most * 4;
  return rows <= most ? rows : unit * smooth_from(ceil_div(rows, unit));
}

/// Rounds up to an even number, which threads can share.
int64_t padded_count(int64_t count) {
  return count <= 2 ? count : 2 * smooth_from(ceil_div(count, 2));
}

tune::Operator operator_of(const tile::ProductShape& shape, tile::Isa isa) {
  int64_t width = tile::panel_columns(isa);
  tune::Operator op;
  op.type = tune::OpType::BMM;
  op.space = {padded_count(static_cast<int64_t>(shape.batch.size())), padded_rows(shape.rows, isa),
              width * padded_count(tile::panel_count(shape.columns, width))};
  op.reduction = {smooth_from(shape.depth)};
  return op;
}

/// Returns dense operands; the right one is a weight unless there is one for each product.
tile::ProductShape shape_of_operator(const tune::Operator& op) {
  tile::ProductShape s;
  s.rows = op.space[1];
  s.columns = op.space[2];
  s.depth = op.reduction[0];
  s.x_row = s.depth;
  s.w_depth = s.y_row = s.columns;
  s.w_is_packed = op.space[0] == 1;
  s.batch.clear();
  for (int64_t i = 0; i < op.space[0]; ++i)
    s.batch.push_back(
        {i * s.rows * s.depth, i * s.depth * s.columns, i * s.rows * s.columns, 0, 0});
  return s;
}

/// Returns the number of units per block, for the blocks of a loop of `count` units in one part.
int64_t units_of_block(int64_t count, int64_t parts, int64_t blocks) {
  return std::max<int64_t>(1, ceil_div(ceil_div(count, parts), blocks / parts));
}

constexpr size_t kB = 0, kI = 1, kJ = 2;

} // namespace

std::string product_key(const tile::ProductShape& s, tile::Isa isa, int threads) {
  std::string key = llvm::formatv("product {0} x {1} x {2} x {3} by {4}{5} {6} {7}, y {8}",
                                  s.batch.size(), s.rows, s.depth, s.columns, tile::isa_name(isa),
                                  key_of_threads(threads), s.x_row, s.x_depth, s.y_row);
  key += s.w_is_packed ? std::string(", packed")
                       : llvm::formatv(", w {0} {1}", s.w_depth, s.w_column).str();
  if (s.batch.size() < 2) return key;
  const tile::BatchStart &a = s.batch[0], &b = s.batch[1], &last = s.batch.back();
  key += llvm::formatv(", steps {0} {1} {2}", b.x - a.x, b.w - a.w, b.y - a.y);
  key += llvm::formatv(", last {0} {1} {2}", last.x - a.x, last.w - a.w, last.y - a.y);
  return key;
}

std::string product_name(const tile::ProductShape& s) {
  std::string one = llvm::formatv("{0} x {1} x {2}", s.rows, s.depth, s.columns);
  return s.batch.size() > 1 ? llvm::formatv("{0} of {1}", s.batch.size(), one).str() : one;
}

double product_flops(const tile::ProductShape& s) {
  return 2.0 * static_cast<double>(s.batch.size()) * static_cast<double>(s.rows) *
         static_cast<double>(s.depth) * static_cast<double>(s.columns);
}

ProductPrograms::ProductPrograms(tile::ProductShape shape, tile::Isa isa, int threads,
                                 const tile::Caches& caches)
    : OperatorPrograms(operator_of(shape, isa), threads), shape_(std::move(shape)), isa_(isa),
      caches_(caches), width_(tile::panel_columns(isa)), least_parts_(most_parts()) {}

ProductPrograms::ProductPrograms(const tune::Operator& op, tile::Isa isa, int threads,
                                 const tile::Caches& caches)
    : OperatorPrograms(op, threads), shape_(shape_of_operator(op)), isa_(isa), caches_(caches),
      width_(tile::panel_columns(isa)), least_parts_(most_parts()) {}

/// Divides whole products first, then columns, because every part then reads only its own part
/// of w, and rows last.
ProductPrograms::Parts ProductPrograms::parts(int64_t batch, int64_t rows, int64_t columns) const {
  Parts found;
  int64_t left = threads();
  found.batch = std::gcd(batch, left);
  left /= found.batch;
  found.columns = std::gcd(columns, left);
  left /= found.columns;
  found.rows = std::gcd(rows, left);
  return found;
}

/// Returns the number of parts of the untuned schedule, or the largest number that programs
/// can have if threads and panels have few common divisors.
int64_t ProductPrograms::most_parts() const {
  Parts most = parts(op().space[kB], op().space[kI], op().space[kJ] / width_);
  return std::min<int64_t>(untuned().parts(), most.all());
}

bool ProductPrograms::enough(const Parts& parts) const { return parts.all() >= least_parts_; }

/// A tile of several panels must be the only one along the rows.
bool ProductPrograms::may_span(int64_t tile_rows, int64_t panels) const {
  if (panels == 1) return true;
  return shape_.rows <= tile_rows && panels == tile::most_panels(isa_, tile_rows);
}

tune::Program ProductPrograms::adapted(tune::Program program) const {
  tune::Tile& tile = program.tile;
  if (program.sketch != tune::Sketch::Tiles || program.op != op() || tile.space.size() != 3)
    return program;
  auto &b = tile.space[kB], &i = tile.space[kI], &j = tile.space[kJ];
  b = {b[0], 1, op().space[kB] / b[0], 1, 1};

  int64_t rows = largest_divisor(std::gcd(i[3] * i[4], op().space[kI]), tile::most_rows(isa_));
  int64_t row_tiles = op().space[kI] / rows, row_blocks = std::gcd(i[0], row_tiles);
  i = {row_blocks, 1, row_tiles / row_blocks, 1, rows};

  int64_t all = op().space[kJ] / width_, most = tile::most_panels(isa_, rows), panels = 1;
  bool wide = 2 * j[3] * j[4] > (1 + most) * width_; // closer to the widest than to one panel
  if (wide && all % most == 0 && may_span(rows, most)) panels = most;
  int64_t tiles = all / panels, blocks = std::gcd(j[0], tiles), of_block = tiles / blocks;
  bool panels_outside = j[1] >= j[2] || of_block == 1;
  j = {blocks, panels_outside ? of_block : 1, panels_outside ? 1 : of_block, 1, panels * width_};

  tile.reduction[0] = {tile.reduction[0][0], op().reduction[0] / tile.reduction[0][0], 1};
  tile.unroll = 0;
  bool copy = shape_.x_depth != 1 || tile.vectors[0] > 1;
  tile.vectors = {copy ? 2 : 1, 1};
  return program;
}

std::string ProductPrograms::why_not_tile(const tune::Tile& tile) const {
  const auto &b = tile.space[kB], &i = tile.space[kI], &j = tile.space[kJ];
  int64_t rows = i[3] * i[4], columns = j[3] * j[4];
  if (b[1] * b[3] * b[4] != 1) return "a tile must belong to one product";
  if (rows > tile::most_rows(isa_) || i[1] != 1) return "a tile has too many rows";
  if (columns % width_ != 0 || !may_span(rows, columns / width_))
    return "a tile has too many columns";
  if (j[1] != 1 && j[2] != 1) return "the tiles of a row are not adjacent";
  if (tile.unroll != 0 || tile.vectors[1] != 1 || tile.vectors[0] > 2)
    return "there is nothing to unroll or to fetch";
  if (tile.vectors[0] == 1 && shape_.x_depth != 1) return "a tile must read rows of x";
  return {};
}

std::string ProductPrograms::why_not(const tune::Program& program) const {
  if (program.op != op()) return "it belongs to another operator";
  if (program.sketch != tune::Sketch::Tiles || !tune::check(program).ok())
    return "it is not a program of tiles";
  if (std::string why = why_not_tile(program.tile); !why.empty()) return why;
  const auto& space = program.tile.space;
  if (!enough(parts(space[kB][0], space[kI][0], space[kJ][0])))
    return llvm::formatv("its blocks cannot be divided among {0} threads", threads());
  tile::Schedule s = schedule(program);
  if (s.row_block * s.tile_rows * s.depth_block * 4 > caches_.second)
    return "the rows of a block exceed the second-level cache";
  return {};
}

tile::Schedule ProductPrograms::schedule(const tune::Program& program) const {
  const tune::Tile& tile = program.tile;
  const auto &b = tile.space[kB], &i = tile.space[kI], &j = tile.space[kJ];
  Parts parts = this->parts(b[0], i[0], j[0]);
  tile::Schedule s;
  s.tile_rows = i[3] * i[4];
  s.tile_panels = j[3] * j[4] / width_;
  s.batch_parts = static_cast<int>(parts.batch);
  s.row_parts = static_cast<int>(parts.rows);
  s.column_parts = static_cast<int>(parts.columns);
  s.row_block = units_of_block(ceil_div(shape_.rows, s.tile_rows), parts.rows, i[0]);
  s.column_block = units_of_block(tile::panel_count(shape_.columns, width_), parts.columns, j[0]);
  s.column_block = ceil_div(s.column_block, s.tile_panels) * s.tile_panels;
  s.depth_block = ceil_div(shape_.depth, tile.reduction[0][0]);
  s.rows_outside = j[2] > 1;
  s.copy_x = tile.vectors[0] > 1;
  return s;
}

namespace {

class ProductImplementation final : public Implementation {
public:
  ProductImplementation(tile::Product product, int threads, Runs& runs)
      : product_(std::move(product)), threads_(threads), runs_(runs) {}
  Result<double> run() override { return runs_.run(product_, threads_); }

private:
  tile::Product product_;
  int threads_;
  Runs& runs_;
};

/// Returns the least divisor of the loop that is a tile of at least `rows` rows,
/// else the largest smaller divisor.
int64_t rows_of_tile(int64_t loop, int64_t rows, int64_t most) {
  for (int64_t more = rows; more <= most; ++more)
    if (loop % more == 0) return more;
  return largest_divisor(loop, rows);
}

} // namespace

Result<std::unique_ptr<Implementation>>
ProductPrograms::implementation(const tune::Program* program, Runs& runs) const {
  tile::Product product(shape_, program ? schedule(*program) : untuned(), runs.tiles());
  return std::unique_ptr<Implementation>(
      std::make_unique<ProductImplementation>(std::move(product), threads(), runs));
}

std::optional<tune::Program> ProductPrograms::guess() const {
  tile::Schedule s = untuned();
  if (!may_span(s.tile_rows, s.tile_panels)) s.tile_panels = 1;
  auto blocks = [](int64_t units, int64_t parts, int64_t of_block) {
    return parts * ceil_div(ceil_div(units, parts), of_block);
  };
  const tune::Extents& loops = op().space;
  int64_t row_tiles = ceil_div(shape_.rows, s.tile_rows), columns = s.tile_panels * width_;
  int64_t column_tiles = ceil_div(tile::panel_count(shape_.columns, width_), s.tile_panels);
  tune::Program program{op(), tune::Sketch::Tiles, {}, {}};
  tune::Tile& tile = program.tile;
  tile.space = {{s.batch_parts, 1, 1, 1, 1},
                {blocks(row_tiles, s.row_parts, s.row_block), 1, 1, 1,
                 rows_of_tile(loops[kI], s.tile_rows, tile::most_rows(isa_))},
                {blocks(column_tiles, s.column_parts, s.column_block / s.tile_panels),
                 s.rows_outside ? 1 : 2, s.rows_outside ? 2 : 1, 1, columns}};
  int64_t cuts = ceil_div(shape_.depth, s.depth_block);
  tile.reduction = {{largest_divisor(op().reduction[0], cuts), 1, 1}};
  tile.vectors = {s.copy_x ? 2 : 1, 1};
  program = adapted(std::move(program));
  if (!why_not(program).empty()) return std::nullopt;
  return program;
}

tune::Extents ProductPrograms::choose_block(const tune::Nest& nest, int64_t points,
                                            tune::BlockCost& cost) const {
  tune::Extents best;
  int64_t least = INT64_MAX;
  tune::for_factorizations(points, nest.space, [&](const tune::Extents& block) {
    bool whole = block[kJ] % width_ == 0 && (block[kI] > 1 || nest.space[kI] == 1);
    if (!whole || !enough(parts(nest.space[kB] / block[kB], nest.space[kI] / block[kI],
                                nest.space[kJ] / block[kJ])))
      return true;
    if (int64_t lines = cost.of(block); lines < least) {
      least = lines;
      best = block;
    }
    return true;
  });
  return best;
}

// Counts slots of the load ports, over all tiles of a block: each step along the depth loads two
// vectors per panel and broadcasts each row.
std::optional<tune::ThreadShape> ProductPrograms::choose_threads(const tune::Extents& block,
                                                                 int64_t threads) const {
  std::optional<tune::ThreadShape> best;
  double least = HUGE_VAL;
  for (int64_t rows : tune::divisors(block[kI])) {
    if (rows > tile::most_rows(isa_)) break;
    for (int64_t panels : {int64_t{1}, tile::most_panels(isa_, rows)}) {
      int64_t columns = panels * width_;
      if (block[kJ] % columns != 0 || !may_span(rows, panels)) continue;
      int64_t down = block[kI] / rows, across = block[kJ] / columns;
      double slots =
          static_cast<double>(block[kB] * down * across) * static_cast<double>(2 * panels + rows);
      for (bool panels_outside : {true, false}) {
        tune::ThreadShape shape{{block[kB], down, panels_outside ? 1 : across},
                                {1, 1, panels_outside ? across : 1},
                                {1, rows, columns}};
        if (tune::product(shape.grid) != threads || slots >= least) continue;
        best = std::move(shape);
        least = slots;
      }
    }
  }
  return best;
}

} // namespace tg::cpu
