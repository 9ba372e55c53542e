// LSTM, GRU and RNN, unrolled over the sequence, whose length is known. One product projects the
// inputs of all steps in advance. A step takes one product of the state; a GRU that resets before
// its product takes two. Values that depend on weights alone are computed when the model is loaded,
// including the product of an initial state of zeros.
#include "compiler/import/onnx/read/shared/activations.h"
#include "compiler/import/onnx/read/shared/unroll.h"

namespace tg::onnx {
namespace {

struct State {
  NodeId h, c; // [batch, hidden]; c only for LSTM
};

/// The state that the three operators share.
struct Layer {
  Call& call;
  Emitter& e;
  int64_t gates;
  bool batch_first = false;
  int64_t steps = 0, batch = 0, hidden = 0;
  llvm::SmallVector<bool, 2> backward; // by direction
  std::optional<double> clip;
  std::vector<Activation> activations;
  NodeId x, w, r, b, lengths; // as in the file; b and lengths may be absent

  Layer(Call& c, int64_t gate_count) : call(c), e(c.emit()), gates(gate_count) {}
  bool read(const std::vector<std::string>& default_activations);
  bool read_directions();
  bool check_shapes();

  int64_t time_axis() const { return batch_first ? 1 : 0; }
  int64_t width() const { return gates * hidden; }
  /// Returns the slice of a weight tensor for a direction.
  NodeId part(NodeId weights, size_t direction) const {
    return weights.valid() ? at(e, weights, 0, static_cast<int64_t>(direction)) : NodeId();
  }
  NodeId initial(size_t input, size_t direction) const;
  /// Returns gate k of [batch, gates * hidden], or of a vector of that length.
  NodeId gate(NodeId all, int64_t k, int64_t count = 1) const {
    return e.slice(all, e.rank(all) - 1, k * hidden, (k + count) * hidden);
  }
  /// Applies function k of a direction.
  NodeId activate(size_t direction, size_t k, NodeId v) const {
    return activations[direction * (activations.size() / backward.size()) + k].apply(e, v);
  }
  /// Applies the activation to the sum of a gate, which is clipped first. The specification clips
  /// all inputs of activations. ONNX Runtime does not clip a cell that is one, so it is not
  /// clipped here.
  NodeId open_gate(size_t direction, size_t k, NodeId v) const {
    return activate(direction, k, clip ? e.clip(v, -*clip, *clip) : v);
  }
  NodeId product(NodeId v, NodeId weights, NodeId bias) const {
    return e.op(OpKind::Matmul, {v, weights, bias.valid() ? bias : e.none(), e.none()});
  }
};

bool Layer::read_directions() {
  std::string direction = call.text("direction", "forward");
  if (direction == "forward" || direction == "bidirectional") backward.push_back(false);
  if (direction == "reverse" || direction == "bidirectional") backward.push_back(true);
  if (backward.empty()) call.fail("its direction `" + direction + "` is unknown");
  return !backward.empty();
}

bool Layer::check_shapes() {
  auto directions = static_cast<int64_t>(backward.size());
  hidden = e.rank(r) == 3 ? e.shape(r)[2] : 0;
  int64_t features = e.rank(x) == 3 ? e.shape(x)[2] : 0;
  auto expect = [&](NodeId node, Ints shape, const char* what) {
    if (!node.valid() || e.shape(node) == shape) return;
    TensorType wanted{e.dtype(node), Shape(shape.begin(), shape.end())};
    call.fail(llvm::Twine("its ") + what + " is " + e.type(node).text() + ", expected " +
              wanted.text());
  };
  if (features == 0) call.fail("its input is " + e.type(x).text() + ", expected three axes");
  expect(w, {directions, width(), features}, "input 2");
  expect(r, {directions, width(), hidden}, "input 3");
  expect(b, {directions, 2 * width()}, "input 4");
  if (call.failed()) return false;
  steps = e.shape(x)[static_cast<size_t>(time_axis())];
  batch = e.shape(x)[static_cast<size_t>(1 - time_axis())];
  expect(lengths, {batch}, "input 5");
  int64_t given = call.whole("hidden_size", hidden);
  if (given != hidden)
    call.fail("its attribute `hidden_size` is " + llvm::Twine(given) + ", but its weights have " +
              llvm::Twine(hidden));
  return !call.failed() && (call.is_kept() || check_rounds(call, steps));
}

bool Layer::read(const std::vector<std::string>& default_activations) {
  x = call.input(0);
  w = call.input(1);
  r = call.input(2);
  b = call.optional(3);
  lengths = call.optional(4);
  batch_first = flag(call, "layout", false);
  if (call.attribute("clip")) clip = call.real("clip", 0);
  if (call.failed() || !read_directions()) return false;
  activations = read_activations(call, default_activations, backward.size());
  if (call.failed() || !check_shapes()) return false;
  if (lengths.valid()) lengths = e.reshape(lengths, {batch, 1});
  return true;
}

/// Returns the initial state, zeros by default.
NodeId Layer::initial(size_t input, size_t direction) const {
  if (!call.has(input)) return e.filled(0, {e.dtype(x), {batch, hidden}});
  NodeId given = call.input(input);
  if (!given.valid()) return given;
  auto directions = static_cast<int64_t>(backward.size());
  Shape wanted = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  if (e.shape(given) != Ints(wanted))
    return call.fail("its initial state is " + e.type(given).text() + ", expected " +
                     TensorType{e.dtype(given), wanted}.text());
  return at(e, given, time_axis(), static_cast<int64_t>(direction));
}

// --- one direction, step by step -----------------------------------------------------------------

struct Unrolled {
  std::vector<NodeId> outputs; // [batch, hidden], by time
  State last;
};

/// The sequences that reach step t: all, none, or those of `mask`.
struct Alive {
  bool all = true, none = false;
  NodeId mask;
};

Alive alive_at(const Layer& layer, int64_t t) {
  if (!layer.lengths.valid()) return {};
  Emitter& e = layer.e;
  Alive made{false, false, {}};
  made.mask = e.op(OpKind::Greater, {layer.lengths, e.like(layer.lengths, static_cast<double>(t))});
  if (std::optional<Literal> known = e.known(made.mask)) {
    made.all = llvm::all_of(known->ints, [](int64_t x) { return x != 0; });
    made.none = llvm::all_of(known->ints, [](int64_t x) { return x == 0; });
  }
  return made;
}

/// A sequence that has ended keeps its state and outputs zeros.
Unrolled run(const Layer& layer, bool backward, NodeId projected, State state,
             llvm::function_ref<State(NodeId, State)> step) {
  Emitter& e = layer.e;
  Unrolled made;
  made.outputs.resize(static_cast<size_t>(layer.steps));
  NodeId zero = e.like(layer.x, 0);
  std::vector<NodeId> inputs; // all of them first, so that the steps are equal and contiguous
  for (int64_t i = 0; i < layer.steps; ++i)
    inputs.push_back(at(e, projected, layer.time_axis(), backward ? layer.steps - 1 - i : i));
  for (int64_t i = 0; i < layer.steps; ++i) {
    int64_t t = backward ? layer.steps - 1 - i : i;
    NodeId& output = made.outputs[static_cast<size_t>(t)];
    Alive alive = alive_at(layer, t);
    if (alive.none) {
      output = e.filled(0, {e.dtype(layer.x), {layer.batch, layer.hidden}});
      continue;
    }
    State next = step(inputs[static_cast<size_t>(i)], state);
    output = alive.all ? next.h : e.select(alive.mask, next.h, zero);
    if (!alive.all) {
      next.h = e.select(alive.mask, next.h, state.h);
      if (next.c.valid()) next.c = e.select(alive.mask, next.c, state.c);
    }
    state = next;
  }
  made.last = state;
  return made;
}

// --- results -------------------------------------------------------------------------------------

/// Stacks values [batch, hidden] of the directions.
NodeId side_by_side(const Layer& layer, llvm::ArrayRef<NodeId> values) {
  int64_t axis = layer.batch_first ? 1 : 0;
  llvm::SmallVector<NodeId, 2> parts;
  for (NodeId value : values) parts.push_back(layer.e.unsqueeze(value, axis));
  return layer.e.concat(parts, axis);
}

/// Sets zeros of the result types for a kept node, which nothing reads. `has_cell`: an LSTM.
void write_types(const Layer& layer, bool has_cell) {
  Emitter& e = layer.e;
  auto directions = static_cast<int64_t>(layer.backward.size());
  for (size_t d = 0; d < layer.backward.size(); ++d)
    for (size_t input : {5, 6})
      if (input == 5 || has_cell) layer.initial(input, d); // for its checks
  if (layer.call.failed()) return;
  Shape outputs = layer.batch_first ? Shape{layer.batch, layer.steps, directions, layer.hidden}
                                    : Shape{layer.steps, directions, layer.batch, layer.hidden};
  Shape last = layer.batch_first ? Shape{layer.batch, directions, layer.hidden}
                                 : Shape{directions, layer.batch, layer.hidden};
  for (size_t i = 0; i < (has_cell ? 3 : 2); ++i)
    if (layer.call.uses_result(i))
      layer.call.result(i, e.filled(0, {e.dtype(layer.x), i == 0 ? outputs : last}));
}

void write_results(const Layer& layer, const std::vector<Unrolled>& directions) {
  Call& call = layer.call;
  Emitter& e = layer.e;
  if (call.uses_result(0)) {
    llvm::SmallVector<NodeId, 2> parts;
    for (const Unrolled& direction : directions) {
      llvm::SmallVector<NodeId, 16> steps;
      for (NodeId output : direction.outputs)
        steps.push_back(e.reshape(output, layer.batch_first
                                              ? Shape{layer.batch, 1, 1, layer.hidden}
                                              : Shape{1, 1, layer.batch, layer.hidden}));
      parts.push_back(e.concat(steps, layer.time_axis()));
    }
    call.result(0, e.concat(parts, layer.batch_first ? 2 : 1));
  }
  llvm::SmallVector<NodeId, 2> h, c;
  for (const Unrolled& direction : directions) {
    h.push_back(direction.last.h);
    c.push_back(direction.last.c);
  }
  if (call.uses_result(1)) call.result(1, side_by_side(layer, h));
  if (call.uses_result(2)) call.result(2, side_by_side(layer, c));
}

/// Returns the sum of two biases; absent if there are none.
NodeId sum_of_biases(const Layer& layer, NodeId both) {
  if (!both.valid()) return {};
  Emitter& e = layer.e;
  return e.add(e.slice(both, 0, 0, layer.width()),
               e.slice(both, 0, layer.width(), 2 * layer.width()));
}

// --- the operators -------------------------------------------------------------------------------

/// Gates i, o, f, c. `coupled`: the input gate is one minus the forget gate.
State lstm_step(const Layer& layer, size_t d, NodeId gates, NodeId peepholes, bool coupled,
                State before) {
  Emitter& e = layer.e;
  auto peep = [&](int64_t k, NodeId cell) {
    NodeId v = layer.gate(gates, k);
    return peepholes.valid() ? e.add(v, e.mul(layer.gate(peepholes, k), cell)) : v;
  };
  NodeId i = layer.open_gate(d, 0, peep(0, before.c));
  NodeId f = coupled ? e.sub(e.like(i, 1), i) : layer.open_gate(d, 0, peep(2, before.c));
  NodeId g = layer.open_gate(d, 1, layer.gate(gates, 3));
  NodeId c = e.add(e.mul(f, before.c), e.mul(i, g));
  NodeId o = layer.open_gate(d, 0, peep(1, c));
  return {e.mul(o, layer.activate(d, 2, c)), c};
}

void write_lstm(Call& call) {
  Layer layer(call, 4);
  bool coupled = flag(call, "input_forget", false);
  NodeId peepholes = call.optional(7);
  if (!layer.read({"Sigmoid", "Tanh", "Tanh"})) return;
  Emitter& e = layer.e;
  auto directions = static_cast<int64_t>(layer.backward.size());
  if (peepholes.valid() && e.shape(peepholes) != Ints({directions, 3 * layer.hidden}))
    return void(call.fail("its input 8 is " + e.type(peepholes).text()));
  if (call.is_kept()) return write_types(layer, true);
  std::vector<Unrolled> made;
  for (size_t d = 0; d < layer.backward.size() && !call.failed(); ++d) {
    NodeId w = e.swap_axes(layer.part(layer.w, d), 0, 1);
    NodeId r = e.swap_axes(layer.part(layer.r, d), 0, 1), p = layer.part(peepholes, d);
    NodeId projected = layer.product(layer.x, w, sum_of_biases(layer, layer.part(layer.b, d)));
    State first{layer.initial(5, d), layer.initial(6, d)};
    if (call.failed()) return;
    made.push_back(run(layer, layer.backward[d], projected, first, [&](NodeId in, State before) {
      return lstm_step(layer, d, e.add(in, e.matmul(before.h, r)), p, coupled, before);
    }));
  }
  if (!call.failed()) write_results(layer, made);
}

/// Weights of the state in a GRU, for gates z, r and h.
struct Recurrence {
  NodeId all, bias; // if the gate r is applied after the product
  NodeId zr, h;     // if it is applied before
};

NodeId gru_step(const Layer& layer, size_t d, NodeId in, const Recurrence& weights, NodeId before) {
  Emitter& e = layer.e;
  NodeId z, candidate;
  if (weights.all.valid()) {
    NodeId state = layer.product(before, weights.all, weights.bias);
    NodeId zr = e.add(layer.gate(in, 0, 2), layer.gate(state, 0, 2));
    z = layer.open_gate(d, 0, layer.gate(zr, 0));
    NodeId r = layer.open_gate(d, 0, layer.gate(zr, 1));
    candidate = e.add(layer.gate(in, 2), e.mul(r, layer.gate(state, 2)));
  } else {
    NodeId zr = e.add(layer.gate(in, 0, 2), e.matmul(before, weights.zr));
    z = layer.open_gate(d, 0, layer.gate(zr, 0));
    NodeId r = layer.open_gate(d, 0, layer.gate(zr, 1));
    candidate = e.add(layer.gate(in, 2), e.matmul(e.mul(r, before), weights.h));
  }
  candidate = layer.open_gate(d, 1, candidate);
  return e.add(e.mul(e.sub(e.like(z, 1), z), candidate), e.mul(z, before));
}

void write_gru(Call& call) {
  Layer layer(call, 3);
  bool reset_after = flag(call, "linear_before_reset", false);
  if (!layer.read({"Sigmoid", "Tanh"})) return;
  if (call.is_kept()) return write_types(layer, false);
  Emitter& e = layer.e;
  std::vector<Unrolled> made;
  for (size_t d = 0; d < layer.backward.size() && !call.failed(); ++d) {
    NodeId w = e.swap_axes(layer.part(layer.w, d), 0, 1);
    NodeId r = e.swap_axes(layer.part(layer.r, d), 0, 1), b = layer.part(layer.b, d);
    NodeId bias = sum_of_biases(layer, b);
    Recurrence weights;
    if (reset_after) {
      weights.all = r;
      if (b.valid()) {
        bias = e.slice(b, 0, 0, layer.width());
        weights.bias = e.slice(b, 0, layer.width(), 2 * layer.width());
      }
    } else if (r.valid()) {
      weights.zr = layer.gate(r, 0, 2);
      weights.h = layer.gate(r, 2);
    }
    NodeId projected = layer.product(layer.x, w, bias);
    State first{layer.initial(5, d), {}};
    if (call.failed()) return;
    made.push_back(run(layer, layer.backward[d], projected, first, [&](NodeId in, State before) {
      return State{gru_step(layer, d, in, weights, before.h), {}};
    }));
  }
  if (!call.failed()) write_results(layer, made);
}

void write_rnn(Call& call) {
  Layer layer(call, 1);
  if (!layer.read({"Tanh"})) return;
  if (call.is_kept()) return write_types(layer, false);
  Emitter& e = layer.e;
  std::vector<Unrolled> made;
  for (size_t d = 0; d < layer.backward.size() && !call.failed(); ++d) {
    NodeId w = e.swap_axes(layer.part(layer.w, d), 0, 1);
    NodeId r = e.swap_axes(layer.part(layer.r, d), 0, 1);
    NodeId projected = layer.product(layer.x, w, sum_of_biases(layer, layer.part(layer.b, d)));
    State first{layer.initial(5, d), {}};
    if (call.failed()) return;
    made.push_back(run(layer, layer.backward[d], projected, first, [&](NodeId in, State before) {
      return State{layer.open_gate(d, 0, e.add(in, e.matmul(before.h, r))), {}};
    }));
  }
  if (!call.failed()) write_results(layer, made);
}

} // namespace

llvm::ArrayRef<Form> recurrent_forms() {
  static constexpr Form kForms[] = {
      {"GRU", write_gru},
      {"LSTM", write_lstm},
      {"RNN", write_rnn},
  };
  return kForms;
}

} // namespace tg::onnx
