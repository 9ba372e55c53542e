// Constants, queries of shapes, and operators that change the shape or repeat elements. Queries are
// answered at import time, since shapes are known.
#include "compiler/import/onnx/read/shared/open_rows.h"
#include "compiler/import/onnx/read/tensors.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

/// Sets an i64 vector as the result; it may be empty.
void result_list(Call& call, Ints values, bool is_sizes = false) {
  if (values.empty()) return call.result(0, FileValue::empty({DType::I64, {0}}));
  Literal list{{DType::I64, {static_cast<int64_t>(values.size())}}, {}, {}};
  list.ints.assign(values.begin(), values.end());
  call.result(is_sizes ? call.emit().sizes(list) : call.emit().literal(list));
}

bool has_empty(Ints shape) { return llvm::is_contained(shape, 0); }

// --- constants -----------------------------------------------------------------------------------

void constant(Call& call) {
  Emitter& e = call.emit();
  if (const schema::Attribute* value = call.attribute("value"))
    return call.result(0, call.tensor(value->t()));
  if (call.attribute("value_float"))
    return call.result(e.scalar(call.real("value_float", 0), DType::F32));
  if (call.attribute("value_int"))
    return call.result(e.literal({{DType::I64, {}}, {call.whole("value_int")}, {}}));
  if (std::optional<Shape> wholes = call.wholes("value_ints")) return result_list(call, *wholes);
  if (std::optional<std::vector<double>> reals = call.reals("value_floats")) {
    TensorType type{DType::F32, {static_cast<int64_t>(reals->size())}};
    if (reals->empty()) return call.result(0, FileValue::empty(type));
    return call.result(e.literal({type, {}, std::move(*reals)}));
  }
  call.fail("a string constant or a constant without a value is not supported");
}

void constant_of_shape(Call& call) {
  Shape shape = call.known_wholes(0);
  if (call.failed()) return;
  Literal value{{DType::F32, {}}, {}, {0}};
  if (const schema::Attribute* given = call.attribute("value")) {
    FileValue one = call.tensor(given->t());
    std::optional<Literal> known = call.emit().known(one.node);
    if (!known || known->size() != 1) {
      call.fail("its value is not one number");
      return;
    }
    value = std::move(*known);
  }
  TensorType type{value.type.dtype, shape};
  if (has_empty(shape)) return call.result(0, FileValue::empty(type));
  value.type = type;
  call.result(call.emit().literal(value));
}

int64_t elements_between(double start, double limit, double delta) {
  double count = std::ceil((limit - start) / delta);
  return static_cast<int64_t>(std::clamp(count, 0.0, static_cast<double>(kMaxElements)));
}
/// The distance of two i64 numbers fits in an unsigned 64-bit number.
int64_t elements_between(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  auto distance = [](int64_t low, int64_t high) {
    return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  };
  uint64_t whole = delta > 0 ? distance(start, limit) : distance(limit, start);
  uint64_t step = delta > 0 ? distance(0, delta) : distance(delta, 0);
  return static_cast<int64_t>(std::min<uint64_t>((whole - 1) / step + 1, kMaxElements));
}

Literal scalar(DType dtype, int64_t x) { return {{dtype, {}}, {x}, {}}; }
Literal scalar(DType dtype, double x) { return {{dtype, {}}, {}, {x}}; }

/// Lists start, start + delta, .. below the limit, in integers or in doubles.
template <class Number> void range(Call& call, Number start, Number limit, Number delta) {
  Emitter& e = call.emit();
  if (delta == 0) call.fail("its step is 0");
  if (call.failed()) return;
  TensorType type{call.type(0).dtype, {elements_between(start, limit, delta)}};
  if (type.shape[0] == 0) return call.result(0, FileValue::empty(type));
  if (type.shape[0] <= e.most_folded()) {
    Literal all{type, {}, {}};
    for (int64_t i = 0; i < type.shape[0]; ++i)
      if constexpr (std::is_same_v<Number, int64_t>)
        all.ints.push_back(start + i * delta);
      else
        all.reals.push_back(start + static_cast<double>(i) * delta);
    return call.result(e.literal(all));
  }
  NodeId steps = e.iota(type, 0);
  if (delta != 1) steps = e.mul(steps, e.literal(scalar(type.dtype, delta)));
  call.result(start == 0 ? steps : e.add(steps, e.literal(scalar(type.dtype, start))));
}

void range(Call& call) {
  if (is_float(call.type(0).dtype))
    range(call, call.known_real(0), call.known_real(1), call.known_real(2));
  else
    range(call, call.known_whole(0), call.known_whole(1), call.known_whole(2));
}

void eye_like(Call& call) {
  Emitter& e = call.emit();
  TensorType type = call.type(0);
  int64_t k = call.whole("k", 0);
  type.dtype = call.dtype("dtype", type.dtype);
  if (call.failed()) return;
  if (type.rank() != 2) {
    call.fail("its input is not a matrix");
    return;
  }
  TensorType index{DType::I64, type.shape};
  NodeId on = e.equal(e.add(e.iota(index, 0), e.literal(scalar(DType::I64, k))), e.iota(index, 1));
  call.result(e.cast(on, type.dtype));
}

