// Tests programs with mistakes: a token of a correct program is replaced, dropped or doubled.
// Then checking terminates without a crash, and reports at least one error with a place
// in a file. Otherwise the program is still correct, and its graph is well formed
// and can be written as text and read again.
#include "tests/unit/ir/ir_test.h"

#include <random>

namespace tg {
namespace {

using Random = std::mt19937_64;

/// Splits a text into words, numbers and punctuation. Spaces and comments between them
/// are preserved.
std::vector<std::string> tokens(llvm::StringRef text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t length = 1;
    if (text[0] == '#')
      length = std::min(text.find('\n'), text.size());
    else if (text[0] == '"')
      length = std::min(text.find('"', 1), text.size() - 1) + 1;
    else if (llvm::isAlnum(text[0]) || text[0] == '_')
      length = std::min(text.find_if_not([](char c) { return llvm::isAlnum(c) || c == '_'; }),
                        text.size());
    out.push_back(text.take_front(length).str());
    text = text.drop_front(length);
  }
  return out;
}

bool is_word(const std::string& token) { return llvm::isAlnum(token[0]) || token[0] == '_'; }

std::string mutate(std::vector<std::string> all, Random& random) {
  static const std::vector<std::string> kWords = {"x",
                                                  "N",
                                                  "C",
                                                  "w",
                                                  "0",
                                                  "1",
                                                  "2",
                                                  "7",
                                                  "none",
                                                  "relu",
                                                  "same",
                                                  "0.5",
                                                  "true",
                                                  "split",
                                                  "concat",
                                                  "shape",
                                                  "rank",
                                                  "max",
                                                  "softmax",
                                                  "[1, 2]",
                                                  "(x, x)",
                                                  "[x]",
                                                  "x[0]",
                                                  "x[:, 1:2]",
                                                  "f32",
                                                  "int",
                                                  "let y = x\n",
                                                  "if true { x } else { 1 }",
                                                  "4000000000",
                                                  "-1",
                                                  "conv2d(x, x)",
                                                  "transpose(x)",
                                                  "zeros([2])",
                                                  "N / 3",
                                                  "relu(none)"};
  std::vector<size_t> words;
  for (size_t i = 0; i < all.size(); ++i)
    if (is_word(all[i])) words.push_back(i);
  for (size_t changes = 1 + random() % 3; changes-- > 0;) {
    std::string& token = all[words[random() % words.size()]];
    if (token.empty()) continue;
    // Mostly tokens that the grammar still accepts, since this test is about semantic mistakes.
    bool number = llvm::isDigit(token[0]);
    switch (random() % 8) {
    case 0: token = kWords[random() % kWords.size()]; break;
    case 1: token.clear(); break;
    case 2: token += "x"; break;
    case 3: token = number ? "0" : token + token; break;
    default: {
      std::string other = all[words[random() % words.size()]];
      bool fits = !other.empty() && (number == llvm::isDigit(other[0]) || random() % 3 == 0);
      token = fits ? other : number ? std::to_string(random() % 9) : "x";
    }
    }
  }
  std::string text;
  for (const std::string& token : all) text += token;
  return text;
}

void expect_sound(const std::string& name, const std::string& text) {
  SCOPED_TRACE(text);
  test::Built b(text, {}, "", std::string(TG_SOURCE_DIR) + "/" + name);
  if (!b.graph) {
    EXPECT_GT(b.sink.errors(), 0u);
    EXPECT_NE(b.rendered(), "");
    for (const Diagnostic& d : b.sink.all()) {
      EXPECT_NE(d.code, Code::internal) << d.message;
      if (d.span.valid()) {
        EXPECT_LE(d.span.begin, d.span.end);
        EXPECT_LE(d.span.end, b.sources.file(d.span.file).text().size());
      }
    }
    return;
  }
  ASSERT_EQ(verify(*b.graph), "");
  test::Built again(to_text(*b.graph));
  ASSERT_TRUE(again.graph) << again.rendered() << to_text(*b.graph);
  EXPECT_EQ(difference(*b.graph, *again.graph), "");
}

TEST(InstantiateFuzz, MistakesAreReported) {
  int programs = 0;
  for (const char* folder : {"examples", "tests/golden/ir"})
    for (const std::string& name : test::tg_files(folder)) {
      std::vector<std::string> all = tokens(test::read_source(name));
      Random random(17);
      for (int i = 0; i < 100; ++i) {
        expect_sound(name, mutate(all, random));
        if (::testing::Test::HasFailure()) return;
        ++programs;
      }
    }
  EXPECT_GT(programs, 1000);
}

} // namespace
} // namespace tg
