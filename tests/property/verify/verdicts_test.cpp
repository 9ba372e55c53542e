// Tests verdicts on pairs of small models with a known relation: every pair here was once wrongly
// called equal, or is equal and must stay so.
#include "compiler/verify/counterexample/trial.h"
#include "compiler/verify/equivalent.h"
#include "lang/core/support/random.h"
#include "tests/property/verify/small_model.h"

#include <llvm/Support/FormatVariadic.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace tg {
namespace {

using test::model;

using Verdict = Equivalence::Verdict;

struct Case {
  const char* left;
  const char* right;
  Verdict verdict;
};

constexpr Verdict kEqual = Verdict::Equal, kDifferent = Verdict::Different,
                  kUndecided = Verdict::Undecided;

void hold(const std::string& parameters, llvm::ArrayRef<Case> cases) {
  for (const Case& c : cases) {
    EquivalenceOptions options;
    options.caveats = true;
    Result<Equivalence> result =
        check_equivalence(model(parameters, c.left), model(parameters, c.right), options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(verdict_name(result->verdict).str(), verdict_name(c.verdict).str())
        << c.left << "  and  " << c.right << ": " << result->undecided;
    EXPECT_TRUE(!result->different() || result->counterexample) << c.left;
  }
}

TEST(Verdicts, ThresholdsAreCrossed) {
  hold("x: f32[4]", {
                        {"clip(x, -10, 10)", "x", kDifferent},
                        {"clip(x, -18.4, 18.4)", "x", kDifferent},
                        {"clip(x, -19, 19)", "x", kDifferent},
                        {"clip(x, -1000, 1000)", "x", kDifferent},
                        {"clip(x, -1e30, 1e30)", "x", kDifferent},
                        {"minimum(x, 30)", "x", kDifferent},
                        {"select(x > 25, x + 1, x)", "x", kDifferent},
                        {"select(2 * x + 3 > 25, x + 1, x)", "x", kDifferent},
                        {"select(2 * x + 3 > 2501, x + 1, x)", "x", kDifferent},
                        {"select(x * x * x > 1e10, x + 1, x)", "x", kDifferent},
                        {"select(exp(x) > 5000, x + 1, x)", "x", kDifferent},
                        {"select(x == 1234.5, x + 1, x)", "x", kDifferent},
                        {"maximum(x, 1e-12)", "relu(x)", kDifferent},
                        {"relu(relu(x))", "relu(x)", kEqual},
                        {"clip(clip(x, -19, 19), -19, 19)", "clip(x, -19, 19)", kEqual},
                        {"clip(clip(x, -25, 25), -19, 19)", "clip(x, -19, 19)", kEqual},
                    });
}

/// A threshold of a scalar, with no other element that might exceed it.
TEST(Verdicts, ThresholdsOfOneNumberAreCrossed) {
  hold("x: f32[]", {
                       {"clip(x, -19, 19)", "x", kDifferent},
                       {"select(3 * x - 7 > 77, x + 1, x)", "x", kDifferent},
                       {"maximum(x, -123456)", "x", kDifferent},
                   });
}

/// Functions that differ only beyond a threshold `{0}` of a computed number. `{1}` is 1 / `{0}`.
TEST(Verdicts, ThresholdsOfComputedNumbersAreCrossed) {
  const std::array<const char*, 3> kForms[] = {
      {"x: f32[4]", "select(reduce_sum(x, axes = [0]) > {0}, 1.0, 0.0) + x", "x"},
      {"x: f32[4]", "select(reduce_sum(x * x, axes = [0]) > {0}, x + 1, x)", "x"},
      {"x: f32[4]", "select(exp(x) * 3 - 2 > {0}, x + 1, x)", "x"},
      {"x: f32[4]", "select(x * x * x + 2 * x > {0}, x + 1, x)", "x"},
      {"x: f32[4], y: f32[4]", "select(x - 3 * y > {0}, x + y, y + x + 1)", "y + x + 1"},
      {"x: f32[4], y: f32[4]", "select(x * y == {0}, x, x + y)", "x + y"},
      {"x: f32[4], y: f32[4]", "x + relu(x * y * 0.01 - {0})", "x"},
      {"x: f32[2, 8], w: f32[8, 3]", "minimum(x @ w, {0})", "x @ w"},
      {"x: f32[2, 8], w: f32[8, 3]", "relu(x @ w) + relu(0 - x @ w - {0})", "relu(x @ w)"},
      {"x: f32[4]", "x + relu(0.2 - abs(x - {0}))", "x"},
      {"x: f32[4], y: f32[4]", "x + relu(0.2 - abs(x + 2 * y - {0}))", "x"},
      {"x: f32[4]", "select(sqrt(abs(x)) > {0}, 0, x)", "x"},
      {"x: f32[4]", "select(1 / (1 + x * x) < {1:f9}, 0, x)", "x"},
      {"x: f32[4]", "x + minimum(relu(x[0:1] - {0}), relu(x[3:4] - {0}))", "x"},
  };
  for (const auto& [parameters, form, right] : kForms)
    for (double threshold : {7.3, 45.7, 777.7, 34567.8, 3.3e7}) {
      std::string left = llvm::formatv(form, llvm::formatv("{0:f1}", threshold), 1 / threshold);
      Result<Equivalence> result =
          check_equivalence(model(parameters, left), model(parameters, right), {});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_FALSE(result->equal()) << left << "  and  " << right;
    }
}

/// Noise moves x off a number that it has to equal, but the results here are exact.
TEST(Verdicts, ExactResultsAreNotExplainedByRounding) {
  hold("x: f32[4]", {
                        {"select(x * x == 2.25, 0, x)", "x", kDifferent},
                        {"select(x * 3 == 6, x + 1, x)", "x", kDifferent},
                        {"select(x + 1 == 3.5, 0, x)", "x", kDifferent},
                        {"select(exp(x) == 1, 5, x)", "x", kDifferent},
                    });
}

TEST(Verdicts, RoundingRefutesNothing) {
  hold("x: f32[4], y: f32[4]", {
                                   {"(x + 1e25) - 1e25", "x", kEqual},
                                   {"relu(relu((x + 1e20) - 1e20))", "relu(x)", kUndecided},
                                   {"x * 65536 * 65536 * 65536 * 8192", "x", kDifferent},
                                   {"(x + y) * (x - y)", "x * x - y * y", kEqual},
                               });
}

/// Returns `links` applications of a function that amplifies differences by 1.9,
/// starting from x clipped to [-1, 1].
std::string chain(const char* link, int links) {
  std::string text = "let v0 = clip(x, -1, 1)\n";
  for (int i = 0; i < links; ++i)
    text += "let v" + std::to_string(i + 1) + " = " + llvm::formatv(link, i).str() + "\n";
  return text + "v" + std::to_string(links);
}

/// Long chains amplify rounding to any size. Results are then almost random,
/// and may by chance be as far apart as if every operation rounded worse.
TEST(Verdicts, AmplifiedRoundingRefutesNothing) {
  for (int links : {40, 60, 80, 100}) {
    std::string left = chain("1 - 1.9 * abs(v{0})", links);
    std::string right = chain("1 - 2 * abs(v{0}) + 0.1 * abs(v{0})", links);
    for (const char* size : {"1", "4", "50"})
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        EquivalenceOptions options;
        options.seed = seed;
        std::string parameters = llvm::formatv("x: f32[{0}]", size);
        Result<Equivalence> result = check_equivalence(model(parameters, left.c_str()),
                                                       model(parameters, right.c_str()), options);
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_TRUE(result->equal()) << links << " links of " << size << ", seed " << seed;
      }
  }
}

/// Sums that cancel: exactly on one side, and up to rounding on the other.
TEST(Verdicts, RoundingAboutAThresholdRefutesNothing) {
  for (const char* form : {"cast({0} > 0, f32)", "sign({0})", "{0} / abs({0})", "1 / ({0})"})
    for (uint64_t seed = 1; seed <= 20; ++seed)
      for (const char* parameters : {"x: f32[1]", "x: f32[4]", "x: f32[100]"}) {
        EquivalenceOptions options;
        options.seed = seed;
        std::string left = llvm::formatv(form, "(0.1 * x + 0.2 * x - 0.3 * x)");
        std::string right = llvm::formatv(form, "((x + 2 * x - 3 * x) * 0.1)");
        Result<Equivalence> result = check_equivalence(model(parameters, left.c_str()),
                                                       model(parameters, right.c_str()), options);
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_TRUE(result->equal()) << left << " of " << parameters << ", seed " << seed;
      }
}

/// Amplified rounding must not hide a difference elsewhere.
TEST(Verdicts, AmplifiedRoundingHidesNoDifference) {
  std::string left = chain("1 - 1.9 * abs(v{0})", 80);
  std::string right = chain("1 - 2 * abs(v{0}) + 0.1 * abs(v{0})", 80);
  auto ending = [](const std::string& text, const std::string& last) {
    return text.substr(0, text.rfind('\n') + 1) + last;
  };
  for (const char* wrong : {"v80 + 0.01 * x", "v80 + 0.001", "1.001 * v80"}) {
    Result<Equivalence> result = check_equivalence(
        model("x: f32[4]", left.c_str()), model("x: f32[4]", ending(right, wrong).c_str()), {});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_FALSE(result->equal()) << wrong;
  }
  std::string both = "concat([v80, i], axis = 0)", off = "concat([v80, i + 0.5], axis = 0)";
  Result<Equivalence> result =
      check_equivalence(model("x: f32[4], i: f32[8]", ending(left, both).c_str()),
                        model("x: f32[4], i: f32[8]", ending(right, off).c_str()), {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->different()) << result->undecided;
}

TEST(Verdicts, AreNotEqualForPairsThatDifferAtNanOrByRounding) {
  hold("x: f32[4], y: f32[4], c: f32[]",
       {
           {"cast(not (x >= y), f32)", "cast(x < y, f32)", kUndecided},
           {"cast(argmax(x + c, axis = 0), f32)", "cast(argmax(x, axis = 0), f32)", kUndecided},
           {"relu(sigmoid(x))", "sigmoid(x)", kEqual}, // with a note: never below 0
       });
}

TEST(Verdicts, IntegersAreIntegers) {
  for (const char* dtype : {"i64", "i32"}) {
    std::string t = dtype;
    std::string back = "cast(cast(i, f32), " + t + ")";
    hold("i: " + t + "[4], j: " + t + "[4], k: " + t + "[4]",
         {
             {"mod(i, 0)", "i - floor(i / 0) * 0", kDifferent},
             {"i / 2 * 2", "i", kDifferent},
             {"(i * 2) / 2", "i", kDifferent},
             {"(i * j) / (k * j)", "i / k", kDifferent},
             {"minimum(i, j)", "-maximum(-i, -j)", kDifferent},
             {back.c_str(), "i", kDifferent},
             {"cast(i + j, f32)", "cast(i, f32) + cast(j, f32)", kDifferent},
             {"i * (j + k)", "i * j + i * k", kEqual},
             {"(i + j) / k", "(j + i) / k", kEqual},
             {"abs(i)", "maximum(i, -i)", kEqual},
             {"relu(relu(i))", "relu(i)", kEqual},
             {"abs(i) % 2", "i % 2", kUndecided},
             {"maximum(i, 1000000)", "i", kDifferent},
         });
  }
}

TEST(Verdicts, AnIndexOutOfRangeHasOneMeaning) {
  hold("x: i64[5], i: i64[3], j: i64[2]",
       {
           {"gather(x + 1, i)", "gather(x, i) + 1", kDifferent}, // 0, and 1
           {"gather(gather(x, i), j)", "gather(x, gather(i, j))", kDifferent},
       });
  hold("x: f32[5], i: i64[3], j: i64[2]",
       {
           {"gather(gather(x, i), j)", "gather(x, gather(i, j))", kDifferent},
       });
  Result<Equivalence> same =
      check_equivalence(model("x: f32[5], i: i64[3]", "gather(x + 1, i)"),
                        model("x: f32[5], i: i64[3]", "gather(x, i) + 1"), {});
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->different()); // NaN on both sides
}

// --- random pairs --------------------------------------------------------------------------------

/// Random expressions over x and y with thresholds anywhere, written in two ways that are equal
/// for all numbers, and with one literal changed.
class RandomPair {
public:
  explicit RandomPair(uint64_t seed) : random_(seed, "pair") { grow(4, left, right); }

