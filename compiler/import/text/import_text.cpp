#include "compiler/import/text/import_text.h"

#include "compiler/import/text/import_names.h"
#include "compiler/ir/from_ast.h"
#include "compiler/ir/to_text.h"
#include "compiler/rules/from_ast.h"
#include "compiler/rules/rewrite.h"
#include "lang/check/check.h"
#include "lang/syntax/parse.h"

#include <cassert>

namespace tg {
namespace {

/// Bodies of library functions as left sides of rules. The right sides only have the type, and the
/// class is given so that none is derived. The variables `one` and `zero` match only tensors filled
/// with these numbers.
constexpr llvm::StringLiteral kBodies = R"(
rule silu(x) risky { x * sigmoid(x) => x }
rule hard_sigmoid(x) risky { relu6(x + 3) / 6 => x }
rule gelu_sigmoid(x) risky { x * sigmoid(1.702 * x) => x }
rule gelu_tanh(x) risky {
  0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))) => x
}
rule rms_scaled(x, scale, eps) risky {
  x * rsqrt(reduce_mean(x * x, axes = [-1], keepdims = true) + full([], eps)) * scale => x
  where rank(scale) == 1
}
rule rms_scaled_wide(x, scale, eps, t) risky {
  let wide = cast(x, f32)
  let unit = wide * rsqrt(reduce_mean(wide * wide, axes = [-1], keepdims = true) + full([], eps))
  cast(unit, t) * scale => x
  where rank(scale) == 1
}
rule gelu_logistic(x) risky {
  x * sigmoid(1.5957691216057308 * (x + 0.044715 * (x * x * x))) => x
}
rule group_scaled_by_vectors(x, one, zero, eps, scale, shift, rows, back, s) risky {
  let unit = reshape(layer_norm(reshape(x, rows), one, zero, eps), back)
  unit * reshape(scale, s) + reshape(shift, s) => unit * reshape(scale, s) + reshape(shift, s) * 1
  where rank(scale) == 1, rank(shift) == 1
}
rule group_scaled_of_features(x, one, zero, eps, scale, shift, rows, back) risky {
  let unit = reshape(layer_norm(reshape(x, rows), one, zero, eps), back)
  unit * scale + shift => unit * scale + shift * 1
  where rank(x) == 2, rank(scale) == 1, rank(shift) == 1
}
rule instance_scaled_of_rows(x, one, zero, eps, scale, shift, s) risky {
  let unit = layer_norm(x, one, zero, eps)
  unit * reshape(scale, s) + reshape(shift, s) => unit * reshape(scale, s) + reshape(shift, s) * 1
  where rank(x) == 3, rank(scale) == 1, rank(shift) == 1
}
rule group_scaled(x, one, zero, eps, scale, shift, rows, back) risky {
  reshape(layer_norm(reshape(x, rows), one, zero, eps), back) * scale + shift
    => reshape(x, back) * scale + shift
  where rank(scale) != 1, rank(shift) != 1, not constant(scale), not constant(shift)
}
rule group_scaled_alone(x, one, zero, eps, rows, back) risky {
  reshape(layer_norm(reshape(x, rows), one, zero, eps), back) => x
  where rank(x) > 2, len(rows) == 3, back == shape(x)
}
rule turned(x, cosines, sines, axis, half, width) risky {
  x * cosines + concat([-slice(x, axis, half, width), slice(x, axis, 0, half)], axis) * sines
    => x * cosines + concat([-slice(x, axis, half, width), slice(x, axis, 0, half)], axis) * sines * 1
  where axis == rank(x) - 1, width == dim(x, -1), half == width / 2
}
rule turned_pairs(x, cosines, sines, axis, half, width) risky {
  let a = slice(x, axis, 0, half)
  let b = slice(x, axis, half, width)
  concat([a * cosines - b * sines, a * sines + b * cosines], axis)
    => concat([a * cosines - b * sines, a * sines + b * cosines * 1], axis)
  where axis == rank(x) - 1, width == dim(x, -1), half == width / 2
}
rule split_heads(x, parts) risky {
  transpose(reshape(x, parts), [0, 2, 1, 3]) => transpose(reshape(x, parts), [0, 2, 1, 3]) * 1
  where rank(x) == 3, len(parts) == 4, parts[0] == dim(x, 0), parts[1] == dim(x, 1)
}
rule join_heads(x, whole) risky {
  reshape(transpose(x, [0, 2, 1, 3]), whole) => reshape(transpose(x, [0, 2, 1, 3]), whole) * 1
  where rank(x) == 4, whole == [dim(x, 0), dim(x, 2), dim(x, 1) * dim(x, 3)]
}
rule attention(q, keys, values, axis) risky {
  softmax(q @ keys, axis) @ values => softmax(q @ keys, axis) @ values * 1
  where axis == rank(values) - 1
}
rule masked_attention(q, keys, values, mask, axis) risky {
  softmax(q @ keys + mask, axis) @ values => softmax(q @ keys, axis) @ values * 1
  where axis == rank(values) - 1
}
rule safe_attention(q, keys, values, mask, axis) risky {
  let fit = softmax(q @ keys + mask, axis)
  select(fit != fit, 0.0, fit) @ values => softmax(q @ keys, axis) @ values * 1
  where axis == rank(values) - 1
}
rule hiding_attention(q, keys, values, mask, hidden, axis) risky {
  select(hidden, 0.0, softmax(q @ keys + mask, axis)) @ values
    => softmax(q @ keys, axis) @ values * 1
  where axis == rank(values) - 1
}
rule shared_attention(q, keys, values, rows, scores, axis, back, out) risky {
  let fit = softmax(reshape(reshape(q, rows) @ keys, scores), axis)
  reshape(reshape(fit, back) @ values, out) => reshape(reshape(fit, back) @ values, out) * 1
}
rule shared_masked_attention(q, keys, values, mask, rows, scores, axis, back, out) risky {
  let fit = softmax(reshape(reshape(q, rows) @ keys, scores) + mask, axis)
  reshape(reshape(fit, back) @ values, out) => reshape(reshape(fit, back) @ values, out) * 1
}
rule shared_hiding_attention(q, keys, values, mask, hidden, rows, scores, axis, back, out) risky {
  let fit = softmax(reshape(reshape(q, rows) @ keys, scores) + mask, axis)
  let seen = select(hidden, 0.0, fit)
  reshape(reshape(seen, back) @ values, out) => reshape(reshape(seen, back) @ values, out) * 1
}
rule repeat_heads(x, place, copies, out) risky {
  reshape(broadcast(reshape(x, place), copies), out)
    => reshape(broadcast(reshape(x, place), copies), out) * 1
  where rank(x) == 4, place == [dim(x, 0), dim(x, 1), 1, dim(x, 2), dim(x, 3)], len(copies) == 5,
        copies == [dim(x, 0), dim(x, 1), copies[2], dim(x, 2), dim(x, 3)],
        out == [dim(x, 0), dim(x, 1) * copies[2], dim(x, 2), dim(x, 3)]
}
)";

