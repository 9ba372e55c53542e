// Tests that models and rules agree on compile-time values: random expressions over the same names
// have equal values in both, or none in either.
#include "compiler/ir/from_ast.h"
#include "compiler/rules/compile/compiler.h"
#include "compiler/rules/eval.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

using Random = std::mt19937_64;

/// Binds the names: to attributes of a rule's left side, and to lets with equal values in a model.
constexpr const char* kLeft = "transpose(clip(slice(x, axis = i, start = j, stop = k), low = f, "
                              "high = g), perm = p)";
struct Name {
  const char* name;
  Value value;
};
const std::vector<Name>& names() {
  static const std::vector<Name> all = {
      {"i", Value::of_int(2)},      {"j", Value::of_int(-7)},    {"k", Value::of_int(INT64_MAX)},
      {"f", Value::of_float(-1.5)}, {"g", Value::of_float(0.0)}, {"p", Value::of_ints({2, 0, 1})}};
  return all;
}

class Writer {
public:
  explicit Writer(Random& random) : random_(random) {}

  enum class Kind { Number, Bool, List };

  std::string expr(Kind kind, int depth) {
    if (random_() % 20 == 0) kind = static_cast<Kind>(random_() % 3); // a kind that does not fit
    if (depth == 0 || random_() % 6 == 0) return leaf(kind);
    switch (kind) {
    case Kind::Number: return number(depth - 1);
    case Kind::Bool: return truth(depth - 1);
    case Kind::List: return list(depth - 1);
    }
    return {};
  }

private:
  std::string pick(std::initializer_list<const char*> of) {
    return of.begin()[random_() % of.size()];
  }

  std::string leaf(Kind kind) {
    if (kind == Kind::Bool) return pick({"true", "false"});
    if (kind == Kind::List) return pick({"p", "[1, 2, 3]", "[0.5, 2.0]", "[]", "[4]"});
    return pick({"0", "1", "2", "3", "7", "0.0", "0.5", "2.0", "1e300", "4611686018427387904", "i",
                 "j", "k", "f", "g", "inf"});
  }

  std::string two(const std::string& sign, Kind kind, int depth) {
    return "(" + expr(kind, depth) + " " + sign + " " + expr(kind, depth) + ")";
  }

  std::string number(int depth) {
    switch (random_() % 9) {
    case 0: return "-" + expr(Kind::Number, depth);
    case 1:
      return pick({"abs", "floor", "ceil", "int", "float", "sqrt", "exp", "log", "sin", "cos",
                   "tanh", "erf"}) +
             "(" + expr(Kind::Number, depth) + ")";
    case 2:
      return pick({"min", "max", "pow"}) + "(" + expr(Kind::Number, depth) + ", " +
             expr(Kind::Number, depth) + ")";
    case 3: return pick({"len", "sum", "prod"}) + "(" + expr(Kind::List, depth) + ")";
    case 4: return expr(Kind::List, depth) + "[" + expr(Kind::Number, depth) + "]";
    default: return two(pick({"+", "-", "*", "/", "//", "%", "**"}), Kind::Number, depth);
    }
  }

  std::string truth(int depth) {
    switch (random_() % 4) {
    case 0: return "(not " + expr(Kind::Bool, depth) + ")";
    case 1: return two(pick({"and", "or"}), Kind::Bool, depth);
    case 2: return two(pick({"==", "!="}), static_cast<Kind>(random_() % 3), depth);
    default: return two(pick({"<", "<=", ">", ">=", "==", "!="}), Kind::Number, depth);
    }
  }

  std::string list(int depth) {
    switch (random_() % 4) {
    case 0: return two("+", Kind::List, depth);
    case 1: {
      std::string from = random_() % 2 ? expr(Kind::Number, 0) : "";
      std::string to = random_() % 2 ? expr(Kind::Number, 0) : "";
      std::string step = random_() % 3 ? "" : ":" + expr(Kind::Number, 0);
      return expr(Kind::List, depth) + "[" + from + ":" + to + step + "]";
    }
    case 2: return "[" + item(depth) + ", p...]";
    default: return "[" + item(depth) + ", " + item(depth) + "]";
    }
  }

  /// A list element. Rules do not have lists of lists or of bools.
  std::string item(int depth) { return depth == 0 ? leaf(Kind::Number) : number(depth - 1); }

  Random& random_;
};

/// Returns the value in a model, or "-" if there is none.
std::string in_model(const std::string& text) {
  std::string model = "model m(x: f32[1]) {\n";
  for (const Name& n : names()) {
    bool least = n.value.is(Value::Kind::Int) && n.value.number < 0;
    model += std::string("let ") + n.name + " = " + (least ? "0 - 7" : n.value.text_form()) + "\n";
  }
  model += "(" + text + ")\n}\n"; // a line cannot start with a sign
  SourceManager sources;
  DiagnosticSink sink;
  EmbeddedLoader loader({});
  Program program = load_program(sources, loader, sources.add("m.tg", model), sink);
  EXPECT_FALSE(sink.failed()) << text;
  ModelValue value;
  (void)instantiate(program, "m", {}, std::make_shared<Symbols>(), sink, &value);
  bool list = llvm::StringRef(value.text).startswith("["); // not a tensor: names are numbers
  return value.constant || list ? value.text : "-";
}

