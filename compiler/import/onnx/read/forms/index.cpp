// Operators that read and write at indices: gathers, scatters, the largest elements, selections.
#include "compiler/import/onnx/read/call.h"
#include "compiler/import/onnx/read/forms/unique.h"
#include "compiler/import/onnx/read/shared/indexing.h"

#include <numeric>

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

int64_t product(Ints sizes) {
  int64_t all = 1;
  for (int64_t n : sizes) all *= n;
  return all;
}

// --- gathers -------------------------------------------------------------------------------------

/// Places i * step + j * dilation from a start on: windows that overlap, or have gaps.
struct PlacesOfWindows {
  int64_t start, step, dilation;
};

std::optional<PlacesOfWindows> places_of_windows(Ints places, Ints shape) {
  if (shape.size() != 2 || shape[0] < 2 || shape[1] < 2) return std::nullopt;
  auto size = static_cast<size_t>(shape[1]);
  PlacesOfWindows found{places[0], places[size] - places[0], places[1] - places[0]};
  if (found.step < 1 || found.dilation < 1 || found.step == found.dilation * shape[1])
    return std::nullopt; // one behind the other: a piece
  for (size_t n = 0; n < places.size(); ++n) {
    auto window = static_cast<int64_t>(n / size), element = static_cast<int64_t>(n % size);
    if (places[n] != found.start + window * found.step + element * found.dilation)
      return std::nullopt;
  }
  return found;
}

/// Known indices of pieces and of windows: no gather. `node`, if given, computes the indices.
NodeId gather_known(Emitter& e, NodeId x, NodeId node, const Literal& indices, int64_t axis) {
  int64_t size = e.shape(x)[static_cast<size_t>(axis)];
  Shape places(indices.ints.begin(), indices.ints.end());
  for (int64_t& place : places) {
    place += place < 0 ? size : 0;
    if (place < 0 || place >= size)
      return e.fail("index " + llvm::Twine(place) + " is outside of an axis of " +
                    llvm::Twine(size));
  }
  if (auto windows = places_of_windows(places, indices.type.shape)) {
    int64_t last = places[static_cast<size_t>(indices.type[1]) - 1];
    bool whole = windows->start == 0 && (size - last - 1) / windows->step + 1 == indices.type[0];
    NodeId read = whole ? x : e.slice(x, axis, windows->start, places.back() + 1);
    return e.op(OpKind::Windows, {read},
                {{"axis", Value::of_int(axis)},
                 {"size", Value::of_int(indices.type[1])},
                 {"step", Value::of_int(windows->step)},
                 {"dilation", Value::of_int(windows->dilation)}});
  }
  bool run = true;
  for (size_t i = 1; i < places.size(); ++i) run &= places[i] == places[i - 1] + 1;
  if (!run && node.valid() &&
      e.depends_on_sizes(node)) // a list would have as many elements as the size
    return e.gather(x, from_front(e, node, size), axis);
  NodeId taken = e.take(x, axis, places);
  if (!taken.valid()) return taken;
  Shape to(e.shape(taken).begin(), e.shape(taken).end());
  to.erase(to.begin() + axis);
  to.insert(to.begin() + axis, indices.type.shape.begin(), indices.type.shape.end());
  return e.reshape(taken, to);
}

void gather(Call& call) {
  Emitter& e = call.emit();
  TensorType type = call.type(0), of_indices = call.type(1);
  int64_t axis = call.axis(call.whole("axis", 0), type.rank());
  if (call.failed()) return;
  if (call.value(0).is(Kind::Empty) || call.value(1).is(Kind::Empty)) {
    Shape to = type.shape;
    to.erase(to.begin() + axis);
    to.insert(to.begin() + axis, of_indices.shape.begin(), of_indices.shape.end());
    if (!llvm::is_contained(to, 0)) {
      call.fail("it takes elements from an empty tensor");
      return;
    }
    return call.result(0, FileValue::empty({type.dtype, to}));
  }
  NodeId x = call.input(0), indices = indices_of(call, 1);
  if (std::optional<Literal> known = e.known(indices); known && known->is_whole())
    return call.result(gather_known(e, x, indices, *known, axis));
  call.result(e.gather(x, from_front(e, indices, type[static_cast<size_t>(axis)]), axis));
}

