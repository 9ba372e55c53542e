#include "compiler/verify/proof/values.h"

namespace tg::proof {

const Window& Windows::window(const Poly& size, const Poly& kernel, const Poly& stride,
                              const Poly& dilation, const Attr& pad, size_t axis) {
  bool given = pad.kind == Attr::Kind::Ints;
  std::vector<Poly> pads;
  if (given) pads = {pad.ns[axis], pad.ns[axis + 2]};
  std::string kind = given ? "given" : pad.text;
  for (const auto& known : windows_)
    if (known->kind == kind && facts_.is(known->size, size) && facts_.is(known->kernel, kernel) &&
        facts_.is(known->stride, stride) && facts_.is(known->dilation, dilation) &&
        (!given || (facts_.is(known->pads[0], pads[0]) && facts_.is(known->pads[1], pads[1]))))
      return *known;
  windows_.push_back(std::make_unique<Window>(
      Window{size, kernel, stride, dilation, kind, pads, facts_.arith().fresh_poly(1), 0}));
  define(*windows_.back());
  return *windows_.back();
}

void Windows::define(Window& w) {
  Poly extent = (w.kernel - 1) * w.dilation; // without the first element
  bool given = w.kind == "given", same = w.kind == "same";
  Poly padded = w.size;
  if (given) {
    w.before = w.pads[0];
    padded = w.size + w.pads[0] + w.pads[1];
  }
  if (same) {
    // out = ceil(size / stride); zeros:
    // max((out - 1) * stride + extent + 1 - size, 0), half of them before.
    facts_.must(at_least(w.out * w.stride, w.size));
    facts_.must(less((w.out - 1) * w.stride, w.size));
    if (facts_.is(w.stride, 1)) facts_.must_equal(w.out, w.size);
    if (!facts_.is(w.kernel, 1)) {
      w.before = facts_.arith().fresh_poly(0);
      if (facts_.is(w.stride, 1)) {
        facts_.must(at_least(extent, w.before + w.before));
        facts_.must(at_least(w.before + w.before + 1, extent));
      }
    }
  } else {
    facts_.must(at_least(padded, (w.out - 1) * w.stride + extent + 1));
    facts_.must(less(padded, w.out * w.stride + extent + 1));
    if (facts_.is(w.stride, 1)) facts_.must_equal(w.out, padded - extent);
  }
}

const Groups& Windows::groups(const Poly& inputs, const Poly& inputs_each, const Poly& outputs) {
  for (const auto& known : groups_)
    if (facts_.is(known->inputs, inputs) && facts_.is(known->inputs_each, inputs_each) &&
        facts_.is(known->outputs, outputs))
      return *known;
  groups_.push_back(std::make_unique<Groups>(Groups{
      inputs, inputs_each, outputs, facts_.arith().fresh_poly(2), facts_.arith().fresh_poly(1)}));
  const Groups& made = *groups_.back();
  facts_.arith().assume(proof::equal(inputs, made.count * inputs_each));
  facts_.arith().assume(proof::equal(outputs, made.count * made.outputs_each));
  return made;
}

void Windows::join() {
  for (size_t i = 0; i < windows_.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Window &a = *windows_[i], &b = *windows_[j];
      bool same = a.kind == b.kind && facts_.is(a.size, b.size) && facts_.is(a.kernel, b.kernel) &&
                  facts_.is(a.stride, b.stride) && facts_.is(a.dilation, b.dilation);
      for (size_t n = 0; same && n < a.pads.size(); ++n) same = facts_.is(a.pads[n], b.pads[n]);
      if (!same) continue;
      facts_.must_equal(a.out, b.out);
      facts_.must_equal(a.before, b.before);
    }
}

// --- the operator `windows` -------------------------------------------------------------------

Tensor Types::windows(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]);
  if (facts_.halted()) return {};
  if (x.none || (!x.packed && x.dims.empty())) return facts_.stop(Outcome::Impossible), Tensor();
  std::optional<size_t> along = axis(facts_, attribute(id, 0).n, x);
  Poly size = attribute(id, 1).n, step = attribute(id, 2).n, dilation = attribute(id, 3).n;
  if (facts_.halted() || !along) return {};
  for (const Poly& each : {size, step, dilation}) facts_.must(at_least(each, 1));
  auto at = x.dims.begin() + static_cast<std::ptrdiff_t>(*along);
  *at = windows_.window(*at, size, step, dilation, Attr::member("valid"), 0).out;
  x.dims.insert(at + 1, size);
  return x;
}

Value Elements::windows(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  std::optional<size_t> along = axis(facts_, types_.attribute(id, 0).n, types_.type(x));
  if (!along) return {};
  Index inner = index;
  inner[*along] =
      index[*along] * types_.attribute(id, 2).n + index[*along + 1] * types_.attribute(id, 3).n;
  inner.erase(inner.begin() + static_cast<std::ptrdiff_t>(*along) + 1);
  return at(x, inner);
}

} // namespace tg::proof
