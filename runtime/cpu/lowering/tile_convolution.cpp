#include "runtime/cpu/lowering/tile_convolution.h"

#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/images.h"
#include "runtime/cpu/lowering/kernel_choice.h"
#include "runtime/cpu/pack_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/act_instr.h"
#include "runtime/cpu/tile/depthwise.h"
#include "runtime/cpu/tile/grouped.h"
#include "runtime/cpu/tile/long_rows.h"
#include "runtime/cpu/tile/transposed.h"
#include "runtime/cpu/tile_schedules.h"

#include <optional>

namespace tg::cpu {

namespace {

/// Operands and result; bias and residual may be absent.
struct ConvolutionPlaces {
  Place x, weights, y;
  std::optional<Place> bias, residual;
};

class ConvolutionKernel final : public Kernel {
public:
  ConvolutionKernel(std::unique_ptr<tile::Convolution> convolution, ConvolutionPlaces places,
                    Act act, const Threads& threads)
      : convolution_(std::move(convolution)), places_(std::move(places)), act_(act),
        threads_(threads) {}

  Result<void> bind(const Addresses& addresses) override {
    data_.x = addresses.of(places_.x);
    data_.weights = addresses.of(places_.weights);
    data_.y = addresses.of(places_.y);
    if (places_.bias) data_.bias = addresses.of(*places_.bias);
    if (places_.residual) data_.residual = addresses.of(*places_.residual);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    auto activate = [this](const tile::FinishedBlock& block) {
      bool dense = block.y_row == block.columns;
      int64_t rows = dense ? 1 : block.rows,
              columns = dense ? block.rows * block.columns : block.columns;
      for (int64_t i = 0; i < rows; ++i) {
        float* row = block.y + i * block.y_row;
        simd().apply(instr_of(act_), row, row, nullptr, nullptr, columns);
      }
    };
    tile::ConvolutionData data = data_;
    if (is_finished(act_)) data.finish = activate;
    parallel_parts(threads_, convolution_->parts(),
                   [&](int part) { convolution_->run(part, data); });
    return dnnl_success;
  }