void gather_elements(Call& call) {
  NodeId x = call.input(0), indices = indices_of(call, 1);
  if (call.failed()) return;
  int64_t axis = call.axis(call.whole("axis", 0), call.emit().rank(x));
  if (call.emit().rank(x) != call.emit().rank(indices)) {
    call.fail("its inputs have different ranks");
    return;
  }
  call.result(onnx::gather_elements(call.emit(), x, indices, axis));
}

void gather_nd(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), indices = indices_of(call, 1);
  int64_t batch = call.whole("batch_dims", 0);
  if (call.failed()) return;
  Ints shape = e.shape(x), of_indices = e.shape(indices);
  int64_t depth = of_indices.empty() ? 0 : of_indices.back();
  auto first = static_cast<size_t>(batch + depth);
  if (batch < 0 || depth < 1 || first > shape.size() || batch >= e.rank(indices)) {
    call.fail("its indices do not fit its input");
    return;
  }
  Shape rows = {product(shape.take_front(first))};
  rows.append(shape.begin() + static_cast<long>(first), shape.end());
  NodeId places = row_places(e, indices, shape, batch);
  x = e.reshape(x, rows);
  if (std::optional<Literal> known = e.known(places); known && known->is_whole())
    return call.result(gather_known(e, x, NodeId(), *known, 0));
  call.result(e.gather(x, places, 0));
}

// --- scatters ------------------------------------------------------------------------------------

NodeId scatter(Call& call, NodeId x, NodeId places, NodeId updates) {
  Emitter& e = call.emit();
  if (!x.valid() || !places.valid() || !updates.valid()) return {};
  std::string reduction = call.text("reduction", "none");
  return e.named("scatter", {x, places, updates},
                 {{"axis", Value::of_int(0)}, {"reduce", Value::of_string(reduction)}});
}

/// If there is nothing to write, or nothing to write to, sets the result to x and returns true.
bool scatters_nothing(Call& call) {
  bool nothing = false;
  for (size_t i : {1, 2}) nothing |= call.value(i).is(FileValue::Kind::Empty);
  if (!nothing) return false;
  ignore(call, "reduction");
  call.result(0, call.value(0));
  return true;
}

void scatter_elements(Call& call) {
  ignore(call, "axis");
  if (scatters_nothing(call)) return;
  Emitter& e = call.emit();
  NodeId x = call.input(0), indices = indices_of(call, 1), updates = call.input(2);
  if (call.failed()) return;
  int64_t axis = call.axis(call.whole("axis", 0), e.rank(x));
  if (e.rank(indices) != e.rank(x) || e.shape(indices) != e.shape(updates)) {
    call.fail("its inputs have different ranks, or its updates and indices differ in number");
    return;
  }
  Shape shape(e.shape(x).begin(), e.shape(x).end());
  int64_t count = product(e.shape(indices));
  NodeId places = e.reshape(flat_places(e, indices, shape, axis), {count});
  NodeId made = scatter(call, e.reshape(x, {product(shape)}), places, e.reshape(updates, {count}));
  call.result(e.reshape(made, shape));
}

void scatter_nd(Call& call) {
  if (scatters_nothing(call)) return;
  Emitter& e = call.emit();
  NodeId x = call.input(0), indices = indices_of(call, 1), updates = call.input(2);
  if (call.failed()) return;
  Shape shape(e.shape(x).begin(), e.shape(x).end());
  Ints of_indices = e.shape(indices);
  int64_t depth = of_indices.empty() ? 0 : of_indices.back();
  if (depth < 1 || depth > static_cast<int64_t>(shape.size())) {
    call.fail("its indices do not fit its input");
    return;
  }
  Ints leading = Ints(shape).take_front(static_cast<size_t>(depth));
  Ints rest = Ints(shape).drop_front(static_cast<size_t>(depth));
  int64_t count = product(of_indices.drop_back());
  NodeId places = e.reshape(row_places(e, indices, shape, 0), {count});
  Shape rows = {product(leading)}, pieces = {count};
  rows.append(rest.begin(), rest.end());
  pieces.append(rest.begin(), rest.end());
  call.result(
      e.reshape(scatter(call, e.reshape(x, rows), places, e.reshape(updates, pieces)), shape));
}

// --- the largest ---------------------------------------------------------------------------------

