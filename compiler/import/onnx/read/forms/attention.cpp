// Attention and its components: masks, caches of keys and values, rotary positions. It is written
// as products, softmax and element-by-element operators, which the optimizer knows.
#include "compiler/import/onnx/read/forms/einsum.h"
#include "compiler/import/onnx/read/forms/linear_attention.h"
#include "compiler/import/onnx/read/shared/attention_mask.h"
#include "compiler/import/onnx/read/shared/heads.h"
#include "compiler/import/onnx/read/shared/unroll.h"

#include <array>
#include <cmath>

namespace tg::onnx {
namespace {

// --- Attention -----------------------------------------------------------------------------------

struct Attention {
  Heads heads;
  bool packed = false; // shaped as [batch, places, heads * width]
  int64_t past = 0;    // positions of the cache before the keys
};

/// Prepends the cache to the new keys or values. An empty cache is ignored.
NodeId with_past(Call& call, size_t input, NodeId now, int64_t& places) {
  Emitter& e = call.emit();
  if (!call.has(input) || call.value(input).is(FileValue::Kind::Empty)) return now;
  NodeId before = call.input(input);
  if (call.failed()) return {};
  if (e.rank(before) != 4)
    return call.fail("its input " + llvm::Twine(input + 1) + " is " + e.type(before).text());
  places = e.shape(before)[2];
  return e.concat({before, now}, 2);
}

std::optional<Attention> read_attention(Call& call) {
  Emitter& e = call.emit();
  Attention made;
  Heads& heads = made.heads;
  heads = {call.input(0), call.input(1), call.input(2)};
  if (call.failed()) return std::nullopt;
  made.packed = e.rank(heads.q) == 3;
  if (made.packed) {
    int64_t own = call.whole("q_num_heads"), shared = call.whole("kv_num_heads");
    if (e.rank(heads.k) != 3 || e.rank(heads.v) != 3) call.fail("its inputs differ in rank");
    if (call.failed()) return std::nullopt;
    heads = {split_heads(call, heads.q, own), split_heads(call, heads.k, shared),
             split_heads(call, heads.v, shared)};
  } else { // the axes determine the number of heads
    ignore(call, "q_num_heads");
    ignore(call, "kv_num_heads");
  }
  if (call.has(4) != call.has(5)) call.fail("it has only one of the caches of keys and values");
  if (call.failed()) return std::nullopt;
  int64_t places = 0;
  heads.k = with_past(call, 4, heads.k, made.past);
  heads.v = with_past(call, 5, heads.v, places);
  if (call.failed() || !heads.check(call)) return std::nullopt;
  return made;
}

AttentionMask read_mask(Call& call, const Attention& attention) {
  Emitter& e = call.emit();
  const Heads& heads = attention.heads;
  MaskRules rules;
  rules.queries = e.shape(heads.q)[2];
  rules.keys = e.shape(heads.k)[2];
  rules.dtype = e.dtype(heads.q);
  rules.mask = call.optional(3);
  rules.filled = call.optional(6);
  rules.offset = attention.past;
  rules.causal = flag(call, "is_causal", false);
  rules.left = call.whole("left_window_size", -1);
  rules.right = call.whole("right_window_size", -1);
  if (rules.filled.valid() && (call.has(4) || e.shape(rules.filled) != Ints({e.shape(heads.q)[0]})))
    call.fail("its input 7 is " + e.type(rules.filled).text() +
              ", expected the number of filled positions per sequence, for a cache that it does "
              "not extend");
  if (call.failed()) return {};
  return attention_mask(call, rules);
}

NodeId capped(Emitter& e, NodeId scores, double cap) {
  if (cap == 0) return scores;
  return e.mul(e.unary(OpKind::Tanh, e.div(scores, cap)), cap);
}

/// Softmax over keys, in its own dtype, with zeros for queries that see no key.
NodeId weights_of(Emitter& e, NodeId scores, NodeId hidden, DType precision) {
  NodeId made = e.softmax(e.cast(scores, precision), e.rank(scores) - 1);
  return hidden.valid() ? e.select(hidden, e.like(made, 0), made) : made;
}

void write_attention(Call& call) {
  Emitter& e = call.emit();
  std::optional<Attention> read = read_attention(call);
  if (!read) return;
  const Heads& heads = read->heads;
  double scale = call.real("scale", 1 / std::sqrt(static_cast<double>(e.shape(heads.q)[3])));
  double cap = call.real("softcap", 0);
  int64_t mode = call.whole("qk_matmul_output_mode", 0);
  DType dtype = e.dtype(heads.q), precision = call.dtype("softmax_precision", dtype);
  AttentionMask mask = read_mask(call, *read);
  if (mode < 0 || mode > 3) call.fail("its `qk_matmul_output_mode` is " + llvm::Twine(mode));
  if (call.failed()) return;
  NodeId raw = heads.scores(e, scale), soft = capped(e, raw, cap);
  NodeId biased = mask.bias.valid() ? e.add(soft, mask.bias) : soft;
  NodeId weights = e.cast(weights_of(e, biased, mask.hidden, precision), dtype);
  if (call.failed()) return;
  if (e.shape(weights) != e.shape(raw))
    return void(call.fail("its mask changes " + e.type(weights).text() + " from scores " +
                          e.type(raw).text()));
  NodeId y = heads.context(e, weights);
  call.result(0, read->packed ? join_heads(e, y) : y);
  if (call.uses_result(1)) call.result(1, heads.k);
  if (call.uses_result(2)) call.result(2, heads.v);
  if (call.uses_result(3))
    call.result(3, std::array{raw, soft, biased, weights}[static_cast<size_t>(mode)]);
}

// --- FlexAttention -------------------------------------------------------------------------------

/// Applies a nested graph to one tensor; returns the tensor itself if the attribute is missing, and
/// nullopt if a node of the graph was rejected.
std::optional<NodeId> modified(Call& call, llvm::StringRef attribute, NodeId x) {
  if (!call.attribute(attribute)) return x;
  const schema::Graph* body = call.graph(attribute);
  if (call.failed()) return x;
  FileValue given{FileValue::Kind::Tensor, x, call.emit().type(x), {}};
  std::optional<std::vector<FileValue>> made = call.bodies().run(*body, given);
  if (!made) return std::nullopt;
  if (made->size() == 1 && (*made)[0].is(FileValue::Kind::Tensor) && (*made)[0].type == given.type)
    return (*made)[0].node;
  call.fail("its attribute `" + attribute + "` does not give a tensor of the type " +
            given.type.text());
  return x;
}

void write_flex_attention(Call& call) {
  Emitter& e = call.emit();
  Heads heads{call.input(0), call.input(1), call.input(2)};
  if (call.failed() || !heads.check(call)) return;
  double scale = call.real("scale", 1 / std::sqrt(static_cast<double>(e.shape(heads.q)[3])));
  DType dtype = e.dtype(heads.q);
  bool half = is_half(dtype);
  DType precision = call.dtype("softmax_precision", half ? DType::F32 : dtype);
  (void)call.attribute("score_mod");
  (void)call.attribute("prob_mod");
  NodeId scores = e.cast(heads.scores(e, scale), precision);
  if (call.failed()) return;
  std::optional<NodeId> seen = modified(call, "score_mod", scores);
  if (!seen) return refuse_results(call);
  if (call.failed()) return;
  NodeId weights = e.softmax(*seen, 3);
  if (call.failed()) return;
  std::optional<NodeId> kept = modified(call, "prob_mod", weights);
  if (!kept) return refuse_results(call);
  DType result = e.dtype(heads.v);
  heads.v = e.cast(heads.v, precision);
  call.result(e.cast(heads.context(e, *kept), result));
}

// --- rotary positions ----------------------------------------------------------------------------

/// Pairs (a, b) of numbers, rotated by their angles.
struct Pairs {
  NodeId a, b;
};
Pairs turned(Emitter& e, Pairs x, NodeId cos, NodeId sin) {
  return {e.sub(e.mul(x.a, cos), e.mul(x.b, sin)), e.add(e.mul(x.a, sin), e.mul(x.b, cos))};
}

/// Rotates the first elements of the last axis, in halves or in neighbouring pairs.
NodeId rotated(Emitter& e, NodeId x, NodeId cos, NodeId sin, bool neighbours) {
  int64_t axis = e.rank(x) - 1, half = e.shape(cos).back(), width = e.shape(x).back();
  NodeId front = e.slice(x, axis, 0, 2 * half), made;
  if (neighbours) {
    Shape shape(e.shape(front).begin(), e.shape(front).end()), pairs = shape;
    pairs.back() = half;
    pairs.push_back(2);
    front = e.reshape(front, pairs);
    auto of = [&](int64_t i) { return e.slice(front, axis + 1, i, i + 1); };
    Pairs turn = turned(e, {of(0), of(1)}, e.unsqueeze(cos, axis + 1), e.unsqueeze(sin, axis + 1));
    made = e.reshape(e.concat({turn.a, turn.b}, axis + 1), shape);
  } else {
    auto of = [&](int64_t i) { return e.slice(front, axis, i * half, (i + 1) * half); };
    Pairs turn = turned(e, {of(0), of(1)}, cos, sin);
    made = e.concat({turn.a, turn.b}, axis);
  }
  return width == 2 * half ? made : e.concat({made, e.slice(x, axis, 2 * half, width)}, axis);
}

void write_rotary(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), cos = call.input(1), sin = call.input(2), ids = call.optional(3);
  bool neighbours = flag(call, "interleaved", false);
  int64_t part = call.whole("rotary_embedding_dim", 0), heads = call.whole("num_heads", 0);
  if (call.failed()) return;
  TensorType type = e.type(x);
  bool packed = type.rank() == 3;
  if (!packed && type.rank() != 4) return void(call.fail("its input is " + type.text()));
  if (packed && (heads < 1 || type.shape[2] % heads != 0))
    return void(call.fail(llvm::Twine(heads) + " heads do not divide " + type.text()));
  if (packed) x = e.reshape(x, {type.shape[0], type.shape[1], heads, type.shape[2] / heads});
  if (ids.valid()) {
    cos = e.gather(cos, ids, 0);
    sin = e.gather(sin, ids, 0);
  }
  if (call.failed()) return;
  int64_t width = part ? part : e.shape(x).back();
  if (e.rank(cos) != 3 || e.shape(cos) != e.shape(sin) || 2 * e.shape(cos).back() != width ||
      width > e.shape(x).back())
    return void(call.fail("its angles are " + e.type(cos).text() + ", but they rotate " +
                          llvm::Twine(width) + " of " + e.type(x).text()));
  int64_t head_axis = packed ? 2 : 1;
  NodeId made = rotated(e, x, e.unsqueeze(cos, head_axis), e.unsqueeze(sin, head_axis), neighbours);
  call.result(e.reshape(made, type.shape));
}

// --- caches --------------------------------------------------------------------------------------

/// Writes the update at the same known position in every sequence, without wrapping around.
NodeId scattered_at(Emitter& e, NodeId cache, NodeId update, int64_t axis, int64_t start) {
  int64_t size = e.shape(cache)[static_cast<size_t>(axis)];
  int64_t end = start + e.shape(update)[static_cast<size_t>(axis)];
  llvm::SmallVector<NodeId, 3> parts;
  if (start > 0) parts.push_back(e.slice(cache, axis, 0, start));
  parts.push_back(update);
  if (end < size) parts.push_back(e.slice(cache, axis, end, size));
  return e.concat(parts, axis);
}

/// Each position of the cache takes its row of the update if there is one.
NodeId scattered(Emitter& e, NodeId cache, NodeId update, int64_t axis, NodeId starts, bool wraps) {
  Ints shape = e.shape(cache);
  int64_t batch = shape[0], size = shape[static_cast<size_t>(axis)];
  int64_t count = e.shape(update)[static_cast<size_t>(axis)], prefix = 1, rest = 1;
  for (int64_t n : shape.take_front(static_cast<size_t>(axis))) prefix *= n;
  for (int64_t n : shape.drop_front(static_cast<size_t>(axis) + 1)) rest *= n;
  NodeId row = e.sub(e.iota({DType::I64, {1, size}}, 1), e.reshape(starts, {batch, 1}));
  if (wraps) row = e.op(OpKind::Mod, {row, e.like(row, static_cast<double>(size))});
  NodeId has = e.op(OpKind::LogicalAnd, {e.op(OpKind::GreaterEqual, {row, e.like(row, 0)}),
                                         e.less(row, e.like(row, static_cast<double>(count)))});
  NodeId first = e.mul(e.iota({DType::I64, {prefix}}, 0), static_cast<double>(count));
  NodeId rows =
      e.add(e.reshape(first, {batch, prefix / batch, 1}), e.reshape(row, {batch, 1, size}));
  NodeId made =
      e.gather(e.reshape(update, {prefix * count, rest}), e.reshape(rows, {prefix, size}), 0);
  Shape flags(shape.size(), 1);
  flags[0] = batch;
  flags[static_cast<size_t>(axis)] = size;
  return e.select(e.reshape(has, flags), e.reshape(made, shape), cache);
}

void write_scatter(Call& call) {
  Emitter& e = call.emit();
  NodeId cache = call.input(0), update = call.input(1), starts = call.optional(2);
  std::string mode = call.text("mode", "linear");
  if (mode != "linear" && mode != "circular") call.fail("its mode `" + mode + "` is unknown");
  if (call.failed()) return;
  int64_t axis = call.axis(call.whole("axis", -2), e.rank(cache));
  Shape wanted(e.shape(cache).begin(), e.shape(cache).end());
  auto place = static_cast<size_t>(axis);
  bool ranks = e.rank(update) == e.rank(cache);
  if (ranks) wanted[place] = std::min(wanted[place], e.shape(update)[place]);
  if (axis == 0 || !ranks || e.shape(update) != Ints(wanted))
    return void(call.fail("an update " + e.type(update).text() + " does not fit the cache " +
                          e.type(cache).text()));
  if (!starts.valid()) return call.result(scattered_at(e, cache, update, axis, 0));
  if (e.shape(starts) != e.shape(cache).take_front())
    return void(call.fail("its input 3 is " + e.type(starts).text()));
  std::optional<Literal> known = e.known(starts);
  bool equal = known && llvm::is_splat(known->ints);
  int64_t last = e.shape(cache)[place] - e.shape(update)[place];
  if (equal && known->ints[0] >= 0 && known->ints[0] <= last)
    return call.result(scattered_at(e, cache, update, axis, known->ints[0]));
  call.result(scattered(e, cache, update, axis, e.cast(starts, DType::I64), mode == "circular"));
}

} // namespace

llvm::ArrayRef<Form> attention_forms() {
  static constexpr Form kForms[] = {
      {"Attention", write_attention},
      {"CausalConvWithState", write_causal_conv},
      {"Einsum", write_einsum},
      {"LinearAttention", write_linear_attention},
      {"RotaryEmbedding", write_rotary},
      {"TensorScatter", write_scatter},
      {"ai.onnx.preview.FlexAttention", write_flex_attention},
  };
  return kForms;
}

} // namespace tg::onnx
