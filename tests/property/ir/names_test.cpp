// Tests programs whose models, inputs, weights and outputs have random names and types
// that the language allows. Printed and read again, they have the same names and types,
// and are the same graph. Other words in a model (such as `relu` in `act = relu`, dtypes,
// inf) come from functions, where the model's names are not visible.
#include "lang/check/resolve.h"
#include "lang/core/diagnostics/escape.h"
#include "lang/core/support/random.h"
#include "tests/unit/ir/ir_test.h"

#include <set>

namespace tg {
namespace {

/// Names that have another meaning elsewhere, look like the printer's, or are unusual.
std::vector<std::string> name_pool() {
  std::vector<std::string> names = {"_1",      "__",        "x_",       "x__",
                                    "X",       "_x",        "relu_1",   "relu_2",
                                    "neg_1",   "cast_1",    "w",        "w2",
                                    "w_2",     "output",    "output2",  "main",
                                    "model_",  "input",     "f",        "words",
                                    "numbers", "gelu_tanh", "linear",   "attention",
                                    "std",     "rules",     "self",     "N",
                                    "x1",      "add_1",     "tensor_1", "_0_weird_path_quoted"};
  for (const OpInfo& op : all_ops())
    if (op.kind != OpKind::Extern) names.emplace_back(op.name); // its name is a keyword
  for (const BuiltinInfo& builtin : all_builtins()) names.push_back(builtin.name.str());
  for (AttrKind kind : {AttrKind::act, AttrKind::pad})
    for (llvm::StringRef word : enum_members(kind)) names.push_back(word.str());
  for (const char* word : {"f32", "f16", "bf16", "i32", "i64", "bool", "int", "float", "shape",
                           "dtype", "act", "pad", "list", "inf", "nan"})
    names.emplace_back(word);
  return names;
}

bool is_builtin(llvm::StringRef name) {
  return llvm::any_of(all_builtins(), [&](const BuiltinInfo& b) { return b.name == name; });
}

constexpr const char* kFunctions =
    "fn words(x: f32[2, 2]) -> f32[2, 2] {\n"
    "  matmul(x, x, act = relu) + matmul(x, x, act = gelu) + matmul(x, x, act = sigmoid)\n}\n\n"
    "fn images(x: f32[1, 1, 4, 4], w: f32[1, 1, 3, 3]) -> f32[1, 1, 4, 4] {\n"
    "  conv2d(x, w, pad = same, act = tanh) + conv2d(x, w, pad = same, act = relu6)\n}\n\n"
    "fn casts(x: f32[2, 2]) -> f32[2, 2] {\n"
    "  cast(cast(x, f16), f32) + cast(cast(x, bf16), f32) + cast(cast(x, i32), f32)"
    " + cast(cast(x, i64), f32) + cast(cast(x, bool), f32) + cast(iota([2, 2], i32), f32)\n}\n\n"
    "fn numbers(x: f32[2, 2]) -> f32[2, 2] {\n"
    "  clip(x, low = -inf, high = inf) + x * inf + [[nan, -inf], [inf, 0.5]] - (x - inf) * nan"
    " + cast(full([2, 2], inf, f16), f32) + full([2, 2], -inf)\n}\n\n";

class Names {
public:
  explicit Names(uint64_t seed) : random_(seed, "names"), pool_(name_pool()) {
    text_ = kFunctions;
    externs();
    std::string parameters, results, values;
    model_ = name([](llvm::StringRef n) {
      return !find_op(n) && !is_builtin(n) && n != "words" && n != "numbers" && n != "_";
    });
    for (size_t i = 1 + below(6); i > 0; --i) parameters += input() + ", ";
    parameters += "a0: f32[2, 2], a1: f32[1, 1, 4, 4], ";
    inputs_.emplace_back("a0", "f32[2, 2]");
    inputs_.emplace_back("a1", "f32[1, 1, 4, 4]");
    for (size_t i = below(4); i > 0; --i) weight();
    for (const auto& [value, type] : values_) output(value, type, results, values);
    if (below(2) == 0) output("words(a0)", "f32[2, 2]", results, values);
    if (below(2) == 0) output("casts(a0)", "f32[2, 2]", results, values);
    if (below(2) == 0) output("numbers(a0)", "f32[2, 2]", results, values);
    if (below(2) == 0) output("images(a1, a1[:, :, 0:3, 1:4])", "f32[1, 1, 4, 4]", results, values);
    output("own_0(a0[0, 0] > 1)", "bool[]", results, values);
    text_ += "model " + model_ + "(" + parameters + ") -> (" + results + ") {\n" + body_ + "  (" +
             values + ")\n}\n";
  }

