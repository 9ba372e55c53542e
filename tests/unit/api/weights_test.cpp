// Tests weight files against models, and folded graphs against their source.
#include "compiler/api/files/weights.h"

#include "compiler/api/files/mapped_pages.h"
#include "compiler/api/files/model.h"
#include "compiler/api/files/unfold.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/from_ast.h"
#include "runtime/random.h"
#include "tests/unit/api/open_weights.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace tg {
namespace {

constexpr const char* kNet =
    "use std.nn: conv_bn, linear\n"
    "model net(image: f32[1, 2, 6, 6], extra: f32[1, 3]) -> (y: f32[1, 3], shift: f32[3, 3]) {\n"
    "  let x = relu(conv_bn(image, 4, kernel = 3) as stem)\n"
    "  let y = linear(reduce_mean(x, axes = [2, 3]), 3) as head\n"
    "  param a: f32[3, 3]\n  param b: f32[3, 3]\n"
    "  (y @ a @ b + ones([1, 3]) * 2, a @ b)\n"
    "}\n";

struct Weights : testing::Test {
  SourceManager sources;
  DiagnosticSink sink;
  std::string path = testing::TempDir() + "tangram_weights_test.safetensors";

  ~Weights() override { std::remove(path.c_str()); }

  Graph load(const std::string& text) {
    FileId file = sources.add("test.tg", text);
    std::optional<Graph> graph = load_model(sources, file, {}, sink);
    for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
    return *graph;
  }
  std::vector<Tensor> run(const Graph& graph, WeightSource weights = {}) {
    PrepareOptions options;
    options.backend = "ref";
    options.weights = std::move(weights);
    auto prepared = prepare_with_inputs(graph, options);
    EXPECT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_TRUE(prepared->executable->run_once().ok());
    return *prepared->executable->outputs();
  }
  static PrepareOptions on_ref() {
    PrepareOptions options;
    options.backend = "ref";
    return options;
  }
};

TEST_F(Weights, SavedAndReadTheyAreThoseOfTheSeed) {
  Graph graph = load(kNet);
  ASSERT_TRUE(save_weights(graph, on_ref(), path).ok());
  Result<WeightSource> source = open_weights(graph, path);
  ASSERT_TRUE(source) << source.error().message;
  std::vector<Tensor> random = run(graph), read = run(graph, *source);
  for (size_t i = 0; i < random.size(); ++i) EXPECT_EQ(max_rel_diff(read[i], random[i]), 0);
  for (const WeightRow& row : compare_weights(graph, nullptr))
    EXPECT_EQ(row.state, WeightState::Random);
}

TEST_F(Weights, ListsEveryState) {
  Graph graph = load(kNet);
  std::vector<SafetensorsItem> items = {{"a", f32({3, 3})}, {"b", f32({3, 4})}, {"c", f32({1})}};
  auto source = [&](size_t i) { return Tensor::zeros(items[i].type); };
  ASSERT_TRUE(write_safetensors(path, items, source).ok());
  auto file = open_weight_file(path);
  std::vector<WeightRow> rows = compare_weights(graph, file->get());
  std::string states;
  for (const WeightRow& row : rows) states += row.path + ":" + state_name(row.state).str() + " ";
  EXPECT_EQ(states, "stem.conv.w:missing stem.bn.scale:missing stem.bn.shift:missing "
                    "stem.bn.mean:missing stem.bn.variance:missing head.w:missing head.b:missing "
                    "a:found b:mismatched c:unused ");
  Result<void> checked = check_weights(rows, "net", path);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::mismatched_weights);
  EXPECT_EQ(checked.error().notes[0], "`b` is f32[3, 3] in the model and f32[3, 4] in the file");
}