  std::string left, right;

  /// Returns the right side with one of its literals a little larger.
  std::string moved() {
    std::vector<size_t> places;
    for (size_t i = 0; i + 1 < right.size(); ++i)
      if (std::isdigit(right[i]) && right[i + 1] == '.' && right[i] != '0') places.push_back(i);
    std::string text = right;
    if (!places.empty()) {
      char& digit = text[places[below(places.size())]];
      digit = digit == '9' ? '1' : static_cast<char>(digit + 1);
    }
    return text;
  }

private:
  size_t below(size_t n) { return static_cast<size_t>(random_.bits(draws_++) % n); }
  std::string literal() {
    constexpr double kScales[] = {1, 1, 10, 100, 1000};
    double x = static_cast<double>(11 + below(89)) * kScales[below(std::size(kScales))] / 10;
    return llvm::formatv("{0:f1}", below(2) ? x : -x);
  }

  // NOLINTNEXTLINE(readability-function-size): a flat switch, one row an identity.
  void grow(int depth, std::string& a, std::string& b) {
    if (depth == 0 || below(8) == 0) {
      a = b = below(2) ? "x" : "y";
      return;
    }
    std::string p, q, s, t, c = literal();
    grow(depth - 1, p, q);
    auto pair = [&](const char* one, const char* other) {
      a = llvm::formatv(one, p, s, c);
      b = llvm::formatv(other, q, t, c);
      if (below(2)) b = llvm::formatv(one, q, t, c);
    };
    switch (below(9)) {
    case 0: return pair("relu({0})", "maximum({0}, 0)");
    case 1: return pair("abs({0})", "maximum({0}, -({0}))");
    case 2: return pair("select({0} > {2}, {0}, {2})", "maximum({0}, {2})");
    case 3: return pair("minimum({0}, {2})", "-maximum(-({0}), -({2}))");
    case 4: return pair("clip({0}, -77, 88)", "minimum(maximum({0}, -77), 88)");
    case 5: return pair("select({0} < {2}, {0}, {0} + 1)", "{0} + cast({0} >= {2}, f32)");
    default: grow(depth - 1, s, t);
    }
    switch (below(3)) {
    case 0: return pair("(({0}) + ({1}))", "(({1}) + ({0}))");
    case 1: return pair("(({0}) - {2} * ({1}))", "(({0}) + ({1}) * (-({2})))");
    default: return pair("maximum({0}, {1} + {2})", "select({0} < {1} + {2}, {1} + {2}, {0})");
    }
  }

