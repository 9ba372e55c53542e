// A fixture that loads a model and the built-in rules from text, for tests of the driver.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/rules/from_ast.h"

#include <gtest/gtest.h>

namespace tg::test {

class Loading : public testing::Test {
protected:
  SourceManager sources;
  DiagnosticSink sink;

  Graph load(const std::string& text) {
    std::optional<Graph> graph = load_model(sources, sources.add("test.tg", text), {}, sink);
    EXPECT_TRUE(graph);
    return *graph;
  }
  std::vector<Rule> rules() {
    auto loaded = load_rules(sources, library(), {}, sink);
    EXPECT_TRUE(loaded);
    return *loaded;
  }
};

} // namespace tg::test
