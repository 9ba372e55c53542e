#include "compiler/import/onnx/read/shared/heads.h"

#include <cmath>

namespace tg::onnx {

NodeId split_heads(Call& call, NodeId x, int64_t heads) {
  Emitter& e = call.emit();
  if (!x.valid()) return x;
  int64_t all = e.shape(x).back();
  if (heads < 1 || all % heads != 0)
    return call.fail(llvm::Twine(heads) + " heads do not divide " + e.type(x).text());
  Ints shape = e.shape(x);
  return e.transpose(e.reshape(x, {shape[0], shape[1], heads, all / heads}), {0, 2, 1, 3});
}

NodeId join_heads(Emitter& e, NodeId x) {
  if (!x.valid()) return x;
  Ints shape = e.shape(x);
  return e.reshape(e.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

bool Heads::check(Call& call) const {
  Emitter& e = call.emit();
  for (NodeId x : {q, k, v})
    if (!x.valid() || e.rank(x) != 4) return call.fail("its inputs must have four axes"), false;
  Ints a = e.shape(q), b = e.shape(k), c = e.shape(v);
  bool fits = a[0] == b[0] && b[0] == c[0] && b[1] == c[1] && b[2] == c[2] && a[3] == b[3] &&
              a[1] % b[1] == 0;
  if (!fits)
    call.fail("its queries " + e.type(q).text() + ", keys " + e.type(k).text() + " and values " +
              e.type(v).text() + " do not match");
  return fits;
}

NodeId Heads::grouped(Emitter& e, NodeId x) const {
  if (!x.valid()) return x;
  Ints shape = e.shape(x);
  int64_t heads = e.shape(k)[1], group = shape[1] / heads;
  return e.reshape(x, {shape[0], heads, group * shape[2], shape[3]});
}

NodeId Heads::scores(Emitter& e, double scale) const {
  // Sums of halves could overflow before a later factor, so both sides are scaled.
  bool half = is_half(e.dtype(q)) && scale > 0;
  NodeId left = e.mul(q, half ? std::sqrt(scale) : scale);
  NodeId right = half ? e.mul(k, std::sqrt(scale)) : k;
  NodeId made = e.matmul(grouped(e, left), e.swap_axes(right, 2, 3));
  return e.reshape(made, {e.shape(q)[0], e.shape(q)[1], e.shape(q)[2], e.shape(k)[2]});
}

NodeId Heads::context(Emitter& e, NodeId weights) const {
  NodeId made = e.matmul(grouped(e, weights), v);
  return e.reshape(made, {e.shape(q)[0], e.shape(q)[1], e.shape(q)[2], e.shape(v)[3]});
}

} // namespace tg::onnx
