// Builds the tap tables that the kernels read, and determines the order of rows.
#include "runtime/cpu/resize/resize.h"

#include "runtime/cpu/handles.h"
#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <cstring>

namespace tg::cpu {

namespace {

/// Pixels with fewer elements are columns of single elements, in vectors across pixels.
constexpr int64_t kLeastChannels = 8;
/// From this number of taps on, a sum along a row is faster than gathers for several results
/// at once.
constexpr int64_t kLeastDot = 12;

bool keeps(const AxisTaps& taps, int64_t size) {
  if (taps.results() != size || !taps.is_selection()) return false;
  for (int64_t i = 0; i < size; ++i)
    if (taps.places[static_cast<size_t>(i)] != i) return false;
  return true;
}

/// Converts the taps of pixels to taps of their elements.
AxisTaps of_elements(const AxisTaps& pixels, int64_t channels) {
  if (channels == 1) return pixels;
  AxisTaps taps;
  taps.first.push_back(0);
  for (int64_t i = 0; i < pixels.results() * channels; ++i) {
    auto at = static_cast<size_t>(i / channels);
    for (auto k = static_cast<size_t>(pixels.first[at]);
         k < static_cast<size_t>(pixels.first[at + 1]); ++k) {
      taps.places.push_back(pixels.places[k] * channels + i % channels);
      taps.weights.push_back(pixels.weights[k]);
    }
    taps.first.push_back(static_cast<int64_t>(taps.places.size()));
  }
  return taps;
}

/// Returns the maximum number of rows of x from the first to the last tap of a result.
int64_t widest(const AxisTaps& taps) {
  int64_t most = 1;
  for (int64_t i = 0; i < taps.results(); ++i)
    if (taps.count(i) > 0) {
      auto at = static_cast<size_t>(i);
      most = std::max(most, taps.places[static_cast<size_t>(taps.first[at + 1] - 1)] -
                                taps.places[static_cast<size_t>(taps.first[at])] + 1);
    }
  return most;
}

std::vector<float> as_floats(const std::vector<double>& weights) {
  return std::vector<float>(weights.begin(), weights.end());
}

constexpr int64_t kAlignment = 64;
int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

IsaTables<ResizeTable> resize_tables() {
  return isa_tables(kResizeAvx512, kResizeAvx2, kResizeBase);
}

const ResizeTable& resize_table() {
  static const ResizeTable& best = best_of(resize_tables());
  return best;
}

// --- tables -------------------------------------------------------------------------------------

ResizePass::ResizePass(const ResizeTable& table, const ResizeShape& shape, AxisTaps rows,
                       AxisTaps columns)
    : table_(table), shape_(shape), rows_(std::move(rows)), row_weights_(as_floats(rows_.weights)),
      columns_kept_(keeps(columns, shape.width)), sums_rows_first_(rows_.results() <= shape.height),
      in_row_(shape.width * shape.inner), out_row_(columns.results() * shape.inner) {
  most_taps_ = std::max<int64_t>({rows_.most(), columns.most(), 1});
  ring_ = sums_rows_first_ ? 1 : widest(rows_);
  if (!columns_kept_ && shape.inner < kLeastChannels) {
    choose_reads(of_elements(columns, shape.inner));
    selects_ = columns_.selects && rows_.is_selection();
  } else if (!columns_kept_) {
    weights_ = as_floats(columns.weights);
    pixel_taps_ = std::move(columns);
    pixels_ = {pixel_taps_.results(), shape.inner, pixel_taps_.first.data(),
               pixel_taps_.places.data(), weights_.data()};
  }
  scratch_bytes_ = 2 * aligned(most_taps_ * static_cast<int64_t>(sizeof(float*))) +
                   aligned(ring_ * static_cast<int64_t>(sizeof(int64_t))) +
                   aligned(2 * table.lanes * 4);
  if (!columns_kept_) scratch_bytes_ += aligned(ring_ * std::max(in_row_, out_row_) * 4);
}

void ResizePass::choose_reads(const AxisTaps& columns) {
  columns_.results = columns.results();
  columns_.selects = columns.is_selection();
  columns_.taps = std::max<int64_t>(columns.most(), 1);
  for (int64_t i = 0; i < columns.results(); ++i)
    if (columns.count(i) == 0) outside_.push_back(i);
  if (columns_.taps < kLeastDot || !set_dots(columns)) set_vectors(columns);
  columns_.base = base_.data();
  columns_.index = index_.data();
  columns_.weights = weights_.data();
}

/// Uses whole vectors of the elements around the taps of each result.
/// Returns false if these are further apart, or x is shorter.
bool ResizePass::set_dots(const AxisTaps& columns) {
  int64_t lanes = table_.lanes, taps = (widest(columns) + lanes - 1) / lanes * lanes;
  if (taps > in_row_ || taps > columns_.taps + lanes) return false;
  columns_.reads = ColumnReads::Dots;
  columns_.taps = taps;
  weights_.assign(static_cast<size_t>(columns.results() * taps), 0);
  for (int64_t i = 0; i < columns.results(); ++i) {
    auto at = static_cast<size_t>(i);
    auto begin = static_cast<size_t>(columns.first[at]);
    auto end = static_cast<size_t>(columns.first[at + 1]);
    int64_t base = begin == end ? 0 : std::min(columns.places[begin], in_row_ - taps);
    base_.push_back(static_cast<int32_t>(base));
    for (size_t k = begin; k < end; ++k)
      weights_[static_cast<size_t>(i * taps + columns.places[k] - base)] =
          static_cast<float>(columns.weights[k]);
  }
  return true;
}

void ResizePass::set_vectors(const AxisTaps& uneven) {
  AxisTaps columns = even_taps(uneven);
  int64_t lanes = table_.lanes, results = columns.results(), taps = columns_.taps;
  columns_.vectors = (results + lanes - 1) / lanes;
  int64_t most = 0; // elements spanned by a vector of results
  std::vector<int64_t> lowest;
  for (int64_t v = 0; v < columns_.vectors; ++v) {
    int64_t first = std::max<int64_t>(std::min(v * lanes, results - lanes), 0), low = INT64_MAX,
            high = 0;
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        auto k = static_cast<size_t>(std::min(first + lane, results - 1) * taps + t);
        low = std::min(low, columns.places[k]);
        high = std::max(high, columns.places[k]);
        index_.push_back(static_cast<int32_t>(columns.places[k]));
        weights_.push_back(static_cast<float>(columns.weights[k]));
      }
    lowest.push_back(low);
    most = std::max(most, high - low + 1);
  }
  int64_t vectors = (most + lanes - 1) / lanes;
  columns_.reads = !table_.permutes || vectors > 2 ? ColumnReads::Loop
                   : vectors == 1                  ? ColumnReads::OneVector
                                                   : ColumnReads::TwoVectors;
  loaded_ = columns_.reads == ColumnReads::Loop ? 0 : vectors * lanes;
  for (int64_t v = 0; v < columns_.vectors; ++v) {
    int64_t last = std::max<int64_t>(in_row_ - loaded_, 0); // a shorter row is padded
    int64_t base = loaded_ == 0 ? 0 : std::min(lowest[static_cast<size_t>(v)], last);
    base_.push_back(static_cast<int32_t>(base));
    for (int64_t i = 0; i < taps * lanes; ++i)
      index_[static_cast<size_t>(v * taps * lanes + i)] -= static_cast<int32_t>(base);
  }
}

// --- runs ---------------------------------------------------------------------------------------

ResizePass::Scratch ResizePass::scratch_of(std::byte* memory) const {
  Scratch s{};
  for (const float*** taps : {&s.taps, &s.pixel_taps}) {
    *taps = reinterpret_cast<const float**>(memory);
    memory += aligned(most_taps_ * static_cast<int64_t>(sizeof(float*)));
  }
  s.held = reinterpret_cast<int64_t*>(memory);
  memory += aligned(ring_ * static_cast<int64_t>(sizeof(int64_t)));
  s.padded = reinterpret_cast<float*>(memory);
  memory += aligned(2 * table_.lanes * 4);
  s.rows = reinterpret_cast<float*>(memory);
  return s;
}

void ResizePass::run(const Threads& threads, const float* x, float* y, std::byte* scratch) const {
  parallel_for(threads, shape_.outer * rows_.results(), [&](int64_t begin, int64_t end, int part) {
    Scratch s = scratch_of(scratch + part * scratch_bytes_);
    std::fill_n(s.padded, 2 * table_.lanes, 0.0f);
    rows_between(begin, end, x, y, s);
  });
}

void ResizePass::rows_between(int64_t begin, int64_t end, const float* x, float* y,
                              Scratch& s) const {
  int64_t height = rows_.results();
  if (selects_) begin += selected_rows(begin, end, x, y);
  for (int64_t r = begin; r < end; ++r) {
    int64_t plane = r / height, i = r % height;
    if (plane != s.plane) std::fill_n(s.held, ring_, -1);
    float* to = y + r * out_row_;
    if (plane == s.plane && repeats(i))
      std::memcpy(to, to - out_row_, static_cast<size_t>(out_row_ * 4));
    else
      row(i, x + plane * shape_.height * in_row_, to, s);
    s.plane = plane;
  }
}

/// Computes rows from `begin` on, up to those that would read beyond x or write beyond the last
/// of these rows, and returns their number.
int64_t ResizePass::selected_rows(int64_t begin, int64_t end, const float* x, float* y) const {
  int64_t height = rows_.results(), behind = (table_.lanes + out_row_ - 1) / out_row_ - 1;
  int64_t readable = operands() - std::max(loaded_, in_row_); // the last possible start of a row
  int64_t r = begin, last = end - behind;
  while (r < last) {
    int64_t plane = r / height, i = r % height, first = plane * shape_.height;
    int64_t most = std::min(height - i, last - r);
    SelectedRows rows{rows_.places.data() + i, 0, in_row_};
    while (rows.count < most && (first + rows.places[rows.count]) * in_row_ <= readable)
      ++rows.count;
    table_.select_rows(y + r * out_row_, x + first * in_row_, columns_, rows);
    r += rows.count;
    if (rows.count < most) break;
  }
  return r - begin;
}

/// Returns true if the row of y equals the previous one: both are the same row of x.
bool ResizePass::repeats(int64_t i) const {
  if (i == 0 || rows_.count(i) != 1 || rows_.count(i - 1) != 1) return false;
  auto at = static_cast<size_t>(rows_.first[static_cast<size_t>(i)]);
  return rows_.places[at] == rows_.places[at - 1] && row_weights_[at] == row_weights_[at - 1];
}

void ResizePass::row(int64_t i, const float* plane, float* y, Scratch& s) const {
  auto first = static_cast<size_t>(rows_.first[static_cast<size_t>(i)]);
  int64_t taps = rows_.count(i);
  const float* weights = row_weights_.data() + first;
  const int64_t* places = rows_.places.data() + first;
  if (taps == 0) return std::fill_n(y, out_row_, 0.0f), void();
  if (taps == 1 && weights[0] == 1) {
    const float* from = plane + places[0] * in_row_;
    if (!columns_kept_) return resample_columns(y, from, s);
    std::memcpy(y, from, static_cast<size_t>(out_row_ * 4));
    return;
  }
  bool of_x = columns_kept_ || sums_rows_first_;
  for (int64_t t = 0; t < taps; ++t)
    s.taps[t] = of_x ? plane + places[t] * in_row_ : ring_row(places[t], plane, s);
  float* sum = of_x && !columns_kept_ ? s.rows : y;
  table_.sum_rows(sum, s.taps, weights, taps, sum == y ? out_row_ : in_row_);
  if (sum != y) resample_columns(y, sum, s);
}

/// Returns a row of x, resampled along its columns. The ring is longer than the range of rows
/// of one result.
const float* ResizePass::ring_row(int64_t place, const float* plane, Scratch& s) const {
  int64_t slot = place % ring_;
  float* to = s.rows + slot * out_row_;
  if (s.held[slot] == place) return to;
  resample_columns(to, plane + place * in_row_, s);
  s.held[slot] = place;
  return to;
}

void ResizePass::resample_columns(float* y, const float* x, Scratch& s) const {
  if (pixels_.results > 0) return table_.pixels(y, x, pixels_, s.pixel_taps);
  if (in_row_ < loaded_) {
    std::memcpy(s.padded, x, static_cast<size_t>(in_row_ * 4));
    x = s.padded;
  }
  table_.columns(y, x, columns_);
  for (int64_t i : outside_) y[i] = 0;
}

} // namespace tg::cpu
