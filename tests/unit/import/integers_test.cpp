// Tests that integers of files are exact. The operators are those without a counterpart here,
// at the ends of i32 and i64 and where floats lose integers, as inputs and as constants
// that fold, against 128-bit arithmetic. tests/oracle/integers_test.py covers all operators
// and all paths.
#include <gtest/gtest.h>

#include "tests/unit/import/small_graphs.h"

namespace tg::onnx {
namespace {

__extension__ using Wide = __int128;

std::vector<int64_t> numbers_of(DType dtype) {
  std::vector<int64_t> all = {0, 1, -1, 2, -2, 3, -7, (1 << 24) + 1, INT32_MAX, INT32_MIN};
  if (dtype == DType::I64)
    all.insert(all.end(), {int64_t{1} << 31, (int64_t{1} << 53) + 1, -(int64_t{1} << 53) - 1,
                           int64_t{1} << 62, INT64_MAX, INT64_MIN});
  return all;
}

int64_t wrapped(DType dtype, Wide n) {
  return dtype == DType::I32 ? static_cast<int32_t>(n) : static_cast<int64_t>(n);
}

class WholeNumbers : public ::testing::TestWithParam<DType> {
protected:
  int32_t file_type() const {
    return GetParam() == DType::I32 ? schema::Tensor::INT32 : schema::Tensor::INT64;
  }
  Literal literal(const std::vector<int64_t>& values, const Shape& shape) const {
    return {{GetParam(), shape}, values, {}};
  }

  /// Expects the result of one node: once with operands as inputs, and once with all of them known.
  void expect(
      const std::string& op, llvm::ArrayRef<Literal> operands, const std::vector<int64_t>& expected,
      llvm::function_ref<void(schema::Node&)> attributes = [](schema::Node&) {},
      size_t inputs = 2) {
    for (bool known : {false, true}) {
      schema::Graph graph = body({}, {"y"});
      std::map<std::string, Literal> given;
      Names names;
      for (size_t i = 0; i < operands.size(); ++i) {
        names.push_back("x" + std::to_string(i));
        const TensorType& type = operands[i].type;
        int32_t in_file = type.dtype == DType::I32 ? schema::Tensor::INT32 : schema::Tensor::INT64;
        if (known || i >= inputs) {
          add_integers(graph, names[i], operands[i].ints, type.shape, in_file);
          continue;
        }
        add_input(graph, names[i], type.shape, in_file);
        given[names[i]] = operands[i];
      }
      attributes(add_node(graph, op, names, {"y"}));
      std::string messages;
      auto made = import_graph(graph, messages, 21);
      ASSERT_TRUE(made) << op << ": " << messages;
      EXPECT_EQ(compute(*made, given)["y"].ints, expected) << op << (known ? ", known" : "");
    }
  }

  /// Tests all pairs.
  void expect_pairs(
      const std::string& op, llvm::function_ref<Wide(Wide, Wide)> f,
      const std::vector<int64_t>& seconds,
      llvm::function_ref<void(schema::Node&)> attributes = [](schema::Node&) {}) {
    std::vector<int64_t> firsts = numbers_of(GetParam()), expected;
    for (int64_t x : firsts)
      for (int64_t y : seconds) expected.push_back(wrapped(GetParam(), f(x, y)));
    auto rows = static_cast<int64_t>(firsts.size()), columns = static_cast<int64_t>(seconds.size());
    expect(op, {literal(firsts, {rows, 1}), literal(seconds, {1, columns})}, expected, attributes);
  }

