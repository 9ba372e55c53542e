#include "compiler/import/onnx/read/shared/indexing.h"

#include "compiler/import/onnx/file/indices.h"

namespace tg::onnx {
namespace {

int64_t product(Ints sizes) {
  int64_t all = 1;
  for (int64_t n : sizes) all *= n;
  return all;
}

/// Returns true if the indices cannot be negative.
bool not_negative(Emitter& e, NodeId indices) {
  if (std::optional<Literal> known = e.known(indices))
    return llvm::all_of(known->ints, [](int64_t n) { return n >= 0; });
  return e.never_negative(indices);
}

} // namespace

NodeId from_front(Emitter& e, NodeId indices, int64_t size) {
  indices = e.cast(indices, DType::I64);
  if (!indices.valid()) return indices;
  NodeId flat = indices; // below changes of shape
  while (e.graph().node(flat).op == OpKind::Reshape) flat = e.graph().operands(flat)[0];
  if (NodeId kept = kept_from_end(e.graph(), flat, size); kept.valid())
    return e.reshape(kept, Shape(e.shape(indices).begin(), e.shape(indices).end()));
  if (not_negative(e, indices)) return indices;
  NodeId behind = e.add(indices, static_cast<double>(size));
  return e.select(e.less(indices, e.like(indices, 0)), behind, indices);
}

NodeId flat_places(Emitter& e, NodeId indices, Ints shape, int64_t axis) {
  indices = from_front(e, indices, shape[static_cast<size_t>(axis)]);
  if (!indices.valid()) return indices;
  Shape strides = contiguous_strides(shape);
  TensorType type = e.type(indices);
  NodeId places = e.mul(indices, static_cast<double>(strides[static_cast<size_t>(axis)]));
  for (int64_t d = 0; d < type.rank(); ++d) {
    auto at = static_cast<size_t>(d);
    if (d == axis || type[at] == 1) continue;
    Shape line(static_cast<size_t>(type.rank()), 1);
    line[at] = type[at];
    NodeId steps = e.mul(e.iota({DType::I64, line}, d), static_cast<double>(strides[at]));
    places = e.add(places, steps);
  }
  return places;
}

NodeId gather_elements(Emitter& e, NodeId x, NodeId indices, int64_t axis) {
  if (!x.valid()) return x;
  NodeId places = flat_places(e, indices, e.shape(x), axis);
  return e.gather(e.reshape(x, {product(e.shape(x))}), places, 0);
}

NodeId row_places(Emitter& e, NodeId indices, Ints shape, int64_t batch) {
  if (!indices.valid()) return indices;
  int64_t last = e.rank(indices) - 1, depth = e.shape(indices)[static_cast<size_t>(last)];
  auto first = static_cast<size_t>(batch);
  Shape strides = contiguous_strides(shape.take_front(first + static_cast<size_t>(depth)));
  NodeId places;
  for (int64_t k = 0; k < depth; ++k) {
    NodeId one = e.squeeze(e.slice(indices, last, k, k + 1), last);
    size_t axis = first + static_cast<size_t>(k);
    NodeId step = e.mul(from_front(e, one, shape[axis]), static_cast<double>(strides[axis]));
    places = places.valid() ? e.add(places, step) : step;
  }
  for (int64_t d = 0; d < batch && places.valid(); ++d) {
    auto at = static_cast<size_t>(d);
    Shape line(static_cast<size_t>(e.rank(places)), 1);
    line[at] = shape[at];
    NodeId steps = e.mul(e.iota({DType::I64, line}, d), static_cast<double>(strides[at]));
    places = e.add(places, steps);
  }
  return places;
}

} // namespace tg::onnx
