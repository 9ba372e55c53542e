// Tests tensors of ONNX files: their types, and their elements in every form of the format.
#include <gtest/gtest.h>

#include "tests/unit/import/small_models.h"

#include <cmath>

namespace tg::onnx {
namespace {

using schema::Tensor;

const schema::Tensor& first(const ModelFile& file) { return file.model().graph().initializer(0); }

/// Returns the numbers of one tensor after a round trip through a file.
std::vector<int64_t> integers_of(const schema::Tensor& t) {
  auto file = file_of(model_of({t}));
  auto values = file->integers(first(*file));
  EXPECT_TRUE(values) << message_of(values);
  return values ? *values : std::vector<int64_t>();
}
std::vector<double> doubles_of(const schema::Tensor& t) {
  auto file = file_of(model_of({t}));
  auto values = file->doubles(first(*file));
  EXPECT_TRUE(values) << message_of(values);
  return values ? *values : std::vector<double>();
}
/// Returns the reason why the tensor's elements cannot be read.
std::string refusal(const schema::Tensor& t) {
  auto file = file_of(model_of({t}));
  auto elements = file->elements(first(*file));
  EXPECT_FALSE(elements);
  return message_of(elements);
}

TEST(ElementTypes, AreNamedAsTheSpecificationNamesThem) {
  EXPECT_EQ(element_type_name(Tensor::FLOAT), "float");
  EXPECT_EQ(element_type_name(Tensor::INT2), "int2");
  EXPECT_EQ(element_type_name(99), "type 99");
  EXPECT_EQ(element_type_name(-1), "type -1");
}

TEST(ElementTypes, AreNamedIfTangramDoesNotSupportThem) {
  EXPECT_EQ(*dtype_of(Tensor::BFLOAT16), DType::BF16);
  Result<DType> no = dtype_of(Tensor::COMPLEX64);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, Code::unsupported);
  EXPECT_EQ(no.error().message, "elements of ONNX's type complex64 are not supported");
}

TEST(ModelFile, LongRawDataStaysInTheFile) {
  auto file = file_of(model_of({floats("short", 3), floats("long", 1000)}));
  const schema::Graph& graph = file->model().graph();
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 12u);
  EXPECT_EQ(graph.initializer(1).raw_data().size(), 0u);
  EXPECT_EQ((*file->doubles(graph.initializer(0)))[2], 2);
  auto elements = file->elements(graph.initializer(1));
  ASSERT_TRUE(elements) << message_of(elements);
  EXPECT_EQ(elements->owned, nullptr);
  EXPECT_EQ(elements->bytes.size(), 4000u);
  EXPECT_EQ((*file->doubles(graph.initializer(1)))[999], 999);
  EXPECT_EQ(file->type_of(graph.initializer(1))->text(), "f32[1000]");
}

TEST(ModelFile, LongRawDataIsTakenOutWhereverATensorIs) {
  schema::Model model = model_of({});
  schema::Node& node = *model.mutable_graph()->add_node();
  *node.add_attribute()->mutable_t() = floats("a", 100);
  *node.add_attribute()->add_tensors() = floats("b", 101);
  schema::Graph& branch = *node.add_attribute()->mutable_g();
  *branch.add_initializer() = floats("c", 102);
  *branch.add_node()->add_attribute()->mutable_t() = floats("d", 103);
  *node.add_attribute()->mutable_sparse_tensor()->mutable_values() = floats("e", 104);
  *model.mutable_graph()->add_sparse_initializer()->mutable_values() = floats("f", 105);
  *model.add_functions()->add_node()->add_attribute()->mutable_t() = floats("g", 106);
  auto file = file_of(model);
  const schema::Node& read = file->model().graph().node(0);
  const schema::Graph& inner = read.attribute(2).g();
  const Tensor* tensors[] = {&read.attribute(0).t(),
                             &read.attribute(1).tensors(0),
                             &inner.initializer(0),
                             &inner.node(0).attribute(0).t(),
                             &read.attribute(3).sparse_tensor().values(),
                             &file->model().graph().sparse_initializer(0).values(),
                             &file->model().functions(0).node(0).attribute(0).t()};
  for (size_t i = 0; i < std::size(tensors); ++i) {
    EXPECT_TRUE(tensors[i]->raw_data().empty());
    ASSERT_TRUE(file->doubles(*tensors[i]));
    EXPECT_EQ(file->doubles(*tensors[i])->back(), 99.0 + static_cast<double>(i));
  }
}