  std::vector<int64_t> divisors() const {
    std::vector<int64_t> all = numbers_of(GetParam());
    llvm::erase_value(all, 0);
    return all;
  }
};

TEST_P(WholeNumbers, QuotientsAreRoundedTowardsZero) {
  expect_pairs(
      "Div", [](Wide x, Wide y) { return x / y; }, divisors());
}

TEST_P(WholeNumbers, RemaindersHaveTheSignThatTheAttributeSays) {
  auto floor_mod = [](Wide x, Wide y) {
    return x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y;
  };
  expect_pairs("Mod", floor_mod, divisors());
  expect_pairs(
      "Mod", [](Wide x, Wide y) { return x % y; }, divisors(),
      [](schema::Node& node) { set(node, "fmod", 1); });
}

TEST_P(WholeNumbers, PowersAreProductsThatWrapAround) {
  auto power = [](Wide x, Wide y) -> Wide {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    uint64_t result = 1, square = static_cast<uint64_t>(x);
    for (auto n = static_cast<uint64_t>(y); n != 0; n >>= 1, square *= square)
      if (n & 1) result *= square;
    return static_cast<int64_t>(result);
  };
  expect_pairs("Pow", power, {0, 1, 2, 3, 5, 11, 13, 31, 62, 63, 64, (1 << 24) + 1, -1, -2});
  expect_pairs("Pow", power, {11});
  expect_pairs("Pow", power, {-3});
}

TEST_P(WholeNumbers, MeansAreExact) {
  for (int64_t end : {wrapped(GetParam(), INT64_MAX), wrapped(GetParam(), INT64_MIN)}) {
    int64_t last = GetParam() == DType::I32 ? (end < 0 ? INT32_MAX : INT32_MIN) : end;
    std::vector<int64_t> row = {last, last, last > 0 ? last - 1 : last + 1};
    Wide sum = 0;
    for (int64_t n : row) sum += n;
    expect("ReduceMean", {literal(row, {3})}, {static_cast<int64_t>(sum / 3)},
           [](schema::Node& node) { set(node, "keepdims", 0); });
  }
  expect("ReduceMean", {literal({-1, -2}, {2})}, {-1},
         [](schema::Node& node) { set(node, "keepdims", 0); });
}

TEST_P(WholeNumbers, RootsOfSquaresAreRoundedDown) {
  std::vector<int64_t> row = {46340, 5};
  if (GetParam() == DType::I64) row = {(1 << 26) - 1, 3}; // the importer folds these
  expect("ReduceL2", {literal(row, {2})}, {row[0]},
         [](schema::Node& node) { set(node, "keepdims", 0); });
}

TEST_P(WholeNumbers, TheSmallestOfAllIsFound) {
  int64_t least = GetParam() == DType::I32 ? INT32_MIN : INT64_MIN;
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {3}, file_type());
  add_node(graph, "ArgMin", {"x"}, {"y"});
  std::string messages;
  auto made = import_graph(graph, messages, 21);
  ASSERT_TRUE(made) << messages;
  EXPECT_EQ(compute(*made, {{"x", literal({1, least, -5}, {3})}})["y"].ints,
            std::vector<int64_t>{1});
}

TEST_P(WholeNumbers, PaddingIsTheValueItself) {
  for (int64_t value : numbers_of(GetParam()))
    expect(
        "Pad", {literal({5}, {1}), Literal{{DType::I64, {2}}, {1, 1}, {}}, literal({value}, {})},
        {value, 5, value}, [](schema::Node&) {}, /*inputs=*/1);
}

TEST_P(WholeNumbers, RangesCountToTheEnds) {
  int64_t most = GetParam() == DType::I32 ? INT32_MAX : INT64_MAX;
  struct Row {
    int64_t start, limit, delta;
    std::vector<int64_t> all;
  };
  for (const Row& row : {Row{most - 5, most, 2, {most - 5, most - 3, most - 1}},
                         Row{-most - 1, most, most, {-most - 1, -1, most - 1}},
                         Row{most, most - 4, -3, {most, most - 3}}, Row{-2, 2, 1, {-2, -1, 0, 1}}})
    expect(
        "Range", {literal({row.start}, {}), literal({row.limit}, {}), literal({row.delta}, {})},
        row.all, [](schema::Node&) {}, /*inputs=*/0);
}

INSTANTIATE_TEST_SUITE_P(DTypes, WholeNumbers, ::testing::Values(DType::I32, DType::I64));

} // namespace
} // namespace tg::onnx
