// Tests models with open sizes: which sizes they have, and their instances.
#include "compiler/api/files/open_model.h"

#include "tests/unit/api/loading.h"

namespace tg {
namespace {

class OpenModels : public test::Loading {
protected:
  std::optional<OpenModel> open(const std::string& text, ModelRequest request = {}) {
    return OpenModel::open(sources, sources.add("test.tg", text), std::move(request), sink);
  }
};

const char* const kTwoSizes = "model m(x: f32[N, S], N: int in 1.. = 2, S: int in 1..64 = 4 * N,\n"
                              "        K: int = 3) { relu(x) }\n";

TEST_F(OpenModels, ListTheSizesThatNoSettingFixes) {
  std::optional<OpenModel> model = open(kTwoSizes);
  ASSERT_TRUE(model);
  EXPECT_EQ(text_of(model->sizes()), "N in 1.., S in 1..64");
  EXPECT_EQ(text_of(model->sizes(), model->sample()), "N = 2, S = 8");
  std::optional<OpenModel> fixed = open(kTwoSizes, {"", {{"N", "5"}}});
  ASSERT_TRUE(fixed);
  EXPECT_EQ(text_of(fixed->sizes(), fixed->sample()), "S = 20");
  std::optional<OpenModel> closed = open(kTwoSizes, {"", {{"N", "5"}, {"S", "7"}}});
  ASSERT_TRUE(closed);
  EXPECT_FALSE(closed->is_open());
  EXPECT_EQ(closed->at({}, sink)->graph.type(closed->at({}, sink)->graph.inputs()[0]).text(),
            "f32[5, 7]");
}

TEST_F(OpenModels, AreInstantiatedAtEachPoint) {
  std::optional<OpenModel> model = open(kTwoSizes);
  ASSERT_TRUE(model);
  for (sizes::Point point : {sizes::Point{1, 1}, {3, 64}, {101, 7}}) {
    std::optional<LoadedModel> at = model->at(point, sink);
    ASSERT_TRUE(at);
    const TensorType& type = at->graph.type(at->graph.inputs()[0]);
    EXPECT_EQ((sizes::Point{type[0], type[1]}), point);
  }
  EXPECT_FALSE(model->at({1, 65}, sink));
  EXPECT_EQ(sink.all().back().code, Code::dimension_mismatch);
}

TEST_F(OpenModels, AreCheckedForTheWholeRange) {
  const char* text = "model m(x: f32[S], y: f32[T], S: int in 1..9 = 3, T: int in 1..9 = 3) {\n"
                     "  x + y\n}\n";
  std::optional<OpenModel> model = open(text);
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->at(model->sample(), sink));
  EXPECT_FALSE(model->check(sink)); // S and T may differ
  ASSERT_TRUE(sink.failed());
  DiagnosticSink fixed;
  std::optional<OpenModel> one = open(text, {"", {{"S", "3"}, {"T", "3"}}});
  EXPECT_FALSE(one); // the sink has the errors above
  one = OpenModel::open(sources, sources.add("test.tg", text), {"", {{"S", "1"}}}, fixed);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->check(fixed)); // S = 1 is broadcast over any T
  EXPECT_EQ(text_of(one->sizes()), "T in 1..9");
}

} // namespace
} // namespace tg
