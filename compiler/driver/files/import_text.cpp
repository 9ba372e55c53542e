#include "compiler/driver/files/import_text.h"

#include "compiler/driver/files/import_names.h"
#include "compiler/ir/to_text.h"
#include "compiler/rules/from_ast.h"
#include "compiler/rules/rewrite.h"
#include "lang/syntax/parse.h"

namespace tg {
namespace {

/// The bodies, as left sides of rules; the right sides only have the type. Operands of the calls
/// are the tensors in their order, numbers go by name.
constexpr llvm::StringLiteral kBodies = R"(
rule silu(x) { x * sigmoid(x) => x }
rule gelu_sigmoid(x) { x * sigmoid(1.702 * x) => x }
rule gelu_tanh(x) { 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))) => x }
rule rms_scaled(x, scale, eps) {
  x * rsqrt(reduce_mean(x * x, axes = [-1], keepdims = true) + full([], eps)) * scale => x
  where rank(scale) == 1
}
)";

struct Function {
  llvm::StringLiteral name, module;
};
constexpr Function kFunctions[] = {{"silu", "std.activation"},
                                   {"gelu_sigmoid", "std.activation"},
                                   {"gelu_tanh", "std.activation"},
                                   {"rms_scaled", "std.norm"}};

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
    GraphCall call{match.root, {}, row->name.str(), row->module.str(), match.classes, ""};
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