TEST_F(Weights, TensorsStayInTheMappedFile) {
  Graph graph = load("model m(x: f32[4]) {\n  param u: f32[8192]\n  param w: f32[3]\n"
                     "  x * u[:4] * w[0]\n}\n");
  ASSERT_TRUE(save_weights(graph, on_ref(), path).ok());
  std::shared_ptr<const WeightFile> file = *open_weight_file(path);
  auto place = [](Result<Tensor> tensor) { return std::as_const(*tensor).data(); };
  for (const WeightFile::Entry& entry : file->entries())
    EXPECT_EQ(place(file->view(entry)), place(file->view(entry))) << entry.name;
  // A file of a few pages or more is mapped, so that its tensors are aligned.
  EXPECT_EQ(place(file->read(*file->find("u"))), place(file->view(*file->find("u"))));
  std::vector<Tensor> random = run(graph), read = run(graph, weights_from(file));
  EXPECT_EQ(max_rel_diff(read[0], random[0]), 0);
}

/// Returns the bytes of mapped files that are resident in the process.
int64_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8)) << 10;
  return 0;
}

TEST_F(Weights, PagesOfAMappedFileAreGivenUpWithTheTensor) {
  constexpr int64_t kBytes = 32 << 20;
  std::vector<SafetensorsItem> items = {{"w", f32({kBytes / 4})}};
  ASSERT_TRUE(write_safetensors(path, items, [&](size_t) {
                return random_weight("w", items[0].type, "", 1);
              }).ok());
  std::shared_ptr<const WeightFile> file = *open_weight_file(path);
  int64_t before = resident_file_bytes();
  uint64_t sum = 0;
  {
    Result<Tensor> tensor = file->view(*file->find("w"));
    ASSERT_TRUE(tensor);
    sum = summarise(*tensor).checksum;
    EXPECT_GE(resident_file_bytes(), before + kBytes / 4 * 3) << "it is read where it is";
  }
  EXPECT_LE(resident_file_bytes(), before + kBytes / 4);
  EXPECT_EQ(summarise(*file->view(*file->find("w"))).checksum, sum) << "and read again";
}

TEST_F(Weights, KeepMemoryThatIsNotAMappedFile) {
  std::string text(1 << 22, 'x'); // heap memory of the process
  release_mapped_pages(text);
  EXPECT_EQ(text.find_first_not_of('x'), std::string::npos);
}

TEST_F(Weights, InMemoryAreCopiedIntoMemoryThatOnesBeforeHaveLeft) {
  constexpr int64_t kCount = 1 << 19;
  std::vector<float> one(kCount, 1), two(kCount, 2);
  auto bytes = [](std::vector<float>& all) { return reinterpret_cast<std::byte*>(all.data()); };
  std::shared_ptr<const WeightFile> file =
      weight_file({{"one", f32({kCount}), bytes(one)}, {"two", f32({kCount}), bytes(two)}});
  auto view = [&](const char* name) { return *file->view(*file->find(name)); };
  auto first = [](const Tensor& tensor) {
    return reinterpret_cast<const float*>(tensor.data())[0];
  };
  std::optional<const Tensor> kept = view("one");
  std::optional<const Tensor> other = view("two");
  EXPECT_NE(kept->data(), other->data());
  one[0] = 5;
  EXPECT_EQ(first(*kept), 1) << "later changes have no effect";
  EXPECT_EQ(first(*other), 2);
  const std::byte* place = other->data();
  other.reset();
  other.emplace(view("one"));
  EXPECT_EQ(other->data(), place);
  EXPECT_EQ(first(*other), 5);
  EXPECT_EQ(first(*kept), 1);
  file.reset();
  EXPECT_EQ(first(*kept), 1) << "copies outlive the model";
}

