// Tests that numbers of all dtypes are printed and read back: literals of every rank
// and form, attributes, and the smallest integer at each place where the grammar allows a number.
#include "compiler/ir/to_text.h"
#include "lang/core/support/random.h"
#include "lang/syntax/format.h"
#include "tests/unit/ir/ir_test.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>

namespace tg {
namespace {

constexpr int64_t kWholes[] = {0,
                               1,
                               -1,
                               (1 << 24) + 1,
                               INT32_MAX,
                               INT32_MIN,
                               int64_t{INT32_MAX} + 1,
                               int64_t{INT32_MIN} - 1,
                               (int64_t{1} << 53) - 1,
                               int64_t{1} << 53,
                               (int64_t{1} << 53) + 1,
                               -(int64_t{1} << 53) - 1,
                               int64_t{1} << 62,
                               -(int64_t{1} << 62),
                               INT64_MAX,
                               INT64_MAX - 1,
                               INT64_MIN,
                               INT64_MIN + 1};
const double kReals[] = {0.0,        -0.0,    1,        -1,      0.1,     1.0 / 3,  1e22,
                         -1e-22,     DBL_MAX, -DBL_MAX, DBL_MIN, 5e-324,  -5e-324,  FLT_MAX,
                         FLT_MIN,    1e-45,   65504,    65520,   0x1p-24, 0x1p-133, 0x1p53,
                         0x1p53 + 2, 0x1p63,  -0x1p63,  1e300,   NAN,     INFINITY, -INFINITY};

/// A graph whose outputs are these constants.
class Constants {
public:
  void add(NodeId id) {
    ASSERT_TRUE(id.valid());
    graph_.add_output("y" + std::to_string(graph_.outputs().size()), id);
  }
  Graph& graph() { return graph_; }

  /// Expects that the text, formatted or not, is a model of the same constants.
  void expect_round_trip() {
    std::string text = to_text(graph_), formatted = format_of(text);
    EXPECT_EQ(format_of(formatted), formatted);
    for (const std::string& written : {text, formatted}) {
      test::Built back(written);
      ASSERT_TRUE(back.graph) << back.rendered() << written;
      EXPECT_EQ(difference(graph_, *back.graph), "") << written;
    }
  }

  static std::string format_of(const std::string& text) {
    SourceManager sources;
    DiagnosticSink sink;
    return format_file(sources, sources.add("numbers.tg", text), sink).value_or("");
  }

private:
  Graph graph_{std::make_shared<Symbols>(), "numbers"};
};

std::vector<int64_t> wholes_of(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  std::vector<int64_t> result;
  for (int64_t n : kWholes)
    if (dtype == DType::I64 || (n >= INT32_MIN && n <= INT32_MAX)) result.push_back(n);
  return result;
}

TEST(Numbers, ConstantsOfAllDTypesReadBack) {
  for (DType dtype : kAllDTypes) {
    Constants constants;
    Graph& graph = constants.graph();
    auto all = [&](auto values, auto make) {
      auto size = static_cast<int64_t>(values.size());
      for (auto x : values) {
        constants.add(make({x}, {dtype, {}}));
        constants.add(make({x}, {dtype, {2, 3}}));
        constants.add(make({x, values[0]}, {dtype, {2}}));
      }
      constants.add(make(values, {dtype, {1, size, 1}}));
    };
    if (is_float(dtype))
      all(std::vector<double>(std::begin(kReals), std::end(kReals)),
          [&](std::vector<double> v, const TensorType& type) {
            return graph.constant(std::move(v), type);
          });
    else
      all(wholes_of(dtype), [&](const std::vector<int64_t>& v, const TensorType& type) {
        return graph.whole_constant(v, type);
      });
    constants.expect_round_trip();
  }
}

TEST(Numbers, RandomDoublesReadBack) {
  Constants constants;
  RandomStream random(1, "numbers");
  for (uint64_t i = 0; i < 2000; ++i)
    constants.add(
        constants.graph().constant({std::bit_cast<double>(random.bits(i))}, {DType::F64, {}}));
  constants.expect_round_trip();
}

TEST(Numbers, AttributesReadBack) {
  for (DType dtype : {DType::I64, DType::I32, DType::F32, DType::F64}) {
    Constants constants;
    Graph& graph = constants.graph();
    Symbols& symbols = graph.symbols();
    NodeId x = graph.input("x", {dtype, {2}});
    auto pad = [&](const Value& value) {
      constants.add(graph.add(OpKind::Pad,
                              {symbols.value(Value::of_ints({1})),
                               symbols.value(Value::of_ints({0})), symbols.value(value)},
                              {x}));
    };
    auto clip = [&](const Value& low, const Value& high) {
      constants.add(graph.add(OpKind::Clip, {symbols.value(low), symbols.value(high)}, {x}));
    };
    if (is_float(dtype)) {
      for (double value : kReals) pad(Value::of_float(value));
      for (double value : kReals)
        if (!std::isnan(value)) clip(Value::of_float(-INFINITY), Value::of_float(value));
    } else {
      for (int64_t value : wholes_of(dtype)) pad(Value::of_int(value));
      for (int64_t value : wholes_of(dtype)) {
        clip(Value::of_int(value), Value::of_int(std::max<int64_t>(value, INT32_MAX)));
        clip(Value::of_int(std::min<int64_t>(value, INT32_MIN)), Value::of_int(value));
      }
    }
    constants.expect_round_trip();
  }
}

/// Returns the constant output of a model with this body, or the messages.
std::string constant_of(const std::string& expression) {
  test::Built made("model m() -> (y: i64) { " + expression + " }");
  if (!made.graph) return made.rendered();
  return made.graph->attr(made.graph->outputs()[0].node, 0).text_form();
}

TEST(Numbers, TheSmallestIntegerIsOne) {
  constexpr const char* kText = "-9223372036854775808";
  EXPECT_EQ(constant_of(std::string("tensor(") + kText + ", i64)"), std::string("[") + kText + "]");
  EXPECT_EQ(constant_of("tensor(- 9223372036854775808, i64)"), std::string("[") + kText + "]");
  EXPECT_EQ(constant_of("tensor(-9223372036854775808 + 1, i64)"), "[-9223372036854775807]");
  EXPECT_EQ(constant_of("tensor(1 + -9223372036854775808, i64)"), "[-9223372036854775807]");
  for (const char* wrong :
       {"9223372036854775808", "-(9223372036854775808)", "1 - 9223372036854775808",
        "-9223372036854775809", "--9223372036854775808", "-9223372036854775808 ** 1"})
    EXPECT_NE(constant_of(std::string("tensor(") + wrong + ", i64)").find("64 bits"),
              std::string::npos)
        << wrong;
}

TEST(Numbers, TheSmallestIntegerIsFormattedAsASign) {
  std::string text = "model m() -> (y: i64) {\n  tensor((-9223372036854775808) // 2 - "
                     "-9223372036854775808 // 4, i64)\n}\n";
  std::string formatted = Constants::format_of(text);
  EXPECT_EQ(Constants::format_of(formatted), formatted);
  test::Built a(text), b(formatted);
  ASSERT_TRUE(a.graph && b.graph) << a.rendered() << b.rendered() << formatted;
  EXPECT_EQ(difference(*a.graph, *b.graph), "") << formatted;
}

} // namespace
} // namespace tg
