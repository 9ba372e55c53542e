// Tests that places of operators are described in words.
#include "compiler/search/explorer.h"

#include "tests/unit/search/search_fixture.h"

namespace tg {
namespace {

TEST(PlaceText, NamesTheOperatorAndTheWeightsBelow) {
  Graph graph = test::layers(2);
  EGraph egraph = egraph_of(graph);
  std::set<std::string> places;
  for (uint32_t n = 0; n < egraph.node_bound(); ++n)
    if (egraph.node({n}).op != OpKind::Input && egraph.node({n}).op != OpKind::Weight)
      places.insert(place_text(egraph, {n}));
  EXPECT_TRUE(places.count("matmul f32[8, 16] of w0"));
  EXPECT_TRUE(places.count("matmul f32[8, 16] of w1"));
  EXPECT_TRUE(places.count("relu f32[8, 16] of w0"));
}

} // namespace
} // namespace tg