/// A body, and the form of the function's call.
struct Function {
  llvm::StringLiteral rule, name, module;
  llvm::StringLiteral operands; // variables of the rule
};
constexpr Function kFunctions[] = {
    {"silu", "silu", "std.activation", "x"},
    {"hard_sigmoid", "hard_sigmoid", "std.activation", "x"},
    {"gelu_sigmoid", "gelu_sigmoid", "std.activation", "x"},
    {"gelu_tanh", "gelu_tanh", "std.activation", "x"},
    {"gelu_logistic", "gelu_logistic", "std.activation", "x"},
    {"rms_scaled", "rms_scaled", "std.norm", "x scale"},
    {"rms_scaled_wide", "rms_scaled_wide", "std.norm", "x scale"},
    {"group_scaled_by_vectors", "group_scaled", "std.norm", "x scale shift"},
    {"group_scaled_of_features", "group_scaled", "std.norm", "x scale shift"},
    {"instance_scaled_of_rows", "instance_scaled", "std.norm", "x scale shift"},
    {"group_scaled", "group_scaled", "std.norm", "x scale shift"},
    {"group_scaled_alone", "group_scaled", "std.norm", "x"},
    {"turned", "turned", "std.embedding", "x cosines sines"},
    {"turned_pairs", "turned_pairs", "std.embedding", "x cosines sines"},
    {"split_heads", "split_heads", "std.attention", "x"},
    {"join_heads", "join_heads", "std.attention", "x"},
    {"attention", "attention", "std.attention", "q keys values"},
    {"masked_attention", "masked_attention", "std.attention", "q keys values mask"},
    {"safe_attention", "safe_attention", "std.attention", "q keys values mask"},
    {"hiding_attention", "masked_attention", "std.attention", "q keys values mask hidden"},
    {"shared_attention", "shared_attention", "std.attention", "q keys values"},
    {"shared_masked_attention", "shared_attention", "std.attention", "q keys values mask"},
    {"shared_hiding_attention", "shared_attention", "std.attention", "q keys values mask hidden"},
    {"repeat_heads", "repeat_heads", "std.attention", "x"}};

