#include "compiler/import/onnx/read/forms/roi_align.h"

#include <algorithm>

namespace tg::onnx {
namespace {

/// Positions in an image along one axis, for each region: [regions, places]. Each is between two
/// elements, given by their indices and weights; positions outside have weight 0.
struct Sampled {
  NodeId index[2];
  NodeId weight[2];
};

struct Regions {
  int64_t bins = 1;
  int64_t samples = 1; // of a bin along the axis; 0: as many as it has elements, rounded up
  double scale = 1, offset = 0;
  double least = 0; // least size of a region
};

/// The starts of the regions and the lengths of their bins, [regions, 1].
struct Bins {
  NodeId start, length;
};

/// `from` and `to`: borders of the regions, [regions, 1].
Bins bins_of(Emitter& e, const Regions& how, NodeId from, NodeId to) {
  NodeId start = e.sub(e.mul(from, how.scale), how.offset);
  NodeId length = e.sub(e.sub(e.mul(to, how.scale), how.offset), start);
  if (how.least > 0) length = e.op(OpKind::Maximum, {length, e.like(length, how.least)});
  return {start, e.div(length, static_cast<double>(how.bins))};
}

/// Samples further than one element outside of the image count as zeros.
NodeId is_inside(Emitter& e, NodeId place, int64_t size) {
  NodeId first = e.op(OpKind::LessEqual, {e.like(place, -1), place});
  NodeId last = e.op(OpKind::LessEqual, {place, e.like(place, static_cast<double>(size))});
  return e.op(OpKind::LogicalAnd, {first, last});
}

Sampled sampled(Emitter& e, const Regions& how, NodeId from, NodeId to, int64_t size) {
  auto last = static_cast<double>(size - 1);
  auto [start, bin] = bins_of(e, how, from, to);
  Literal bins{{e.dtype(from), {1, how.bins * how.samples}}, {}, {}}, inner = bins;
  for (int64_t i = 0; i < how.bins * how.samples; ++i) {
    bins.reals.push_back(static_cast<double>(i / how.samples));
    inner.reals.push_back(static_cast<double>(i % how.samples) + 0.5);
  }
  NodeId step = e.div(e.mul(e.literal(inner), bin), static_cast<double>(how.samples));
  NodeId place = e.add(e.add(start, e.mul(e.literal(bins), bin)), step);
  NodeId inside = is_inside(e, place, size);
  NodeId held = e.clip(place, 0, last), below = e.unary(OpKind::Floor, held);
  NodeId part = e.sub(held, below), none = e.like(part, 0);
  NodeId above = e.clip(e.add(below, 1), 0, last);
  return {{e.cast(below, DType::I64), e.cast(above, DType::I64)},
          {e.select(inside, e.sub(e.like(part, 1), part), none), e.select(inside, part, none)}};
}

/// Shares of the elements along an axis in the mean of each bin, [regions, bins, elements], where a
/// bin has as many samples as its length says. Samples are at most one element apart, and more than
/// half of one where there are several: few of them are near an element, from a first one on.
NodeId shares(Emitter& e, const Regions& how, NodeId from, NodeId to, int64_t size) {
  constexpr int kMostNear = 6;
  auto [start, bin] = bins_of(e, how, from, to);
  DType dtype = e.dtype(from);
  NodeId number = e.iota({dtype, {1, how.bins}}, 1);
  NodeId border = e.unsqueeze(e.add(start, e.mul(number, bin)), 2);
  NodeId count = e.unsqueeze(e.unary(OpKind::Ceil, bin), 2);
  NodeId some = e.op(OpKind::LessEqual, {e.like(count, 1), count});
  NodeId samples = e.select(some, count, e.like(count, 1));
  NodeId apart = e.div(e.unsqueeze(e.select(e.squeeze(some, 2), bin, e.like(bin, 1)), 2), samples);
  NodeId element = e.iota({dtype, {1, 1, size}}, 2);
  NodeId before = e.div(e.sub(e.sub(element, 1), border), apart);
  NodeId first = e.unary(OpKind::Floor, e.sub(before, 0.5));
  first = e.op(OpKind::Maximum, {first, e.like(first, 0)});
  NodeId sum;
  for (int k = 0; k < kMostNear; ++k) {
    NodeId sample = e.add(first, k), place = e.add(border, e.mul(e.add(sample, 0.5), apart));
    NodeId held = e.clip(place, 0, static_cast<double>(size - 1));
    NodeId distance = e.unary(OpKind::Abs, e.sub(held, element));
    NodeId near = e.unary(OpKind::Relu, e.sub(e.like(distance, 1), distance));
    NodeId counts = e.op(OpKind::LogicalAnd, {e.less(sample, samples), is_inside(e, place, size)});
    NodeId part = e.select(counts, near, e.like(near, 0));
    sum = sum.valid() ? e.add(sum, part) : part;
  }
  return e.select(some, e.div(sum, samples), e.like(sum, 0));
}

/// A mean of samples between elements is a sum over rows of sums over columns.
NodeId adaptive_means(Emitter& e, NodeId x, NodeId images, NodeId down, NodeId across) {
  NodeId each = e.gather(x, e.cast(images, DType::I64), 0);
  NodeId rows = e.matmul(e.cast(e.unsqueeze(down, 1), e.dtype(x)), each);
  return e.matmul(rows, e.swap_axes(e.cast(e.unsqueeze(across, 1), e.dtype(x)), 2, 3));
}

std::optional<Regions> read_regions(Call& call) {
  Regions how;
  bool newer = call.version() >= 16;
  std::string mode = newer ? call.text("coordinate_transformation_mode", "half_pixel") : "";
  bool half = mode == "half_pixel";
  if (newer && !half && mode != "output_half_pixel")
    call.fail("its attribute `coordinate_transformation_mode` is `" + mode + "`");
  how.offset = half ? 0.5 : 0;
  how.least = half ? 0 : 1;
  how.scale = call.real("spatial_scale", 1);
  how.samples = call.whole("sampling_ratio", 0);
  how.samples = std::max<int64_t>(how.samples, 0);
  if (how.samples == 0 && call.text("mode", "avg") == "max" && !call.is_kept())
    call.fail("with mode `max` and `sampling_ratio` 0, the number of samples depends on the sizes "
              "of the regions, "
              "which are data");
  return call.failed() ? std::nullopt : std::optional(how);
}

} // namespace

/// Resamples regions to images of one size, by means or maxima of samples between elements. The
/// four terms of a sample are gathered as rows of channels.
void roi_align(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), rois = call.input(1), images = indices_of(call, 2);
  std::string mode = call.text("mode", "avg");
  int64_t height = call.whole("output_height", 1), width = call.whole("output_width", 1);
  std::optional<Regions> how = read_regions(call);
  if (!how) return;
  if (e.rank(x) != 4 || e.rank(rois) != 2 || e.size(rois, 1) != 4 || height < 1 || width < 1 ||
      (mode != "avg" && mode != "max")) {
    call.fail("it takes x[N, C, H, W], regions [R, 4], sizes of at least 1, and `mode` avg or max");
    return;
  }
  int64_t channels = e.size(x, 1), rows = e.size(x, 2), columns = e.size(x, 3);
  auto border = [&](int64_t i) { return e.slice(rois, 1, i, i + 1); };
  if (how->samples == 0) {
    auto parts = [&](int64_t bins, int64_t axis, int64_t size) {
      how->bins = bins;
      return shares(e, *how, border(axis), border(axis + 2), size);
    };
    NodeId down = parts(height, 1, rows), across = parts(width, 0, columns);
    return call.result(adaptive_means(e, x, images, down, across));
  }
  int64_t count = e.size(rois, 0), samples = how->samples;
  auto along = [&](int64_t bins, int64_t axis, int64_t size) {
    Regions own = *how;
    own.bins = bins;
    return sampled(e, own, border(axis), border(axis + 2), size);
  };
  Sampled down = along(height, 1, rows), across = along(width, 0, columns);
  NodeId last = e.transpose(x, {0, 2, 3, 1});
  NodeId all = e.reshape(last, {e.size(x, 0) * rows * columns, channels});
  NodeId first = e.mul(e.reshape(e.cast(images, DType::I64), {count, 1, 1}),
                       static_cast<double>(rows * columns));
  NodeId joined;
  for (size_t a : {0, 1})
    for (size_t b : {0, 1}) {
      NodeId row = e.mul(e.unsqueeze(down.index[a], 2), static_cast<double>(columns));
      NodeId place = e.add(e.add(first, row), e.unsqueeze(across.index[b], 1));
      NodeId weight = e.mul(e.unsqueeze(down.weight[a], 2), e.unsqueeze(across.weight[b], 1));
      NodeId term = e.mul(e.gather(all, place, 0), e.cast(e.unsqueeze(weight, 3), e.dtype(x)));
      OpKind join = mode == "avg" ? OpKind::Add : OpKind::Maximum;
      joined = joined.valid() ? e.op(join, {joined, term}) : term;
    }
  NodeId bins = e.reshape(joined, {count, height, samples, width, samples, channels});
  OpKind reduce = mode == "avg" ? OpKind::ReduceMean : OpKind::ReduceMax;
  call.result(e.transpose(e.reduce(reduce, bins, {2, 4}, false), {0, 3, 1, 2}));
}

} // namespace tg::onnx
