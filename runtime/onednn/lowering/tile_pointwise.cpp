// Convolutions of one tap, without groups, as products on register tiles: pixels are rows of x,
// channels its columns. A product of the batch is an image, or one row of it where strides or gaps
// leave no more rows side by side. Panels of the kernel are packed at load.
#include "runtime/onednn/lowering/geometry.h"
#include "runtime/onednn/lowering/images.h"
#include "runtime/onednn/lowering/pack_kernel.h"
#include "runtime/onednn/lowering/tile_convolution.h"
#include "runtime/onednn/lowering/tile_matmul.h"

namespace tg::cpu {

namespace {

/// The matrix of a kernel [columns, depth, 1, 1] as panels.
Place packed_kernel(Lowering& l, const Place& w, tile::Isa isa) {
  int64_t columns = w.shape[0], depth = w.shape[1], width = tile::panel_columns(isa);
  int64_t elements = tile::packed_elements(depth, columns, isa);
  Place to = l.new_temporary(4 * elements, Phase::Load);
  Op op;
  op.name = "pack kernel";
  op.implementation = "tile";
  op.bytes = static_cast<double>(4 * (w.elements() + elements));
  op.buffers = {w.buffer, to.buffer};
  op.recipe = llvm::formatv("panels {0}: {1} x {2} from {3}", width, columns, depth, w.offset);
  op.kernel = std::make_unique<PackKernel>(w, to, [=](float* panels, const float* kernel) {
    tile::pack_panels(panels, {kernel, depth, columns, 1, depth}, width, 0,
                      tile::panel_count(columns, width));
  });
  l.add_op(Phase::Load, std::move(op));
  return to;
}

/// Elements from image to image, row to row and pixel to pixel of those that the result meets.
struct Walk {
  int64_t image = 0, row = 0, pixel = 0;
  /// An axis along which there is one pixel goes evenly with the next.
  Walk(const Place& p, int64_t rows, int64_t columns, const Shape& result)
      : image(p.strides[0]), row(p.strides[2] * rows), pixel(p.strides[3] * columns) {
    if (result[2] == 1) row = result[3] * pixel;
    if (result[3] == 1) pixel = row;
  }
};

/// Pixels of the result that are evenly apart in x, y and residual: those of a row, of an image or
/// of all images.
struct EvenPixels {
  int64_t pixels, rows, images; // pixels side by side; rows and images that are left
};
EvenPixels even_pixels(const Shape& result, llvm::ArrayRef<Walk> walks) {
  int64_t rows = result[2], columns = result[3], images = result[0];
  auto all = [&](auto even) { return llvm::all_of(walks, even); };
  if (rows > 1 && !all([&](const Walk& w) { return w.row == columns * w.pixel; }))
    return {columns, rows, images};
  if (images > 1 && !all([&](const Walk& w) { return w.image == rows * columns * w.pixel; }))
    return {rows * columns, 1, images};
  return {images * rows * columns, 1, 1};
}

tile::ProductShape pointwise_shape(const ProductPlaces& places, const Geometry& geometry) {
  tile::ProductShape s;
  s.depth = places.x.shape[1];
  s.columns = places.y.shape[1];
  s.w_is_packed = true;
  const Shape& result = places.y.shape;
  Walk x(places.x, geometry.strides[0], geometry.strides[1], result), y(places.y, 1, 1, result);
  Walk residual = places.residual ? Walk(*places.residual, 1, 1, result) : y;
  EvenPixels even = even_pixels(result, {x, y, residual});
  s.rows = even.pixels;
  s.x_row = x.pixel;
  s.y_row = y.pixel;
  s.residual_row = residual.pixel;
  s.batch.clear();
  for (int64_t n = 0; n < even.images; ++n)
    for (int64_t row = 0; row < even.rows; ++row)
      s.batch.push_back({n * x.image + row * x.row, 0, n * y.image + row * y.row,
                         n * residual.image + row * residual.row, 0});
  return s;
}

} // namespace

bool is_pointwise(const Lowering& l, const PlanStep& step) {
  const Shape& w = l.type(operand(step, "w")).shape;
  const Shape &x = l.type(operand(step, "x")).shape, &y = l.type(step.result).shape;
  Geometry g = geometry(x, llvm::ArrayRef<int64_t>(w).drop_front(2), attr(step, "stride"),
                        attr(step, "pad"), attr(step, "dilation").ints);
  return w[2] == 1 && w[3] == 1 && g.before[0] == 0 && g.before[1] == 0 &&
         (y[2] - 1) * g.strides[0] < x[2] && (y[3] - 1) * g.strides[1] < x[3];
}

Result<void> lower_tile_pointwise(Lowering& l, const PlanStep& step) {
  const tile::TileKernels& tiles = *tiles_of(tile::Isa::Avx2);
  PlanValueId x = operand(step, "x"), w = operand(step, "w"), bias = operand(step, "bias");
  PlanValueId residual = operand(step, "residual");
  const Shape image = l.type(x).shape;
  ProductPlaces places;
  TG_TRY(places.x, operand_image(l, x));
  TG_TRY(Place plain, l.operand_plain(w));
  if (residual != kNoValue) {
    TG_TRY(places.residual, operand_image(l, residual));
  }
  if (bias != kNoValue) {
    TG_TRY(places.bias, l.operand_plain(bias));
  }
  places.y = result_image(l, step);
  places.w = packed_kernel(l, plain, tiles.isa());
  Geometry g =
      geometry(image, {1, 1}, attr(step, "stride"), attr(step, "pad"), attr(step, "dilation").ints);
  tile::ProductShape shape = pointwise_shape(places, g);
  Op op = l.describe(step);
  op.threads = l.threads_for(matmul_us(op));
  ChosenSchedule chosen = product_schedule(l, shape, tiles.isa(), op.threads);
  op.implementation = llvm::formatv("tile:avx2 {0}", chosen.text(tiles.isa()));
  add_product(l, step, std::move(op), tile::Product(std::move(shape), chosen.schedule, tiles),
              std::move(places));
  return {};
}

} // namespace tg::cpu
