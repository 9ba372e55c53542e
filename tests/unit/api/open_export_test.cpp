// Tests ONNX files for open sizes: read at other sizes, a file gives the results of the model at
// these sizes.
#include "compiler/api/files/onnx_export.h"
#include "compiler/api/files/weights.h"
#include "compiler/import/onnx/file/schema.h"
#include "runtime/random.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

namespace tg {
namespace {

std::string contents(const std::string& path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

struct OpenExportTest : testing::Test {
  SourceManager sources;
  std::string open_path = testing::TempDir() + "tangram_open_export_test.onnx";

  ~OpenExportTest() override { std::remove(open_path.c_str()); }

  static PrepareOptions on_ref() {
    PrepareOptions options;
    options.backend = "ref";
    return options;
  }
  OpenModel open(const std::string& text, const std::string& name = "") {
    DiagnosticSink sink;
    ModelRequest request;
    request.model = name;
    std::optional<OpenModel> model =
        OpenModel::open(sources, sources.add("test.tg", text), request, sink);
    for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
    return *model;
  }
  static Result<LoadedModel> at(const OpenModel& model, llvm::ArrayRef<int64_t> point) {
    DiagnosticSink sink;
    std::optional<LoadedModel> loaded = model.at(point, sink);
    if (!loaded) return sink.all().front();
    return std::move(*loaded);
  }
  Result<OnnxExport> write(const OpenModel& model, int opset = 18) {
    return export_open_onnx(
        model.sizes(), [&](llvm::ArrayRef<int64_t> point) { return at(model, point); }, on_ref(),
        opset, open_path);
  }
  onnx::schema::Model written(const OpenModel& model, int opset = 18) {
    Result<OnnxExport> done = write(model, opset);
    EXPECT_TRUE(done.ok()) << done.error().message;
    onnx::schema::Model file;
    EXPECT_TRUE(file.ParseFromString(contents(open_path)));
    return file;
  }
  std::string message(const std::string& text) {
    Result<OnnxExport> done = write(open(text));
    return done ? "no error" : done.error().message;
  }
  static std::vector<Tensor> results(const Graph& graph, const PrepareOptions& options) {
    Result<Prepared> prepared = prepare(graph, options);
    EXPECT_TRUE(prepared.ok()) << prepared.error().message;
    Result<std::vector<Tensor>> inputs = random_inputs(prepared->plan, 1);
    EXPECT_TRUE(inputs.ok()) << inputs.error().message;
    Result<std::vector<Tensor>> outputs = prepared->executable->run(*inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.error().message;
    return std::move(*outputs);
  }
  /// Compares the results of the file, read at these sizes, with those of the model.
  void compare(const OpenModel& model, llvm::ArrayRef<int64_t> point) {
    SCOPED_TRACE(text_of(model.sizes(), point));
    Result<LoadedModel> fixed = at(model, point);
    ASSERT_TRUE(fixed.ok()) << fixed.error().message;
    DiagnosticSink sink;
    ModelRequest request;
    for (NodeId input : fixed->graph.inputs()) {
      const Shape& shape = fixed->graph.type(input).shape;
      request.onnx_options.shapes[fixed->graph.attr(input, 0).text] = {shape.begin(), shape.end()};
    }
    std::optional<LoadedModel> read = load_model(sources, open_path, request, sink);
    for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
    ASSERT_TRUE(read);
    PrepareOptions with_weights = on_ref();
    take_weights(with_weights, read->weights);
    std::vector<Tensor> want = results(fixed->graph, on_ref());
    std::vector<Tensor> got = results(read->graph, with_weights);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string& name = fixed->graph.outputs()[i].name;
      ASSERT_EQ(got[i].type().text(), want[i].type().text()) << name;
      EXPECT_LE(max_rel_diff(got[i], want[i]), 1e-5) << name;
    }
  }
};

/// Returns sizes of the ranges: ends, 1, primes and others.
sizes::Point draw(std::mt19937_64& random, llvm::ArrayRef<OpenSize> sizes) {
  sizes::Point point;
  for (const OpenSize& size : sizes) {
    constexpr int64_t kPrimes[] = {2, 3, 7, 13, 31, 61, 97};
    int64_t n = size.range.least + static_cast<int64_t>(random() % 90);
    switch (random() % 4) {
    case 0: n = size.range.least; break;
    case 1: n = kPrimes[random() % std::size(kPrimes)]; break;
    case 2: n = size.range.most.value_or(n) % 100; break;
    }
    n = std::max(n, size.range.least);
    point.push_back(std::min(n, size.range.most.value_or(n)));
  }
  return point;
}

TEST_F(OpenExportTest, OperatorsAreReadAtOtherSizes) {
  std::string text = contents(TG_SOURCE_DIR "/tests/oracle/open/operators.tg");
  std::regex heading("\nmodel (\\w+)\\(");
  std::mt19937_64 random(3);
  size_t count = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), heading), end; it != end; ++it, ++count) {
    SCOPED_TRACE((*it)[1].str());
    OpenModel model = open(text, (*it)[1].str());
    DiagnosticSink sink;
    EXPECT_TRUE(model.check(sink));
    for (int opset : {13, 18}) {
      Result<OnnxExport> done = write(model, opset);
      if (!done && done.error().message.find("requires opset") != std::string::npos) continue;
      ASSERT_TRUE(done.ok()) << done.error().message;
      for (int i = 0; i < 4; ++i) compare(model, draw(random, model.sizes()));
    }
  }
  EXPECT_GE(count, 10U);
}

