#include "runtime/files/numpy.h"

#include "tests/unit/runtime/damage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace tg {
namespace {

/// Returns a file of version 1.0 with this unpadded header text and these data bytes.
std::string file(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  return bytes + header + data;
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

TEST(Npy, RoundTrips) {
  for (Shape shape : {Shape{2, 3}, Shape{}, Shape{7}, Shape{1, 2, 1, 4, 1, 1, 1, 2}}) {
    Tensor tensor = *Tensor::zeros({DType::F32, shape});
    for (size_t i = 0; i < tensor.floats().size(); ++i)
      tensor.floats()[i] = 0.5f * static_cast<float>(i);
    std::string bytes = format_npy(tensor);
    EXPECT_EQ((bytes.size() - static_cast<size_t>(tensor.bytes())) % 64, 0u);
    Result<Tensor> back = parse_npy(bytes, "t.npy");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->type(), tensor.type());
    EXPECT_EQ(max_rel_diff(*back, tensor), 0);
  }
}

TEST(Npy, DoublesKeepTheirDigits) {
  Tensor tensor = *Tensor::zeros({DType::F64, {2}});
  double values[] = {1 + 0x1p-40, 1e300};
  std::memcpy(tensor.data(), values, sizeof values);
  Tensor back = *parse_npy(format_npy(tensor), "t.npy");
  EXPECT_EQ(back.type(), tensor.type());
  EXPECT_EQ(back.doubles(), std::vector<double>(values, values + 2));
}

TEST(Npy, ReadsFormsThatNumPyWrites) {
  const char* headers[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n",
      "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
      "{\"descr\":\"=f4\",\"fortran_order\":False,\"shape\":(2L,3L)}\n",
  };
  for (const char* header : headers) {
    Result<Tensor> tensor = parse_npy(file(header, std::string(24, '\0')), "t.npy");
    ASSERT_TRUE(tensor) << header << tensor.error().message;
    EXPECT_EQ(tensor->type(), f32({2, 3}));
  }
  std::string second = "\x93NUMPY\x02" + std::string("\0", 1) +
                       std::string({static_cast<char>(kHeader.size()), '\0', '\0', '\0'}) +
                       kHeader + std::string(24, '\0');
  EXPECT_TRUE(parse_npy(second, "t.npy"));
  std::string flags = "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }\n";
  EXPECT_EQ(parse_npy(file(flags, std::string(5, '\1')), "t.npy")->type().dtype, DType::Bool);
}

/// 1, -2 and NaN, as ml_dtypes saves them, and as 16-bit integers in an array whose name says so.
TEST(Npy, ReadsBF16) {
  const std::string bits("\x80\x3f\x00\xc0\xc0\x7f", 6);
  const std::pair<const char*, const char*> forms[] = {
      {"<V2", "x.npy"}, {"|V2", "x"}, {"<u2", "x.bf16.npy"}, {"<u2", "x.npz:x.bf16"}};
  for (auto [descr, name] : forms) {
    std::string header =
        std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (3,), }\n";
    Result<Tensor> tensor = parse_npy(file(header, bits), name);
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->type().text(), "bf16[3]");
    std::vector<double> values = tensor->doubles();
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], -2);
    EXPECT_TRUE(std::isnan(values[2]));
  }
}

TEST(Npy, ReportsTheFaultOfAFile) {
  struct Case {
    std::string bytes;
    const char* says;
  };
  auto header = [](const char* text) { return file(text, std::string(24, '\0')); };
  const Case cases[] = {
      {"", "is empty"},
      {"PK\x03\x04", "does not start like an .npy file"},
      {"\x93NUMPY\x01", "ends within its header"},
      {file(kHeader, "").substr(0, 40), "ends within its header"},
      {file(kHeader, std::string(23, '\0')),
       "contains 23 bytes of data, but f32[2, 3] requires 24"},
      {file(kHeader, std::string(25, '\0')),
       "contains 25 bytes of data, but f32[2, 3] requires 24"},
      {header("{'descr': '>f4', 'fortran_order': False, 'shape': (6,)}"), "big-endian"},
      {header("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}"), "its dtype is c8, but"},
      {header("{'descr': '<V1', 'fortran_order': False, 'shape': (24,)}"), "8-bit float"},
      {header("{'descr': '<f1', 'fortran_order': False, 'shape': (24,)}"), "8-bit float"},
      {header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}"), "is structured"},
      {header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}"), "Fortran"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}"), "f32[0, 3] requires 0"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}"), "not a tuple of ints"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}"), "rank"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
       "too large"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
       "not a tuple of ints"},
      {header("{'descr': '<f4', 'shape': (6,)}"), "lacks a key"},
      {header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}"),
       "repeated key"},
      {header("[]"), "not a dictionary"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x"), "text follows"},
  };
  for (const Case& c : cases) {
    Result<Tensor> tensor = parse_npy(c.bytes, "t.npy");
    ASSERT_FALSE(tensor) << c.says;
    EXPECT_NE(tensor.error().message.find(c.says), std::string::npos) << tensor.error().message;
    EXPECT_EQ(tensor.error().code, c.bytes.empty() ? Code::empty_file : Code::bad_data_file);
  }
}

TEST(Npy, NoDamageDoesMoreThanGiveAnError) {
  const std::string good = file(kHeader, std::string(24, '\x3f'));
  ASSERT_TRUE(parse_npy(good, "t.npy"));
  size_t read = 0;
  for (uint64_t round = 0; round < 20'000; ++round) {
    std::string bytes = test::damaged(good, round, "(){}',:0123456789");
    Result<Tensor> tensor = parse_npy(bytes, "t.npy");
    read += tensor.ok();
    if (tensor) {
      EXPECT_LE(tensor->bytes(), static_cast<int64_t>(bytes.size()));
    }
  }
  EXPECT_GT(read, 0u) << "some damage is only in the data";
}

TEST(Npy, FilesAreReplacedWholeOrNotAtAll) {
  std::string path = testing::TempDir() + "tangram_npy_test.npy";
  Tensor tensor = Tensor::of_floats({3}, {1, 2, 3});
  ASSERT_TRUE(write_npy(path, tensor).ok());
  EXPECT_EQ(max_rel_diff(*read_npy(path), tensor), 0);
  std::remove(path.c_str());
  EXPECT_EQ(read_npy(path).error().code, Code::cannot_read);
  EXPECT_EQ(read_npy(testing::TempDir()).error().code, Code::cannot_read);
  EXPECT_EQ(write_npy("/nowhere/at/all.npy", tensor).error().code, Code::cannot_write);
}

} // namespace
} // namespace tg