TEST_F(Weights, HalfPrecisionIsWidened) {
  Graph graph = load("model m(x: f32[2]) { param w: f32[2]\n x * w }\n");
  for (auto [dtype, bits] : {std::pair(DType::F16, 0x3e00), {DType::BF16, 0x3fc0}}) { // 1.5
    std::vector<SafetensorsItem> items = {{"w", {dtype, {2}}}};
    auto source = [&](size_t) -> Result<Tensor> {
      Tensor tensor = *Tensor::zeros(items[0].type);
      for (size_t i = 0; i < 4; i += 2) {
        tensor.data()[i] = static_cast<std::byte>(bits & 0xff);
        tensor.data()[i + 1] = static_cast<std::byte>(bits >> 8);
      }
      return tensor;
    };
    ASSERT_TRUE(write_safetensors(path, items, source).ok());
    Result<WeightSource> weights = open_weights(graph, path);
    ASSERT_TRUE(weights) << weights.error().message;
    PlanValue value;
    value.type = f32({2});
    value.name = "w";
    EXPECT_EQ(max_rel_diff(*(*weights)(value), Tensor::of_floats({2}, {1.5f, 1.5f})), 0);
  }
}

TEST_F(Weights, FloatsAreWidenedToDoublesAndDoublesNotNarrowed) {
  std::vector<SafetensorsItem> items = {{"w", f32({2})}};
  auto source = [&](size_t) -> Result<Tensor> { return Tensor::of_floats({2}, {0.1f, 2}); };
  ASSERT_TRUE(write_safetensors(path, items, source).ok());
  Result<WeightSource> weights =
      open_weights(load("model m(x: f64[2]) { param w: f64[2]\n x * w }\n"), path);
  ASSERT_TRUE(weights) << weights.error().message;
  PlanValue value;
  value.type = {DType::F64, {2}};
  value.name = "w";
  EXPECT_EQ((*weights)(value)->doubles(), (std::vector<double>{static_cast<double>(0.1f), 2}));

  items[0].type.dtype = DType::F64;
  auto doubles = [&](size_t) -> Result<Tensor> { return Tensor::zeros(items[0].type); };
  ASSERT_TRUE(write_safetensors(path, items, doubles).ok());
  Graph floats = load("model m(x: f32[2]) { param w: f32[2]\n x * w }\n");
  EXPECT_EQ(open_weights(floats, path).error().code, Code::mismatched_weights);
}

TEST_F(Weights, ARecordOfFoldingThatIsNestedDeeplyIsRefused) {
  std::vector<SafetensorsItem> items = {{"w", f32({2})}};
  auto source = [&](size_t i) { return Tensor::zeros(items[i].type); };
  ASSERT_TRUE(write_safetensors(path, items, source,
                                {{"tangram.folded", "model m(x: f32[2]) { x }"},
                                 {"tangram.folded_paths", std::string(1'000'000, '[')}}));
  auto file = open_weight_file(path);
  ASSERT_TRUE(file);
  Result<std::vector<Graph>> foldings = read_foldings(**file);
  ASSERT_FALSE(foldings);
  EXPECT_EQ(foldings.error().code, Code::bad_data_file);
}

TEST_F(Weights, FoldingLeavesNothingToComputeAndChangesNoValue) {
  Graph graph = load(kNet);
  Folded folded = fold_weights(graph);
  EXPECT_EQ(verify(folded.graph), "");
  EXPECT_EQ(verify(folded.values), "");
  std::vector<std::string> paths;
  for (const WeightRow& row : compare_weights(folded.graph, nullptr)) paths.push_back(row.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"stem.conv.w", "stem.bn.scale", "stem.bn.shift",
                                             "stem.bn.mean", "stem.bn.variance", "head.w", "head.b",
                                             "a", "b", "constant.folded", "a.folded"}));
  for (uint32_t i = 0; i < folded.graph.size(); ++i) {
    const Node& node = folded.graph.node({i});
    EXPECT_TRUE(!node.weight_only || op_info(node.op).has(Trait::Leaf));
  }
  ASSERT_EQ(folded.graph.inputs().size(), 2u) << "an input that nothing needs is kept";
  EXPECT_EQ(folded.graph.outputs()[1].name, "shift");
  ASSERT_TRUE(save_folded_weights(folded, on_ref(), path).ok());
  Graph again = load(to_text(folded.graph));
  Result<WeightSource> source = open_weights(again, path);
  ASSERT_TRUE(source) << source.error().message;
  std::vector<Tensor> before = run(graph), after = run(again, *source);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(max_rel_diff(after[i], before[i]), 0) << i;
}