/// The values of the variables of a left side.
class Bound {
public:
  Bound(const Graph& graph, const Rule& rule, const RuleMatchIn& match)
      : graph_(graph), rule_(rule), match_(match) {}

  NodeId node(llvm::StringRef variable) const {
    auto at = llvm::find(rule_.class_var_names, variable);
    return at == rule_.class_var_names.end()
               ? NodeId()
               : match_.classes[static_cast<size_t>(at - rule_.class_var_names.begin())];
  }
  /// Returns null if the rule has no variable of this name.
  const Value* value(llvm::StringRef variable) const {
    auto at = llvm::find(rule_.value_var_names, variable);
    return at == rule_.value_var_names.end()
               ? nullptr
               : &graph_.symbols().value(
                     match_.values[static_cast<size_t>(at - rule_.value_var_names.begin())]);
  }
  /// Returns the number of a constant of one element for which the rule has no name.
  const Value* number() const {
    for (ValueId id : match_.values) {
      const Value& value = graph_.symbols().value(id);
      if (value.is(Value::Kind::Floats) && value.reals.size() == 1) return &value;
    }
    return nullptr;
  }
  bool is_filled(llvm::StringRef variable, double with) const {
    NodeId id = node(variable);
    if (graph_.node(id).op != OpKind::Constant) return false;
    const auto& values = graph_.attr(id, 0).reals;
    return values.size() == 1 && values[0] == with;
  }

private:
  const Graph& graph_;
  const Rule& rule_;
  const RuleMatchIn& match_;
};

std::string epsilon(double eps) { return ", eps = " + Value::of_float(eps).text_form(); }

/// Writes name and numbers of the call: `rms_scaled`, ", eps = 1e-05".
void write_numbers(const Graph& graph, const Bound& bound, GraphCall& call) {
  if (const Value* rows = bound.value("rows"); rows && bound.node("one").valid()) {
    int64_t groups = rows->ints[1];
    if (groups == graph.type(bound.node("x"))[1])
      call.function = "instance_scaled";
    else
      call.attributes += ", groups = " + std::to_string(groups);
  }
  if (const Value* parts = bound.value("parts"))
    call.attributes += ", heads = " + std::to_string(parts->ints[2]);
  if (const Value* copies = bound.value("copies"))
    call.attributes += ", times = " + std::to_string(copies->ints[2]);
  if (const Value* eps = bound.value("eps"); eps && eps->real != 1e-5)
    call.attributes += epsilon(eps->real);
  if (const Value* eps = bound.number();
      eps && llvm::StringRef(call.function).startswith("rms_scaled"))
    call.attributes += epsilon(eps->reals[0]);
}