  RandomStream random_;
  uint64_t draws_ = 0;
};

/// Returns true if two texts differ at any of some thousand points of all magnitudes.
bool parts_somewhere(const std::string& left, const std::string& right) {
  const char* parameters = "x: f32[20000], y: f32[20000]";
  Result<Joined> joined = join(model(parameters, left.c_str()), model(parameters, right.c_str()));
  EXPECT_TRUE(joined.ok());
  Trial trial(*joined);
  LeafValues values;
  for (NodeId leaf : trial.leaves()) {
    RandomStream stream(9, joined->graph.attr(leaf, 0).text);
    NodeValues numbers(20000);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] =
          (stream.bits(3 * i) % 2 ? 1 : -1) * std::pow(10.0, 6 * stream.uniform(3 * i + 1) - 1);
    values.push_back(std::move(numbers));
  }
  return trial.run(values).has_value();
}

TEST(Verdicts, AreCorrectForRandomPairs) {
  size_t equal = 0, different = 0, undecided = 0, parted = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomPair pair(seed);
    for (const std::string& right : {pair.right, pair.moved()}) {
      const char* parameters = "x: f32[2], y: f32[2]";
      Result<Equivalence> result = check_equivalence(model(parameters, pair.left.c_str()),
                                                     model(parameters, right.c_str()), {});
      ASSERT_TRUE(result) << result.error().message;
      bool parts = parts_somewhere(pair.left, right);
      equal += result->equal(), different += result->different();
      undecided += result->verdict == kUndecided;
      parted += parts;
      EXPECT_FALSE(parts && result->equal()) << pair.left << "\n  " << right;
      EXPECT_FALSE(right == pair.right && result->different()) << pair.left << "\n  " << right;
    }
  }
  EXPECT_GT(equal, 100u);
  EXPECT_GT(parted, 40u); // the others never reach the changed number, or have none
  EXPECT_GE(different, parted);
  std::printf("equal %zu, different %zu, undecided %zu; %zu part somewhere\n", equal, different,
              undecided, parted);
}

} // namespace
} // namespace tg