  const std::string& text() const { return text_; }
  const std::string& model() const { return model_; }
  using Named = std::vector<std::pair<std::string, std::string>>; // name and type
  const Named& inputs() const { return inputs_; }
  const Named& outputs() const { return outputs_; }
  const std::vector<std::string>& paths() const { return paths_; }

private:
  size_t below(size_t n) { return static_cast<size_t>(random_.bits(draws_++) % n); }

  template <class Good> std::string name(Good good) {
    while (true) {
      const std::string& candidate = pool_[below(pool_.size())];
      if (good(candidate)) return candidate;
    }
  }
  /// Returns the name of a value in the model.
  std::string fresh() {
    return name([&](llvm::StringRef n) { return n != "a0" && used_.insert(n.str()).second; });
  }

  std::string type() {
    std::string text =
        std::vector<std::string>{"f32", "f16", "bf16", "i32", "i64", "bool"}[below(6)];
    size_t rank = below(7);
    if (rank == 0) return text == "bool" || below(2) == 0 ? text + "[]" : text;
    text += "[";
    for (size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::to_string(1 + below(3));
    return text + "]";
  }

  void externs() { text_ += "extern op own_0(x: bool[]) -> bool[]\n\n"; }

  std::string input() {
    std::string called = fresh(), of = type();
    inputs_.emplace_back(called, of);
    values_.emplace_back(called, of);
    return called + ": " + of;
  }

  void weight() {
    static const char* const kPieces[] = {"layer", ".",  "[0]",      " ", "\"", "\\",
                                          "\n",    "\t", "\x1b[31m", "é", "权", "/",
                                          "10",    "'",  "#",        "{", "w",  "\x7f"};
    std::string path;
    for (size_t i = 1 + below(5); i > 0; --i) path += kPieces[below(std::size(kPieces))];
    path += std::to_string(paths_.size()); // unique
    std::string called = fresh(), of = type();
    paths_.push_back(path);
    body_ += "  param " + called + ": " + of + " = weight(\"" + escaped(path) + "\")\n";
    values_.emplace_back(called, of);
  }

  void output(const std::string& value, const std::string& of, std::string& results,
              std::string& values) {
    std::string called =
        name([&](llvm::StringRef n) { return output_names_.insert(n.str()).second; });
    outputs_.emplace_back(called, of);
    results += called + ": " + of + ", ";
    values += value + ", ";
  }

  RandomStream random_;
  std::vector<std::string> pool_;
  uint64_t draws_ = 0;
  std::string text_, body_, model_;
  Named inputs_, outputs_, values_;
  std::vector<std::string> paths_;
  std::set<std::string> used_, output_names_;
};

Names::Named named(const Graph& graph, llvm::ArrayRef<NodeId> nodes) {
  Names::Named out;
  for (NodeId node : nodes) out.emplace_back(graph.attr(node, 0).text, graph.type(node).text());
  return out;
}

Names::Named outputs_of(const Graph& graph) {
  Names::Named out;
  for (const GraphOutput& output : graph.outputs())
    out.emplace_back(output.name, graph.type(output.node).text());
  return out;
}

/// Writes types like TensorType::text().
Names::Named canonical(Names::Named list) {
  for (auto& [name, type] : list)
    if (llvm::StringRef(type).endswith("[]")) type.resize(type.size() - 2);
  return list;
}

class NamesAndTypes : public ::testing::TestWithParam<uint64_t> {};

TEST_P(NamesAndTypes, ComeBack) {
  Names program(GetParam());
  test::Built source(program.text());
  ASSERT_TRUE(source.graph) << source.rendered() << program.text();
  std::string text = to_text(*source.graph);
  test::Built again(text);
  ASSERT_TRUE(again.graph) << again.rendered() << text;
  EXPECT_EQ(difference(*source.graph, *again.graph), "") << text;
  EXPECT_EQ(again.graph->name(), program.model());
  EXPECT_EQ(named(*again.graph, again.graph->inputs()), canonical(program.inputs())) << text;
  EXPECT_EQ(outputs_of(*again.graph), canonical(program.outputs())) << text;
  std::vector<std::string> paths = again.weight_paths(), wanted = program.paths();
  std::sort(paths.begin(), paths.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(paths, wanted) << text;
  EXPECT_EQ(to_text(*again.graph), text) << "the same text from then on";
}

INSTANTIATE_TEST_SUITE_P(Seeds, NamesAndTypes, ::testing::Range<uint64_t>(1, 301));

} // namespace
} // namespace tg