TEST_F(OpenExportTest, DimensionsHaveTheNamesOfSizes) {
  onnx::schema::Model file =
      written(open("model m(x: f32[S, 4], y: f32[2 * S], S: int in 1..99 = 9) -> (z: f32[S, 4], "
                   "d: f32[2 * S]) {\n  (x + 1, y)\n}\n"));
  auto dim = [](const onnx::schema::ValueInfo& info, int axis) {
    return info.type().tensor_type().shape().dim(axis);
  };
  EXPECT_EQ(dim(file.graph().input(0), 0).dim_param(), "S");
  EXPECT_EQ(dim(file.graph().input(0), 1).dim_value(), 4);
  EXPECT_FALSE(dim(file.graph().input(1), 0).has_dim_value());
  EXPECT_EQ(dim(file.graph().output(0), 0).dim_param(), "S");
  EXPECT_EQ(file.graph().node_size(), 2); // no size is computed
}

TEST_F(OpenExportTest, ReshapesCopyAndInferDimensions) {
  auto nodes = [&](const std::string& shape, const std::string& type) {
    std::string names;
    OpenModel model = open("model m(x: f32[N, S, 8], N: int in 1.. = 2, S: int in 1.. = 20) -> (y: "
                           "f32" +
                           type + ") {\n  reshape(x, " + shape + ")\n}\n");
    onnx::schema::Model file = written(model);
    for (const auto& node : file.graph().node()) names += node.op_type() + " ";
    return names;
  };
  EXPECT_EQ(nodes("[N, S, 2, 4]", "[N, S, 2, 4]"), "Reshape ");
  EXPECT_EQ(nodes("[N * S, 8]", "[N * S, 8]"), "Reshape ");
  EXPECT_EQ(nodes("[2, N, 4 * S]", "[2, N, 4 * S]"), "Shape Shape Mul Concat Reshape ");
}

TEST_F(OpenExportTest, MessagesNameWhatDependsOnASize) {
  // The kernel of a pool that is not the whole image is an attribute.
  std::string pool =
      message("model m(x: f32[1, 2, S, S], S: int in 8..99 = 20) -> (y: f32[1, 2, 2, "
              "2]) {\n  max_pool2d(x, kernel = S - 1)\n}\n");
  EXPECT_NE(pool.find("its attribute `kernel_shape` differs"), std::string::npos) << pool;
  std::string weight = message("model m(x: f32[S], S: int in 1..99 = 20) -> (y: f32[S]) {\n"
                               "  param w: f32[S]\n  x + w\n}\n");
  EXPECT_NE(weight.find("the weight `w` differs"), std::string::npos) << weight;
  std::string hidden = message("model m(x: f32[2], S: int in 1..99 = 20) -> (y: f32[S]) {\n"
                               "  broadcast(reduce_sum(x, axes = [0]), [S])\n}\n");
  EXPECT_NE(hidden.find("`S` is not a dimension of an input"), std::string::npos) << hidden;
}

/// A size that is only in sums and multiples of dimensions follows from them.
TEST_F(OpenExportTest, SizesFollowFromSumsOfDimensions) {
  OpenModel model = open("model m(x: f32[3 * S + T + 1], y: f32[T], S: int in 1..40 = 9, T: int in "
                         "1..40 = 8) -> (z: f32[S, T]) {\n"
                         "  broadcast(y, [S, T]) + reduce_sum(x, axes = [0])\n}\n");
  written(model);
  for (sizes::Point point : {sizes::Point{1, 1}, {40, 7}, {13, 40}}) compare(model, point);
}

} // namespace
} // namespace tg