/// Returns true if scale and shift, if present, are reshaped as vectors by channel of x[N, C, ..].
bool are_by_channel(const Graph& graph, const Bound& bound) {
  const TensorType& x = graph.type(bound.node("x"));
  NodeId scale = bound.node("scale");
  if (!scale.valid() || graph.type(scale).rank() != 1) return x.rank() > 2;
  Shape vector(static_cast<size_t>(x.rank()) - 1, 1);
  vector[0] = x[1];
  const Value* s = bound.value("s");
  return graph.type(scale)[0] == x[1] &&
         (s ? llvm::makeArrayRef(s->ints) == llvm::makeArrayRef(vector) : x.rank() == 2);
}

/// Returns true if rows are the channels of x[N, C, ..] in groups, and scale and shift do
/// not widen it.
bool is_group_norm(const Graph& graph, NodeId root, const Bound& bound) {
  const TensorType& x = graph.type(bound.node("x"));
  if (!bound.is_filled("one", 1) || !bound.is_filled("zero", 0) || !(graph.type(root) == x) ||
      !are_by_channel(graph, bound))
    return false;
  if (!bound.value("rows")) return true; // x itself has the rows
  const auto& rows = bound.value("rows")->ints;
  return llvm::makeArrayRef(bound.value("back")->ints) == llvm::makeArrayRef(x.shape) &&
         rows.size() == 3 && rows[0] == x[0] && x[1] % rows[1] == 0;
}

/// Returns true if the shapes are those of queries q[N, H, S, W] over keys[N, K, W, L].
bool is_shared_attention(const Graph& graph, const Bound& bound) {
  const Shape &q = graph.type(bound.node("q")).shape, &k = graph.type(bound.node("keys")).shape,
              &v = graph.type(bound.node("values")).shape;
  bool ranks = q.size() == 4 && k.size() == 4 && v.size() == 4;
  if (!ranks || k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || q[1] % k[1] != 0) return false;
  int64_t rows = q[1] / k[1] * q[2];
  auto is = [&](llvm::StringRef name, const Shape& shape) {
    return llvm::makeArrayRef(bound.value(name)->ints) == llvm::makeArrayRef(shape);
  };
  return is("rows", {q[0], k[1], rows, q[3]}) && is("scores", {q[0], q[1], q[2], k[3]}) &&
         is("back", {q[0], k[1], rows, k[3]}) && is("out", {q[0], q[1], q[2], v[3]}) &&
         bound.value("axis")->number == 3;
}

/// Returns true if the match is the function, by the conditions that its rule does not express.
bool is_library_call(const Graph& graph, NodeId root, const Bound& bound) {
  if (bound.node("one").valid()) return is_group_norm(graph, root, bound);
  if (bound.value("t")) return graph.type(root).dtype == graph.type(bound.node("x")).dtype;
  return !bound.value("scores") || is_shared_attention(graph, bound);
}

} // namespace

std::vector<GraphCall> library_calls(const Graph& graph,
                                     llvm::DenseMap<uint32_t, std::string>& names) {
  SourceManager sources;
  DiagnosticSink sink;
  Ast tree = parse(sources, sources.add("<bodies of library functions>", kBodies.str()), sink);
  std::vector<Rule> rules = rules_from_ast(tree, sources, sink, nullptr, RuleTypes::Known);
  assert(!sink.failed() && "the built-in rules parse");
  std::vector<GraphCall> calls;
  for (const RuleMatchIn& match : closed_matches(graph, rules)) {
    const Rule& rule = rules[match.rule];
    Bound bound(graph, rule, match);
    if (!is_library_call(graph, match.root, bound)) continue;
    const auto* row = llvm::find_if(kFunctions, [&](auto& f) { return f.rule == rule.declared; });
    GraphCall call{match.root, {}, row->name.str(), row->module.str(), {}, ""};
    llvm::SmallVector<llvm::StringRef, 5> operands;
    row->operands.split(operands, ' ');
    for (llvm::StringRef operand : operands) {
      call.operands.push_back(bound.node(operand));
      if (operand != "x") names.try_emplace(call.operands.back().index, operand.str());
    }
    for (NodeId node : match.covered)
      if (!(node == match.root)) call.inner.push_back(node);
    write_numbers(graph, bound, call);
    calls.push_back(std::move(call));
  }
  return calls;
}

