// The cost model of grouped convolutions, and the tile, bands, spans and sets chosen by it.
#include "runtime/cpu/tile/grouped_sets.h"

#include <cmath>

namespace tg::tile {

namespace {

constexpr int64_t kMostVectors = 6;

/// The end of a tile needs three registers.
int64_t most_sums(const GroupedShape& s) { return vector_registers(s.isa) - 3; }

/// Returns the maximum number of columns that leaves enough registers for a step.
int64_t most_grouped_columns(const GroupedShape& s, int64_t groups, int64_t vectors) {
  int64_t registers = vector_registers(s.isa);
  if (vectors == 1) {
    int64_t others = taps_at_once(s) + 1;
    if (groups > 1 && !are_quarters(s, {groups, 1, 1})) others += 2; // an order, a mask
    return std::min<int64_t>(most_sums(s), registers - others);
  }
  int64_t by_rows = (registers - vectors - 1) / vectors,
          by_vectors = (registers - 1) / (vectors + 1);
  return std::min(most_sums(s) / vectors, std::max(by_rows, by_vectors));
}

/// Returns the pixels that a tile uses in a row.
int64_t pixels_of(const GroupedShape& s, int64_t columns) {
  int64_t taps = s.kernel.columns;
  return std::min(s.position(columns - 1, taps - 1) + 1, columns * taps);
}

/// The same for one vector, which uses several taps at once.
int64_t pixel_loads(const GroupedShape& s, int64_t columns) {
  int64_t loads = 0, most = taps_at_once(s);
  for (int64_t tap = 0; tap < s.kernel.columns; tap += most) {
    int64_t taps = std::min(most, s.kernel.columns - tap);
    loads += std::min(s.position(columns - 1, taps - 1) + 1, columns * taps);
  }
  return loads;
}

bool lines_stay_cached(const GroupedShape& s, int64_t columns) {
  return s.inputs == 1 || pixels_of(s, columns) <= s.pixels_in_first_level();
}

/// The cycles of lines for `pixels` pixels that come from the second level again for each input.
/// The AVX-512 model is that of Zen 4: surplus lines evict as many others, and whole pages take
/// longer.
double line_cycles(const GroupedShape& s, int64_t columns, int64_t pixels) {
  constexpr int64_t kPage = 4096;
  if (s.isa == Isa::Avx2)
    return lines_stay_cached(s, columns) ? 0 : 3 * static_cast<double>(pixels);
  bool pages = 4 * s.x.pixel % kPage == 0;
  int64_t room = s.pixels_in_first_level() + (pages ? 1 : -1);
  if (s.inputs == 1 || pixels <= room) return 0;
  return static_cast<double>(std::min(pixels, 2 * (pixels - room)) * (pages ? 6 : 3));
}

/// The cycles of all stores that end a tile: half a line takes as many as a whole one.
double store_cycles(const GroupedShape& s, int64_t vectors, int64_t columns) {
  constexpr int64_t kOfLine = 4, kLine = 64;
  return static_cast<double>(kOfLine * columns * ceil_div(vectors * s.vector_bytes(), kLine));
}

/// The cycles of weights from the second level, one line in nearly four cycles;
/// from further away if those of a set exceed its size, which happens sooner with rows of AVX-512.
double stream_cycles(const GroupedShape& s, int64_t vectors) {
  constexpr double kBytesACycle = 16, kFromThird = 10;
  constexpr int64_t kSecond = 1 << 20;
  bool far = s.isa == Isa::Avx512 && set_weights(s, {1, vectors, 1}) * 4 > kSecond;
  return static_cast<double>(vectors * s.vector_bytes()) / (far ? kFromThird : kBytesACycle);
}

/// With AVX-512, the end of a tile with more sums than this no longer overlaps with the next tile.
double many_sums_cycles(const GroupedShape& s, int64_t sums) {
  constexpr int64_t kMany = 16, kOfSum = 3;
  return s.isa == Isa::Avx2 ? 0 : static_cast<double>(kOfSum * std::max<int64_t>(0, sums - kMany));
}

/// With AVX-512: the factor by which multiply-adds take longer because of dependent sums and lines.
/// A sum of one vector uses adjacent taps one after the other;
/// lines of many pixels are requested at once.
double waiting(const GroupedShape& s, int64_t vectors, int64_t columns) {
  constexpr int64_t kFewColumns = 8, kFewPixels = 16;
  if (s.isa == Isa::Avx2) return 1;
  auto others = static_cast<double>(std::max<int64_t>(0, pixels_of(s, columns) - kFewPixels));
  double of_lines = 1 + 0.003 * others;
  if (vectors > 1 || s.kernel.columns == 1) return of_lines;
  return of_lines * (columns <= kFewColumns && s.stride.columns > 1 ? 1.1 : 1.02);
}

/// Returns the cycles of a tile for a row of the kernel and an input.
double tile_cycles(const GroupedShape& s, int64_t vectors, int64_t columns) {
  int64_t taps = s.kernel.columns, pixels = pixels_of(s, columns);
  int64_t loads = vectors * taps + (vectors == 1 ? pixel_loads(s, columns) : columns * taps);
  double products = static_cast<double>(columns * vectors * taps) * waiting(s, vectors, columns);
  double latency = 4 * static_cast<double>(taps), stream = 0;
  if (streams_weights(s, vectors)) stream = static_cast<double>(taps) * stream_cycles(s, vectors);
  bool wide = s.isa == Isa::Avx512;
  double load = wide ? 0.005 : 0.02; // prefers fewer loads at equal speed
  double lines = line_cycles(s, columns, pixels), loop = wide ? 0.25 + lines / 2 : 1;
  constexpr double kTile = 20; // start and end of a tile
  double ends = kTile + store_cycles(s, vectors, columns) + many_sums_cycles(s, columns * vectors);
  double passes = vectors == 1 ? 2 * static_cast<double>((taps - 1) / taps_at_once(s)) : 0;
  double rate = vectors_a_cycle(s.isa);
  return std::max({products / rate, static_cast<double>(loads) / rate, latency, stream, lines}) +
         loop + passes + load * static_cast<double>(loads) +
         ends / static_cast<double>(s.depth.kernel * s.kernel.rows * s.inputs);
}

/// The same for a product, where all sets follow each other in a tile: weights then come
/// from the second level, if there are many.
double product_cycles(const GroupedShape& s, int64_t vectors, int64_t columns) {
  constexpr double kLatency = 4, kLoop = 0.25, kLoad = 0.02;
  auto products = static_cast<double>(columns * vectors);
  auto loads = static_cast<double>(columns + vectors);
  double stream = 4 * s.inputs * s.outputs > kFewWeights ? stream_cycles(s, vectors) : 0;
  double lines = line_cycles(s, columns, columns);
  // The end of a tile of twelve sums hardly overlaps with the next tile.
  constexpr double kTile = 20, kManySums = 16;
  double ends = kTile + store_cycles(s, vectors, columns) + many_sums_cycles(s, columns * vectors);
  double rate = vectors_a_cycle(s.isa);
  if (products >= 12 && s.isa == Isa::Avx2) ends += kManySums;
  // One vector alone loads nearly as many pixels as it multiplies; with AVX-512 in one instruction.
  double load = s.isa == Isa::Avx512 && vectors == 1 ? 0.9 : 1.16;
  return std::max({products / rate, load * loads / rate, kLatency, stream, lines}) + kLoop +
         kLoad * loads + ends / static_cast<double>(s.inputs);
}

/// The cycles of a row of the result, for all vectors of a group.
double row_cycles(const GroupedShape& s, int64_t vectors, int64_t most) {
  auto of_tile = is_product(s) ? product_cycles : tile_cycles;
  int64_t tiles = ceil_div(s.result.columns, most), columns = s.result.columns / tiles;
  int64_t wider = s.result.columns % tiles;
  double cycles = static_cast<double>(tiles - wider) * of_tile(s, vectors, columns);
  if (wider > 0) cycles += static_cast<double>(wider) * of_tile(s, vectors, columns + 1);
  return cycles * static_cast<double>(ceil_div(vectors_of(s), vectors));
}

} // namespace

int64_t grouped_code_bound(const GroupedShape& s, const GroupedTile& t) {
  int64_t tiles = 0, unrolled = t.groups > 1 ? s.inputs : 2 * unrolled_inputs(s) - 1;
  for (const ColumnTiles& each : column_tiles(s, t.columns)) {
    int64_t taps = s.kernel.columns * unrolled;
    tiles += 20 * taps * (t.vectors + 1) * (each.columns + 1) +
             100 * t.vectors * (each.columns + 1) + 500;
  }
  return 4096 + 2 * tiles; // two kinds of sets
}

GroupedTile Grouped::tile(const GroupedShape& s) {
  GroupedTile best;
  best.groups = groups_of_vector(s);
  double least = INFINITY;
  for (int64_t vectors = 1; vectors <= std::min(kMostVectors, vectors_of(s)); ++vectors) {
    bool even = vectors_of(s) % vectors == 0;
    if (!even && !is_product(s) && s.isa == Isa::Avx2) continue;
    int64_t most = most_grouped_columns(s, best.groups, vectors);
    for (int64_t columns = most; columns > 0; --columns) {
      double cycles = row_cycles(s, vectors, columns);
      if (cycles >= least) continue;
      least = cycles;
      best.vectors = vectors;
      best.columns = columns;
    }
  }
  return best;
}

/// A few sums of an AVX2 tile are limited by latency.
Isa Grouped::faster_isa(GroupedShape s) {
  constexpr double kSums = 8;
  auto vectors = [&](Isa isa) {
    s.isa = isa;
    int64_t sharing = groups_of_vector(s);
    return sharing > 1 ? ceil_div(s.groups, sharing) : s.groups * vectors_of(s);
  };
  double narrow = static_cast<double>(vectors(Isa::Avx2));
  if (GroupedTile t = tile(s); s.result.columns > 1)
    narrow *= std::max(1.0, kSums / static_cast<double>(t.vectors * widest_tile(s, t)));
  return tile::faster_isa(narrow, static_cast<double>(vectors(Isa::Avx512)));
}

bool Grouped::suits(const GroupedShape& s) {
  constexpr int64_t kMost = int64_t{1} << 24; // channels and taps: limits steps between sets
  int64_t channels = s.groups * std::max(s.inputs, s.outputs);
  if (!s.steps_fit() || channels > kMost || s.taps() > kMost / (8 * s.inputs)) return false;
  return s.kernel.columns < 1024 && s.result.columns < 1 << 20 &&
         grouped_code_bound(s, tile(s)) <= kMostConvolutionCode;
}

GroupedTile Grouped::tile(const GroupedShape& s, const ConvolutionSchedule& schedule) {
  return {groups_of_vector(s), schedule.vectors, schedule.columns};
}

int64_t Grouped::group_vectors(const GroupedShape& s) { return vectors_of(s); }
int64_t Grouped::most_columns(const GroupedShape& s, int64_t vectors) {
  return vectors > kMostVectors ? 0 : most_grouped_columns(s, groups_of_vector(s), vectors);
}

bool Grouped::suits(const GroupedShape& s, const ConvolutionTail&,
                    const ConvolutionSchedule& schedule) {
  auto [rows, columns, vectors, bands, spans, at_once] = schedule;
  if (!suits(s) || rows != 1 || vectors < 1 || vectors > kMostVectors || vectors > vectors_of(s))
    return false;
  GroupedTile t = tile(s, schedule);
  if (columns < 1 || columns > most_columns(s, vectors)) return false;
  if (grouped_code_bound(s, t) > kMostConvolutionCode) return false;
  if (bands < 1 || bands > s.result.rows || spans < 1 || at_once < 1) return false;
  return spans <= ceil_div(SetSteps(s, t).sets, at_once);
}

bool Grouped::keeps_lines(const GroupedShape& s) {
  GroupedTile t = tile(s);
  int64_t columns = widest_tile(s, t), pixels = pixels_of(s, columns);
  if (lines_stay_cached(s, columns)) return true;
  auto products = static_cast<double>(columns * t.vectors * s.kernel.columns);
  return s.isa == Isa::Avx512 && pixels <= s.pixels_in_first_level() + 1 &&
         line_cycles(s, columns, pixels) <= products;
}

namespace {

/// The slowdown of threads that share lines of pixels.
constexpr double kSharedLines = 0.04;

/// Returns the ratio of the largest share to an even one.
double unevenness(int64_t units, int64_t threads) {
  return static_cast<double>(ceil_div(units, threads) * threads) / static_cast<double>(units);
}

/// Returns the slowdown if threads divide rows, or sets. The hardware prefetcher loads lines beyond
/// a pixel's channels that another core writes. Weights that exceed the second level are loaded
/// by all cores.
double row_shares(const GroupedShape& s, int64_t threads, const Caches& caches) {
  bool many = 4 * s.inputs * s.outputs > caches.second / 2;
  return unevenness(s.planes() * s.result.rows, threads) + (threads > 1 && many ? kSharedLines : 0);
}
double set_shares(const GroupedShape& s, int64_t sets, int64_t threads, const Caches& caches) {
  bool few = 4 * s.inputs * s.outputs <= caches.second / 2;
  return unevenness(sets, threads) + (few ? kSharedLines : 0);
}
bool parts_sets(const GroupedShape& s, int64_t sets, int64_t threads, const Caches& caches) {
  return threads > 1 && sets >= threads &&
         set_shares(s, sets, threads, caches) < row_shares(s, threads, caches);
}

/// The schedule of products. If the weights of all sets fit in half of the second level,
/// all sets use a tile of pixels in turn, so that pixels are loaded once and whole lines
/// of the result are written one after the other; otherwise as many sets as fit in a quarter,
/// and the pixels of a band stay there for the next sets.
ConvolutionSchedule product_schedule(const GroupedShape& s, const ConvolutionTail& tail,
                                     const GroupedTile& t, int64_t threads, const Caches& caches) {
  SetSteps steps(s, t);
  ConvolutionSchedule by_rule;
  by_rule.columns = t.columns;
  by_rule.vectors = t.vectors;
  bool by_sets = parts_sets(s, steps.sets, threads, caches);
  int64_t own = by_sets ? ceil_div(steps.sets, threads) : steps.sets;
  int64_t of_set = 4 * set_weights(s, t), room = caches.second / 2;
  if (own * of_set > room) room /= 2;
  int64_t fit = std::max<int64_t>(1, room / of_set);
  constexpr int64_t kFewInputs = 128, kFarApart = 2; // with many stores for their results
  if (by_sets && s.inputs < kFewInputs) fit = std::min(fit, kFarApart);
  int64_t at_once = std::min(own, fit);
  if (by_sets) // equally many per thread
    while (own % at_once != 0) --at_once;
  else
    at_once = ceil_div(own, ceil_div(own, at_once));
  by_rule.sets_at_once = at_once;
  int64_t row = 4 * s.result.columns * (at_once < own ? s.inputs : 0);
  if (tail.finish) row += 4 * s.result.columns * s.outputs;
  if (row > 0)
    by_rule.bands = ceil_div(s.result.rows, std::max<int64_t>(1, caches.second / 4 / row));
  if (by_sets)
    by_rule.spans = std::min(threads, ceil_div(steps.sets, by_rule.sets_at_once));
  else if (s.planes() * by_rule.bands % threads != 0)
    by_rule.bands = std::min(s.result.rows, ceil_div(by_rule.bands, threads) * threads);
  return by_rule;
}

/// Returns the sets that are processed together so that a volume is read once:
/// all if a plane has one tap and their weights fit in half of the second level,
/// else those that fit in the first.
int64_t volume_sets(const GroupedShape& s, const GroupedTile& t, int64_t narrow,
                    const Caches& caches) {
  int64_t sets = SetSteps(s, t).in_group, weights = 4 * set_weights(s, t);
  if (is_product_of_planes(s) && weights * sets <= caches.second / 2) return sets;
  return std::max(narrow, std::min(sets, 2 * caches.first / 3 / weights));
}

} // namespace

double Grouped::cycles(const GroupedShape& s, int threads, const Caches& caches) {
  constexpr double kRow = 30;
  GroupedTile t = tile(s);
  int64_t rows = s.planes() * s.result.rows, sets = SetSteps(s, t).sets;
  bool by_sets = is_product(s) && parts_sets(s, sets, threads, caches);
  double shares = by_sets ? set_shares(s, sets, threads, caches) : row_shares(s, threads, caches);
  double row = static_cast<double>(s.groups * s.inputs) * row_cycles(s, t.vectors, t.columns);
  return static_cast<double>(rows) * (kRow + row) * shares;
}

// Adjacent sets that share lines of x and y are processed together, if their weights then stay
// in the first level. All rows of a band use them before the next sets, so that weights come
// from further away once per band. Its x should stay in the second level, from which every row
// of the kernel reads a line again.
ConvolutionSchedule Grouped::default_schedule(const GroupedShape& s, const ConvolutionTail& tail,
                                              int threads, const Caches& caches) {
  constexpr int64_t kLine = 16, kFewRows = 4;
  GroupedTile t = tile(s);
  if (is_product(s)) return product_schedule(s, tail, t, threads, caches);
  SetSteps steps(s, t);
  ConvolutionSchedule by_rule;
  by_rule.columns = t.columns;
  by_rule.vectors = t.vectors;
  int64_t weights = 4 * set_weights(s, t);
  int64_t narrow = std::max<int64_t>(1, std::min(steps.inputs, steps.outputs));
  by_rule.sets_at_once =
      std::clamp<int64_t>(kLine / narrow, 1, std::max<int64_t>(1, caches.first / 3 / weights));
  // Volumes are read once per plane of the kernel.
  if (s.depth.kernel > 1) by_rule.sets_at_once = volume_sets(s, t, by_rule.sets_at_once, caches);
  int64_t row = 4 * s.image.columns * s.groups * s.inputs * s.stride.rows * s.depth.kernel;
  int64_t rows = std::max(kFewRows, caches.second / 2 / row);
  if (weights * steps.sets > caches.second / 4) rows = std::max(rows, 4 * kFewRows);
  by_rule.bands = ceil_div(s.result.rows, rows);
  // Threads get equal work: in whole bands if there are many; else by sets, if these
  // have more weights than results, or there are few rows. Lines of a pixel
  // that two cores write move between them, because each prefetches beyond its own.
  if (s.planes() * by_rule.bands < 4 * threads && s.planes() * by_rule.bands % threads != 0) {
    int64_t chunks = ceil_div(steps.sets, by_rule.sets_at_once);
    int64_t results = 4 * s.result.rows * s.result.columns * s.groups * s.outputs;
    bool by_sets = weights * steps.sets > results || s.result.rows < 8 * threads;
    if (chunks >= threads && by_sets)
      by_rule.spans = threads;
    else
      by_rule.bands = std::min(s.result.rows, ceil_div(by_rule.bands, threads) * threads);
  }
  return by_rule;
}

} // namespace tg::tile