struct NoClasses : ClassFacts {
  TypeId type(uint32_t) const override { return {}; }
  bool weight_only(uint32_t) const override { return false; }
  bool constant(uint32_t) const override { return false; }
};

/// Formats a list as models print it: the first six elements.
std::string told(const Value& v) {
  if (!v.is(Value::Kind::Ints) && !v.is(Value::Kind::Floats)) return v.text_form();
  size_t size = v.ints.size() + v.reals.size();
  std::string text = "[";
  for (size_t i = 0; i < size; ++i) {
    if (i == 6) return text + ", …]";
    text += i ? ", " : "";
    text += v.is(Value::Kind::Ints) ? std::to_string(v.ints[i])
                                    : Value::of_float(v.reals[i]).text_form();
  }
  return text + "]";
}

/// Returns the value in a condition of a rule, or "-" if there is none.
std::string in_rule(const std::string& text) {
  std::string declaration = "rule r(x, i, j, k, f, g, p) { " + std::string(kLeft) +
                            " => x where i == j or j == k or f == g or len(p) == 1, (" + text +
                            ") == (" + text + ") or i == j }\n";
  SourceManager sources;
  DiagnosticSink sink;
  Ast tree = parse(sources, sources.add("r.tg", declaration), sink);
  EXPECT_FALSE(sink.failed()) << text;
  RuleCompiler compiler(tree, tree[tree.decls()[0]], {}, false, 0, sink);
  std::optional<Rule> rule = compiler.run();
  if (!rule) return "-";
  Symbols symbols;
  std::vector<ValueId> values(rule->value_vars);
  for (const Name& n : names())
    for (uint32_t v = 0; v < rule->value_vars; ++v)
      if (rule->value_var_names[v] == n.name) values[v] = symbols.value(n.value);
  ExprIndex either = rule->conditions.back(); // it contains a name, so that it is not decided yet
  ExprIndex asked = rule->exprs[rule->exprs[either].operands[0]].operands[0];
  std::optional<ValueId> made = evaluate({*rule, symbols, values, NoClasses{}}, asked);
  return made ? told(symbols.value(*made)) : "-";
}

TEST(ConstValues, ModelsAndRulesAgree) {
  Random random(7);
  int with_value = 0, without = 0, lists = 0;
  for (int i = 0; i < 20'000; ++i) {
    Writer writer(random);
    std::string text = writer.expr(static_cast<Writer::Kind>(random() % 3), 3);
    std::string model = in_model(text), rule = in_rule(text);
    if (rule == "-" && model.front() == '[') continue; // mixed: no slot holds it
    ASSERT_EQ(model, rule) << text;
    ++(model == "-" ? without : with_value);
    lists += model.front() == '[';
  }
  EXPECT_GT(with_value, 5000);
  EXPECT_GT(without, 1000);
  EXPECT_GT(lists, 1000);
}

/// Cases on which the two evaluators once disagreed, and similar ones.
TEST(ConstValues, AgreeOnExpressionsWithoutAValue) {
  for (const char* text : {"1.0 / 0", "0.0 / 0", "1.0 // 0", "1.0 % 0.0", "0.0 ** -1", "sqrt(-1)",
                           "log(0)", "(-8.0) ** 0.5", "1 / 0", "7 / 2", "2 ** 63", "2 ** -1",
                           "k + 1", "p[3]", "p[0:4]", "true + 1", "p < p"}) {
    EXPECT_EQ(in_model(text), "-") << text;
    EXPECT_EQ(in_rule(text), "-") << text;
  }
  for (auto [text, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"-7 // 2", "-4"},
                                                                  {"-7 % 2", "1"},
                                                                  {"7 // -2", "-4"},
                                                                  {"-1.5 % 1", "0.5"},
                                                                  {"7.0 // 2", "3.0"},
                                                                  {"1 == 1.0", "true"},
                                                                  {"max(1, 1.0)", "1"},
                                                                  {"float(7) / 2", "3.5"},
                                                                  {"int(-2.7)", "-2"},
                                                                  {"p[1:] + p[:1]", "[0, 1, 2]"},
                                                                  {"sum(p[0:2])", "2"},
                                                                  {"2 ** 10", "1024"},
                                                                  {"[1] == [1.0]", "true"},
                                                                  {"inf > k", "true"},
                                                                  {"len([1, p...])", "4"}}) {
    EXPECT_EQ(in_model(text), value) << text;
    EXPECT_EQ(in_rule(text), value) << text;
  }
}

} // namespace
} // namespace tg