/// Makes a window of the given size; w(s) is its value at fraction s of the period.
template <class W> void window(Call& call, W w) {
  int64_t size = call.known_whole(0);
  bool periodic = flag(call, "periodic", true);
  DType dtype = call.dtype("output_datatype", DType::F32);
  if (size < (periodic ? 1 : 2) || size > kMostKnown) call.fail("its size is " + llvm::Twine(size));
  if (call.failed()) return;
  Literal made{{DType::F64, {size}}, {}, {}};
  double turn = static_cast<double>(periodic ? size : size - 1);
  for (int64_t i = 0; i < size; ++i)
    made.reals.push_back(w(2 * std::numbers::pi * static_cast<double>(i) / turn));
  call.result(call.emit().cast(call.emit().literal(made), dtype));
}
void blackman_window(Call& call) {
  window(call, [](double at) { return 0.42 - 0.5 * std::cos(at) + 0.08 * std::cos(2 * at); });
}
void hamming_window(Call& call) {
  constexpr double kAlpha = 25.0 / 46;
  window(call, [](double at) { return kAlpha - (1 - kAlpha) * std::cos(at); });
}
void hann_window(Call& call) {
  window(call, [](double at) { return (1 - std::cos(at)) / 2; });
}

// --- questions -----------------------------------------------------------------------------------

/// Returns true for rows that data selects and whose number is not known.
bool is_open(Call& call) {
  return call.value(0).is(FileValue::Kind::Padded) && call.value(0).count.valid();
}

void shape(Call& call) {
  TensorType type = is_open(call) ? call.value(0).type : call.type(0);
  int64_t rank = type.rank();
  auto place = [&](int64_t given) {
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  int64_t start = place(call.whole("start", 0)), end = place(call.whole("end", rank));
  if (is_open(call) && start <= call.value(0).axis && call.value(0).axis < end)
    return call.result(call.emit().slice(sizes_of(call.emit(), call.value(0)), 0, start, end));
  Ints all = type.shape;
  result_list(
      call,
      all.slice(static_cast<size_t>(start), static_cast<size_t>(std::max<int64_t>(end - start, 0))),
      /*is_sizes=*/true);
}

void size(Call& call) {
  if (is_open(call)) {
    const FileValue& rows = call.value(0);
    auto others = rows.type.elements() / rows.type[static_cast<size_t>(rows.axis)];
    return call.result(call.emit().mul(rows.count, static_cast<double>(others)));
  }
  TensorType type = call.type(0);
  call.result(call.emit().sizes({{DType::I64, {}}, {type.elements()}, {}}));
}

// --- the same elements under another shape -------------------------------------------------------

/// Computes the new shape. `given` follows ONNX: 0 keeps a size, one -1 is inferred.
std::optional<Shape> reshaped(Call& call, Ints from, Ints given, bool allow_zero) {
  Shape to;
  int64_t open = -1, known = 1, all = 1;
  for (int64_t n : from) all *= n;
  for (size_t i = 0; i < given.size(); ++i) {
    int64_t n = given[i];
    if (n == 0 && !allow_zero) {
      if (i >= from.size()) {
        call.fail("its shape keeps a size that the input does not have");
        return std::nullopt;
      }
      n = from[i];
    }
    if (n < -1 || (n == -1 && open >= 0)) {
      call.fail(n == -1 ? "its shape leaves two sizes unknown" : "its shape has a negative size");
      return std::nullopt;
    }
    if (n == -1) open = static_cast<int64_t>(i);
    if (n >= 0 && __builtin_mul_overflow(known, n, &known)) {
      call.fail("its shape has too many elements");
      return std::nullopt;
    }
    to.push_back(n);
  }
  if (open >= 0) to[static_cast<size_t>(open)] = known == 0 ? 0 : all / known;
  return to;
}

void reshape_to(Call& call, const Shape& to) {
  TensorType type = call.type(0);
  if (call.failed()) return;
  if (call.value(0).is(Kind::Empty)) return call.result(0, FileValue::empty({type.dtype, to}));
  call.result(call.emit().reshape(call.input(0), to));
}

void reshape(Call& call) {
  TensorType type = call.type(0);
  Shape given = call.known_wholes(1);
  bool allow_zero = flag(call, "allowzero", false);
  if (call.failed()) return;
  if (std::optional<Shape> to = reshaped(call, type.shape, given, allow_zero))
    reshape_to(call, *to);
}

void flatten(Call& call) {
  TensorType type = call.type(0);
  int64_t rank = type.rank(), axis = call.whole("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) {
    call.fail("there is no axis " + llvm::Twine(axis) + " of " + llvm::Twine(rank));
    return;
  }
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < rank; ++i) (i < axis ? rows : columns) *= type[static_cast<size_t>(i)];
  reshape_to(call, {rows, columns});
}

