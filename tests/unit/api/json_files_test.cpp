// Tests JSON from outside: text that is not JSON, JSON with other content, and very deep nesting.
#include "compiler/api/files/json_files.h"

#include "compiler/report/trace_check.h"
#include "tests/unit/runtime/damage.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

template <class T> std::string message(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(JsonFiles, PriorsAreRead) {
  Result<PriorTable> table =
      parse_priors(R"({"fuse": {"tried": 12, "paid": 3, "gain": 0.25}, "none": {"tried": 0,
                       "paid": 0, "gain": 0}})",
                   "p.json");
  ASSERT_TRUE(table) << message(table);
  ASSERT_EQ(table->size(), 2u);
  EXPECT_EQ(table->at("fuse").tried, 12);
  EXPECT_EQ(table->at("fuse").paid, 3);
  EXPECT_EQ(table->at("fuse").gain, 0.25);
}

TEST(JsonFiles, PriorsThatCannotBeAreRefused) {
  for (const char* text :
       {"", "[]", "{", R"({"r": 1})", R"({"r": {"tried": 1, "paid": 2, "gain": 0}})",
        R"({"r": {"tried": 1, "paid": 0}})", R"({"r": {"tried": -1, "paid": -1, "gain": 0}})",
        R"({"r": {"tried": 1, "paid": 0, "gain": 0}} {})",
        // Numbers as text; numbers out of range; another kind of Tangram file;
        // a version that does not exist.
        R"({"r": {"tried": "1", "paid": 0, "gain": 0}})",
        R"({"r": {"tried": 1e999, "paid": 1e999, "gain": 0}})",
        R"({"r": {"tried": 1, "paid": 1, "gain": 1e999}})", R"({"tangram_trace": 1, "report": {}})",
        R"({"version": 2, "r": {"tried": 1, "paid": 0, "gain": 0}})"}) {
    Result<PriorTable> table = parse_priors(text, "p.json");
    EXPECT_FALSE(table) << text;
    EXPECT_NE(message(table).find("`p.json`"), std::string::npos) << text;
  }
}

/// A trace with all mandatory fields, and one element of each list.
constexpr const char* kTrace = R"({"tangram_trace": 1, "report": {
  "model": "m", "search": "mcts", "extract": "ilp", "cost_model": "c", "stopped_by": "s",
  "rules": 3, "egraph_nodes": 5, "simulations": 0, "seed": 1, "cost_before_us": 2.5,
  "cost_after_us": 1, "total_s": 0.5, "lower_bound_us": null},
 "points": [{"s": 0.5, "cost_us": null, "where": ""}],
 "columns": 1, "applications": [{"rule": "r", "cells": [[0, 2, ["here"]]]}],
 "tree": [{"parent": -1, "rule": "", "places": 0, "where": "", "visits": 1, "value": 0,
           "cost_us": 1, "nodes": 4, "chosen": true}],
 "steps": [{"where": "w", "before_us": 2, "after_us": 1, "rules": {"r": 1}}],
 "chain": [{"rule": "r", "where": "", "before": "x", "after": "y", "backwards": false}],
 "source": [{"op": "relu", "type": "f32[2]", "attrs": "", "changed": true, "operands": []},
            {"op": "tanh", "type": "f32[2]", "attrs": "", "changed": true, "operands": [0]}],
 "result": []})";