namespace {

/// Returns true if the text has no calls: it writes the graph operator by operator.
bool is_plain(llvm::StringRef text, const TextOptions& options) {
  return options.calls.empty() && !text.startswith("fn ") && !text.contains("\nfn ");
}

/// A graph to which a text must read back with these settings.
struct Wanted {
  ModelSettings settings;
  Graph graph;
};

/// Returns "" if the text reads back to the graphs, else the first fault.
std::string fault_of(const std::string& text, llvm::ArrayRef<Wanted> wanted,
                     const ModuleLoader& library) {
  SourceManager sources;
  DiagnosticSink sink;
  Program program = load_program(sources, library, sources.add("imported.tg", text), sink);
  if (!sink.failed()) check_names(program, sink);
  for (const Wanted& one : wanted) {
    std::optional<Graph> read;
    if (!sink.failed())
      read = instantiate(program, /*model=*/"", one.settings, std::make_shared<Symbols>(), sink);
    if (!read || sink.failed()) return sink.all().empty() ? "unknown" : sink.all()[0].message;
    if (std::string fault = difference(*read, one.graph); !fault.empty()) return fault;
  }
  return "";
}

/// Names values, and finds calls of functions whose names the text does not use otherwise.
std::vector<GraphCall> free_calls(const Graph& graph,
                                  llvm::DenseMap<uint32_t, std::string>& names) {
  Graph wanted = with_text_names(graph);
  std::vector<GraphCall> calls = library_calls(graph, names);
  llvm::erase_if(calls, [&](const GraphCall& call) { // if the model or an input has its name
    return call.function == wanted.name() || llvm::any_of(wanted.inputs(), [&](NodeId input) {
             return wanted.attr(input, 0).text == call.function;
           });
  });
  return calls;
}

} // namespace

std::string import_text(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& of_file,
                        const ModuleLoader& library) {
  llvm::DenseMap<uint32_t, std::string> names = readable_names(graph, of_file);
  TextOptions options;
  options.names = &names;
  std::vector<GraphCall> calls = free_calls(graph, names);
  Wanted wanted{{}, with_text_names(graph)};
  for (bool functions : {true, false}) {
    options.calls = calls;
    options.functions = functions;
    std::string text = to_text(graph, options);
    if (is_plain(text, options) || fault_of(text, wanted, library).empty()) return text;
  }
  options.calls = {};
  return to_text(graph, options);
}

Result<std::string> import_text(const OpenGraph& graph, llvm::ArrayRef<GraphAt> checks,
                                const llvm::DenseMap<uint32_t, std::string>& of_file,
                                const ModuleLoader& library) {
  llvm::DenseMap<uint32_t, std::string> names = readable_names(graph.sample, of_file);
  TextOptions options;
  options.names = &names;
  std::vector<GraphCall> calls = free_calls(graph.sample, names);
  std::vector<Wanted> wanted;
  for (const GraphAt& check : checks) {
    Wanted& one = wanted.emplace_back(Wanted{{}, with_text_names(*check.graph)});
    for (size_t i = 0; i < graph.sizes.size(); ++i)
      one.settings[graph.sizes[i].name] = Value::of_int(check.point[i]);
  }
  std::string fault;
  for (bool called : {true, false})
    for (bool functions : {true, false}) {
      options.calls = called ? llvm::makeArrayRef(calls) : llvm::ArrayRef<GraphCall>();
      options.functions = functions;
      std::string text = to_text(graph, options);
      fault = fault_of(text, wanted, library);
      if (fault.empty()) return text;
    }
  return error(Code::internal, "the generic text of `{0}` does not read back: {1}",
               graph.sample.name(), fault);
}

} // namespace tg
