// LinearAttention, unrolled over the sequence by its recurrence, and the convolution that precedes
// it in such models.
#include "compiler/import/onnx/read/forms/linear_attention.h"

#include "compiler/import/onnx/read/shared/unroll.h"

#include <cmath>

namespace tg::onnx {
namespace {

/// Computed in f32, also for halves. Heads that share a state are rows of one product.
struct Linear {
  int64_t batch = 0, places = 0, heads = 0, group = 0, key = 0, value = 0; // sizes
  NodeId q;     // [batch, places, heads, group, key], scaled
  NodeId k;     // [batch, places, heads, key]
  NodeId v;     // [batch, places, heads, value]
  NodeId decay; // [batch, places, heads, key or 1], the factor itself; may be absent
  NodeId rate;  // [batch, places, heads or 1, 1]; may be absent
  NodeId state; // [batch, heads, key, value]
};

DType computed_in(DType dtype) { return is_half(dtype) ? DType::F32 : dtype; }

/// Returns input i as [batch, places, shape..] in the dtype of the computation. Fails if it
/// does not fit.
NodeId unpacked(Call& call, size_t i, const Linear& x, Ints shape) {
  Emitter& e = call.emit();
  NodeId given = call.input(i);
  if (call.failed()) return {};
  Shape all = {x.batch, x.places};
  all.append(shape.begin(), shape.end());
  int64_t last = 1;
  for (int64_t n : shape) last *= n;
  if (e.shape(given) != Ints({x.batch, x.places, last}))
    return call.fail("its input " + llvm::Twine(i + 1) + " is " + e.type(given).text() +
                     ", expected a last axis of " + llvm::Twine(last));
  return e.reshape(e.cast(given, computed_in(e.dtype(given))), all);
}

bool read_sizes(Call& call, Linear& x) {
  Emitter& e = call.emit();
  int64_t own = call.whole("q_num_heads");
  x.heads = call.whole("kv_num_heads");
  NodeId q = call.input(0), v = call.input(2);
  if (call.failed()) return false;
  bool fits = x.heads > 0 && own > 0 && own % x.heads == 0 && e.rank(q) == 3 && e.rank(v) == 3 &&
              e.shape(q)[2] % own == 0 && e.shape(v)[2] % x.heads == 0;
  if (!fits) {
    call.fail(llvm::Twine(own) + " heads of queries and " + llvm::Twine(x.heads) +
              " of keys do not fit " + e.type(q).text() + " and " + e.type(v).text());
    return false;
  }
  x.batch = e.shape(q)[0];
  x.places = e.shape(q)[1];
  x.group = own / x.heads;
  x.key = e.shape(q)[2] / own;
  x.value = e.shape(v)[2] / x.heads;
  return check_rounds(call, x.places);
}

/// Reads the factors of the update rule. Fails if one is missing or not used by the rule.
void read_factors(Call& call, Linear& x) {
  Emitter& e = call.emit();
  std::string rule = call.text("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta";
  bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    call.fail("its attribute `update_rule` is `" + rule + "`");
  if (gated != call.has(4) || delta != call.has(5))
    call.fail("its inputs 5 and 6 do not fit the rule `" + rule + "`");
  if (call.failed()) return;
  if (gated) {
    bool whole = call.type(4).rank() == 3 && call.type(4).shape[2] == x.heads;
    x.decay = e.unary(OpKind::Exp, unpacked(call, 4, x, {x.heads, whole ? 1 : x.key}));
  }
  if (delta) {
    bool shared = call.type(5).rank() == 3 && call.type(5).shape[2] == 1;
    x.rate = unpacked(call, 5, x, {shared ? 1 : x.heads, 1});
  }
}

std::optional<Linear> read_linear(Call& call) {
  Emitter& e = call.emit();
  Linear x;
  ignore(call, "chunk_size"); // affects only how it is computed
  double scale = call.real("scale", 0);
  if (!read_sizes(call, x)) return std::nullopt;
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(x.key));
  x.q = e.mul(unpacked(call, 0, x, {x.heads, x.group, x.key}), scale);
  x.k = unpacked(call, 1, x, {x.heads, x.key});
  x.v = unpacked(call, 2, x, {x.heads, x.value});
  read_factors(call, x);
  NodeId past = call.optional(3);
  if (call.failed()) return std::nullopt;
  Shape shape = {x.batch, x.heads, x.key, x.value};
  if (past.valid() && e.shape(past) != Ints(shape))
    return call.fail("its input 4 is " + e.type(past).text()), std::nullopt;
  x.state =
      past.valid() ? e.cast(past, computed_in(e.dtype(past))) : e.filled(0, {e.dtype(x.q), shape});
  return x;
}

/// Returns the state after a position.
NodeId next_state(Emitter& e, const Linear& x, int64_t t, NodeId state) {
  NodeId k = at(e, x.k, 1, t), v = e.unsqueeze(at(e, x.v, 1, t), 2); // v: [batch, heads, 1, value]
  if (x.decay.valid()) state = e.mul(state, e.unsqueeze(at(e, x.decay, 1, t), 3));
  if (x.rate.valid()) {
    NodeId found = e.matmul(e.unsqueeze(k, 2), state);
    v = e.mul(e.unsqueeze(at(e, x.rate, 1, t), 3), e.sub(v, found));
  }
  return e.add(state, e.mul(e.unsqueeze(k, 3), v));
}

} // namespace

void write_linear_attention(Call& call) {
  Emitter& e = call.emit();
  std::optional<Linear> x = read_linear(call);
  if (!x) return;
  DType dtype = call.type(0).dtype, state_dtype = call.has(3) ? call.type(3).dtype : dtype;
  llvm::SmallVector<NodeId, 16> outputs;
  NodeId state = x->state;
  for (int64_t t = 0; t < x->places && !call.failed(); ++t) {
    state = next_state(e, *x, t, state);
    NodeId read = e.matmul(at(e, x->q, 1, t), state);
    outputs.push_back(e.reshape(read, {x->batch, 1, x->heads * x->group * x->value}));
  }
  if (call.failed()) return;
  call.result(0, e.cast(e.concat(outputs, 1), dtype));
  if (call.uses_result(1)) call.result(1, e.cast(state, state_dtype));
}

void write_causal_conv(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), w = call.input(1), bias = call.optional(2);
  std::string activation = call.text("activation", "none");
  bool past = call.has(3) && !call.value(3).is(FileValue::Kind::Empty);
  NodeId before = past ? call.input(3) : NodeId();
  bool swish = activation == "silu" || activation == "swish";
  if (!swish && activation != "none")
    call.fail("its attribute `activation` is `" + activation + "`");
  if (call.failed()) return;
  if (e.rank(x) != 3 || e.rank(w) != 3 || e.shape(w)[1] != 1 || e.shape(w)[0] != e.shape(x)[1])
    return void(
        call.fail("its kernel is " + e.type(w).text() + ", but its input is " + e.type(x).text()));
  int64_t taps = e.shape(w)[2], batch = e.shape(x)[0], channels = e.shape(x)[1];
  NodeId all = past ? e.concat({before, x}, 2) : e.pad(x, {0, 0, taps - 1}, {0, 0, 0});
  if (call.failed()) return;
  int64_t length = e.shape(all)[2];
  NodeId image = e.reshape(all, {batch, channels, 1, length});
  NodeId kernel = e.reshape(w, {channels, 1, 1, taps});
  NodeId made = e.op(OpKind::Conv2d, {image, kernel, bias.valid() ? bias : e.none(), e.none()});
  made = e.reshape(made, e.shape(x));
  if (swish) {
    DType dtype = e.dtype(x);
    NodeId wide = e.cast(made, computed_in(dtype));
    made = e.cast(e.mul(wide, e.unary(OpKind::Sigmoid, wide)), dtype);
  }
  call.result(0, made);
  if (!call.uses_result(1)) return;
  if (taps == 1)
    call.result(1, FileValue::empty({e.dtype(x), {batch, channels, 0}}));
  else
    call.result(1, e.slice(all, 2, length - (taps - 1), length));
}

} // namespace tg::onnx
