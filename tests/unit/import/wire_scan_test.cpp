// Tests bytes that are not an ONNX model, or a damaged one.
#include <gtest/gtest.h>

#include "compiler/import/onnx/file/wire_scan.h"
#include "tests/unit/import/small_models.h"

namespace tg::onnx {
namespace {

/// A model with all parts that the scan visits.
schema::Model rich_model() {
  schema::Model model = model_of({floats("w", 100), floats("v", 2)});
  schema::Node& node = *model.mutable_graph()->add_node();
  node.add_input("x"), node.add_output("y");
  node.set_op_type("If");
  schema::Graph& branch = *node.add_attribute()->mutable_g();
  *branch.add_node()->add_attribute()->mutable_t() = floats("c", 70);
  schema::ValueInfo& input = *model.mutable_graph()->add_input();
  input.set_name("x");
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("N");
  model.add_opset_import()->set_version(18);
  return model;
}

/// Returns true if the bytes can be read completely. Terminates for any bytes.
bool reads(llvm::StringRef bytes) {
  auto file = parse_bytes(bytes);
  if (!file) return false;
  for (const schema::Tensor& t : (*file)->model().graph().initializer()) {
    (void)(*file)->type_of(t);
    (void)(*file)->doubles(t);
  }
  return true;
}

std::string refusal(llvm::StringRef bytes) { return message_of(parse_bytes(bytes)); }

TEST(WireScan, KeepsEverythingButLongRawData) {
  schema::Model model = rich_model();
  auto stripped = without_raw_data(model.SerializeAsString(), "m.onnx");
  ASSERT_TRUE(stripped);
  schema::Model read;
  ASSERT_TRUE(read.ParseFromString(*stripped));
  auto put_back = [](schema::Tensor& t, const schema::Tensor& from) {
    EXPECT_EQ(t.place_end() - t.place_begin(), from.raw_data().size());
    t.clear_place_begin(), t.clear_place_end();
    t.set_raw_data(from.raw_data());
  };
  put_back(*read.mutable_graph()->mutable_initializer(0), model.graph().initializer(0));
  auto tensor_of = [](schema::Model& m) {
    return m.mutable_graph()
        ->mutable_node(0)
        ->mutable_attribute(0)
        ->mutable_g()
        ->mutable_node(0)
        ->mutable_attribute(0)
        ->mutable_t();
  };
  put_back(*tensor_of(read), *tensor_of(model));
  EXPECT_EQ(read.SerializeAsString(), model.SerializeAsString());
}

TEST(WireScan, EveryTruncationIsRefusedOrReads) {
  std::string bytes = rich_model().SerializeAsString();
  ASSERT_TRUE(reads(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) (void)reads({bytes.data(), size});
  EXPECT_EQ(refusal({bytes.data(), bytes.size() / 2}).find("`m.onnx` is not a readable ONNX file"),
            0u);
}

TEST(WireScan, EveryChangedByteIsRefusedOrReads) {
  std::string bytes = rich_model().SerializeAsString();
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int change : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      (void)reads(changed);
    }
}

TEST(WireScan, NamesTheByteAndTheMessage) {
  EXPECT_EQ(refusal("\x3a\x05\x2a\x7f"), // graph { initializer of 127 bytes
            "`m.onnx` is not a readable ONNX file: byte 0, in the model: 5 bytes are declared, but "
            "only 2 remain");
  EXPECT_EQ(refusal(llvm::StringRef("\x3a\x02\x2a\x7f", 4)),
            "`m.onnx` is not a readable ONNX file: byte 2, in a graph: 127 bytes are declared, but "
            "only 0 remain");
}

TEST(WireScan, LengthsThatOverflowAreRefused) {
  EXPECT_NE(refusal("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").find("are declared"),
            std::string::npos);
  EXPECT_NE(refusal("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02").find("more than 64 bits"),
            std::string::npos);
  EXPECT_NE(refusal("\x3a\xff\xff\xff").find("a number is cut off"), std::string::npos);
}

TEST(WireScan, OtherFilesAreRefused) {
  EXPECT_NE(refusal("model m(x: f32[1]) { relu(x) }\n"), "");
  EXPECT_NE(refusal("PK\x03\x04 and so on"), "");
  EXPECT_EQ(refusal(""), "`m.onnx` is not a readable ONNX file: it has no graph");
}

TEST(WireScan, FieldsOfAnotherTypeAreRefused) {
  EXPECT_EQ(refusal(llvm::StringRef("\x38\x01", 2)), // graph = 1
            "`m.onnx` is not a readable ONNX file: byte 0, in the model: field 7 has the wire "
            "type 0");
  EXPECT_NE(refusal("\x0b\x0c").find("the unknown wire type 3"), std::string::npos);
}

TEST(WireScan, TwoGraphsOfAModelAreRefused) {
  std::string bytes = rich_model().SerializeAsString();
  EXPECT_NE(refusal(bytes + bytes).find("occurs twice"), std::string::npos);
}

TEST(WireScan, RefusesTextThatIsNotUtf8) {
  schema::Model model = model_of({});
  std::string bytes = model.SerializeAsString() + std::string("\x12\x01\xff", 3);
  EXPECT_NE(refusal(bytes).find("field 2 is not UTF-8 text"), std::string::npos);
}

TEST(WireScan, PlacesThatAFileNamesItselfAreNotBelieved) {
  schema::Tensor t = tensor(schema::Tensor::FLOAT, {1});
  t.set_place_begin(0), t.set_place_end(4);
  auto file = file_of(model_of({t}));
  const schema::Tensor& read = file->model().graph().initializer(0);
  EXPECT_EQ(read.place_end(), 0u);
  EXPECT_FALSE(file->elements(read));
}

/// A field with these bytes, as protobuf encodes it.
std::string field(int number, const std::string& bytes) {
  std::string out;
  auto varint = [&](uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  varint(static_cast<uint64_t>(number) << 3 | 2);
  varint(bytes.size());
  return out + bytes;
}

/// Graphs nested to this depth, encoded from the innermost, since protobuf encodes recursively.
std::string nested(int depth) {
  schema::Graph innermost;
  *innermost.add_initializer() = floats("w", 100);
  std::string graph = innermost.SerializeAsString();
  for (int i = 0; i < depth; ++i)
    graph = field(
        schema::Graph::kNodeFieldNumber,
        field(schema::Node::kAttributeFieldNumber, field(schema::Attribute::kGFieldNumber, graph)));
  schema::Model model = model_of({});
  model.clear_graph();
  return model.SerializeAsString() + field(schema::Model::kGraphFieldNumber, graph);
}

TEST(WireScan, NestingIsBounded) {
  EXPECT_EQ(refusal(nested(64)), "");
  EXPECT_NE(refusal(nested(70)).find("graphs are nested too deep"), std::string::npos);
  EXPECT_NE(refusal(nested(5000)), "");
}

TEST(WireScan, BoundsTheNestingOfSkippedFields) {
  schema::Model model = model_of({});
  schema::Type* type = model.mutable_graph()->add_input()->mutable_type();
  for (int i = 0; i < 3000; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_NE(refusal(model.SerializeAsString()).find("nested too deep"), std::string::npos);
}

} // namespace
} // namespace tg::onnx