  /// Returns true if the activation is applied to the result in the cache, not in registers.
  static bool is_finished(Act act) {
    return act != Act::None && act != Act::Relu && act != Act::Relu6;
  }

private:
  std::unique_ptr<tile::Convolution> convolution_;
  ConvolutionPlaces places_;
  Act act_;
  Threads threads_;
  tile::ConvolutionData data_;
};

/// The steps of an image or a volume; axes of one element have no step.
tile::PixelSteps pixel_steps(const Shape& shape, const Shape& strides) {
  auto step = [&](size_t axis) { return shape[axis] == 1 ? 0 : strides[axis]; };
  size_t row = shape.size() - 2;
  return {step(0), step(row), step(row + 1), row == 3 ? step(2) : 0};
}

tile::Plane plane_of(const Shape& shape) { return {shape.end()[-2], shape.end()[-1]}; }

void set_window(tile::ConvolutionShape& s, const Geometry& g) {
  size_t row = g.axes - 2, column = row + 1;
  s.stride = {g.strides[row], g.strides[column]};
  s.dilation = {g.dilates[row] + 1, g.dilates[column] + 1};
  s.before = {g.before[row], g.before[column]};
  if (g.axes == 2) return;
  s.depth.stride = g.strides[0];
  s.depth.dilation = g.dilates[0] + 1;
  s.depth.before = g.before[0];
}

Geometry geometry_of(const PlanStep& step, const Shape& image, const Shape& filter) {
  llvm::ArrayRef<int64_t> kernel = llvm::ArrayRef<int64_t>(filter).drop_front(2);
  llvm::ArrayRef<int64_t> dilation = attr(step, "dilation").ints;
  if (kernel.size() == 2)
    return geometry(image, kernel, attr(step, "stride"), attr(step, "pad"), dilation);
  return geometry3d(kernel, attr(step, "stride").ints, attr(step, "pad").ints, dilation);
}

/// Sets everything but the channels and the window. The strides of x and residual
/// are the final ones; those of y are those of a new result.
void set_images(tile::ConvolutionShape& s, const Lowering& l, const PlanStep& step) {
  PlanValueId x = operand(step, "x"), residual = optional_operand(step, "residual");
  const Shape &image = l.type(x).shape, &filter = l.type(operand(step, "w")).shape;
  const Shape& result = l.type(step.result).shape;
  s.images = image[0];
  s.image = plane_of(image);
  s.result = plane_of(result);
  s.kernel = plane_of(filter);
  if (image.size() == 5) {
    s.depth.image = image[2];
    s.depth.result = result[2];
    s.depth.kernel = filter[2];
  }
  s.x = pixel_steps(image, image_strides(l.place(x)));
  s.y = pixel_steps(result, nhwc_strides(result));
  if (residual != kNoValue) s.residual = pixel_steps(result, image_strides(l.place(residual)));
}

void set_shape(tile::ConvolutionShape& s, const Lowering& l, const PlanStep& step) {
  set_images(s, l, step);
  set_window(s,
             geometry_of(step, l.type(operand(step, "x")).shape, l.type(operand(step, "w")).shape));
}

Act act_of(const PlanStep& step) {
  return op_info(step.op).attr_slot("act") < 0 ? Act::None : *parse_act(attr(step, "act").text);
}

tile::ConvolutionTail fused_tail(const PlanStep& step, Act act) {
  tile::ConvolutionTail tail;
  tail.bias = operand(step, "bias") != kNoValue;
  tail.residual = optional_operand(step, "residual") != kNoValue;
  tail.clamp = act == Act::Relu    ? tile::Clamp::Relu
               : act == Act::Relu6 ? tile::Clamp::Relu6
                                   : tile::Clamp::None;
  tail.finish = ConvolutionKernel::is_finished(act);
  return tail;
}

bool is_depthwise(const Lowering& l, const PlanStep& step) {
  const Shape &x = l.type(operand(step, "x")).shape, &w = l.type(operand(step, "w")).shape;
  return w[1] == 1 && w[0] == x[1];
}

/// Returns true if our kernels are an option at all.
bool may_use_own_kernel(const Lowering& l, const PlanStep& step) {
  for (PlanValueId id : step.operands)
    if (id != kNoValue && l.place(id).dtype != DType::F32) return false;
  if (l.type(step.result).elements() == 0 || l.type(operand(step, "x")).elements() == 0)
    return false;
  return l.products != Products::Library && may_use_own("avx2");
}

/// The channels of a group.
struct GroupSizes {
  int64_t groups, inputs, outputs;
  GroupSizes(const Lowering& l, const PlanStep& step) {
    const Shape &x = l.type(operand(step, "x")).shape, &w = l.type(operand(step, "w")).shape;
    inputs = w[1];
    groups = x[1] / inputs;
    outputs = w[0] / groups;
  }
};

// Chooses by rule, not by timing, so that one plan gives one result
// (bench/results/convolutions.md). With AVX2, our kernels run depthwise and grouped convolutions
// and those of several taps; ungrouped ones of one tap only if they have few weights (dense_pays).
bool pays(const Lowering& l, const PlanStep& step) {
  if (l.products != Products::Chosen) return true;
  return l.at_load(operand(step, "w"));
}

/// Returns true if our kernel is faster for an ungrouped convolution.
/// With AVX2 and one tap: only if the weights stay in the first-level cache;
/// otherwise ours is as fast as oneDNN's on an idle machine, and loses some percent
/// if neighbours use the third-level cache.
/// With several taps: not if a few pixels use many weights, which oneDNN loads
/// from memory faster (except for windows in the padding, where it has only plain products);
/// not if every row would load all weights, none of which stay in the second-level cache;
/// and not if lines of x are lost for a few results.
/// With AVX-512: all except few pixels with many weights, and if lines of x are lost,
/// because oneDNN's kernels for it use fewer of them at a time.
bool dense_pays(const Lowering& l, const tile::GroupedShape& s) {
  constexpr int64_t kFewPixels = 4, kFewOutputs = 8, kFewOfRow = 16, kMany = 8 << 20;
  bool wide = may_use_own("avx512"), one_tap = s.taps() == 1;
  if (l.products != Products::Chosen) return true;
  if (wide && s.kernel.columns > 1 && !tile::Grouped::keeps_lines(s)) return false;
  if (s.groups > 1) return true;
  int64_t pixels = s.images * s.result.rows * s.result.columns;
  bool volume = s.depth.image > 1 || s.depth.kernel > 1;
  if (one_tap && !wide && !volume && 4 * s.inputs * s.outputs > tile::caches().first) return false;
  int64_t second = tile::caches().second, weights = 4 * tile::Grouped::weight_elements(s);
  int64_t of_set = weights / tile::Grouped::group_vectors(s) * tile::Grouped::tile(s).vectors;
  bool inside = s.sees_all_rows(0) && s.sees_all_rows(s.result.rows - 1) &&
                s.sees_all_columns(0, s.result.columns);
  if (pixels < kFewPixels && inside && weights > second && !(wide && one_tap)) return false;
  if (!wide && of_set > second && weights > kMany) return false;
  // For a few results of pixels that are some distance apart, in memory, oneDNN's kernels wait
  // less.
  bool from_memory = 4 * s.image.columns * s.inputs > second;
  if (s.image.rows == 1 && s.stride.columns > 1 && s.outputs <= kFewOfRow && from_memory)
    return false;
  return s.outputs >= kFewOutputs || tile::Grouped::keeps_lines(s);
}

/// Treats pixels of one tap in a plane that are evenly spaced like those of longer rows:
/// merges `count` rows into one.
template <class Shape> std::optional<Shape> with_long_rows(Shape s, int64_t count) {
  auto even = [&](const tile::PixelSteps& p) { return p.row == p.pixel * s.result.columns; };
  bool one_tap =
      s.kernel.rows * s.kernel.columns == 1 && s.stride.rows == 1 && s.stride.columns == 1;
  bool same = s.image.rows == s.result.rows && s.image.columns == s.result.columns;
  if (!one_tap || !same || !even(s.x) || !even(s.y) || !even(s.residual)) return std::nullopt;
  if (s.result.rows % count != 0) return std::nullopt;
  for (tile::Plane* plane : {&s.image, &s.result}) {
    plane->rows /= count;
    plane->columns *= count;
  }
  for (tile::PixelSteps* p : {&s.x, &s.y, &s.residual}) p->row *= count;
  return s;
}

/// One of our own kernels for convolutions: its name, and the layout of its weights.
struct DepthwiseForm {
  using Kernel = tile::Depthwise;
  using Shape = tile::DepthwiseShape;
  static const char* name(const Shape&) { return "depthwise"; }
  static Shape shape(const Lowering& l, const PlanStep& step) {
    Shape s;
    set_shape(s, l, step);
    s.channels = l.type(operand(step, "x")).shape[1];
    s.isa = convolution_isa(s);
    return s;
  }
  /// Pixels that are whole or half pages apart evict each other from the first-level cache.
  /// oneDNN's kernels for AVX-512 suffer less from this if every second pixel is used,
  /// or for large images.
  static bool pays(const Lowering& l, const Shape& s) {
    constexpr int64_t kPage = 4096;
    if (l.products != Products::Chosen || !may_use_own("avx512")) return true;
    int64_t pixel = 4 * s.x.pixel, image = s.image.rows * s.image.columns * pixel;
    if (pixel % kPage == 0 && image > tile::caches().second / 2) return false;
    return pixel % (kPage / 2) != 0 || s.stride.columns == 1;
  }
  static Shape with_best_rows(const Shape& s, bool, int) { return s; }
  static void pack(float* to, const float* w, const Shape& s, const tile::ConvolutionSchedule&) {
    Kernel::pack(to, w, s);
  }
  static std::string order(const Shape& s, const tile::ConvolutionSchedule&) {
    return llvm::formatv("{0} x {1}", s.channels, s.taps());
  }
  static OwnConvolution convolution(const Shape& s, const tile::ConvolutionTail& tail) {
    OwnConvolution own{{}, true, tail};
    static_cast<tile::ConvolutionShape&>(own.shape) = s;
    own.shape.groups = s.channels;
    return own;
  }
};
struct GroupedForm {
  using Kernel = tile::Grouped;
  using Shape = tile::GroupedShape;
  static const char* name(const Shape& s) { return s.groups == 1 ? "dense" : "grouped"; }
  static Shape shape(const Lowering& l, const PlanStep& step) {
    GroupSizes g(l, step);
    Shape s;
    set_shape(s, l, step);
    s.groups = g.groups;
    s.inputs = g.inputs;
    s.outputs = g.outputs;
    s.isa = convolution_isa(s);
    return s;
  }
  static bool pays(const Lowering& l, const Shape& s) { return dense_pays(l, s); }
  /// Long rows have fewer incomplete tiles. Many rows divide more evenly among threads,
  /// and an activation that follows should find them still in the cache.
  static Shape with_best_rows(const Shape& s, bool finish, int threads) {
    Shape best = s;
    int64_t row = 4 * s.result.columns * s.outputs, most = tile::caches().second / 4;
    for (int64_t count = 2; count <= s.result.rows; ++count) {
      if (finish && count * row > most) break;
      std::optional<Shape> longer = with_long_rows(s, count);
      if (longer && Kernel::suits(*longer) &&
          Kernel::cycles(*longer, threads, tile::caches()) <
              Kernel::cycles(best, threads, tile::caches()))
        best = *longer;
    }
    return best;
  }
  static void pack(float* to, const float* w, const Shape& s,
                   const tile::ConvolutionSchedule& schedule) {
    Kernel::pack(to, w, s, Kernel::tile(s, schedule));
  }
  static OwnConvolution convolution(const Shape& s, const tile::ConvolutionTail& tail) {
    return {s, false, tail};
  }
  static std::string order(const Shape& s, const tile::ConvolutionSchedule& schedule) {
    tile::GroupedTile t = Kernel::tile(s, schedule);
    return llvm::formatv("{0} x {1} x {2} x {3} x {4} by {5}, {6}", s.groups, s.outputs, s.inputs,
                         s.depth.kernel * s.kernel.rows, s.kernel.columns, t.vectors, t.groups);
  }
};

/// Images of one row, cut into rows.
struct LongRowsForm : GroupedForm {
  struct Kernel : tile::LongRows {
    static tile::ConvolutionSchedule default_schedule(const Shape& s,
                                                      const tile::ConvolutionTail& tail,
                                                      int threads, const tile::Caches& caches) {
      return LongRows::default_schedule(middle(s), tail, threads, caches);
    }
    static int64_t weight_elements(const Shape& s, const tile::ConvolutionSchedule& schedule) {
      return tile::Grouped::weight_elements(s, schedule);
    }
  };
  static Shape with_best_rows(const Shape& s, bool, int) { return s; }
  static OwnConvolution convolution(const Shape& s, const tile::ConvolutionTail& tail) {
    return {tile::LongRows::middle(s), false, tail, OwnConvolution::Form::LongRows};
  }
};

/// The same, depthwise.
struct LongDepthwiseForm : LongRowsForm {
  struct Kernel : LongRowsForm::Kernel {
    static int64_t weight_elements(const Shape& s, const tile::ConvolutionSchedule&) {
      return tile::Depthwise::weight_elements(depthwise_shape(s));
    }
  };
  static const char* name(const Shape&) { return "depthwise"; }
  static Shape shape(const Lowering& l, const PlanStep& step) {
    Shape s = GroupedForm::shape(l, step);
    s.isa = convolution_isa(depthwise_shape(s));
    return s;
  }
  static bool pays(const Lowering& l, const Shape& s) {
    return DepthwiseForm::pays(l, depthwise_shape(s));
  }
  static void pack(float* to, const float* w, const Shape& s, const tile::ConvolutionSchedule&) {
    tile::Depthwise::pack(to, w, depthwise_shape(s));
  }
  static OwnConvolution convolution(const Shape& s, const tile::ConvolutionTail& tail) {
    return {tile::LongRows::middle(s), true, tail};
  }
  static std::string order(const Shape& s, const tile::ConvolutionSchedule& schedule) {
    return DepthwiseForm::order(depthwise_shape(s), schedule);
  }
};

/// Returns the capsules of images that are rows of capsules [images, rows, columns, channels,
/// height, width], whose channels are columns by channels, like those of the result (Hinton et al.
/// 2018).
tile::Plane capsules_of(const Lowering& l, const PlanStep& step) {
  constexpr size_t kRank = 6;
  const PlanValue& x = l.plan.values[operand(step, "x")];
  if (step.op != OpKind::Conv2d || x.kind != PlanValue::Kind::Temporary) return {0, 0};
  const PlanStep& from = l.plan.steps[x.defined_by];
  if (from.op != OpKind::Reshape) return {0, 0};
  const Shape &shape = l.type(from.operands[0]).shape, &images = x.type.shape;
  if (shape.size() != kRank || shape[0] * shape[1] != images[0] ||
      shape[2] * shape[3] != images[1] || l.type(step.result).shape[1] % shape[2] != 0)
    return {0, 0};
  return {shape[1], shape[2]};
}

/// Returns a constant operand in a form that `pack` writes, with `elements` elements.
/// `recipe` identifies the form.
Result<Place> packed_operand(Lowering& l, const PlanStep& step, PlanValueId value, int64_t elements,
                             PackKernel::Pack pack, const std::string& recipe) {
  TG_TRY(Place plain, l.operand_plain(value));
  Phase phase = l.at_load(value) ? Phase::Load : step.phase;
  Place to = l.new_temporary(4 * elements, phase);
  Op op;
  op.name = "pack kernel";
  op.implementation = "tile";
  op.bytes = static_cast<double>(4 * (plain.elements() + elements));
  op.buffers = {plain.buffer, to.buffer};
  op.recipe = llvm::formatv("{0} from {1}", recipe, plain.offset);
  op.kernel = std::make_unique<PackKernel>(plain, to, std::move(pack));
  l.add_op(phase, std::move(op));
  return to;
}

template <class Form>
Result<Place> packed_kernel(Lowering& l, const PlanStep& step, const typename Form::Shape& shape,
                            const tile::ConvolutionSchedule& schedule) {
  return packed_operand(
      l, step, operand(step, "w"), Form::Kernel::weight_elements(shape, schedule),
      [=](float* packed, const float* w) { Form::pack(packed, w, shape, schedule); },
      llvm::formatv("{0} {1}: {2}", Form::name(shape), tile::isa_name(shape.isa),
                    Form::order(shape, schedule)));
}

/// Estimates the time by multiply-adds at 60 GFLOP/s, or by the bytes moved.
double convolution_us(const Op& op) { return std::max(op.flops / 60e3, copy_us(op.bytes)); }

/// Returns the places of the operands that are read in place, and of the result.
Result<ConvolutionPlaces> places_of(Lowering& l, const PlanStep& step) {
  ConvolutionPlaces places;
  PlanValueId bias = operand(step, "bias"), residual = optional_operand(step, "residual");
  TG_TRY(places.x, operand_image(l, operand(step, "x")));
  if (residual != kNoValue) {
    TG_TRY(places.residual, operand_image(l, residual));
  }
  if (bias != kNoValue) {
    TG_TRY(places.bias, l.operand_plain(bias));
  }
  places.y = result_image(l, step);
  return places;
}

void add_convolution(Lowering& l, const PlanStep& step, Op op,
                     std::unique_ptr<tile::Convolution> made, ConvolutionPlaces places) {
  op.buffers = {places.x.buffer, places.weights.buffer, places.y.buffer};
  if (places.bias) op.buffers.push_back(places.bias->buffer);
  if (places.residual) op.buffers.push_back(places.residual->buffer);
  op.kernel = std::make_unique<ConvolutionKernel>(std::move(made), std::move(places), act_of(step),
                                                  op.threads);
  l.add_op(step.phase, std::move(op));
}

template <class Form>
Result<void> lower_by(Lowering& l, const PlanStep& step, typename Form::Shape shape) {
  using Kernel = typename Form::Kernel;
  TG_TRY(ConvolutionPlaces places, places_of(l, step));
  shape.y = pixel_steps(places.y.shape, places.y.strides);
  Op op = l.describe(step);
  op.threads = l.threads_for(convolution_us(op));
  tile::ConvolutionTail tail = fused_tail(step, act_of(step));
  shape = Form::with_best_rows(shape, tail.finish, op.threads);
  std::optional<tile::ConvolutionSchedule> tuned;
  if (TileSchedules* schedules = schedules_of(l, step)) {
    OwnConvolution own = Form::convolution(shape, tail);
    own.capsules = capsules_of(l, step);
    tuned = schedules->find(own, op.threads);
  }
  tile::ConvolutionSchedule schedule =
      tuned ? *tuned : Kernel::default_schedule(shape, tail, op.threads, tile::caches());
  TG_TRY(places.weights, packed_kernel<Form>(l, step, shape, schedule));
  TG_TRY(std::unique_ptr<tile::Convolution> made, Kernel::make(shape, tail, schedule, op.threads));
  op.implementation = llvm::formatv("tile:{0} {1} {2}{3}", tile::isa_name(shape.isa),
                                    Form::name(shape), made->text(), tuned ? " tuned" : "");
  add_convolution(l, step, std::move(op), std::move(made), std::move(places));
  return {};
}

/// Returns false if the shape does not suit, or oneDNN is as fast.
template <class Form> Result<bool> lower_with(Lowering& l, const PlanStep& step) {
  typename Form::Shape shape = Form::shape(l, step);
  if (!Form::Kernel::suits(shape)) return false;
  if (!chooses_own_kernel(l, step, pays(l, step) && Form::pays(l, shape))) return false;
  TG_CHECK(lower_by<Form>(l, step, std::move(shape)));
  return true;
}

/// Uses the first form if it suits, else the second; the choice between our kernels and oneDNN's
/// is queried once.
template <class First, class Second>
Result<bool> lower_with_first(Lowering& l, const PlanStep& step) {
  if (First::Kernel::suits(First::shape(l, step))) return lower_with<First>(l, step);
  return lower_with<Second>(l, step);
}

/// The kernel has the memory layout of w[C, O / groups, kh, kw];
/// the window is that of the operator.
tile::TransposedShape transposed_shape(const Lowering& l, const PlanStep& step) {
  const Shape &image = l.type(operand(step, "x")).shape, &w = l.type(operand(step, "w")).shape;
  tile::TransposedShape s;
  set_images(s, l, step);
  llvm::ArrayRef<int64_t> stride = attr(step, "stride").ints, gap = attr(step, "dilation").ints;
  int64_t before[2];
  for (int i = 0; i < 2; ++i)
    before[i] = transposed_window(image[2 + i], w[2 + i], stride[i], gap[i], attr(step, "pad"),
                                  attr(step, "output_padding").ints[i], i)
                    ->before;
  s.stride = {stride[0], stride[1]};
  s.dilation = {gap[0], gap[1]};
  s.before = {before[0], before[1]};
  s.groups = attr(step, "groups").number;
  s.inputs = w[0] / s.groups;
  s.outputs = w[1];
  s.isa = convolution_isa(s);
  return s;
}

std::string transposed_name(const tile::TransposedShape& s) {
  if (s.groups == 1) return "transposed";
  return s.inputs == 1 && s.outputs == 1 ? "transposed, depthwise" : "transposed, grouped";
}

Result<void> lower_transposed(Lowering& l, const PlanStep& step, tile::TransposedShape shape) {
  using tile::Transposed;
  TG_TRY(ConvolutionPlaces places, places_of(l, step));
  shape.y = pixel_steps(places.y.shape, places.y.strides);
  Op op = l.describe(step);
  op.threads = l.threads_for(convolution_us(op));
  tile::ConvolutionTail tail = fused_tail(step, Act::None);
  std::optional<tile::ConvolutionSchedule> tuned;
  if (TileSchedules* kept = schedules_of(l, step))
    tuned = kept->find({shape, false, tail, OwnConvolution::Form::Transposed}, op.threads);
  Transposed::Schedules schedules =
      tuned ? Transposed::fitted(shape, *tuned)
            : Transposed::default_schedules(shape, tail, op.threads, tile::caches());
  std::string order = "transposed: " + Transposed::order(shape, schedules);
  TG_TRY(places.weights,
         packed_operand(
             l, step, operand(step, "w"), Transposed::weight_elements(shape, schedules),
             [=](float* to, const float* w) { Transposed::pack(to, w, shape, schedules); }, order));
  if (tail.bias) {
    TG_TRY(places.bias, packed_operand(
                            l, step, operand(step, "bias"), Transposed::bias_elements(shape),
                            [=](float* to, const float* b) { Transposed::pack_bias(to, b, shape); },
                            "bias of " + order));
  }
  TG_TRY(std::unique_ptr<tile::Convolution> made,
         Transposed::make(shape, tail, schedules, op.threads));
  op.implementation = llvm::formatv("tile:{0} {1} {2}{3}", tile::isa_name(shape.isa),
                                    transposed_name(shape), made->text(), tuned ? " tuned" : "");
  add_convolution(l, step, std::move(op), std::move(made), std::move(places));
  return {};
}

/// Larger tiles need more code, which may exceed the limit.
template <class Kernel, class Shape> tile::Isa isa_of(Shape shape) {
  if (!may_use_own("avx512")) return tile::Isa::Avx2;
  shape.isa = Kernel::faster_isa(shape);
  return Kernel::suits(shape) ? shape.isa : tile::Isa::Avx2;
}

} // namespace

tile::Isa convolution_isa(const tile::GroupedShape& shape) { return isa_of<tile::Grouped>(shape); }
tile::Isa convolution_isa(const tile::DepthwiseShape& shape) {
  return isa_of<tile::Depthwise>(shape);
}
tile::Isa convolution_isa(const tile::TransposedShape& shape) {
  return isa_of<tile::Transposed>(shape);
}

Result<bool> lower_tile_convolution(Lowering& l, const PlanStep& step) {
  if (!may_use_own_kernel(l, step)) return false;
  if (is_depthwise(l, step)) return lower_with_first<LongDepthwiseForm, DepthwiseForm>(l, step);
  return lower_with_first<LongRowsForm, GroupedForm>(l, step);
}

Result<bool> lower_tile_conv_transpose2d(Lowering& l, const PlanStep& step) {
  if (!may_use_own_kernel(l, step)) return false;
  tile::TransposedShape shape = transposed_shape(l, step);
  if (!tile::Transposed::suits(shape) || !chooses_own_kernel(l, step, pays(l, step))) return false;
  TG_CHECK(lower_transposed(l, step, std::move(shape)));
  return true;
}

} // namespace tg::cpu
