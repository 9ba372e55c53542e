// Tests which graphs stay loaded between requests.
#include "compiler/trial/loaded_graphs.h"

#include "tests/unit/api/loading.h"

#include <map>

namespace tg {
namespace {

class LoadedGraphsOfRef : public test::Loading {
protected:
  std::map<std::string, int> loaded; // number of loads, by the graph's weight

  PrepareOptions options(int64_t limit_bytes) {
    PrepareOptions options;
    options.backend = "ref";
    options.memory_limit_bytes = limit_bytes;
    options.weights = [this](const PlanValue& value) {
      ++loaded[value.name];
      return Tensor::zeros(value.type);
    };
    return options;
  }
  /// A graph whose memory is 1 MiB and little more.
  Graph graph(const std::string& weight) {
    return load("model m(x: f32[8, 512]) -> (y: f32[8, 512]) {\n  param " + weight +
                ": f32[512, 512]\n  x @ " + weight + "\n}\n");
  }
};

constexpr int64_t kMiB = 1 << 20;

TEST_F(LoadedGraphsOfRef, TheSourceAndTheLastFewStay) {
  LoadedGraphs graphs(options(100 * kMiB));
  for (const char* name : {"source", "a", "b", "c", "d"})
    ASSERT_TRUE(graphs.get(graph(name)).ok()) << name;
  for (const char* name : {"source", "d", "c", "b", "a"})
    ASSERT_TRUE(graphs.get(graph(name)).ok()) << name;
  EXPECT_EQ(loaded,
            (std::map<std::string, int>{{"source", 1}, {"a", 2}, {"b", 1}, {"c", 1}, {"d", 1}}));
}

TEST_F(LoadedGraphsOfRef, WithinTheMemoryLimit) {
  LoadedGraphs graphs(options(5 * kMiB / 2));
  for (const char* name : {"source", "a", "b", "source", "b", "a"})
    ASSERT_TRUE(graphs.get(graph(name)).ok()) << name;
  EXPECT_EQ(loaded, (std::map<std::string, int>{{"source", 1}, {"a", 2}, {"b", 1}}));
}

TEST_F(LoadedGraphsOfRef, KeepGraphsInUseLoaded) {
  LoadedGraphs graphs(options(5 * kMiB / 2));
  ASSERT_TRUE(graphs.get(graph("source")).ok());
  auto used = graphs.get(graph("a"));
  ASSERT_TRUE(used.ok());
  ASSERT_TRUE(graphs.get(graph("b"), *used).ok());
  EXPECT_TRUE((*used)->whole().executable->run_once().ok());
  ASSERT_TRUE(graphs.get(graph("a")).ok());
  ASSERT_TRUE(graphs.get(graph("source")).ok());
  EXPECT_EQ(loaded, (std::map<std::string, int>{{"source", 2}, {"a", 1}, {"b", 1}}));
}

/// A graph that exceeds the limit by itself fails, even if all others are unloaded.
TEST_F(LoadedGraphsOfRef, RejectAGraphAboveTheLimit) {
  LoadedGraphs graphs(options(3 * kMiB / 2));
  ASSERT_TRUE(graphs.get(graph("source")).ok());
  Graph large = load("model m(x: f32[8, 1024]) -> (y: f32[8, 1024]) {\n"
                     "  param large: f32[1024, 1024]\n  x @ large\n}\n");
  auto failed = graphs.get(large);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::memory_limit);
  EXPECT_TRUE(graphs.get(graph("source")).ok());
}

} // namespace
} // namespace tg