/// If `sorted` is 0, any order is allowed.
void top_k(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  int64_t k = call.version() < 10 ? call.whole("k") : call.known_whole(1);
  if (call.failed()) return;
  int64_t axis = call.axis(call.whole("axis", -1), e.rank(x));
  bool largest = flag(call, "largest", true);
  ignore(call, "sorted");
  if (k == 0) {
    TensorType none = e.type(x);
    none.shape[static_cast<size_t>(axis)] = 0;
    call.result(0, FileValue::empty(none));
    return call.result(1, FileValue::empty({DType::I64, none.shape}));
  }
  NodeId indices = e.named("top_k", {x},
                           {{"axis", Value::of_int(axis)},
                            {"k", Value::of_int(k)},
                            {"largest", Value::of_bool(largest)}});
  if (!indices.valid()) return;
  call.result(0, onnx::gather_elements(e, x, indices, axis));
  call.result(1, indices);
}

// --- selections ----------------------------------------------------------------------------------

/// The positions at which a mask [n] is true, in order, and their number.
struct Selected {
  NodeId places; // i64[n]; arbitrary after the count
  NodeId count;  // i64
  NodeId there;  // bool[n]: the first `count`
};

Selected selected(Emitter& e, NodeId mask) {
  int64_t n = e.size(mask, 0);
  NodeId ones = e.cast(mask, DType::I64);
  NodeId places = e.named("top_k", {ones}, {{"axis", Value::of_int(0)}, {"k", Value::of_int(n)}});
  NodeId count = e.reduce(OpKind::ReduceSum, ones, {0}, false);
  return {places, count, e.less(e.iota({DType::I64, {n}}, 0), count)};
}

/// Replaces padding in positions [n] or in rows along an axis by a number.
NodeId only(Emitter& e, NodeId there, NodeId rows, int64_t axis, double otherwise) {
  Shape line(static_cast<size_t>(e.rank(rows)), 1);
  line[static_cast<size_t>(axis)] = e.size(rows, axis);
  NodeId rest = e.dtype(rows) == DType::Bool ? e.cast(e.scalar(0, DType::I32), DType::Bool)
                                             : e.like(rows, otherwise);
  return e.select(e.reshape(there, line), rows, rest);
}

/// The number is known at import time, or the result is padded to all elements.
void non_zero(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  std::optional<Literal> known = e.known(x);
  if (call.failed()) return;
  Shape shape(e.shape(x).begin(), e.shape(x).end()), strides = contiguous_strides(shape);
  int64_t rank = e.rank(x), n = product(shape);
  if (!known && rank > 0) {
    NodeId flat = e.reshape(x, {n});
    NodeId holds = e.dtype(x) == DType::Bool ? flat : e.op(OpKind::NotEqual, {flat, e.like(x, 0)});
    Selected found = selected(e, holds);
    std::vector<NodeId> along;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      NodeId rounds = e.div(found.places, static_cast<double>(strides[axis]));
      NodeId place = e.op(OpKind::Mod, {rounds, e.like(rounds, static_cast<double>(shape[axis]))});
      along.push_back(e.unsqueeze(place, 0));
    }
    return padded_result(call, 0, only(e, found.there, e.concat(along, 0), 1, -1), found.count, 1);
  }
  if (!known) {
    call.fail("the number of non-zero elements of a scalar depends on data");
    return;
  }
  std::vector<int64_t> places;
  for (size_t i = 0; i < known->size(); ++i)
    if (known->is_whole() ? known->ints[i] != 0 : known->reals[i] != 0)
      places.push_back(static_cast<int64_t>(i));
  TensorType type{DType::I64, {rank, static_cast<int64_t>(places.size())}};
  if (places.empty() || rank == 0) return call.result(0, FileValue::empty(type));
  Literal all{type, {}, {}};
  for (size_t axis = 0; axis < shape.size(); ++axis)
    for (int64_t place : places) all.ints.push_back(place / strides[axis] % shape[axis]);
  call.result(e.literal(all));
}

