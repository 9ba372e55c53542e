// Blocks: kTerms rows of b, for one range of columns, are packed into panels of kColumns. All rows
// of tiles use them while they are in the cache. Bounds, for factors below 2^51: a high half is
// below 2^50, so kTermsBeforeFold of them plus a folded sum are below 2^62. Then low + 2^52 * high
// is below 2^114, 2^64 times the smallest prime, as FieldPoint::reduced requires.
#include "compiler/verify/field/tile.h"

#include <algorithm>
#include <vector>

namespace tg {

namespace {

constexpr int64_t kRows = FieldTile::kRows, kColumns = FieldTile::kColumns;
constexpr int64_t kTerms = FieldTile::kTerms;
constexpr int64_t kTermsBeforeFold = 2048;
static_assert(kFieldColumns % kColumns == 0 && kFieldRows % kRows == 0 && sizeof(Field) == 32);
static_assert(kTerms <= 256 && kTermsBeforeFold + 2 < 4096);

class Tiled {
public:
  Tiled(const FieldProduct& product, FieldRange range, FieldTile::AddTerms add_terms)
      : product_(product), range_(range), add_terms_(add_terms),
        blocks_((range.rows + kRows - 1) / kRows),
        panels_((range.columns + kColumns - 1) / kColumns),
        b_(static_cast<size_t>(panels_ * kTerms * kColumns)), zeros_(static_cast<size_t>(kTerms)),
        tiles_(static_cast<size_t>(blocks_ * panels_)) {}

  void run() {
    for (int64_t l = 0, since_fold = 0; l < product_.k; l += kTerms, since_fold += kTerms) {
      if (since_fold == kTermsBeforeFold) fold(since_fold);
      block(l, std::min(kTerms, product_.k - l));
    }
    for (int64_t i = 0; i < range_.rows; ++i) finish(i);
  }

private:
  FieldTile& tile(int64_t block, int64_t panel) {
    return tiles_[static_cast<size_t>(block * panels_ + panel)];
  }

  void block(int64_t l, int64_t terms) {
    Field row[kFieldColumns] = {};
    for (int64_t i = 0; i < terms; ++i) {
      product_.b(l + i, range_.column, range_.columns, row);
      for (int64_t panel = 0; panel < panels_; ++panel)
        std::copy_n(row + panel * kColumns, kColumns, b_.data() + (panel * kTerms + i) * kColumns);
    }
    for (int64_t panel = 0; panel < panels_; ++panel)
      for (int64_t block = 0; block < blocks_; ++block) {
        const Field* rows[kRows]; // missing rows are zeros
        for (int64_t r = 0; r < kRows; ++r) {
          int64_t i = block * kRows + r;
          rows[r] = i < range_.rows ? product_.a + (range_.row + i) * product_.a_pitch + l
                                    : zeros_.data();
        }
        add_terms_(rows, b_.data() + panel * kTerms * kColumns, terms, tile(block, panel));
      }
  }

  /// Reduces the high halves below the primes.
  void fold(int64_t& since) {
    for (FieldTile& tile : tiles_)
      for (auto& row : tile.high)
        for (size_t i = 0; i < std::size(row); ++i) row[i] %= field_point.prime[i % kFieldLanes];
    since = 0;
  }

  void finish(int64_t i) {
    Field results[kFieldColumns];
    for (int64_t j = 0; j < range_.columns; ++j) {
      const FieldTile& sums = tile(i / kRows, j / kColumns);
      const uint64_t *low = sums.low[i % kRows], *high = sums.high[i % kRows];
      for (int64_t lane = 0; lane < kFieldLanes; ++lane) {
        int64_t at = j % kColumns * kFieldLanes + lane;
        results[j].lane[lane] = field_point.reduced(
            (static_cast<WideProduct>(high[at]) << 52) + low[at], static_cast<int>(lane));
      }
    }
    product_.store(range_.row + i, range_.column, {results, static_cast<size_t>(range_.columns)});
  }

  const FieldProduct& product_;
  FieldRange range_;
  FieldTile::AddTerms add_terms_;
  int64_t blocks_, panels_;
  std::vector<Field> b_, zeros_;
  std::vector<FieldTile> tiles_;
};

} // namespace

void multiply_tiled(const FieldProduct& product, FieldRange range, FieldTile::AddTerms add_terms) {
  Tiled(product, range, add_terms).run();
}

} // namespace tg
