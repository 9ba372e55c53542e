// Windows that slide along an axis, over symbolic sizes: how many results there are and how many
// zeros come first, after window() of lang/core/shape_rules.h. Both are unknowns of which the
// inequalities are known that define them; windows of equal arguments are one.
#include "compiler/equiv/proof/case.h"

namespace tg::proof {

const Case::Window& Case::conv_window(TermId id, size_t axis) {
  static const Window nothing;
  const Term& term = rule_.terms[id];
  Attr stride = attribute(id, 0), pad = attribute(id, 1), dilation = attribute(id, 2);
  Tensor x = type(term.operands[0]), w = type(term.operands[1]);
  if (halted()) return nothing;
  return window(x.dims[2 + axis], w.dims[2 + axis], stride.ns[axis], dilation.ns[axis], pad, axis);
}

const Case::Window& Case::pool_window(TermId id, size_t axis) {
  static const Window nothing;
  Attr kernel = attribute(id, 0), stride = attribute(id, 1), pad = attribute(id, 2);
  Tensor x = type(rule_.terms[id].operands[0]);
  if (halted()) return nothing;
  return window(x.dims[2 + axis], kernel.ns[axis], stride.ns[axis], 1, pad, axis);
}

/// Where results and padding come from; the same for equal arguments.
const Case::Window& Case::window(const Poly& size, const Poly& kernel, const Poly& stride,
                                 const Poly& dilation, const Attr& pad, size_t axis) {
  bool given = pad.kind == Attr::Kind::Ints;
  std::vector<Poly> pads;
  if (given) pads = {pad.ns[axis], pad.ns[axis + 2]};
  std::string kind = given ? "given" : pad.text;
  for (const auto& known : windows_)
    if (known->kind == kind && is(known->size, size) && is(known->kernel, kernel) &&
        is(known->stride, stride) && is(known->dilation, dilation) &&
        (!given || (is(known->pads[0], pads[0]) && is(known->pads[1], pads[1]))))
      return *known;
  windows_.push_back(std::make_unique<Window>(
      Window{size, kernel, stride, dilation, kind, pads, arith_.fresh_poly(1), 0}));
  Window& w = *windows_.back();
  Poly extent = (kernel - 1) * dilation; // without the first element
  bool same = kind == "same";
  Poly padded = size;
  if (given) {
    w.before = pads[0];
    padded = size + pads[0] + pads[1];
  }
  if (same) {
    // out = ceil(size / stride); zeros: max((out - 1) * stride + extent + 1 - size, 0), half
    // before.
    must(at_least(w.out * stride, size));
    must(less((w.out - 1) * stride, size));
    if (is(stride, 1)) must_equal(w.out, size);
    if (!is(kernel, 1)) {
      w.before = arith_.fresh_poly(0);
      if (is(stride, 1)) {
        must(at_least(extent, w.before + w.before));
        must(at_least(w.before + w.before + 1, extent));
      }
    }
  } else {
    must(at_least(padded, (w.out - 1) * stride + extent + 1));
    must(less(padded, w.out * stride + extent + 1));
    if (is(stride, 1)) must_equal(w.out, padded - extent);
  }
  return w;
}

/// What was made apart and turned out to be of equal arguments is equal.
void Case::join_windows() {
  for (size_t i = 0; i < windows_.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Window &a = *windows_[i], &b = *windows_[j];
      bool same = a.kind == b.kind && is(a.size, b.size) && is(a.kernel, b.kernel) &&
                  is(a.stride, b.stride) && is(a.dilation, b.dilation);
      for (size_t n = 0; same && n < a.pads.size(); ++n) same = is(a.pads[n], b.pads[n]);
      if (!same) continue;
      must_equal(a.out, b.out);
      must_equal(a.before, b.before);
    }
}

} // namespace tg::proof
