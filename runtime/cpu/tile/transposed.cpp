#include "runtime/cpu/tile/transposed.h"

#include "runtime/cpu/tile/convolution_pieces.h"
#include "runtime/cpu/tile/depthwise.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <numeric>

namespace tg::tile {

namespace {

constexpr int64_t kMostPhases = 64;

/// A phase along one axis.
struct AxisPhase {
  int64_t results = 0;
  int64_t tap = -1, step = 1, taps = 1; // of the kernel, in its order; no tap: one in the padding
  int64_t dilation = 1, before = 0;     // of its convolution
  bool operator==(const AxisPhase&) const = default;

  /// Returns true if both read the same pixels with the same number of taps.
  bool reads_like(const AxisPhase& other) const {
    return tap >= 0 && other.tap >= 0 && results == other.results && taps == other.taps &&
           before == other.before;
  }
};

struct Axis {
  int64_t image, result, kernel, stride, dilation, before;
};

/// Taps k of `phase` are those for which phase + before - k * dilation is a multiple of the stride;
/// the quotient is the pixel that they read.
AxisPhase phase_along(const Axis& a, int64_t phase) {
  int64_t common = std::gcd(a.stride, a.dilation), at = phase + a.before;
  AxisPhase p;
  p.results = ceil_div(a.result - phase, a.stride);
  p.step = a.stride / common;
  p.dilation = a.dilation / common;
  p.before = -a.image; // all after the image
  for (int64_t tap = 0; tap < std::min(p.step, a.kernel); ++tap) {
    if ((at - tap * a.dilation) % a.stride != 0) continue;
    p.tap = tap;
    p.taps = ceil_div(a.kernel - tap, p.step);
    p.before = (p.taps - 1) * p.dilation - (at - tap * a.dilation) / a.stride;
    break;
  }
  return p;
}

Axis rows_of(const TransposedShape& s) {
  return {s.image.rows,  s.result.rows,   s.kernel.rows,
          s.stride.rows, s.dilation.rows, s.before.rows};
}
Axis columns_of(const TransposedShape& s) {
  return {s.image.columns,  s.result.columns,   s.kernel.columns,
          s.stride.columns, s.dilation.columns, s.before.columns};
}

TransposedPhase phase_of(const TransposedShape& s, const AxisPhase& rows,
                         const AxisPhase& columns) {
  TransposedPhase phase;
  phase.shape = s;
  GroupedShape& p = phase.shape;
  p.result = {rows.results, columns.results};
  p.kernel = {rows.taps, columns.taps};
  p.stride = {1, 1};
  p.dilation = {rows.dilation, columns.dilation};
  p.before = {rows.before, columns.before};
  p.y.row *= s.stride.rows;
  p.y.pixel *= s.stride.columns;
  phase.tap = {rows.tap, columns.tap};
  phase.tap_step = {rows.step, columns.step};
  return phase;
}

bool has_code(const TransposedPhase& phase) {
  if (!phase.is_depthwise()) return Grouped::suits(phase.shape);
  return Depthwise::suits(depthwise_shape(phase.shape));
}

int64_t phase_weights(const TransposedPhase& phase, const ConvolutionSchedule& schedule) {
  if (!phase.is_depthwise()) return Grouped::weight_elements(phase.shape, schedule);
  return Depthwise::weight_elements(depthwise_shape(phase.shape));
}

Result<std::unique_ptr<Convolution>> made_of(const TransposedPhase& phase,
                                             const ConvolutionTail& tail,
                                             const ConvolutionSchedule& schedule) {
  auto blocks = static_cast<int>(phase.shape.planes() * schedule.bands * schedule.spans);
  std::unique_ptr<Convolution> made;
  if (phase.is_depthwise()) {
    TG_TRY(made, Depthwise::make(depthwise_shape(phase.shape), tail, schedule, blocks));
  } else {
    TG_TRY(made, Grouped::make(phase.shape, tail, schedule, blocks));
  }
  return made;
}

/// Returns w[groups * outputs][inputs][row][column] of the phase's convolution.
std::vector<float> turned_weights(const float* w, const TransposedShape& s,
                                  const TransposedPhase& phase) {
  const GroupedShape& p = phase.shape;
  std::vector<float> turned(static_cast<size_t>(p.groups * p.outputs * p.inputs * p.taps()));
  if (phase.tap.rows < 0 || phase.tap.columns < 0) return turned;
  float* to = turned.data();
  for (int64_t output = 0; output < p.groups * p.outputs; ++output)
    for (int64_t input = 0; input < p.inputs; ++input) {
      int64_t channel = output / p.outputs * p.inputs + input;
      int64_t column = phase.tap.columns;
      if (phase.merged > 1)
        column = phase_along(columns_of(s), phase.first.columns + output / s.outputs).tap;
      const float* from =
          w + (channel * s.outputs + output % s.outputs) * s.kernel.rows * s.kernel.columns;
      for (int64_t i = p.kernel.rows; i-- > 0;)
        for (int64_t j = p.kernel.columns; j-- > 0;)
          *to++ = from[(phase.tap.rows + i * phase.tap_step.rows) * s.kernel.columns + column +
                       j * phase.tap_step.columns];
    }
  return turned;
}

} // namespace

std::vector<TransposedPhase> Transposed::phases(const TransposedShape& s) {
  std::vector<TransposedPhase> all;
  bool merges = s.groups == 1 && s.y.pixel == s.outputs;
  for (int64_t row = 0; row < std::min(s.stride.rows, s.result.rows); ++row) {
    AxisPhase rows = phase_along(rows_of(s), row);
    int64_t end = std::min(s.stride.columns, s.result.columns);
    for (int64_t column = 0, next; column < end; column = next) {
      AxisPhase columns = phase_along(columns_of(s), column);
      TransposedPhase phase = phase_of(s, rows, columns);
      phase.first = {row, column};
      for (next = column + 1; merges && next < end; ++next)
        if (!columns.reads_like(phase_along(columns_of(s), next))) break;
      phase.merged = next - column;
      phase.shape.outputs *= phase.merged;
      all.push_back(std::move(phase));
    }
  }
  return all;
}

bool Transposed::suits(const TransposedShape& s) {
  constexpr int64_t kMost = 1 << 20;
  if (s.stride.rows > kMostPhases || s.stride.columns > kMostPhases / s.stride.rows) return false;
  for (const Plane* plane : {&s.image, &s.kernel, &s.dilation, &s.before})
    if (plane->rows > kMost || plane->columns > kMost) return false;
  std::vector<TransposedPhase> all = phases(s);
  return std::all_of(all.begin(), all.end(), has_code);
}

Transposed::Schedules Transposed::default_schedules(const TransposedShape& s,
                                                    const ConvolutionTail& tail, int threads,
                                                    const Caches& caches) {
  Schedules all;
  for (const TransposedPhase& phase : phases(s))
    all.push_back(
        phase.is_depthwise()
            ? Depthwise::default_schedule(depthwise_shape(phase.shape), tail, threads, caches)
            : Grouped::default_schedule(phase.shape, tail, threads, caches));
  return all;
}

Transposed::Schedules Transposed::fitted(const TransposedShape& s,
                                         const ConvolutionSchedule& schedule) {
  Schedules all;
  for (const TransposedPhase& phase : phases(s)) {
    ConvolutionSchedule fit = schedule;
    fit.vectors = std::min(fit.vectors, Grouped::group_vectors(phase.shape));
    fit.columns = std::min(fit.columns, Grouped::most_columns(phase.shape, fit.vectors));
    fit.bands = std::min(fit.bands, phase.shape.result.rows);
    int64_t sets = ceil_div(Grouped::group_vectors(phase.shape), fit.vectors);
    fit.sets_at_once = std::min(fit.sets_at_once, sets);
    fit.spans = std::min(fit.spans, ceil_div(sets, fit.sets_at_once));
    all.push_back(fit);
  }
  return all;
}

Result<std::unique_ptr<Convolution>> Transposed::make(const TransposedShape& s,
                                                      const ConvolutionTail& tail,
                                                      const Schedules& schedules, int threads) {
  if (!suits(s) || tail.residual)
    return error(Code::device, "no code for a transposed convolution of this shape");
  std::vector<TransposedPhase> all = phases(s);
  std::vector<ConvolutionPieces::Piece> pieces;
  int64_t weights = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    ConvolutionPieces::Piece piece;
    piece.at.y = all[i].first.rows * s.y.row + all[i].first.columns * s.y.pixel;
    piece.at.weights = weights;
    weights += phase_weights(all[i], schedules[i]);
    TG_TRY(piece.made, made_of(all[i], tail, schedules[i]));
    pieces.push_back(std::move(piece));
  }
  std::string text = llvm::formatv("{0} in {1} phases", pieces.front().made->text(), pieces.size());
  return std::unique_ptr<Convolution>(
      std::make_unique<ConvolutionPieces>(std::move(pieces), std::move(text), threads));
}