TEST(JsonFiles, DamagedTracesSayWhere) {
  struct Damage {
    const char *from, *to, *told;
  };
  for (Damage damage : {
           Damage{R"("model": "m", )", "", "trace.report.model"},
           {R"("cost_before_us": 2.5)", R"("cost_before_us": null)", "trace.report.cost_before_us"},
           {R"("lower_bound_us": null)", R"("lower_bound_us": "none")", "report.lower_bound_us"},
           {R"("seed": 1)", R"("seed": "1")", "trace.report.seed"},
           {R"("cost_before_us": 2.5)", R"("cost_before_us": 1e999)", "cost_before_us"},
           {R"([{"s": 0.5, "cost_us": null, "where": ""}])", R"("str")", "trace.points"},
           {R"("s": 0.5)", R"("s": "0.5")", "trace.points[0].s"},
           {R"("columns": 1, )", "", "trace.columns"},
           {R"([[0, 2, ["here"]]])", R"([[1, 2, ["here"]]])", "applications[0].cells[0][0]"},
           {R"([[0, 2, ["here"]]])", R"([[0, 2]])", "trace.applications[0].cells[0]"},
           {R"(["here"])", "[7]", "trace.applications[0].cells[0][2]"},
           {R"("parent": -1)", R"("parent": 0)", "trace.tree[0].parent"},
           {R"("chosen": true)", R"("chosen": 1)", "trace.tree[0].chosen"},
           {R"("rules": {"r": 1})", R"("rules": ["r"])", "trace.steps[0].rules"},
           {R"("before": "x", )", "", "trace.chain[0].before"},
           {R"("operands": [0])", R"("operands": [1])", "trace.source[1].operands[0]"},
           {R"("operands": [0])", R"("operands": [0.5])", "trace.source[1].operands[0]"},
           {R"("result": [])", R"("result": {})", "trace.result"},
       }) {
    std::string text = kTrace;
    text.replace(text.find(damage.from), std::string(damage.from).size(), damage.to);
    std::string told = message(parse_trace(text, "t.json"));
    EXPECT_NE(told.find("`t.json`"), std::string::npos) << told;
    EXPECT_NE(told.find(damage.told), std::string::npos) << damage.to << ": " << told;
  }
}

TEST(JsonFiles, OnlyTracesAreTraces) {
  EXPECT_TRUE(parse_trace(kTrace, "t")) << message(parse_trace(kTrace, "t"));
  EXPECT_FALSE(parse_trace(R"({"tangram_trace": 2, "report": {}})", "t"));
  EXPECT_FALSE(parse_trace(R"({"tangram_trace": 1, "report": []})", "t"));
  EXPECT_FALSE(parse_trace("[1]", "t"));
  EXPECT_FALSE(parse_trace("\xff", "t"));
}

TEST(JsonFiles, NestingIsBounded) {
  auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth), "d", Code::bad_trace_file))
      << message(parse_json(nested(100), "d", Code::bad_trace_file));
  EXPECT_FALSE(parse_json(nested(kMaxJsonDepth + 1), "d", Code::bad_trace_file));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "d", Code::bad_trace_file));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse_priors(objects, "d"));
  EXPECT_FALSE(parse_trace(objects, "d"));
}

TEST(JsonFiles, BracketsInStringsDoNotNest) {
  std::string brackets(1000, '[');
  EXPECT_TRUE(parse_json("[\"" + brackets + "\", \"\\\"" + brackets + "\\\\\"]", "s",
                         Code::bad_trace_file));
}

// The JSON library cannot be built with libFuzzer's compiler, so that this test mutates bytes
// itself. Damaged text must give an error or valid priors.
TEST(JsonFiles, SurviveDamage) {
  const std::string seeds[] = {
      R"({"fuse": {"tried": 12, "paid": 3, "gain": 0.25}, "join": {"tried": 1, "paid": 0, "gain": 0}})",
      kTrace};
  size_t read = 0;
  for (uint64_t round = 0; round < 20'000; ++round) {
    std::string text = test::damaged(seeds[round % 2], round, "{}[]\",:-0e9\\");
    Result<PriorTable> priors = parse_priors(text, "p");
    Result<llvm::json::Value> trace = parse_trace(text, "t");
    read += priors.ok() + trace.ok();
    if (!priors) continue;
    for (const auto& [rule, record] : *priors) {
      EXPECT_GE(record.paid, 0) << text;
      EXPECT_LE(record.paid, record.tried) << text;
    }
  }
  EXPECT_GT(read, 100u); // some changes must leave the text valid
}

} // namespace
} // namespace tg
