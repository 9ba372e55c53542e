// ONNX files as bytes.
#include "compiler/import/onnx/model_file.h"

#include <gtest/gtest.h>

namespace tg::onnx {
namespace {

TEST(ElementTypes, AreNamedAsTheSpecificationNamesThem) {
  EXPECT_EQ(element_type_name(schema::Tensor::FLOAT), "float");
  EXPECT_EQ(element_type_name(schema::Tensor::INT2), "int2");
  EXPECT_EQ(element_type_name(99), "type 99");
  EXPECT_EQ(element_type_name(-1), "type -1");
}

TEST(ElementTypes, ThatTangramLacksAreRefusedByName) {
  EXPECT_EQ(*dtype_of(schema::Tensor::BFLOAT16), DType::BF16);
  Result<DType> no = dtype_of(schema::Tensor::COMPLEX64);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, Code::unsupported);
  EXPECT_EQ(no.error().message, "elements of ONNX's type complex64 are not supported");
}

} // namespace
} // namespace tg::onnx
