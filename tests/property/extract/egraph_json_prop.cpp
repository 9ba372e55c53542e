// Tests the reader of e-graphs on damaged input: for any bytes it returns a sound problem,
// or an error that names the file.
#include "compiler/extract/egraph_json.h"
#include "compiler/extract/greedy/greedy.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

constexpr llvm::StringRef kGood = R"({"nodes": {
  "a": {"op": "f", "cost": 1.5, "eclass": "0", "children": ["b", "c", "b"], "subsumed": false},
  "b": {"op": "g", "cost": -2, "eclass": "1", "children": [], "extra": [1, {"x": [null, true]}]},
  "c": {"op": "\\u00e9", "eclass": "2"}},
  "root_eclasses": ["0", "1", "0"], "class_data": {"0": {"type": "t"}}})";

/// Changes, drops, doubles or moves some bytes, sometimes to characters that have a meaning
/// in JSON.
std::string damaged(std::mt19937_64& random, llvm::StringRef text) {
  constexpr llvm::StringRef kBytes = "{}[]\",:0123456789.eE+-ntf\\u\n\0\xff";
  std::string out = text.str();
  for (uint64_t i = 1 + random() % 6; i > 0 && !out.empty(); --i) {
    size_t at = random() % out.size(), length = random() % 12;
    switch (random() % 4) {
    case 0: out[at] = kBytes[random() % kBytes.size()]; break;
    case 1: out.erase(at, length); break;
    case 2: out.insert(at, out.substr(random() % out.size(), length)); break;
    default: out.resize(random() % 3 == 0 ? at : out.size());
    }
  }
  return out;
}

TEST(EGraphJson, SurvivesDamage) {
  std::mt19937_64 random(1);
  int read = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string text = damaged(random, kGood);
    Result<SerializedEGraph> egraph = parse_egraph_json(text, "file");
    if (!egraph) {
      EXPECT_EQ(egraph.error().code, Code::bad_egraph_file);
      EXPECT_TRUE(llvm::StringRef(egraph.error().message).startswith("file")) << text;
      continue;
    }
    ++read;
    std::optional<Choice> choice = extract_greedy(egraph->problem);
    if (choice) {
      EXPECT_TRUE(check_choice(egraph->problem, *choice).ok()) << text;
    }
  }
  EXPECT_GT(read, 2'000);
}

} // namespace
} // namespace tg
