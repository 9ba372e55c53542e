// JSON from outside: what is no JSON, what is JSON but something else, and nesting beyond all
// reason.
#include "compiler/driver/json_files.h"

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
        // Numbers as text; numbers that are none; another file of Tangram's; a version that there
        // never was.
        R"({"r": {"tried": "1", "paid": 0, "gain": 0}})",
        R"({"r": {"tried": 1e999, "paid": 1e999, "gain": 0}})",
        R"({"r": {"tried": 1, "paid": 1, "gain": 1e999}})", R"({"tangram_trace": 1, "report": {}})",
        R"({"version": 2, "r": {"tried": 1, "paid": 0, "gain": 0}})"}) {
    Result<PriorTable> table = parse_priors(text, "p.json");
    EXPECT_FALSE(table) << text;
    EXPECT_NE(message(table).find("`p.json`"), std::string::npos) << text;
  }
}

TEST(JsonFiles, OnlyTracesAreTraces) {
  EXPECT_TRUE(parse_trace(R"({"tangram_trace": 1, "report": {}})", "t"));
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

// The library under the reader cannot be built with libFuzzer's compiler, so that bytes are changed
// here: whatever comes of it, nothing but an error, and priors that are read make sense.
TEST(JsonFiles, SurviveDamage) {
  const std::string seeds[] = {
      R"({"fuse": {"tried": 12, "paid": 3, "gain": 0.25}, "join": {"tried": 1, "paid": 0, "gain": 0}})",
      R"({"tangram_trace": 1, "report": {"cost": 1.5e-3}, "tree": [[0, "a\"\u00e9"], null, true]})"};
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
  EXPECT_GT(read, 100u); // the changes do not break everything at once
}

} // namespace
} // namespace tg
