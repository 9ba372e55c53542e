#include "compiler/driver/files/import_text.h"

#include "compiler/driver/files/import_names.h"
#include "compiler/ir/to_text.h"
#include "compiler/rules/from_ast.h"
#include "compiler/rules/rewrite.h"
#include "lang/syntax/parse.h"

#include <cassert>

namespace tg {
namespace {

/// The bodies, as left sides of rules; the right sides only have the type, and the class is given
/// so that none is derived. Operands of the calls are the tensors in the order in which the left
/// side reads them, numbers go by name.
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
)";

struct Function {
  llvm::StringLiteral name, module;
  llvm::StringLiteral operands = ""; // names in the order of a call, if bodies read them in another
};
constexpr Function kFunctions[] = {{"silu", "std.activation"},
                                   {"hard_sigmoid", "std.activation"},
                                   {"gelu_sigmoid", "std.activation"},
                                   {"gelu_tanh", "std.activation"},
                                   {"rms_scaled", "std.norm"},
                                   {"attention", "std.attention"},
                                   {"masked_attention", "std.attention", "q keys values mask"},
                                   {"safe_attention", "std.attention", "q keys values mask"}};

/// ", eps = 1e-05" for each number that the left side binds.
std::string numbers_of(const Graph& graph, const Rule& rule, const RuleMatchIn& match) {
  std::string text;
  for (uint32_t v = 0; v < rule.value_vars; ++v) {
    const Value& value = graph.symbols().value(match.values[v]);
    if (value.is(Value::Kind::Floats) && value.reals.size() == 1)
      text += ", eps = " + Value::of_float(value.reals[0]).text_form();
  }
  return text;
}

/// What the variables of the left side stand for, as a call takes it.
std::vector<NodeId> operands_of(const Function& function, const Rule& rule,
                                const RuleMatchIn& match) {
  if (function.operands.empty()) return match.classes;
  llvm::SmallVector<llvm::StringRef, 4> names;
  function.operands.split(names, ' ');
  std::vector<NodeId> operands;
  for (llvm::StringRef name : names)
    operands.push_back(match.classes[static_cast<size_t>(llvm::find(rule.class_var_names, name) -
                                                         rule.class_var_names.begin())]);
  return operands;
}

/// The places at which the graph spells out a function of the library. No node is in two of them.
std::vector<GraphCall> library_calls(const Graph& graph) {
  SourceManager sources;
  DiagnosticSink sink;
  Ast tree = parse(sources, sources.add("<bodies of library functions>", kBodies.str()), sink);
  std::vector<Rule> rules = rules_from_ast(tree, sources, sink);
  assert(!sink.failed() && "they are rules");
  std::vector<GraphCall> calls;
  for (const RuleMatchIn& match : closed_matches(graph, rules)) {
    const Rule& rule = rules[match.rule];
    const auto* row = llvm::find_if(kFunctions, [&](auto& f) { return f.name == rule.declared; });
    GraphCall call{
        match.root, {}, row->name.str(), row->module.str(), operands_of(*row, rule, match), ""};
    for (NodeId node : match.covered)
      if (!(node == match.root)) call.inner.push_back(node);
    call.attributes = numbers_of(graph, rule, match);
    calls.push_back(std::move(call));
  }
  return calls;
}

std::optional<Graph> read_back(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  return load_model(sources, sources.add("imported.tg", text), {}, sink);
}

} // namespace

std::string import_text(const LoadedModel& model) {
  llvm::DenseMap<uint32_t, std::string> names = readable_names(model.graph, model.names);
  TextOptions options;
  options.names = &names;
  std::string plain = to_text(model.graph, options);
  Graph wanted = with_text_names(model.graph);
  std::vector<GraphCall> calls = library_calls(model.graph);
  llvm::erase_if(calls, [&](const GraphCall& call) { // where an input has the function's name
    return llvm::any_of(wanted.inputs(),
                        [&](NodeId input) { return wanted.attr(input, 0).text == call.function; });
  });
  for (bool functions : {true, false}) {
    options.calls = calls;
    options.functions = functions;
    std::string text = to_text(model.graph, options);
    if (text == plain) break;
    std::optional<Graph> read = read_back(text);
    if (read && difference(*read, wanted).empty()) return text;
  }
  return plain;
}

} // namespace tg
