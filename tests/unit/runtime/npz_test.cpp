#include "runtime/files/numpy.h"

#include "tests/unit/runtime/damage.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringExtras.h>

#include <cstdio>

namespace tg {
namespace {

/// Returns the output of numpy.savez_compressed(a = (2, 3) of f32, b = (3,) of i64).
std::string compressed() {
  return llvm::fromHex(
      "504b03042d0000000800000021000bc0b076ffffffffffffffff05001400612e6e70790100100098000000000000"
      "0057000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f"
      "5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e0608b067606800e20340cce0c0c0"
      "a0e00000504b03042d000000080000002100bc91558effffffffffffffff05001400622e6e707901001000980000"
      "00000000004d000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f5452"
      "9498179f5f94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e4606086082d2cc501a00504b"
      "01022d032d0000000800000021000bc0b07657000000980000000500000000000000000000008001000000006"
      "12e6e7079504b01022d032d000000080000002100bc91558e4d00000098000000050000000000000000000000800"
      "1"
      "8e000000622e6e7079504b0506000000000200020066000000120100000000");
}

std::vector<NamedTensor> two_tensors() {
  return {{"image", Tensor::of_floats({2, 2}, {1, 2, 3, 4})}, {"b", Tensor::of_floats({}, {5})}};
}

TEST(Npz, ReadsFilesOfNumPy) {
  Result<std::vector<NamedTensor>> read = parse_npz(compressed(), "t.npz");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name, "a");
  Tensor expected = Tensor::of_floats({2, 3}, {0, .5f, 1, 1.5f, 2, 2.5f});
  EXPECT_EQ(max_rel_diff((*read)[0].tensor, expected), 0);
  EXPECT_EQ((*read)[1].name, "b");
  EXPECT_EQ((*read)[1].tensor.type().text(), "i64[3]");
}

TEST(Npz, RoundTrips) {
  std::string bytes = format_npz(two_tensors());
  Result<std::vector<NamedTensor>> back = parse_npz(bytes, "t.npz");
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*back)[i].name, two_tensors()[i].name);
    EXPECT_EQ(max_rel_diff((*back)[i].tensor, two_tensors()[i].tensor), 0);
  }
  Result<std::vector<NamedTensor>> none = parse_npz(format_npz({}), "t.npz");
  EXPECT_TRUE(none && none->empty());
}

TEST(Npz, TheNameOfBitsIsTheInputs) {
  std::string bytes = format_npz({{"x.bf16", Tensor::of_floats({2}, {1, 2})}});
  size_t descr = bytes.find("<f4");
  ASSERT_NE(descr, std::string::npos);
  Result<std::vector<NamedTensor>> plain = parse_npz(bytes, "t.npz");
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)[0].name, "x.bf16") << "of other elements it is a name as any";
  std::string contents = format_npy(Tensor::of_floats({2}, {1, 2}));
  std::string bits = contents;
  bits.replace(bits.find("<f4"), 3, "<u2").replace(bits.find("(2,)"), 4, "(4,)");
  for (size_t at = bytes.find(contents); at != std::string::npos; at = bytes.find(contents))
    bytes.replace(at, contents.size(), bits);
  auto crc = [](const std::string& data) {
    uint32_t value = 0xffffffff;
    for (unsigned char c : data) {
      value ^= c;
      for (int i = 0; i < 8; ++i) value = value >> 1 ^ (value & 1 ? 0xedb88320 : 0);
    }
    uint32_t out = ~value;
    return std::string(reinterpret_cast<const char*>(&out), 4);
  };
  for (size_t at = bytes.find(crc(contents)); at != std::string::npos;
       at = bytes.find(crc(contents)))
    bytes.replace(at, 4, crc(bits));
  Result<std::vector<NamedTensor>> read = parse_npz(bytes, "t.npz");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)[0].name, "x");
  EXPECT_EQ((*read)[0].tensor.type().text(), "bf16[4]");
}

TEST(Npz, ReportsTheFaultOfAFile) {
  std::string good = format_npz(two_tensors());
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1))
      bytes.replace(at, from.size(), to);
    return bytes;
  };
  std::string other = good, late = good;
  other[good.size() - 1] = 1;             // a comment that does not exist
  late[good.find("PK\x01\x02") - 1] ^= 1; // in the elements
  struct Case {
    std::string bytes;
    const char* says;
  };
  const Case cases[] = {
      {"", "is empty"},
      {"\x93NUMPY", "does not start like a zip"},
      {"PK\x03\x04", "no directory at its end"},
      {good.substr(0, good.size() - 1), "no directory at its end"},
      {other, "no directory at its end"},
      {good + "x", "no directory at its end"},
      {"x" + good, "does not start like a zip"},
      {good.substr(0, 4) + good.substr(5), "64-bit directory is missing"},
      {replaced("PK\x06\x07", "PK\x06\x01"), "64-bit directory is missing"},
      {replaced("PK\x01\x02", "PK\x01\x07"), "its directory is damaged"},
      {replaced("b.npy", "b.txt"), "is not an .npy file"},
      {late, "checksum"},
  };
  for (const Case& c : cases) {
    Result<std::vector<NamedTensor>> read = parse_npz(c.bytes, "t.npz");
    ASSERT_FALSE(read) << c.says;
    EXPECT_NE(read.error().message.find(c.says), std::string::npos)
        << read.error().message << " where expected: " << c.says;
  }
}

TEST(Npz, MembersThatOverlapAreRefused) {
  // Both directory entries point at the first member, as in a zip bomb.
  std::string bytes =
      format_npz({{"a", Tensor::of_floats({2}, {1, 2})}, {"b", Tensor::of_floats({2}, {1, 2})}});
  size_t second = bytes.rfind("b.npy");
  bytes.replace(second, 1, "a");
  for (size_t i = 0; i < 8; ++i) bytes[second + 5 + 4 + 16 + i] = 0; // the offset, 64 bits wide
  Result<std::vector<NamedTensor>> read = parse_npz(bytes, "t.npz");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("the same name"), std::string::npos) << read.error().message;
}

TEST(Npz, ChecksArraysBeforeTheyAreUnpacked) {
  std::vector<std::string> asked;
  auto first = [&](llvm::StringRef name, const TensorType& type) -> Result<void> {
    asked.push_back((name + ": " + type.text()).str());
    if (name == "b") return error(Code::bad_input_value, "not this one");
    return {};
  };
  Result<std::vector<NamedTensor>> read = parse_npz(compressed(), "t.npz", first);
  EXPECT_EQ(asked, (std::vector<std::string>{"a: f32[2, 3]", "b: i64[3]"}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "not this one");
}

TEST(Npz, NoDamageDoesMoreThanGiveAnError) {
  size_t read = 0;
  for (const std::string& good : {format_npz(two_tensors()), compressed()}) {
    for (uint64_t round = 0; round < 20'000; ++round) {
      std::string bytes = test::damaged(good, round, "PK.npy");
      read += parse_npz(bytes, "t.npz").ok();
    }
  }
  EXPECT_GT(read, 0u) << "some bits mean nothing";
}

TEST(Npz, FilesAreReplacedWhole) {
  std::string path = testing::TempDir() + "tangram_npz_test.npz";
  ASSERT_TRUE(write_npz(path, two_tensors()).ok());
  EXPECT_TRUE(read_npz(path));
  std::remove(path.c_str());
  EXPECT_EQ(read_npz(path).error().code, Code::cannot_read);
  EXPECT_EQ(write_npz("/nowhere/f.npz", two_tensors()).error().code, Code::cannot_write);
}

} // namespace
} // namespace tg
