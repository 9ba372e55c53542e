#include "runtime/files/safetensors.h"

#include "tests/unit/runtime/damage.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringExtras.h>

#include <cstdio>

namespace tg {
namespace {

/// Returns a file with this header and these data bytes.
std::string file(const std::string& header, const std::string& data) {
  std::string bytes;
  append_little_endian(bytes, header.size(), 8);
  return bytes + header + data;
}

Result<Safetensors> parse(llvm::StringRef bytes) {
  return Safetensors::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes), "t.safetensors");
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& place) {
  return "\"" + name + "\": {\"dtype\": \"" + dtype + "\", \"shape\": " + shape +
         ", \"data_offsets\": " + place + "}";
}

TEST(Safetensors, ReadsFilesOfTheReference) {
  // The output of safetensors.numpy.save for a (2, 3) f32, a (2,) bool and a (1,) f64,
  // with metadata.
  const char* hex =
      "c8000000000000007b225f5f6d657461646174615f5f223a7b22666f726d6174223a226e70227d2c2264223a7b22"
      "6474797065223a22463634222c227368617065223a5b315d2c22646174615f6f666673657473223a5b302c385d7d"
      "2c2261223a7b226474797065223a22463332222c227368617065223a5b322c335d2c22646174615f6f6666736574"
      "73223a5b382c33325d7d2c22622e63223a7b226474797065223a22424f4f4c222c227368617065223a5b325d2c22"
      "646174615f6f666673657473223a5b33322c33345d7d7d20000000000000f83f000000000000003f0000803f0000"
      "c03f00000040000020400100";
  Result<Safetensors> read = parse(llvm::fromHex(hex));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->entries().size(), 3u);
  EXPECT_EQ(read->metadata()[0], std::pair(std::string("format"), std::string("np")));
  const Safetensors::Entry* a = read->find("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->text(), "f32[2, 3]");
  EXPECT_EQ(max_rel_diff(*read->read(*a), Tensor::of_floats({2, 3}, {0, .5f, 1, 1.5f, 2, 2.5f})),
            0);
  EXPECT_EQ(read->read(*read->find("b.c"))->type().text(), "bool[2]");
  EXPECT_EQ(read->find("d")->text(), "f64[1]");
  EXPECT_EQ(read->read(*read->find("d"))->doubles(), std::vector<double>{1.5});
  EXPECT_EQ(read->find("e"), nullptr);
}

TEST(Safetensors, RoundTrips) {
  std::string path = testing::TempDir() + "tangram_safetensors_test.safetensors";
  std::vector<Tensor> tensors = {Tensor::of_floats({3}, {1, 2, 3}), Tensor::of_floats({}, {7}),
                                 *Tensor::zeros({DType::Bool, {5}}),
                                 *Tensor::zeros({DType::I64, {2, 2}})};
  std::vector<SafetensorsItem> items;
  for (const char* name : {"z.w[0]", "a \"quoted\"\\\n \xc3\xa9", "flags", "ids"})
    items.push_back({name, tensors[items.size()].type()});
  auto source = [&](size_t i) -> Result<Tensor> { return tensors[i]; };
  ASSERT_TRUE(write_safetensors(path, items, source, {{"model", "m"}}).ok());
  Result<Safetensors> read = Safetensors::open(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->metadata()[0].second, "m");
  std::string order;
  for (const Safetensors::Entry& e : read->entries()) order += e.name.substr(0, 1);
  EXPECT_EQ(order, "iazf") << "wide dtypes first, then by name";
  for (size_t i = 0; i < items.size(); ++i) {
    const Safetensors::Entry* found = read->find(items[i].name);
    ASSERT_TRUE(found) << items[i].name;
    Tensor back = *read->read(*found);
    ASSERT_EQ(back.type(), items[i].type);
    EXPECT_EQ(summarise(back).checksum, summarise(tensors[i]).checksum);
    EXPECT_EQ(found->begin % static_cast<uint64_t>(dtype_size(back.type().dtype)), 0u);
  }
  // If the source fails, the existing file is kept.
  auto failing = [&](size_t) -> Result<Tensor> { return error(Code::cannot_read, "gone"); };
  EXPECT_FALSE(write_safetensors(path, items, failing).ok());
  EXPECT_TRUE(Safetensors::open(path));
  std::remove(path.c_str());
  EXPECT_EQ(Safetensors::open(path).error().code, Code::cannot_read);
  EXPECT_EQ(write_safetensors("/nowhere/f.safetensors", items, source).error().code,
            Code::cannot_write);
}

TEST(Safetensors, EmptyFilesAndTensors) {
  Result<Safetensors> none = parse(file("{}", ""));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->entries().empty());
  Result<Safetensors> empty = parse(file("{" + entry("a", "F32", "[2, 0]", "[0, 0]") + "}", ""));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_FALSE(empty->read(empty->entries()[0]));
}