/// The number n of a condition that is true in its first n elements, 0, 1, 2, .. < n, as files say
/// which of the rows that may be are there; else an invalid id.
NodeId count_of_first(Emitter& e, NodeId condition) {
  const Graph& graph = e.graph();
  if (!condition.valid() || graph.node(condition).op != OpKind::Less) return {};
  NodeId numbers = graph.operands(condition)[0], count = graph.operands(condition)[1];
  if (e.dtype(count) != DType::I64 || e.type(count).elements() != 1 || e.rank(numbers) != 1)
    return {};
  std::optional<Literal> known = e.known(numbers);
  if (!known || !known->is_whole()) return {};
  for (size_t i = 0; i < known->size(); ++i)
    if (known->ints[i] != static_cast<int64_t>(i)) return {};
  return e.rank(count) == 0 ? count : e.reshape(count, {});
}

void compress(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), condition = call.input(1);
  if (call.failed()) return;
  bool flat = !call.attribute("axis");
  int64_t axis = flat ? 0 : call.axis(call.whole("axis", 0), e.rank(x));
  if (flat) x = e.reshape(x, {product(e.shape(x))});
  if (e.rank(condition) != 1 || e.size(condition, 0) > e.size(x, axis)) {
    call.fail("its condition must be a vector of at most as many elements as it selects from");
    return;
  }
  std::optional<Literal> known = e.known(condition);
  if (NodeId count = count_of_first(e, condition);
      count.valid() && e.size(condition, 0) == e.size(x, axis))
    return padded_result(call, 0, x, count, axis);
  if (!known) {
    Selected found = selected(e, condition);
    NodeId rows = e.gather(x, found.places, axis);
    return padded_result(call, 0, only(e, found.there, rows, axis, 0), found.count, axis);
  }
  Shape places;
  for (size_t i = 0; i < known->size(); ++i)
    if (known->ints[i] != 0) places.push_back(static_cast<int64_t>(i));
  if (places.empty()) {
    TensorType none = e.type(x);
    none.shape[static_cast<size_t>(axis)] = 0;
    return call.result(0, FileValue::empty(none));
  }
  call.result(e.take(x, axis, places));
}

/// Indices outside -depth to depth - 1 give no 1 anywhere.
void one_hot(Call& call) {
  Emitter& e = call.emit();
  NodeId indices = e.cast(call.input(0), DType::I64), values = call.input(2);
  auto depth = static_cast<int64_t>(call.known_real(1));
  if (call.failed()) return;
  int64_t rank = e.rank(indices) + 1, axis = call.axis(call.whole("axis", -1), rank);
  Shape line(static_cast<size_t>(rank), 1);
  line[static_cast<size_t>(axis)] = depth;
  NodeId hot =
      e.equal(e.unsqueeze(from_front(e, indices, depth), axis), e.iota({DType::I64, line}, axis));
  NodeId off = e.squeeze(e.slice(values, 0, 0, 1), 0), on = e.squeeze(e.slice(values, 0, 1, 2), 0);
  call.result(e.select(hot, on, off));
}

/// The number of selected rows depends on data, so the result is padded to the largest number.
void non_max_suppression(Call& call) {
  Emitter& e = call.emit();
  NodeId boxes = call.input(0), scores = call.input(1);
  int64_t most = call.has(2) ? call.known_whole(2) : 0;
  double iou = call.has(3) ? call.known_real(3) : 0;
  double score = call.has(4) ? call.known_real(4) : -std::numeric_limits<double>::infinity();
  bool center = flag(call, "center_point_box", false);
  if (call.failed()) return;
  if (most <= 0) return call.result(0, FileValue::empty({DType::I64, {0, 3}}));
  NodeId rows = e.named("non_max_suppression", {boxes, scores},
                        {{"max_output", Value::of_int(most)},
                         {"iou_threshold", Value::of_float(iou)},
                         {"score_threshold", Value::of_float(score)},
                         {"center_point_box", Value::of_bool(center)}});
  if (!rows.valid()) return;
  NodeId first = e.squeeze(e.slice(rows, 1, 0, 1), 1);
  NodeId there = e.op(OpKind::LessEqual, {e.like(first, 0), first});
  padded_result(call, 0, rows, e.reduce(OpKind::ReduceSum, e.cast(there, DType::I64), {0}, false),
                0);
}

} // namespace

llvm::ArrayRef<Form> index_forms() {
  static constexpr Form kForms[] = {
      {"Compress", compress},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"NonMaxSuppression", non_max_suppression},
      {"NonZero", non_zero},
      {"OneHot", one_hot},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"TopK", top_k},
      {"Unique", unique},
  };
  return kForms;
}

} // namespace tg::onnx