TEST_F(Weights, AnOptimisedGraphIsKeptWithItsValues) {
  Graph graph = load(kNet);
  auto rules = load_rules(sources, library(), {}, sink);
  auto costs = make_analytic_cost("cpu");
  OptimizeOptions options;
  options.extract.extractor = Extractor::Greedy;
  auto optimized = optimize(graph, *rules, **costs, options, nullptr);
  ASSERT_TRUE(optimized.ok());
  Folded folded = fold_weights(optimized->graph);
  ASSERT_TRUE(save_folded_weights(folded, on_ref(), path).ok());
  Graph again = load(to_text(folded.graph));
  EXPECT_EQ(fold_weights(again).values.outputs().size(), 0u) << "nothing is left to fold";
  Result<WeightSource> source = open_weights(again, path);
  ASSERT_TRUE(source) << source.error().message;
  std::vector<Tensor> before = run(graph), after = run(again, *source);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_LT(max_rel_diff(after[i], before[i]), 1e-5);
}

/// Large folded weights are computed in batches. Several values share inputs, in any order.
TEST_F(Weights, BatchesGiveTheOutputsBetweenThem) {
  Graph graph = load("model m(x: f32[4, 8]) -> (y: f32[4, 8]) {\n  param a: f32[8, 8]\n"
                     "  param b: f32[8, 8]\n  let c = a @ b\n  let d = exp(c) + a\n"
                     "  x @ c + x @ d + x @ (d @ c) + x @ relu(b)\n}\n");
  Graph values = fold_weights(graph).values;
  ASSERT_EQ(values.outputs().size(), 4u);
  std::vector<Tensor> whole = run(values);
  for (int64_t bytes : {1, 8 * 8 * 4 + 1, 1 << 20}) {
    std::vector<std::string> names;
    size_t at = 0;
    for (const Graph& batch : in_batches(values, bytes)) {
      EXPECT_EQ(verify(batch), "");
      for (const Tensor& value : run(batch)) EXPECT_EQ(max_rel_diff(value, whole[at++]), 0);
      for (const GraphOutput& output : batch.outputs()) names.push_back(output.name);
    }
    ASSERT_EQ(names.size(), values.outputs().size()) << bytes;
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], values.outputs()[i].name);
  }
  EXPECT_EQ(in_batches(values, 8 * 8 * 4 + 1).size(), 2u);
}

TEST_F(Weights, ComputeFoldedValuesInAnyOrderAndAgain) {
  Folded folded = fold_weights(load(kNet));
  WeightSource weights = folded_weights(folded, on_ref());
  std::vector<Tensor> expected = run(folded.values);
  for (int again = 0; again < 2; ++again)
    for (size_t i = folded.values.outputs().size(); i-- > 0;) {
      const GraphOutput& output = folded.values.outputs()[i];
      PlanValue value;
      value.kind = PlanValue::Kind::Weight;
      value.type = folded.values.type(output.node);
      value.name = output.name;
      Result<Tensor> tensor = weights(value);
      ASSERT_TRUE(tensor) << tensor.error().message;
      EXPECT_EQ(max_rel_diff(*tensor, expected[i]), 0) << output.name;
    }
}

TEST_F(Weights, AModelOfConstantsAlone) {
  Graph graph = load("model m(x: f32[2]) -> (y: f32[2]) { iota(2) + ones([2]) }\n");
  Folded folded = fold_weights(graph);
  ASSERT_TRUE(save_folded_weights(folded, on_ref(), path).ok());
  Result<WeightSource> source = open_weights(folded.graph, path);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(max_rel_diff(run(folded.graph, *source)[0], run(graph)[0]), 0);
}

} // namespace
} // namespace tg