TEST(Safetensors, StringsOfJson) {
  std::string header = "{" + entry("\\u00e9\\ud83d\\ude00\\n\\/", "F32", "[1]", "[0, 4]") + "}  ";
  Result<Safetensors> read = parse(file(header, "abcd"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries()[0].name, "\xc3\xa9\xf0\x9f\x98\x80\n/");
}

TEST(Safetensors, ReportsTheFaultOfAFile) {
  auto one = [](const std::string& text) { return file("{" + text + "}", "abcdefgh"); };
  auto f32 = [&](const char* shape, const char* place) {
    return one(entry("a", "F32", shape, place));
  };
  struct Case {
    std::string bytes;
    const char* says;
  };
  const Case cases[] = {
      {"abc", "ends within its header"},
      {std::string(8, '\xff') + "{}", "exceeds the limit"},
      {std::string("\x10\0\0\0\0\0\0\0", 8) + "{}", "ends within its header"},
      {file(" {}", ""), "does not start with `{`"},
      {file("{", ""), "not valid JSON"},
      {file("{} x", ""), "text follows its header"},
      {file("{\"a\"}", ""), "not valid JSON"},
      {file("{\"a\": [1]}", ""), "not valid JSON"},
      {file("{\"a\": {}}", ""), "lacks dtype"},
      {file("{\"a\": {\"dtype\": \"F32\", \"dtype\": \"F32\"}}", ""), "repeated key"},
      {file("{\"a\": {\"size\": [1]}}", ""), "unknown or repeated key"},
      {file("{\"__metadata__\": {\"a\": 1}}", ""), "not valid JSON"},
      {file("{\"__metadata__\": {\"a\": \"\", \"a\": \"\"}}", ""), "twice"},
      {file("{\"\\x\": {}}", ""), "an invalid escape"},
      {file("{\"\\ud800\": {}}", ""), "an invalid escape"},
      {file("{\"\\ud800\\u0041\": {}}", ""), "an invalid escape"},
      {file("{\"\xff\": {}}", ""), "not UTF-8"},
      {file("{\"a\nb\": {}}", ""), "control character"},
      {file("{\"abc", ""), "does not end"},
      {one(entry("a", "F31", "[2]", "[0, 8]")), "an unknown dtype"},
      {f32("[2]", "[0, 8, 8]"), "not a begin and an end"},
      {f32("[2]", "[8, 0]"), "not a begin and an end"},
      {f32("[2]", "[0, 4]"), "has 4 bytes of data, but f32[2] requires 8"},
      {f32("[-2]", "[0, 8]"), "not a list of sizes"},
      {f32("[2.0]", "[0, 8]"), "not a list of sizes"},
      {f32("[02]", "[0, 8]"), "not a list of sizes"},
      {f32("[99999999999999999999]", "[0, 8]"), "not a list of sizes"},
      {f32("[4611686018427387904, 4]", "[0, 0]"), "too large"},
      {f32("[9223372036854775808]", "[0, 0]"), "too large"},
      {f32("[1]", "[0, 4]"), "8 bytes of data, but its header requires 4"},
      {f32("[2]", "[8, 16]"), "leaves a gap after"},
      {f32("[4]", "[0, 16]"), "8 bytes of data, but its header requires 16"},
      {one(entry("a", "F32", "[2]", "[0, 8]") + "," + entry("a", "F32", "[2]", "[0, 8]")), "twice"},
      {one(entry("a", "F32", "[2]", "[0, 8]") + "," + entry("b", "F32", "[1]", "[4, 8]")),
       "`b` overlaps"},
      {one(entry("a", "F32", "[1]", "[0, 4]") + "," + entry("b", "F16", "[1]", "[6, 8]")),
       "`b` leaves a gap after"},
  };
  for (const Case& c : cases) {
    Result<Safetensors> read = parse(c.bytes);
    ASSERT_FALSE(read) << c.says;
    EXPECT_NE(read.error().message.find(c.says), std::string::npos)
        << read.error().message << " where expected: " << c.says;
    EXPECT_EQ(read.error().code, Code::bad_data_file);
  }
  Result<Safetensors> flags = parse(file("{" + entry("a", "BOOL", "[2]", "[0, 2]") + "}", "\1\2"));
  ASSERT_TRUE(flags);
  EXPECT_FALSE(flags->read(flags->entries()[0]));
}

TEST(Safetensors, NoDamageDoesMoreThanGiveAnError) {
  const std::string good =
      file("{\"__metadata__\":{\"k\":\"v\"}," + entry("a", "F32", "[2, 3]", "[0, 24]") + "," +
               entry("b", "I64", "[1]", "[24, 32]") + "}",
           std::string(32, '\x3f'));
  ASSERT_TRUE(parse(good));
  size_t read = 0;
  for (uint64_t round = 0; round < 20'000; ++round) {
    std::string bytes = test::damaged(good, round, "{}[]:,\"\\0123456789");
    Result<Safetensors> file = parse(bytes);
    if (!file) continue;
    ++read;
    for (const Safetensors::Entry& e : file->entries())
      if (Result<Tensor> tensor = file->read(e)) {
        EXPECT_LE(tensor->bytes(), static_cast<int64_t>(bytes.size()));
      }
  }
  EXPECT_GT(read, 0u) << "some damage is only in the data";
}

} // namespace
} // namespace tg
