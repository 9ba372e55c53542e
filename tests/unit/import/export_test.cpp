// Tests graphs as ONNX models: names, operators by opset, rejected graphs, and the bytes of files.
#include "compiler/import/onnx/write/write_model.h"
#include "lang/core/support/data_file.h"
#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace tg::onnx {
namespace {

struct Export : testing::Test {
  NodeId add(OpKind op, std::vector<Value> attrs, std::vector<NodeId> operands) {
    return test::add_node(graph, op, operands, attrs);
  }
  void output(const char* name, NodeId node) { graph.add_output(name, node); }

  Exported exported(int opset = kUsualExport) {
    Result<Exported> result = export_graph(graph, {opset, "1"});
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result ? std::move(*result) : Exported{};
  }
  /// Returns the operators in order.
  std::string ops(int opset = kUsualExport) {
    std::string text;
    Exported model = exported(opset);
    for (const schema::Node& node : model.graph.node())
      text += (text.empty() ? "" : " ") + node.op_type();
    return text;
  }
  std::string refusal() {
    Result<Exported> result = export_graph(graph, {});
    EXPECT_FALSE(result.ok());
    if (result) return "";
    EXPECT_EQ(result.error().code, Code::unsupported);
    return result.error().message;
  }

  Graph graph{std::make_shared<Symbols>(), "m"};
  const Value none = Value::of_enum("none");
};

const schema::Attribute& attribute(const schema::Node& node, const std::string& name) {
  for (const schema::Attribute& attr : node.attribute())
    if (attr.name() == name) return attr;
  ADD_FAILURE() << "no attribute " << name;
  return node.attribute(0);
}

TEST_F(Export, NamesAreKeptAsTheyAre) {
  NodeId x = graph.input("image:0", f32({2, 3})), w = graph.weight("Conv/1.w", f32({3}));
  graph.input("not read", f32({1}));
  output("result of it", add(OpKind::Add, {}, {x, w}));
  Exported model = exported();
  ASSERT_EQ(model.graph.input_size(), 2);
  EXPECT_EQ(model.graph.input(0).name(), "image:0");
  EXPECT_EQ(model.graph.input(1).name(), "not read");
  EXPECT_EQ(model.graph.output(0).name(), "result of it");
  ASSERT_EQ(model.weights.size(), 1u);
  EXPECT_EQ(model.weights[0].tensor.name(), "Conv/1.w");
  EXPECT_EQ(model.graph.node(0).input(1), "Conv/1.w");
  EXPECT_EQ(model.graph.node(0).output(0), "result of it");
}

TEST_F(Export, AWeightMakesRoomForAnInputOfItsName) {
  NodeId x = graph.input("x", f32({3})), w = graph.weight("x", f32({3}));
  output("relu_3", add(OpKind::Add, {}, {x, add(OpKind::Relu, {}, {w})}));
  Exported model = exported();
  EXPECT_EQ(model.weights[0].tensor.name(), "x_2");
  EXPECT_EQ(model.graph.node(0).input(0), "x_2");
}

TEST_F(Export, AnOutputWithAnInputsNameGetsAnother) {
  NodeId x = graph.input("x", f32({3})), same = graph.input("same", f32({3}));
  output("x", add(OpKind::Relu, {}, {x}));
  output("same", same);
  Exported model = exported();
  EXPECT_EQ(model.graph.output(0).name(), "x.next");
  EXPECT_EQ(model.graph.output(1).name(), "same") << "one value, which is both";
  ASSERT_EQ(model.graph.node_size(), 1);
  ASSERT_EQ(model.model.metadata_props_size(), 1);
  EXPECT_EQ(model.model.metadata_props(0).key(), "tangram.output.x.next");
  EXPECT_EQ(model.model.metadata_props(0).value(), "x");
}

TEST_F(Export, OutputsThatNoNodeMakesAreIdentities) {
  NodeId x = graph.input("x", f32({3})), y = add(OpKind::Relu, {}, {x});
  for (const char* name : {"a", "b"}) output(name, y);
  output("same", x);
  output("w", graph.weight("weight", f32({3})));
  EXPECT_EQ(ops(), "Relu Identity Identity Identity");
}

TEST_F(Export, ConvolutionsSpellOutTheirPadding) {
  NodeId x = graph.input("x", f32({1, 4, 8, 9})), w = graph.weight("w", f32({4, 2, 3, 2}));
  NodeId none_id = graph.none();
  output("y",
         add(OpKind::Conv2d,
             {Value::of_int(2), Value::of_enum("same"), Value::of_int(1), Value::of_enum("relu")},
             {x, w, none_id, none_id}));
  Exported model = exported();
  const schema::Node& conv = model.graph.node(0);
  EXPECT_EQ(conv.op_type(), "Conv");
  EXPECT_EQ(conv.input_size(), 2);
  EXPECT_EQ(attribute(conv, "group").i(), 2);
  auto pads = attribute(conv, "pads").ints();
  EXPECT_EQ(std::vector<int64_t>(pads.begin(), pads.end()), (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(model.graph.node(1).op_type(), "Relu");
  EXPECT_EQ(model.graph.node(1).output(0), "y");
}

TEST_F(Export, TransformedKernelsAreConvolutionsAgain) {
  NodeId x = graph.input("x", f32({1, 2, 8, 8})), w = graph.weight("w", f32({4, 2, 3, 3}));
  NodeId u = add(OpKind::WinogradWeight, {Value::of_int(4)}, {w}), no = graph.none();
  output("y", add(OpKind::WinogradConv2d, {Value::of_enum("same"), none}, {x, u, no, no}));
  PreparedGraph plain = prepare_for_export(graph);
  EXPECT_TRUE(plain.transforms.outputs().empty());
  graph = std::move(plain.graph);
  EXPECT_EQ(ops(), "Conv");
}

TEST_F(Export, OperatorsFollowTheOpset) {
  NodeId x = graph.input("x", f32({2, 3})), s = graph.weight("s", f32({3}));
  output("gelu", add(OpKind::Gelu, {}, {x}));
  EXPECT_EQ(ops(20), "Gelu");
  EXPECT_EQ(ops(19), "Div Erf Add Mul Mul");
  output("norm", add(OpKind::LayerNorm, {Value::of_float(1e-5)}, {x, s, s}));
  EXPECT_EQ(ops(20), "Gelu LayerNormalization");
  EXPECT_EQ(exported(13).model.ir_version(), 7);
  EXPECT_EQ(exported(23).model.ir_version(), 11);
  EXPECT_EQ(exported(24).model.ir_version(), 12);
  EXPECT_FALSE(export_graph(graph, {12, ""}).ok());
  EXPECT_FALSE(export_graph(graph, {25, ""}).ok());
}

TEST_F(Export, AxesOfReductionsBecameInputs) {
  NodeId x = graph.input("x", f32({2, 3}));
  output("y", add(OpKind::ReduceMean, {Value::of_ints({1}), Value::of_bool(false)}, {x}));
  EXPECT_EQ(exported(17).graph.node(0).input_size(), 1);
  EXPECT_EQ(exported(18).graph.node(0).input_size(), 2);
}

TEST_F(Export, MeansOfImagesAreTheOperatorForThem) {
  NodeId x = graph.input("x", f32({1, 4, 5, 6}));
  auto mean = [&](std::vector<int64_t> axes, bool keeps) {
    return add(OpKind::ReduceMean, {Value::of_ints(std::move(axes)), Value::of_bool(keeps)}, {x});
  };
  output("kept", mean({2, 3}, true));
  EXPECT_EQ(ops(), "GlobalAveragePool");
  output("dropped", mean({2, 3}, false));
  output("rows", mean({3}, true));
  EXPECT_EQ(ops(), "GlobalAveragePool Reshape ReduceMean");
}

TEST_F(Export, APoolOfTheWholeImageIsItsMean) {
  NodeId x = graph.input("x", f32({1, 4, 5, 6}));
  auto pool = [&](std::vector<int64_t> kernel) {
    return add(OpKind::AvgPool2d,
               {Value::of_ints(std::move(kernel)), Value::of_ints({1, 1}), Value::of_enum("valid"),
                Value::of_bool(false)},
               {x});
  };
  output("whole", pool({5, 6}));
  output("part", pool({5, 5}));
  EXPECT_EQ(ops(), "GlobalAveragePool AveragePool");
}

TEST_F(Export, AHardSigmoidIsOneOperator) {
  NodeId x = graph.input("x", f32({2, 3}));
  auto number = [&](double value) { return graph.constant({value}, f32({})); };
  auto clip = [&](NodeId of, double high) {
    return add(OpKind::Clip, {Value::of_float(0), Value::of_float(high)}, {of});
  };
  NodeId scaled = add(OpKind::Mul, {}, {number(0.25), x});
  output("scaled", clip(add(OpKind::Add, {}, {scaled, number(0.5)}), 1));
  Exported model = exported();
  ASSERT_EQ(model.graph.node_size(), 1);
  EXPECT_EQ(attribute(model.graph.node(0), "alpha").f(), 0.25F);
  EXPECT_EQ(attribute(model.graph.node(0), "beta").f(), 0.5F);
  output("plain", clip(add(OpKind::Add, {}, {x, number(0.5)}), 1));
  EXPECT_EQ(ops(), "HardSigmoid HardSigmoid");
  output("wider", clip(add(OpKind::Add, {}, {x, number(3)}), 6));
  EXPECT_EQ(ops(), "HardSigmoid HardSigmoid Add Clip");
}

TEST_F(Export, DecomposesHardSigmoidWithInexactAttributes) {
  NodeId x = graph.input("x", f32({3}));
  NodeId third = graph.constant({1.0 / 3}, f32({}));
  output("y", add(OpKind::Clip, {Value::of_float(0), Value::of_float(1)},
                  {add(OpKind::Add, {}, {x, third})}));
  EXPECT_EQ(ops(), "Add Clip");
}

TEST_F(Export, AGeluByTanhHasTheOrderThatRuntimesRecognise) {
  NodeId x = graph.input("x", f32({2, 3}));
  auto number = [&](double value) { return graph.constant({value}, f32({})); };
  auto mul = [&](NodeId a, NodeId b) { return add(OpKind::Mul, {}, {a, b}); };
  NodeId cube = mul(number(0.044715), mul(x, mul(x, x)));
  NodeId inner = mul(add(OpKind::Add, {}, {cube, x}), number(0.7978845608));
  NodeId one_more = add(OpKind::Add, {}, {number(1), add(OpKind::Tanh, {}, {inner})});
  output("y", mul(mul(one_more, x), number(0.5)));
  EXPECT_EQ(ops(), "Mul Pow Mul Add Mul Tanh Add Mul");
  EXPECT_EQ(ops(20), "Gelu");
  output("z", mul(mul(one_more, x), number(0.25)));
  EXPECT_EQ(ops(20), "Mul Mul Mul Add Mul Tanh Add Mul Gelu Mul");
}

TEST_F(Export, ProductsOfManyTermsAreNotTakenApart) {
  NodeId number = graph.constant({1}, f32({1}));
  for (int i = 0; i < 64; ++i) number = add(OpKind::Mul, {}, {number, number}); // 2^64 terms
  output("y", add(OpKind::Mul, {}, {graph.input("x", f32({1})), number}));
  EXPECT_GT(exported().graph.node_size(), 0);
}

TEST_F(Export, ANormByRootsOfSquaresHasTheOrderThatRuntimesRecognise) {
  NodeId x = graph.input("x", f32({2, 3})), w = graph.weight("w", f32({3}));
  auto number = [&](double value) { return graph.constant({value}, f32({})); };
  auto two = [&](OpKind op, NodeId a, NodeId b) { return add(op, {}, {a, b}); };
  NodeId squares = two(OpKind::Mul, x, x);
  NodeId mean = add(OpKind::ReduceMean, {Value::of_ints({1}), Value::of_bool(true)}, {squares});
  NodeId root = add(OpKind::Sqrt, {}, {two(OpKind::Add, number(1e-6), mean)});
  NodeId inverse = two(OpKind::Div, number(1), root);
  output("y", two(OpKind::Mul, w, two(OpKind::Mul, x, inverse)));
  const char* norm = "Pow ReduceMean Add Sqrt Div Mul";
  EXPECT_EQ(ops(), norm);
  graph = Graph{graph.shared_symbols(), "m"};
  x = graph.input("x", f32({2, 3}));
  squares = two(OpKind::Mul, x, x);
  mean = add(OpKind::ReduceMean, {Value::of_ints({1}), Value::of_bool(true)}, {squares});
  root = add(OpKind::Sqrt, {}, {two(OpKind::Add, number(1e-6), mean)});
  output("y", two(OpKind::Div, x, root));
  EXPECT_EQ(ops(), norm); // with a scale of ones
  EXPECT_EQ(ops(13), norm);
}

TEST_F(Export, RepeatedElementsAreAResize) {
  NodeId x = graph.input("x", f32({1, 3, 4, 5}));
  auto reshape = [&](NodeId of, std::vector<int64_t> shape) {
    return add(OpKind::Reshape, {Value::of_ints(std::move(shape))}, {of});
  };
  NodeId apart = reshape(x, {1, 3, 4, 1, 5, 1});
  NodeId wide = add(OpKind::Broadcast, {Value::of_ints({1, 3, 4, 2, 5, 3})}, {apart});
  output("y", reshape(wide, {1, 3, 8, 15}));
  EXPECT_EQ(ops(), "Resize");
  output("other", reshape(wide, {1, 3, 24, 5}));
  EXPECT_EQ(ops(), "Reshape Expand Resize Reshape");
}

TEST_F(Export, RowsOfSequencesAreMatricesFromTheFirstProductToTheLast) {
  NodeId x = graph.input("x", f32({2, 3, 4}));
  NodeId w = graph.weight("w", f32({4, 8})), b = graph.weight("b", f32({8}));
  NodeId v = graph.weight("v", f32({8, 4})), c = graph.weight("c", f32({4}));
  NodeId h = add(OpKind::Matmul, {Value::of_enum("relu")}, {x, w, b, graph.none()});
  NodeId y = add(OpKind::Matmul, {none}, {h, v, c, graph.none()});
  output("y", add(OpKind::Transpose, {Value::of_ints({1, 0, 2})}, {y}));
  EXPECT_EQ(ops(), "MatMul Add Relu MatMul Add Transpose");
  graph = prepare_for_export(graph).graph;
  EXPECT_EQ(ops(), "Reshape Gemm Relu Gemm Reshape Transpose");
}

TEST_F(Export, ReshapesToMatricesAndBackGoAwayBetweenThem) {
  NodeId x = graph.input("x", f32({6, 4}));
  auto reshape = [&](NodeId of, std::vector<int64_t> shape) {
    return add(OpKind::Reshape, {Value::of_ints(std::move(shape))}, {of});
  };
  NodeId tanh = add(OpKind::Tanh, {}, {reshape(x, {2, 3, 4})});
  output("y", reshape(tanh, {6, 4}));
  graph = prepare_for_export(graph).graph;
  EXPECT_EQ(ops(), "Tanh");
}

TEST_F(Export, KeepsRowsThatWouldNeedMoreReshapes) {
  NodeId x = graph.input("x", f32({2, 3, 4})), w = graph.weight("w", f32({4, 8}));
  output("y", add(OpKind::Matmul, {Value::of_enum("relu")}, {x, w, graph.none(), graph.none()}));
  graph = prepare_for_export(graph).graph;
  EXPECT_EQ(ops(), "MatMul Relu");
}

TEST_F(Export, EquallyFarElementsAreASlice) {
  NodeId x = graph.input("x", f32({2, 9}));
  auto take = [&](std::vector<int64_t> places) {
    NodeId indices =
        graph.whole_constant(places, {DType::I64, {static_cast<int64_t>(places.size())}});
    return add(OpKind::Gather, {Value::of_int(1)}, {x, indices});
  };
  output("thirds", take({1, 4, 7}));
  Exported model = exported();
  ASSERT_EQ(model.graph.node_size(), 1);
  EXPECT_EQ(model.graph.node(0).op_type(), "Slice");
  EXPECT_EQ(model.graph.initializer_size(), 3); // 1, 8 and 3, of which 1 is the axis, too
  output("uneven", take({1, 4, 8}));
  output("back", take({4, 3, 2}));
  EXPECT_EQ(ops(), "Slice Gather Gather");
}

TEST_F(Export, FusedBodiesAreWrittenOut) {
  NodeId x = graph.input("x", f32({2, 3})), y = graph.input("y", f32({3}));
  output("z", add(OpKind::FusedMap, {Value::of_string("tanh(add($0, mul($1, $0)))")}, {x, y}));
  EXPECT_EQ(ops(), "Mul Add Tanh");
}

TEST_F(Export, BrainFloatsAreComputedInFloats) {
  NodeId x = graph.input("x", {DType::BF16, {2}});
  output("y", add(OpKind::Relu, {}, {add(OpKind::Exp, {}, {x})}));
  EXPECT_EQ(ops(), "Cast Exp Cast Cast Relu Cast");
}

TEST_F(Export, NamesOperatorsThatOnnxCannotExpress) {
  TensorType whole{DType::I32, {1, 2, 4, 4}}, kernel{DType::I32, {2, 2, 3, 3}};
  NodeId no = graph.none();
  output("y",
         add(OpKind::Conv2d, {Value::of_int(1), Value::of_enum("valid"), Value::of_int(1), none},
             {graph.input("x", whole), graph.input("w", kernel), no, no}));
  EXPECT_EQ(refusal(), "`conv2d` of i32 cannot be written: ONNX's Conv requires floats");
}

TEST_F(Export, KernelsAreFoundFromTheirTransforms) {
  NodeId x = graph.input("x", f32({1, 2, 8, 8})), u = graph.weight("u", f32({36, 4, 2}));
  NodeId no = graph.none();
  output("y", add(OpKind::WinogradConv2d, {Value::of_enum("same"), none}, {x, u, no, no}));
  PreparedGraph plain = prepare_for_export(graph);
  EXPECT_EQ(plain.transforms.outputs().size(), 2u);
  EXPECT_EQ(plain.transforms.outputs()[0].name, "u");
  EXPECT_EQ(verify(plain.graph), "");
  NodeId y = plain.graph.outputs()[0].node;
  EXPECT_EQ(plain.graph.node(y).op, OpKind::Conv2d);
  EXPECT_EQ(plain.graph.type(plain.graph.operands(y)[1]), f32({4, 2, 3, 3}));
}

TEST_F(Export, ATransformThatIsGivenAtRunTimeIsRefused) {
  NodeId x = graph.input("x", f32({1, 2, 8, 8})), u = graph.input("u", f32({16, 4, 2}));
  NodeId no = graph.none();
  output("y", add(OpKind::WinogradConv2d, {Value::of_enum("same"), none}, {x, u, no, no}));
  EXPECT_EQ(refusal(),
            "`winograd_conv2d` cannot be written: its kernel is not a `winograd_weight` of "
            "the convolution's");
}

TEST_F(Export, IndicesThatAreKnownAreChecked) {
  NodeId x = graph.input("x", f32({5, 4}));
  NodeId ids = graph.constant({0, 5}, {DType::I32, {2}});
  output("y", add(OpKind::Gather, {Value::of_int(0)}, {x, ids}));
  EXPECT_EQ(refusal(),
            "`gather` takes index 5 of an axis of 5: ONNX rejects it, or counts it from the end");
}

TEST_F(Export, IndicesThatAreGivenAreANote) {
  NodeId x = graph.input("x", f32({5, 4}));
  NodeId ids = graph.input("ids", {DType::I64, {2}});
  output("y", add(OpKind::Gather, {Value::of_int(0)}, {x, ids}));
  ASSERT_EQ(exported().notes.size(), 1u);
  EXPECT_EQ(exported().notes[0],
            "`ids` must contain rows from 0 to 4: ONNX reports others as errors");
}

TEST_F(Export, ManyEqualNumbersAreMadeAtLoad) {
  NodeId x = graph.input("x", f32({100, 100}));
  output("y", add(OpKind::Add, {}, {x, graph.constant({1}, f32({100, 100}))}));
  EXPECT_EQ(ops(), "ConstantOfShape Add");
}

// --- files --------------------------------------------------------------------------------------

std::string contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct ExportedFile : Export {
  std::string path = testing::TempDir() + "tangram_export_test.onnx", data = path + ".data";

  ~ExportedFile() override {
    std::remove(path.c_str());
    std::remove(data.c_str());
  }
  /// Fills each weight's bytes with the last letter of its name.
  static Result<void> letters(const Graph& graph, NodeId weight, TakeElements take) {
    char letter = graph.attr(weight, 0).text.back();
    return take(std::string(static_cast<size_t>(graph.type(weight).bytes()), letter));
  }
  Result<Written> write(uint64_t most = kMostInOneFile) {
    Exported model = exported();
    return write_model(
        model, path, [&](NodeId weight, TakeElements take) { return letters(graph, weight, take); },
        most);
  }
  schema::Model read() const {
    schema::Model model;
    EXPECT_TRUE(model.ParseFromString(contents(path)));
    return model;
  }
  void two_weights() {
    NodeId x = graph.input("x", f32({300, 200}));
    NodeId sum = add(OpKind::Add, {}, {x, graph.weight("a", f32({300, 200}))});
    output("y", add(OpKind::Mul, {}, {sum, graph.weight("b", f32({300, 1}))}));
  }
};

TEST_F(ExportedFile, HoldsItsWeights) {
  two_weights();
  Result<Written> written = write();
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->bytes, contents(path).size());
  EXPECT_EQ(written->external_bytes, 0u);
  schema::Model model = read();
  EXPECT_EQ(model.producer_name(), "tangram");
  EXPECT_EQ(model.opset_import(0).version(), 18);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).raw_data(), std::string(240'000, 'a'));
  EXPECT_EQ(model.graph().initializer(1).raw_data(), std::string(1200, 'b'));
}

TEST_F(ExportedFile, BeyondTheLimitItHasASecondFile) {
  two_weights();
  Result<Written> written = write(10'000);
  ASSERT_TRUE(written.ok());
  std::string bytes = contents(data);
  EXPECT_EQ(written->external_bytes, bytes.size());
  schema::Model model = read();
  for (const schema::Tensor& tensor : model.graph().initializer()) {
    EXPECT_EQ(tensor.data_location(), schema::Tensor::EXTERNAL);
    EXPECT_EQ(tensor.external_data(0).value(), "tangram_export_test.onnx.data");
    size_t offset = std::stoul(tensor.external_data(1).value());
    size_t length = std::stoul(tensor.external_data(2).value());
    EXPECT_EQ(bytes.substr(offset, length), std::string(length, tensor.name()[0]));
  }
}

TEST_F(ExportedFile, IsNotWrittenWhereAWeightFails) {
  two_weights();
  Exported model = exported();
  Result<Written> written = write_model(model, path, [](NodeId, TakeElements) -> Result<void> {
    return error(Code::missing_weights, "gone");
  });
  EXPECT_FALSE(written.ok());
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST_F(ExportedFile, IndicesAmongTheWeightsAreChecked) {
  NodeId ids = graph.weight("ids", {DType::I32, {2}}); // its bytes are "ssss"
  output("y", add(OpKind::Gather, {Value::of_int(0)}, {graph.input("x", f32({5, 4})), ids}));
  Result<Written> written = write();
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(
      written.error().message,
      "`gather` takes index 1936946035, from `ids`, of an axis of 5: ONNX rejects it, or counts "
      "it from the end");
}

} // namespace
} // namespace tg::onnx