/// Axes are an attribute before opset 13, then an input.
std::optional<Shape> given_axes(Call& call) {
  if (call.version() < 13) return call.wholes("axes");
  if (!call.has(1)) return std::nullopt;
  return call.known_wholes(1);
}

void squeeze(Call& call) {
  TensorType type = call.type(0);
  std::optional<Shape> given = given_axes(call);
  if (call.failed()) return;
  Shape axes = given ? call.axes(*given, type.rank()) : Shape();
  Shape to;
  for (int64_t i = 0; i < type.rank(); ++i) {
    int64_t n = type[static_cast<size_t>(i)];
    bool named = llvm::is_contained(axes, i);
    if (named && n != 1) {
      call.fail("axis " + llvm::Twine(i) + " has the size " + llvm::Twine(n) + ", not 1");
      return;
    }
    if (given ? !named : n != 1) to.push_back(n);
  }
  reshape_to(call, to);
}

void unsqueeze(Call& call) {
  TensorType type = call.type(0);
  std::optional<Shape> given = given_axes(call);
  if (call.failed()) return;
  if (!given) {
    call.fail("its axes are missing");
    return;
  }
  int64_t rank = type.rank() + static_cast<int64_t>(given->size());
  Shape axes = call.axes(*given, rank), to;
  auto next = type.shape.begin();
  for (int64_t i = 0; i < rank; ++i) {
    bool fresh = llvm::is_contained(axes, i);
    if (!fresh && next == type.shape.end()) {
      call.fail("an axis occurs twice");
      return;
    }
    to.push_back(fresh ? 1 : *next++);
  }
  reshape_to(call, to);
}

// --- repeated elements ---------------------------------------------------------------------------

void expand(Call& call) {
  TensorType type = call.type(0);
  Shape given = call.known_wholes(1), to;
  if (call.failed()) return;
  if (!broadcast_shapes(type.shape, given, to)) {
    call.fail("the shapes do not broadcast");
    return;
  }
  if (has_empty(to)) return call.result(0, FileValue::empty({type.dtype, to}));
  call.result(call.emit().expand(call.input(0), to));
}

/// Repeats [a, n, b] along a new axis, as [a, 1, n, b].
NodeId repeat(Emitter& e, NodeId x, int64_t axis, int64_t times) {
  if (!x.valid() || times == 1) return x;
  Shape apart(e.shape(x).begin(), e.shape(x).end());
  Shape merged = apart;
  merged[static_cast<size_t>(axis)] *= times;
  if (apart[static_cast<size_t>(axis)] == 1) return e.expand(x, merged);
  apart.insert(apart.begin() + axis, 1);
  Shape repeated = apart;
  repeated[static_cast<size_t>(axis)] = times;
  if (static_cast<int64_t>(apart.size()) > kMaxRank) {
    if (times > kMostKnown)
      return e.fail("it repeats an axis more than " + llvm::Twine(kMostKnown) + " times");
    llvm::SmallVector<NodeId, 4> copies(static_cast<size_t>(times), x);
    return e.concat(copies, axis);
  }
  return e.reshape(e.expand(e.reshape(x, apart), repeated), merged);
}

/// Returns the number of repetitions of each axis; before opset 6 only one axis is repeated.
Shape repeats(Call& call, int64_t rank) {
  if (call.version() >= 6) return call.known_wholes(1);
  int64_t times = call.known_whole(1), axis = call.axis(call.known_whole(2), rank);
  if (call.failed()) return {};
  Shape all(static_cast<size_t>(rank), 1);
  all[static_cast<size_t>(axis)] = times;
  return all;
}

void tile(Call& call) {
  Emitter& e = call.emit();
  TensorType type = call.type(0);
  Shape times = repeats(call, type.rank());
  if (call.failed()) return;
  if (static_cast<int64_t>(times.size()) != type.rank()) {
    call.fail("it has " + llvm::Twine(times.size()) + " repeats for " + llvm::Twine(type.rank()) +
              " axes");
    return;
  }
  Shape to = type.shape;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0) {
      call.fail("it repeats an axis " + llvm::Twine(times[i]) + " times");
      return;
    }
    if (__builtin_mul_overflow(to[i], times[i], &to[i])) {
      call.fail("its result has too many elements");
      return;
    }
  }
  if (has_empty(to)) return call.result(0, FileValue::empty({type.dtype, to}));
  NodeId x = call.input(0);
  for (size_t i = 0; i < times.size(); ++i) x = repeat(e, x, static_cast<int64_t>(i), times[i]);
  call.result(x);
}

} // namespace

llvm::ArrayRef<Form> shape_forms() {
  static constexpr Form kForms[] = {
      {"BlackmanWindow", blackman_window},
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"Expand", expand},
      {"EyeLike", eye_like},
      {"Flatten", flatten},
      {"HammingWindow", hamming_window},
      {"HannWindow", hann_window},
      {"Range", range},
      {"Reshape", reshape},
      {"Shape", shape},
      {"Size", size},
      {"Squeeze", squeeze},
      {"Tile", tile},
      {"Unsqueeze", unsqueeze},
  };
  return kForms;
}

} // namespace tg::onnx
