// Tests the reader of e-graphs: the accepted form, and the errors for anything else.
#include "compiler/extract/egraph_json.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

std::string fault_of(llvm::StringRef text) {
  Result<SerializedEGraph> egraph = parse_egraph_json(text, "f");
  return egraph ? "" : egraph.error().message;
}

TEST(EGraphJson, KeepsTheOrderOfTheFile) {
  auto egraph = parse_egraph_json(R"({
    "root_eclasses": ["z", "y", "z"],
    "nodes": {
      "2": {"eclass": "z", "children": ["1", "3"], "op": "f"},
      "1": {"eclass": "y", "op": "g", "cost": 10000},
      "3": {"eclass": "y", "op": "h", "cost": 0.5, "children": ["1"], "subsumed": true}
    }, "class_data": {}})",
                                  "f");
  ASSERT_TRUE(egraph.ok()) << egraph.error().message;
  const ExtractionProblem& p = egraph->problem;
  ASSERT_EQ(p.class_count(), 2u);
  EXPECT_EQ(egraph->classes[0], "z");
  ASSERT_EQ(egraph->node_ids.size(), 3u);
  EXPECT_EQ(egraph->node_ids[0], "2");
  EXPECT_EQ(p.cost({0}), 1) << "the cost of a node that gives none";
  // Both children belong to class y, although the file names different nodes.
  EXPECT_EQ(p.children({0}), llvm::ArrayRef<ClassIx>({{1}, {1}}));
  EXPECT_EQ(p.roots(), llvm::ArrayRef<ClassIx>({{0}, {1}, {0}}));
  EXPECT_FALSE(p.usable({2})) << "subsumed, and its own child";
}

TEST(EGraphJson, SurvivesBeingMoved) {
  auto egraph = parse_egraph_json(R"({"nodes": {"n": {"op": "f", "eclass": "c"}}})", "f");
  ASSERT_TRUE(egraph.ok());
  SerializedEGraph moved = std::move(*egraph);
  EXPECT_EQ(moved.node_ids[0], "n");
  EXPECT_EQ(moved.classes[0], "c");
  EXPECT_TRUE(moved.problem.roots().empty());
}

struct Refusal {
  const char* text;
  const char* message;
};

TEST(EGraphJson, RefusesByName) {
  const Refusal kRefusals[] = {
      {R"({"nodes": {"a": {"eclass": "0"}}})", "f:1: node `a`: the field `op` is missing"},
      {R"({"nodes": {"a": {"op": "x"}}})", "f:1: node `a`: the field `eclass` is missing"},
      {R"({"nodes": {"a": {"op": "x", "eclass": "0", "children": ["b"]}}})",
       "f: node `a`: its child `b` does not exist"},
      {"{\"nodes\": {\"a\": {\"op\": \"x\", \"eclass\": \"0\"},\n\"a\": {}}}",
       "f:2: the node `a` is given twice"},
      {R"({"nodes": {"a": {"op": "x", "op": "y", "eclass": "0"}}})",
       "f:1: node `a`: the key `op` is given twice"},
      {R"({"nodes": {}, "nodes": {}})", "f:1: the key `nodes` is given twice"},
      {R"({"nodes": {}, "root_eclasses": ["q", "r"]})",
       "f: there are no nodes of the root classes `q`, `r`"},
      {R"({"root_eclasses": []})", "f: the key `nodes` is missing"},
      {R"({"nodes": []})", "f:1: `nodes` must be an object, not an array"},
      {R"({"nodes": {"a": 1}})", "f:1: node `a`: expected an object, found a number"},
      {R"({"nodes": {"a": {"op": 1}}})", "f:1: node `a`: the field `op` must not be a number"},
      {R"({"nodes": {"a": {"children": [1]}}})",
       "f:1: node `a`: a child must be a string, not a number"},
      {R"({"nodes": {"a": {"cost": null}}})", "f:1: node `a`: the field `cost` must not be null"},
      {R"({"nodes": {}, "root_eclasses": [[]]})", "f:1: a root must be a string, not an array"},
      {"[]", "f:1: expected an object, found an array"},
  };
  for (const Refusal& refusal : kRefusals) EXPECT_EQ(fault_of(refusal.text), refusal.message);
}

TEST(EGraphJson, RefusesInvalidNumbers) {
  for (const char* cost : {"1e999", "-1e999", "NaN", "Infinity", "-inf", "1e", "0x10"}) {
    std::string text =
        std::string(R"({"nodes": {"a": {"op": "x", "eclass": "0", "cost": )") + cost + "}}}";
    EXPECT_TRUE(llvm::StringRef(fault_of(text)).startswith("f:1: ")) << cost << fault_of(text);
  }
}

TEST(EGraphJson, TakesAnyNumberToItsNearestDouble) {
  const std::pair<std::string, double> kNumbers[] = {
      {"0.1", 0.1},
      {"10000", 10000},
      {"18446744073709551615", 18446744073709551616.0},
      {"4.9406564584124654e-324", 4.9406564584124654e-324},
      {"1.7976931348623157e308", 1.7976931348623157e308},
      {"1e-400", 0},
      // More digits than a double has, and an exponent below its range: a former bug
      // of the JSON library.
      {std::string(100, '5') + ".5e-100", 5.5555555555555555e-1},
      {"55555." + std::string(120, '5') + "e-360", 0},
  };
  for (const auto& [text, value] : kNumbers) {
    std::string file = R"({"nodes": {"a": {"op": "x", "eclass": "0", "cost": )" + text + "}}}";
    Result<SerializedEGraph> egraph = parse_egraph_json(file, "f");
    ASSERT_TRUE(egraph) << text << ": " << egraph.error().message;
    EXPECT_EQ(egraph->problem.cost({0}), value) << text;
    // Unknown fields are ignored.
    EXPECT_EQ(fault_of(R"({"nodes": {}, "note": )" + text + "}"), "") << text;
  }
}

TEST(EGraphJson, BoundsItsDepth) {
  std::string brackets(1'000'000, '[');
  EXPECT_NE(fault_of(brackets), "");
  EXPECT_EQ(fault_of("{\"comment\": " + brackets), "f:1: values nest deeper than 64 levels");
  EXPECT_NE(fault_of(R"({"nodes": {"a": {"op": "x", "extra": )" + brackets), "");
  EXPECT_NE(fault_of(std::string(1'000'000, '{')), "");
}

TEST(EGraphJson, RefusesTextThatEndsTooSoon) {
  llvm::StringRef good = R"({"nodes": {"a": {"op": "x", "eclass": "0"}}, "root_eclasses": ["0"]})";
  EXPECT_EQ(fault_of(good), "");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(fault_of(good.take_front(length)), "") << length;
  EXPECT_NE(fault_of((good + "{}").str()), "") << "more than one object";
  EXPECT_NE(fault_of("{\"nodes\": {\"\xff\": {}}}"), "") << "not UTF-8";
}

} // namespace
} // namespace tg