TEST(ModelFile, ListsOfNumbersAreReadByType) {
  Tensor f = tensor(Tensor::FLOAT, {2});
  f.add_float_data(1.5f), f.add_float_data(-2);
  EXPECT_EQ(doubles_of(f), (std::vector<double>{1.5, -2}));
  Tensor d = tensor(Tensor::DOUBLE, {});
  d.add_double_data(1e300);
  EXPECT_EQ(doubles_of(d), std::vector<double>{1e300});
  Tensor i = tensor(Tensor::INT64, {1, 2});
  i.add_int64_data(INT64_MAX), i.add_int64_data(INT64_MIN);
  EXPECT_EQ(integers_of(i), (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
  Tensor u = tensor(Tensor::UINT32, {2});
  u.add_uint64_data(UINT32_MAX), u.add_uint64_data(1);
  EXPECT_EQ(integers_of(u), (std::vector<int64_t>{UINT32_MAX, 1}));
}

TEST(ModelFile, Int32DataHoldsManyTypes) {
  auto listed = [](int32_t type, std::vector<int32_t> values) {
    Tensor t = tensor(type, {static_cast<int64_t>(values.size())});
    for (int32_t value : values) t.add_int32_data(value);
    return t;
  };
  EXPECT_EQ(integers_of(listed(Tensor::INT32, {-7, 8})), (std::vector<int64_t>{-7, 8}));
  EXPECT_EQ(integers_of(listed(Tensor::INT8, {-128, 127})), (std::vector<int64_t>{-128, 127}));
  EXPECT_EQ(integers_of(listed(Tensor::UINT8, {0, 255})), (std::vector<int64_t>{0, 255}));
  EXPECT_EQ(integers_of(listed(Tensor::INT16, {-32768})), (std::vector<int64_t>{-32768}));
  EXPECT_EQ(integers_of(listed(Tensor::UINT16, {65535})), (std::vector<int64_t>{65535}));
  EXPECT_EQ(integers_of(listed(Tensor::BOOL, {1, 0})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(doubles_of(listed(Tensor::FLOAT16, {0x3c00, 0xc000, 1, 0x7c00, 0xfbff})),
            (std::vector<double>{1, -2, std::ldexp(1, -24), HUGE_VAL, -65504}));
  EXPECT_EQ(doubles_of(listed(Tensor::BFLOAT16, {0x3f80, 0xc000})), (std::vector<double>{1, -2}));
  EXPECT_TRUE(std::isnan(doubles_of(listed(Tensor::FLOAT16, {0x7e00}))[0]));
}

TEST(ModelFile, PackedElementsAreLowFirst) {
  Tensor nibbles = tensor(Tensor::INT4, {3});
  nibbles.add_int32_data(0x8f), nibbles.add_int32_data(7);
  EXPECT_EQ(integers_of(nibbles), (std::vector<int64_t>{-1, -8, 7}));
  Tensor unsigned_nibbles = tensor(Tensor::UINT4, {3});
  unsigned_nibbles.set_raw_data("\x8f\x07", 2);
  EXPECT_EQ(integers_of(unsigned_nibbles), (std::vector<int64_t>{15, 8, 7}));
  Tensor pairs = tensor(Tensor::INT2, {5});
  pairs.set_raw_data("\xe4\x01", 2);
  EXPECT_EQ(integers_of(pairs), (std::vector<int64_t>{0, 1, -2, -1, 1}));
}

TEST(ModelFile, TensorsWithoutElementsAreEmpty) {
  EXPECT_EQ(integers_of(tensor(Tensor::INT64, {0})), std::vector<int64_t>{});
  EXPECT_EQ(doubles_of(tensor(Tensor::FLOAT, {4, 0, INT64_MAX})), std::vector<double>{});
}

TEST(ModelFile, RefusesNumbersThatTheTypeCannotHold) {
  Tensor byte = tensor(Tensor::UINT8, {1});
  byte.add_int32_data(256);
  EXPECT_EQ(
      refusal(byte),
      "`m.onnx`: tensor `w`: its int32_data has the number 256, which its type cannot represent");
  Tensor flag = tensor(Tensor::BOOL, {1});
  flag.add_int32_data(2);
  EXPECT_NE(refusal(flag), "");
  Tensor half = tensor(Tensor::FLOAT16, {1});
  half.add_int32_data(-1);
  EXPECT_NE(refusal(half), "");
  Tensor large = tensor(Tensor::UINT64, {1});
  large.add_uint64_data(UINT64_MAX);
  auto file = file_of(model_of({large}));
  EXPECT_EQ(file->integers(first(*file)).error().code, Code::unsupported);
  EXPECT_EQ(doubles_of(large)[0], 0x1p64);
}

TEST(ModelFile, CountsThatContradictTheSizesAreRefused) {
  Tensor raw = floats("w", 4);
  raw.set_dims(0, 5);
  EXPECT_EQ(refusal(raw),
            "`m.onnx`: tensor `w`: its raw data has 16 bytes, but its type requires 20");
  Tensor listed = tensor(Tensor::FLOAT, {3});
  listed.add_float_data(1);
  EXPECT_EQ(refusal(listed),
            "`m.onnx`: tensor `w`: its float_data has 1 numbers, but its type requires 3");
  EXPECT_EQ(refusal(tensor(Tensor::INT64, {1})),
            "`m.onnx`: tensor `w`: its int64_data has 0 numbers, but its type requires 1");
  Tensor nameless = tensor(Tensor::INT32, {1});
  nameless.clear_name();
  EXPECT_EQ(refusal(nameless).find("`m.onnx`: a tensor without a name: "), 0u);
}

TEST(ModelFile, ElementsInTwoFormsAreRefused) {
  Tensor other = tensor(Tensor::FLOAT, {1});
  other.add_int64_data(1);
  EXPECT_EQ(refusal(other),
            "`m.onnx`: tensor `w`: its elements are of type float, but it has int64_data");
  Tensor both = floats("w", 1);
  both.add_float_data(1);
  EXPECT_EQ(refusal(both), "`m.onnx`: tensor `w`: its elements are of type float, but it has raw "
                           "data and float_data");
  Tensor segment = floats("w", 1);
  segment.mutable_segment()->set_end(1);
  EXPECT_EQ(refusal(segment), "`m.onnx`: tensor `w`: tensors in segments are not supported");
}

TEST(ModelFile, SizesThatNoTensorHasAreRefused) {
  auto file = file_of(
      model_of({tensor(Tensor::FLOAT, {2, -1}), tensor(Tensor::FLOAT, {INT64_MAX, INT64_MAX, 4}),
                tensor(Tensor::FLOAT, {1, 1, 1, 1, 1, 1, 1, 1, 1}), tensor(Tensor::STRING, {1}),
                tensor(77, {1})}));
  const auto& tensors = file->model().graph().initializer();
  EXPECT_EQ(message_of(file->type_of(tensors[0])), "`m.onnx`: tensor `w`: it has the size -1");
  EXPECT_EQ(message_of(file->type_of(tensors[1])),
            "`m.onnx`: tensor `w`: it has more than 281474976710656 elements");
  EXPECT_EQ(message_of(file->type_of(tensors[2])),
            "`m.onnx`: tensor `w`: it has 9 axes; the limit is 8");
  EXPECT_EQ(file->type_of(tensors[3]).error().code, Code::unsupported);
  EXPECT_EQ(file->elements(tensors[3]).error().code, Code::unsupported);
  EXPECT_EQ(message_of(file->elements(tensors[4])),
            "`m.onnx`: tensor `w`: its elements are of type 77, which is not an ONNX type");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(file->elements(tensors[i]));
}

TEST(ModelFile, RefusesTypesThatAreNotNumeric) {
  Tensor f8 = tensor(Tensor::FLOAT8E5M2, {1});
  f8.set_raw_data("\x01");
  auto file = file_of(model_of({f8, floats("f", 1)}));
  const auto& tensors = file->model().graph().initializer();
  EXPECT_TRUE(file->elements(tensors[0]));
  EXPECT_EQ(message_of(file->doubles(tensors[0])),
            "`m.onnx`: tensor `w`: its elements must be numbers, got type float8e5m2");
  EXPECT_EQ(message_of(file->integers(tensors[1])),
            "`m.onnx`: tensor `f`: its elements must be integers, got type float");
}

} // namespace
} // namespace tg::onnx
