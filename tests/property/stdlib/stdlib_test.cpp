// Tests every function of stdlib/ on the reference backend against the plain loops
// of reference.h, with weights and inputs that the test generates. The last test fails
// for a function without a case.
#include "lang/syntax/parse.h"
#include "tests/property/stdlib/layers.h"

#include <gtest/gtest.h>

#include <set>

namespace tg::test {
namespace {

constexpr double kTolerance = 1e-5;

struct Case {
  const char* name;
  const char* functions; // called by the program: "nn.conv activation.silu"
  std::string program;
  std::function<std::vector<Array>(const RunResult&)> expected;
};

/// A loss whose gradients for two weights are two inputs.
constexpr const char* kTwoWeights = "use std.optimizer\n"
                                    "model m(x: f32[3, 4], y: f32[5]) {\n"
                                    "  param w: f32[3, 4]\n"
                                    "  param v: f32[5]\n"
                                    "  let loss = reduce_sum(w * x, axes = [0, 1]) + "
                                    "reduce_sum(v * y, axes = [0])\n";

Array loss_of_two(const RunResult& r) {
  Array sum{{}, {0}};
  for (double x : r.x("w").times(r.x()).data) sum.data[0] += x;
  for (double x : r.x("v").times(r.x("y")).data) sum.data[0] += x;
  return sum;
}

double clip_scale(const RunResult& r, double limit) {
  double squares = 0;
  for (const char* d : {"x", "y"})
    for (double x : r.x(d).data) squares += x * x;
  return limit / std::fmax(std::sqrt(squares), limit);
}

// --- the cases -----------------------------------------------------------------------------------

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"Activations",
       "activation.silu activation.gelu_tanh activation.gelu_logistic "
       "activation.gelu_sigmoid activation.leaky_relu "
       "activation.hard_sigmoid activation.hard_swish activation.softplus",
       "use std.activation\n"
       "model m(x: f32[5, 7]) {\n"
       "  let y = x * 3\n"
       "  (silu(y), gelu_tanh(y), gelu_logistic(y), gelu_sigmoid(y),\n"
       "    leaky_relu(y), leaky_relu(y, 0.2), hard_sigmoid(y), hard_swish(y),\n"
       "    softplus(y), softplus(y * 100))\n}\n",
       [](const RunResult& r) {
         Array y = r.x().map([](double v) { return 3 * v; });
         auto leaky = [](double slope) { return [=](double v) { return v > 0 ? v : slope * v; }; };
         return std::vector<Array>{
             y.map(silu), y.map(gelu_tanh), y.map(gelu_tanh),
             y.map([](double v) { return v * sigmoid(1.702 * v); }), y.map(leaky(0.01)),
             y.map(leaky(0.2)), y.map(hard_sigmoid),
             y.map([](double v) { return v * hard_sigmoid(v); }),
             y.map([](double v) { return std::log1p(std::exp(v)); }),
             // exp would overflow. Above 40 both are equal to the last bit of a float.
             y.map(
                 [](double v) { return 100 * v > 40 ? 100 * v : std::log1p(std::exp(100 * v)); })};
       }},
      {"Linear", "nn.linear nn.dense",
       "use std.nn\n"
       "model m(x: f32[3, 5], y: f32[2, 3, 5]) {\n"
       "  (linear(x, 4) as a, linear(x, 4, bias = false) as b, dense(y, 6) as c,\n"
       "    dense(y, 6, bias = false) as d)\n}\n",
       [](const RunResult& r) {
         return std::vector<Array>{
             affine(r.x(), r.w("a.w"), &r.w("a.b")), affine(r.x(), r.w("b.w")),
             affine(r.x("y"), r.w("c.w"), &r.w("c.b")), affine(r.x("y"), r.w("d.w"))};
       }},
      {"Convolutions", "nn.conv nn.depthwise_conv",
       "use std.nn\n"
       "model m(x: f32[2, 4, 7, 6]) {\n"
       "  (\n"
       "    conv(x, 3) as a,\n"
       "    conv(x, 6, kernel = 3, stride = 2, pad = same, groups = 2, bias = true) as b,\n"
       "    conv(x, 2, kernel = [2, 3], stride = [1, 2], pad = [1, 0, 2, 1], act = relu) as c,\n"
       "    conv(x, 2, kernel = 3, pad = [2, 1], act = tanh) as d,\n"
       "    depthwise_conv(x) as e,\n"
       "    depthwise_conv(x, 2, stride = 2, pad = valid) as f,\n"
       "  )\n}\n",
       [](const RunResult& r) {
         Array b = conv(r.x(), r.w("b.w"), Window{3, 3, 2, 2}.same(r.x()), &r.w("b.b"));
         Array c = conv(r.x(), r.w("c.w"), {.stride_w = 2, .top = 1, .bottom = 2, .right = 1});
         Array d = conv(r.x(), r.w("d.w"), {.top = 2, .left = 1, .bottom = 2, .right = 1});
         Array e = conv(r.x(), r.w("e.w"), Window{3, 3}.same(r.x()));
         Array f = conv(r.x(), r.w("f.w"), {.stride_h = 2, .stride_w = 2});
         return std::vector<Array>{conv(r.x(), r.w("a.w"), {}),
                                   b,
                                   c.map(relu),
                                   d.map([](double v) { return std::tanh(v); }),
                                   e,
                                   f};
       }},
      {"Pools", "nn.max_pool nn.avg_pool nn.global_avg_pool",
       "use std.nn\n"
       "model m(x: f32[2, 3, 7, 6]) {\n"
       "  (\n"
       "    max_pool(x, 2),\n"
       "    max_pool(x, [3, 2], stride = [2, 1], pad = same),\n"
       "    avg_pool(x, 3, stride = 2, pad = 1),\n"
       "    avg_pool(x, 3, stride = 2, pad = 1, count_padding = true),\n"
       "    avg_pool(x, 3, stride = 1, pad = same),\n"
       "    global_avg_pool(x),\n"
       "  )\n}\n",
       [](const RunResult& r) {
         Window padded{3, 3, 2, 2, 1, 1, 1, 1};
         return std::vector<Array>{max_pool(r.x(), {2, 2, 2, 2}),
                                   max_pool(r.x(), Window{3, 2, 2, 1}.same(r.x())),
                                   avg_pool(r.x(), padded, false),
                                   avg_pool(r.x(), padded, true),
                                   avg_pool(r.x(), Window{3, 3}.same(r.x()), false),
                                   channel_means(r.x())};
       }},
      {"Norms",
       "nn.batchnorm nn.conv_bn nn.layernorm norm.rms_norm norm.rms_scaled norm.rms_scaled_wide "
       "norm.group_norm norm.group_scaled norm.instance_norm norm.instance_scaled",
       "use std.nn\n"
       "use std.norm\n"
       "model m(x: f32[2, 6, 5, 4], y: f32[2, 3, 8], scale: f32[8]) {\n"
       "  (\n"
       "    batchnorm(x) as a,\n"
       "    batchnorm(x, eps = 0.1) as b,\n"
       "    conv_bn(x, 4, kernel = 3, stride = 2, pad = same, groups = 2) as c,\n"
       "    layernorm(y) as d,\n"
       "    layernorm(y, eps = 0.1) as e,\n"
       "    rms_norm(y) as f,\n"
       "    group_norm(x, 3) as g,\n"
       "    group_norm(x, 6, eps = 0.1) as h,\n"
       "    rms_scaled(y, scale, eps = 0.1),\n"
       "    rms_scaled_wide(y, scale, eps = 0.1),\n"
       "    instance_norm(x) as i,\n"
       "    instance_scaled(x, x[0, :, 0, 0], eps = 0.1),\n"
       "    group_scaled(x, x[0:1, :, 0:1, 0:1], x[0, :, 0, 0], groups = 2),\n"
       "    group_scaled(reshape(x, [2, 6, 20]), groups = 3),\n"
       "  )\n}\n",
       [](const RunResult& r) {
         Part top{r, "c"};
         Array c = conv(r.x(), r.w("c.conv.w"), Window{3, 3, 2, 2}.same(r.x()));
         Array zeros = Array::zeros({6}), ones = zeros.map([](double) { return 1.0; });
         Array first = zeros;
         for (int64_t i = 0; i < 6; ++i) first(i) = r.x()(0, i, 0, 0);
         Array groups = group_norm(r.x(), 3, ones, zeros, 1e-5);
         groups.shape = {2, 6, 20};
         return std::vector<Array>{batch_normed({r, "a"}, r.x()),
                                   batch_normed({r, "b"}, r.x(), 0.1),
                                   batch_normed(top / "bn", c),
                                   normed({r, "d"}, r.x("y"), 1e-5),
                                   normed({r, "e"}, r.x("y"), 0.1),
                                   rms_norm(r.x("y"), r.w("f.scale"), 1e-6),
                                   group_norm(r.x(), 3, r.w("g.scale"), r.w("g.shift"), 1e-5),
                                   group_norm(r.x(), 6, r.w("h.scale"), r.w("h.shift"), 0.1),
                                   rms_norm(r.x("y"), r.x("scale"), 0.1),
                                   rms_norm(r.x("y"), r.x("scale"), 0.1),
                                   group_norm(r.x(), 6, r.w("i.scale"), r.w("i.shift"), 1e-5),
                                   group_norm(r.x(), 6, first, zeros, 0.1),
                                   group_norm(r.x(), 2, first, first, 1e-5),
                                   groups};
       }},
      {"Embeddings", "embedding.embedding embedding.learned_positions",
       "use std.embedding\n"
       "model m(x: f32[2, 3, 4], ids: i32[2, 3]) {\n"
       "  (embedding(ids, 7, 4) as a, learned_positions(x, 5) as b)\n}\n",
       [](const RunResult& r) {
         Array a = Array::zeros({2, 3, 4}), b = r.x();
         for (int64_t n = 0; n < 2; ++n)
           for (int64_t s = 0; s < 3; ++s)
             for (int64_t d = 0; d < 4; ++d) {
               a(n, s, d) = r.w("a.table")(static_cast<int64_t>(r.x("ids")(n, s)), d);
               b(n, s, d) += r.w("b.table")(s, d);
             }
         return std::vector<Array>{a, b};
       }},
      {"Positions",
       "embedding.sinusoids embedding.sinusoidal_positions embedding.angles "
       "embedding.rotary embedding.turned embedding.turned_pairs",
       "use std.embedding\n"
       "model m(x: f32[2, 5, 6], y: f32[1, 2, 5, 4]) {\n"
       "  let angle = angles(5, 2, 10000.0)\n"
       "  let both = concat([angle, angle], axis = 1)\n"
       "  (sinusoids(5, 6), sinusoidal_positions(x, base = 100.0), angles(5, 3, 10.0), "
       "rotary(y), turned(y, cos(both), sin(both)), turned_pairs(y, cos(angle), sin(angle)))\n}\n",
       [](const RunResult& r) {
         Array table = Array::zeros({5, 6}), added = r.x(), angles = Array::zeros({5, 3});
         for (int64_t s = 0; s < 5; ++s)
           for (int64_t d = 0; d < 6; ++d) {
             table(s, d) = sinusoid(s, d, 6, 10000);
             for (int64_t n = 0; n < 2; ++n) added(n, s, d) += sinusoid(s, d, 6, 100);
             if (d < 3)
               angles(s, d) = static_cast<double>(s) / std::pow(10, static_cast<double>(d) / 3);
           }
         Array turned = r.x("y"); // [1, heads, S, D]: each head is a sequence
         turned.shape = {2, 5, 4};
         turned = rotary(turned, 1, 10000);
         turned.shape = {1, 2, 5, 4};
         return std::vector<Array>{table, added, angles, turned, turned, turned};
       }},
      {"Heads", "attention.split_heads attention.join_heads attention.causal_mask",
       "use std.attention\n"
       "model m(x: f32[2, 3, 8], y: f32[2, 4, 3, 2]) {\n"
       "  (split_heads(x, 4), join_heads(y), cast(causal_mask(3), f32), cast(causal_mask(2, 5), "
       "f32))\n}\n",
       [](const RunResult& r) {
         Array split = Array::zeros({2, 4, 3, 2}), joined = Array::zeros({2, 3, 8});
         for (int64_t n = 0; n < 2; ++n)
           for (int64_t h = 0; h < 4; ++h)
             for (int64_t s = 0; s < 3; ++s)
               for (int64_t i = 0; i < 2; ++i) {
                 split(n, h, s, i) = r.x()(n, s, 2 * h + i);
                 joined(n, s, 2 * h + i) = r.x("y")(n, h, s, i);
               }
         return std::vector<Array>{split,
                                   joined,
                                   {{3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1}},
                                   {{2, 5}, {1, 1, 1, 1, 0, 1, 1, 1, 1, 1}}};
       }},
      {"DotProducts", "attention.attention attention.masked_attention attention.safe_attention",
       "use std.attention\n"
       "model m(x: f32[2, 5, 8], y: f32[2, 3, 8]) {\n"
       "  let q = x / sqrt(8)\n"
       "  let mask = select(causal_mask(5), 0.0, -inf)\n"
       "  let nowhere = select(causal_mask(5), -inf, -inf)\n"
       "  (attention(q, transpose(y), y), masked_attention(q, transpose(x), x, mask),\n"
       "    safe_attention(q, transpose(x), x, mask), safe_attention(q, transpose(x), x, "
       "nowhere))\n}\n",
       [](const RunResult& r) {
         Array causal = attend(r.x(), r.x(), r.x(), 1, 1, true);
         return std::vector<Array>{attend(r.x(), r.x("y"), r.x("y"), 1, 1, false), causal, causal,
                                   Array::zeros({2, 5, 8})};
       }},
      {"SharedHeads", "attention.shared_attention attention.repeat_heads",
       "use std.attention\n"
       "model m(x: f32[2, 5, 8], y: f32[2, 5, 4]) {\n"
       "  let (q, k) = (split_heads(x / sqrt(2), 4), split_heads(y, 2))\n"
       "  let mask = select(causal_mask(5), 0.0, -inf)\n"
       "  let all = iota([5, 1], i64) >= 0\n"
       "  let keys = repeat_heads(k, 2)\n"
       "  (join_heads(shared_attention(q, transpose(k), k)),\n"
       "    join_heads(shared_attention(q, transpose(k), k, mask)),\n"
       "    join_heads(masked_attention(q, transpose(keys), keys, mask)),\n"
       "    join_heads(shared_attention(q, transpose(k), k, mask, all)),\n"
       "    join_heads(masked_attention(q, transpose(keys), keys, mask, all)))\n}\n",
       [](const RunResult& r) {
         Array full = attend(r.x(), r.x("y"), r.x("y"), 4, 2, false);
         Array causal = attend(r.x(), r.x("y"), r.x("y"), 4, 2, true);
         Array none = Array::zeros({2, 5, 8});
         return std::vector<Array>{full, causal, causal, none, none};
       }},
      {"Attention",
       "attention.self_attention attention.grouped_attention attention.cross_attention",
       "use std.attention\n"
       "model m(x: f32[2, 5, 8], memory: f32[2, 3, 6]) {\n"
       "  (\n"
       "    self_attention(x, 2) as a,\n"
       "    self_attention(x, 4, causal = true, bias = false, rotary_base = 100.0) as b,\n"
       "    grouped_attention(x, 4, 2) as c,\n"
       "    grouped_attention(x, 4, 1, causal = false, bias = true, rotary_base = 0.0) as d,\n"
       "    cross_attention(x, memory, 2) as e,\n"
       "    cross_attention(x, memory, 4, bias = false) as f,\n"
       "  )\n}\n",
       [](const RunResult& r) {
         auto cross = [&](const Part& p, int64_t heads, bool bias) {
           Array q = dense(p / "q", r.x(), bias), k = dense(p / "k", r.x("memory"), bias);
           Array v = dense(p / "v", r.x("memory"), bias);
           return dense(p / "o", attend(q, k, v, heads, heads, false), bias);
         };
         return std::vector<Array>{attention({r, "a.attention"}, r.x(), 2, 2, false, true, 0),
                                   attention({r, "b.attention"}, r.x(), 4, 4, true, false, 100),
                                   attention({r, "c"}, r.x(), 4, 2, true, false, 10000),
                                   attention({r, "d"}, r.x(), 4, 1, false, true, 0),
                                   cross({r, "e"}, 2, true),
                                   cross({r, "f"}, 4, false)};
       }},
      {"Blocks",
       "block.feed_forward block.swiglu block.pre_norm_layer block.post_norm_layer "
       "block.llama_layer",
       "use std.block\n"
       "model m(x: f32[2, 3, 8]) {\n"
       "  (\n"
       "    feed_forward(x, 6) as a,\n"
       "    feed_forward(x, 6, approximate = true) as b,\n"
       "    swiglu(x, 6) as c,\n"
       "    pre_norm_layer(x, 2, 6, causal = true, approximate = true) as d,\n"
       "    post_norm_layer(x, 2, 6) as e,\n"
       "    llama_layer(x, 4, 2, 6) as f,\n"
       "  )\n}\n",
       [](const RunResult& r) {
         Part d{r, "d"}, e{r, "e"}, f{r, "f"};
         Array pre = r.x().plus(attention(d / "attention" / "attention",
                                          normed(d / "norm1", r.x(), 1e-5), 2, 2, true, true, 0));
         pre = pre.plus(feed_forward(d / "mlp", normed(d / "norm2", pre, 1e-5), true));
         Array post = normed(
             e / "norm1",
             r.x().plus(attention(e / "attention" / "attention", r.x(), 2, 2, false, true, 0)),
             1e-12);
         post = normed(e / "norm2", post.plus(feed_forward(e / "mlp", post, false)), 1e-12);
         Array llama =
             r.x().plus(attention(f / "attention", rms_norm(r.x(), r.w("f.norm1.scale"), 1e-6), 4,
                                  2, true, false, 10000));
         llama = llama.plus(swiglu(f / "mlp", rms_norm(llama, r.w("f.norm2.scale"), 1e-6)));
         return std::vector<Array>{feed_forward({r, "a"}, r.x(), false),
                                   feed_forward({r, "b"}, r.x(), true),
                                   swiglu({r, "c"}, r.x()),
                                   pre,
                                   post,
                                   llama};
       }},
      {"SqueezeAndExcite", "block.squeeze_excite",
       "use std.block\n"
       "model m(x: f32[2, 6, 5, 4]) { squeeze_excite(x, 2) as a }\n",
       [](const RunResult& r) {
         auto matrix = [&](const std::string& path) { // weights of a 1 x 1 kernel
           const Array& w = r.w(path);
           Array m = Array::zeros({w.dim(1), w.dim(0)});
           for (int64_t o = 0; o < w.dim(0); ++o)
             for (int64_t i = 0; i < w.dim(1); ++i) m(i, o) = w(o, i, 0, 0);
           return m;
         };
         Array s = affine(channel_means(r.x()), matrix("a.squeeze.w"), &r.w("a.squeeze.b"));
         Array gate = affine(s.map(relu), matrix("a.excite.w"), &r.w("a.excite.b")).map(sigmoid);
         return std::vector<Array>{
             image(2, 6, 5, 4, [&](int64_t n, int64_t c, int64_t h, int64_t w) {
               return r.x()(n, c, h, w) * gate(n, c);
             })};
       }},
      {"Recurrent",
       "recurrent.lstm_step recurrent.lstm_cell recurrent.gru_step recurrent.gru_cell "
       "recurrent.nas_cell recurrent.nas_gate",
       "use std.recurrent\n"
       "model m(x: f32[2, 3], h: f32[2, 4], c: f32[2, 4], wx: f32[3, 16], wh: f32[4, 16], b: "
       "f32[16],\n"
       "    ux: f32[3, 12], uh: f32[4, 12], bx: f32[12], bh: f32[12]) {\n"
       "  let (h1, c1) = lstm_step(x, h, c, wx, wh, b)\n"
       "  let (h2, c2) = lstm_cell(x, h, c) as lstm\n"
       "  (h1, c1, h2, c2, gru_step(x, h, ux, uh, bx, bh), gru_cell(x, h) as gru, nas_cell(x, h) "
       "as nas,\n"
       "    nas_gate(x, h) as gate)\n}\n",
       [](const RunResult& r) {
         std::vector<Array> out = lstm(r.x(), r.x("h"), r.x("c"), r.x("wx"), r.x("wh"), r.x("b"));
         for (Array& state :
              lstm(r.x(), r.x("h"), r.x("c"), r.w("lstm.wx"), r.w("lstm.wh"), r.w("lstm.b")))
           out.push_back(std::move(state));
         out.push_back(gru(r.x(), r.x("h"), r.x("ux"), r.x("uh"), r.x("bx"), r.x("bh")));
         out.push_back(
             gru(r.x(), r.x("h"), r.w("gru.wx"), r.w("gru.wh"), r.w("gru.bx"), r.w("gru.bh")));
         out.push_back(nas({r, "nas"}, r.x(), r.x("h")));
         out.push_back(affine(r.x(), r.w("gate.wx")).plus(affine(r.x("h"), r.w("gate.wh"))));
         return out;
       }},
      {"Updates", "optimizer.sgd optimizer.momentum optimizer.adam optimizer.clip_by_norm",
       "use std.optimizer\n"
       "model m(x: f32[3, 4], d: f32[3, 4], mean: f32[3, 4], variance: f32[3, 4]) {\n"
       "  (sgd(x, d, 0.3), momentum(x, d, mean, 0.3), adam(x, d, mean, variance, full([], 3), "
       "0.2),\n"
       "    clip_by_norm(d, 1.5), clip_by_norm(d, 100))\n}\n",
       [](const RunResult& r) {
         auto along = [](double rate) { return [=](double w, double d) { return w - rate * d; }; };
         auto mixed = [](double share) {
           return [=](double old, double now) { return share * old + (1 - share) * now; };
         };
         Array d = r.x("d"),
               sum = r.x("mean").with(d, [](double s, double x) { return 0.9 * s + x; });
         Array mean = r.x("mean").with(d, mixed(0.9));
         Array variance = r.x("variance").with(d.times(d), mixed(0.999));
         Array step = mean.with(variance, [](double m, double v) {
           return m / (1 - 0.9 * 0.9 * 0.9) / (std::sqrt(v / (1 - std::pow(0.999, 3))) + 1e-8);
         });
         double squares = 0;
         for (double x : d.data) squares += x * x;
         Array cut = d.map([&](double x) { return x * 1.5 / std::sqrt(squares); });
         return std::vector<Array>{r.x().with(d, along(0.3)),
                                   r.x().with(sum, along(0.3)),
                                   sum,
                                   r.x().with(step, along(0.2)),
                                   mean,
                                   variance,
                                   cut,
                                   d};
       }},
      {"Rates",
       "optimizer.step_number optimizer.warmed_up optimizer.along optimizer.cosine_rate "
       "optimizer.linear_rate optimizer.stepped_rate",
       "use std.optimizer\n"
       "model m(x: f32[]) {\n"
       "  let t = x * 10 + 20\n"
       "  (warmed_up(t, 30), along(t, 4, 40), cosine_rate(t, 0.1, 40, 30, 0.01),\n"
       "    linear_rate(t, 0.1, 40, 4, 0.01), stepped_rate(t, 0.1, 7, 0.5), step_number())\n}\n",
       [](const RunResult& r) {
         double t = r.x().data[0] * 10 + 20, number = r.x("optimizer.step").data[0] + 1;
         auto warmed = [t](double steps) { return std::fmin(t / steps, 1); };
         auto along = [t](double from) { return std::clamp((t - from) / (40 - from), 0.0, 1.0); };
         double cosine = (std::cos(along(30) * std::acos(-1)) + 1) / 2 * 0.09 + 0.01;
         double linear = (1 - along(4)) * 0.09 + 0.01;
         double stepped = std::pow(0.5, std::floor((t - 1) / 7)) * 0.1;
         std::vector<Array> out;
         for (double v : {warmed(30), along(4), cosine * warmed(30), linear * warmed(4), stepped,
                          number, number}) // the last one is the weight in the next run
           out.push_back({{}, {v}});
         return out;
       }},
      {"Losses", "loss.cross_entropy loss.mean_square loss.accuracy",
       "use std.loss\n"
       "model m(x: f32[5, 3], y: f32[5, 3], label: i64[5]) {\n"
       "  (cross_entropy(x, label), cross_entropy(x * 1000, label), mean_square(x, y),\n"
       "    accuracy(x, label))\n}\n",
       [](const RunResult& r) {
         const Array &x = r.x(), &y = r.x("y"), &label = r.x("label");
         double entropy = 0, steep = 0, square = 0, right = 0;
         for (int64_t n = 0; n < 5; ++n) {
           double sum = 0, most = -INFINITY, score = x(n, static_cast<int64_t>(label(n)));
           for (int64_t c = 0; c < 3; ++c) {
             sum += std::exp(x(n, c));
             most = std::fmax(most, x(n, c));
             square += (x(n, c) - y(n, c)) * (x(n, c) - y(n, c)) / 15;
           }
           entropy += (std::log(sum) - score) / 5;
           steep += 1000 * (most - score) / 5; // the other terms vanish in the sum
           right += score == most ? 0.2 : 0;
         }
         return std::vector<Array>{{{}, {entropy}}, {{}, {steep}}, {{}, {square}}, {{}, {right}}};
       }},
      {"ClippedGradients", "optimizer.clip_scale optimizer.gradients",
       std::string(kTwoWeights) +
           "  let (dw, dv) = gradients(loss)\n"
           "  let (cw, cv) = gradients(loss, limit = 1.5)\n"
           "  (dw, dv, cw, cv, clip_scale(loss, 1.5), clip_scale(loss, 100))\n}\n",
       [](const RunResult& r) {
         double scale = clip_scale(r, 1.5);
         auto cut = [=](double d) { return d * scale; };
         return std::vector<Array>{r.x(),         r.x("y"), r.x().map(cut), r.x("y").map(cut),
                                   {{}, {scale}}, {{}, {1}}};
       }},
      {"StepOfDescent", "optimizer.train_sgd",
       std::string(kTwoWeights) + "  train_sgd(loss, rate = 0.1, limit = 1.5)\n}\n",
       [](const RunResult& r) {
         double rate = 0.1 * clip_scale(r, 1.5);
         auto along = [=](double w, double d) { return w - rate * d; };
         return std::vector<Array>{loss_of_two(r), r.x("w").with(r.x(), along),
                                   r.x("v").with(r.x("y"), along)};
       }},
      {"StepWithMomentum", "optimizer.train_momentum optimizer.update_momentum",
       std::string(kTwoWeights) + "  train_momentum(loss, rate = 0.1, decay = 0.8)\n}\n",
       [](const RunResult& r) {
         std::vector<Array> out = {loss_of_two(r)};
         for (auto [w, d] : {std::pair("w", "x"), std::pair("v", "y")}) {
           Array sum = r.x("momentum." + std::string(w)).with(r.x(d), [](double s, double x) {
             return 0.8 * s + x;
           });
           out.push_back(sum);
           out.push_back(r.x(w).with(sum, [](double v, double s) { return v - 0.1 * s; }));
         }
         return out;
       }},
      {"StepOfAdam", "optimizer.train_adam optimizer.update_adam",
       std::string(kTwoWeights) + "  train_adam(loss, rate = 0.1, beta1 = 0.8, beta2 = 0.9)\n}\n",
       [](const RunResult& r) {
         double t = r.x("adam.step").data[0] + 1;
         std::vector<Array> out = {loss_of_two(r), {{}, {t}}};
         for (auto [w, d] : {std::pair("w", "x"), std::pair("v", "y")}) {
           Array mean = r.x("adam.mean." + std::string(w)).with(r.x(d), [](double m, double x) {
             return 0.8 * m + 0.2 * x;
           });
           Array variance =
               r.x("adam.variance." + std::string(w)).with(r.x(d), [](double v, double x) {
                 return 0.9 * v + 0.1 * x * x;
               });
           Array step = mean.with(variance, [=](double m, double v) {
             return m / (1 - std::pow(0.8, t)) / (std::sqrt(v / (1 - std::pow(0.9, t))) + 1e-8);
           });
           out.push_back(mean);
           out.push_back(variance);
           out.push_back(r.x(w).with(step, [](double v, double s) { return v - 0.1 * s; }));
         }
         return out;
       }},
  };
  return all;
}