Isa Transposed::faster_isa(const TransposedShape& s) {
  TransposedPhase first = phases(s).front();
  return first.is_depthwise() ? Depthwise::faster_isa(depthwise_shape(first.shape))
                              : Grouped::faster_isa(first.shape);
}

int64_t Transposed::weight_elements(const TransposedShape& s, const Schedules& schedules) {
  std::vector<TransposedPhase> all = phases(s);
  int64_t elements = 0;
  for (size_t i = 0; i < all.size(); ++i) elements += phase_weights(all[i], schedules[i]);
  return elements;
}

void Transposed::pack(float* to, const float* w, const TransposedShape& s,
                      const Schedules& schedules) {
  std::vector<TransposedPhase> all = phases(s);
  for (size_t i = 0; i < all.size(); ++i) {
    const GroupedShape& shape = all[i].shape;
    std::vector<float> turned = turned_weights(w, s, all[i]);
    if (all[i].is_depthwise())
      Depthwise::pack(to, turned.data(), depthwise_shape(shape));
    else
      Grouped::pack(to, turned.data(), shape, Grouped::tile(shape, schedules[i]));
    to += phase_weights(all[i], schedules[i]);
  }
}

std::string Transposed::order(const TransposedShape& s, const Schedules& schedules) {
  auto plane = [](const Plane& p) { return llvm::formatv("{0} x {1}", p.rows, p.columns).str(); };
  std::string text = llvm::formatv("{0} of {1} to {2} by {3} / {4}", s.groups, s.inputs, s.outputs,
                                   plane(s.kernel), plane(s.stride));
  std::vector<TransposedPhase> all = phases(s);
  for (size_t i = 0; i < all.size(); ++i)
    text += llvm::formatv("; {0} from {1} in steps of {2}, {3} as one by {4}",
                          plane(all[i].shape.kernel), plane(all[i].tap), plane(all[i].tap_step),
                          all[i].merged, schedules[i].vectors);
  return text;
}

int64_t Transposed::bias_elements(const TransposedShape& s) {
  int64_t merged = 1;
  for (const TransposedPhase& phase : phases(s)) merged = std::max(merged, phase.merged);
  return merged * s.groups * s.outputs;
}

void Transposed::pack_bias(float* to, const float* bias, const TransposedShape& s) {
  int64_t channels = s.groups * s.outputs, elements = bias_elements(s);
  for (int64_t i = 0; i < elements; ++i) to[i] = bias[i % channels];
}

} // namespace tg::tile
