#include "runtime/cpu/tile/long_rows.h"

#include "runtime/cpu/tile/convolution_pieces.h"
#include "runtime/cpu/tile/depthwise.h"

#include <algorithm>

namespace tg::tile {

namespace {

constexpr int64_t kRowBytes = 32 << 10; // of x, about
constexpr int64_t kFewestRows = 16;     // for several threads

/// The first column that uses all taps, and their number.
struct Columns {
  int64_t first, count;
};
Columns whole_columns(const GroupedShape& s) {
  int64_t first = std::max<int64_t>(0, ceil_div(s.before.columns, s.stride.columns));
  int64_t end = s.result.columns;
  while (end > first && !s.inside(end - 1, s.kernel.columns - 1)) --end;
  return {first, std::max<int64_t>(0, end - first)};
}

int64_t tile_columns(const GroupedShape& s) {
  if (!LongRows::is_depthwise(s)) return Grouped::tile(s).columns;
  return Depthwise::default_schedule(depthwise_shape(s), {}, 1, caches()).columns;
}

bool row_has_code(const GroupedShape& s) {
  return LongRows::is_depthwise(s) ? Depthwise::suits(depthwise_shape(s)) : Grouped::suits(s);
}

/// Makes a convolution with as many parts as blocks.
Result<std::unique_ptr<Convolution>> made_row(const GroupedShape& s, const ConvolutionTail& tail,
                                              const ConvolutionSchedule& schedule) {
  auto blocks = static_cast<int>(s.planes() * schedule.bands * schedule.spans);
  std::unique_ptr<Convolution> made;
  if (LongRows::is_depthwise(s)) {
    TG_TRY(made, Depthwise::make(depthwise_shape(s), tail, schedule, blocks));
  } else {
    TG_TRY(made, Grouped::make(s, tail, schedule, blocks));
  }
  return made;
}

/// One block, with the weights of that schedule.
ConvolutionSchedule at_end(const GroupedShape& s, const ConvolutionSchedule& middle) {
  ConvolutionSchedule schedule;
  schedule.vectors = middle.vectors;
  schedule.columns = LongRows::is_depthwise(s) ? Depthwise::most_columns(depthwise_shape(s), 1)
                                               : Grouped::most_columns(s, middle.vectors);
  return schedule;
}

/// The middle: rows with this number of columns.
struct Middle {
  int64_t first = 0, rows = 0, columns = 1;
};
Middle middle_of(const GroupedShape& s) {
  auto [first, count] = whole_columns(s);
  GroupedShape all = s;
  all.result.columns = std::max<int64_t>(1, count);
  int64_t tile = tile_columns(all);
  int64_t of_tile = 4 * tile * s.stride.columns * s.groups * s.inputs;
  int64_t most = count / (kFewestRows * tile);
  int64_t columns = tile * std::max<int64_t>(1, std::min(most, kRowBytes / of_tile));
  return {first, count / columns, columns};
}

/// Returns the columns of the row from `first` on.
GroupedShape end_of(const GroupedShape& s, int64_t first, int64_t columns) {
  GroupedShape part = s;
  part.result.columns = columns;
  part.before.columns -= first * s.stride.columns;
  return part;
}

} // namespace

bool LongRows::suits(const GroupedShape& s) {
  if (s.result.rows != 1 || s.image.rows != 1 || s.kernel.rows != 1 || s.before.rows != 0)
    return false;
  return row_has_code(s) && middle_of(s).rows >= kFewestRows && row_has_code(middle(s));
}

GroupedShape LongRows::cut(const GroupedShape& s, const Plane& size) {
  GroupedShape part = s;
  part.result = size;
  part.image = {size.rows, s.position(size.columns - 1, s.kernel.columns - 1) + 1};
  part.stride.rows = 1;
  part.before = {0, 0};
  part.x.row = size.columns * s.stride.columns * s.x.pixel;
  part.y.row = size.columns * s.y.pixel;
  part.residual.row = size.columns * s.residual.pixel;
  return part;
}

GroupedShape LongRows::middle(const GroupedShape& s) {
  Middle m = middle_of(s);
  return cut(s, {m.rows, m.columns});
}

// If all weights stay in the first level, all sets are processed together, so that lines of x
// and y are each moved once: they are often in memory.
ConvolutionSchedule LongRows::default_schedule(const GroupedShape& s, const ConvolutionTail& tail,
                                               int threads, const Caches& caches) {
  if (is_depthwise(s))
    return Depthwise::default_schedule(depthwise_shape(s), tail, threads, caches);
  ConvolutionSchedule by_rule = Grouped::default_schedule(s, tail, threads, caches);
  int64_t all = 4 * Grouped::weight_elements(s, by_rule);
  bool whole = s.groups == 1 && by_rule.spans == 1 && all <= caches.first;
  if (whole) by_rule.sets_at_once = ceil_div(Grouped::group_vectors(s), by_rule.vectors);
  return by_rule;
}

Result<std::unique_ptr<Convolution>> LongRows::make(const GroupedShape& s,
                                                    const ConvolutionTail& tail,
                                                    const ConvolutionSchedule& schedule,
                                                    int threads) {
  if (!suits(s)) return error(Code::device, "no code for a convolution of this shape");
  Middle c = middle_of(s);
  std::vector<ConvolutionPieces::Piece> pieces;
  auto add = [&](const GroupedShape& part, const ConvolutionSchedule& by,
                 int64_t first) -> Result<void> {
    ConvolutionPieces::Piece piece;
    piece.at.y = first * s.y.pixel;
    piece.at.residual = first * s.residual.pixel;
    TG_TRY(piece.made, made_row(part, tail, by));
    pieces.push_back(std::move(piece));
    return {};
  };
  TG_CHECK(add(middle(s), schedule, c.first));
  pieces.back().at.x = (c.first * s.stride.columns - s.before.columns) * s.x.pixel;
  int64_t behind = c.first + c.rows * c.columns;
  if (c.first > 0) {
    TG_CHECK(add(end_of(s, 0, c.first), at_end(s, schedule), 0));
  }
  if (behind < s.result.columns) {
    TG_CHECK(add(end_of(s, behind, s.result.columns - behind), at_end(s, schedule), behind));
  }
  std::string text = pieces.front().made->text() + " in rows of " + std::to_string(c.columns);
  return std::unique_ptr<Convolution>(
      std::make_unique<ConvolutionPieces>(std::move(pieces), std::move(text), threads));
}

} // namespace tg::tile