class Stdlib : public ::testing::TestWithParam<Case> {};

TEST_P(Stdlib, MatchesItsDefinition) {
  std::optional<RunResult> ran = run(GetParam().program);
  ASSERT_TRUE(ran);
  std::vector<Array> expected = GetParam().expected(*ran);
  ASSERT_EQ(ran->outputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LE(difference(ran->outputs[i], expected[i]), kTolerance) << "output " << i;
}

INSTANTIATE_TEST_SUITE_P(Functions, Stdlib, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(StdlibComparison, SeesOneWrongElement) {
  Array a = Array::zeros({2, 3}), b = a;
  a.data = b.data = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(difference(a, b), 0);
  a.data[4] += 1e-3;
  EXPECT_GT(difference(a, b), kTolerance);
  a.data[4] = NAN;
  EXPECT_EQ(difference(a, b), INFINITY);
  b.shape = {3, 2};
  EXPECT_EQ(difference(b, a), INFINITY);
}

TEST(StdlibComparison, CoversEveryFunctionOfTheLibrary) {
  std::set<std::string> covered, declared;
  for (const Case& c : cases()) {
    llvm::SmallVector<llvm::StringRef, 8> names;
    llvm::StringRef(c.functions).split(names, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef name : names) covered.insert(name.str());
  }
  SourceManager sources;
  for (const std::string& path : library().list("stdlib")) {
    DiagnosticSink sink;
    Ast ast = parse(sources, sources.add(path, *library().read(path)), sink);
    std::string module = llvm::StringRef(path).rsplit('/').second.split('.').first.str();
    for (ast::DeclId id : ast.decls())
      if (ast[id].kind == ast::DeclKind::Fn)
        declared.insert(module + "." + ast[id].name.text.str());
  }
  EXPECT_EQ(covered, declared);
}

} // namespace
} // namespace tg::test
