// Tests `infer`: the operands that it accepts, the types that it returns, the normal form of
// attributes, and its errors. Every ShapeRule has a case of each kind.
#include "lang/core/shape_rules.h"

#include "lang/core/fused_body.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

using Attrs = std::vector<std::pair<const char*, Value>>;

struct Inferred {
  bool ok = false;
  std::string type, why;
  std::vector<std::string> attrs;
};

/// Infers the type for operands of these shapes. An empty optional is an absent operand.
Inferred run(OpKind op, std::vector<std::optional<Shape>> shapes, const Attrs& given = {}) {
  Symbols symbols;
  const OpInfo& info = op_info(op);
  llvm::SmallVector<ValueId, 4> attrs;
  for (const AttrInfo& attr : info.attrs()) {
    const Value* value = nullptr;
    for (const auto& [name, v] : given)
      if (attr.name == name) value = &v;
    EXPECT_TRUE(value || !attr.required) << attr.name;
    attrs.push_back(symbols.value(value ? *value : default_value(attr)));
  }
  std::vector<TypeId> types;
  for (const auto& shape : shapes)
    types.push_back(shape ? symbols.type({DType::F32, *shape}) : symbols.none_type());
  Inferred out;
  TypeId result;
  out.ok = infer(symbols, op, attrs, types, result, &out.why);
  if (out.ok) out.type = symbols.type(result).text();
  for (ValueId id : attrs) out.attrs.push_back(symbols.value(id).text_form());
  return out;
}

Value ints(std::initializer_list<int64_t> list) { return Value::of_ints(list); }
Value num(int64_t n) { return Value::of_int(n); }
constexpr std::nullopt_t absent = std::nullopt;

TEST(ShapeRules, MatmulBroadcastsBatches) {
  EXPECT_EQ(run(OpKind::Matmul, {Shape{1, 512}, Shape{512, 256}, absent, absent}).type,
            "f32[1, 256]");
  EXPECT_EQ(run(OpKind::Matmul, {Shape{8, 1, 2, 3}, Shape{5, 3, 4}, absent, absent}).type,
            "f32[8, 5, 2, 4]");
  EXPECT_EQ(run(OpKind::Matmul, {Shape{1, 512}, Shape{256, 512}, absent, absent}).why,
            "inner dimensions differ: 512 and 256");
  EXPECT_EQ(run(OpKind::Matmul, {Shape{2, 4, 3}, Shape{3, 3, 4}, absent, absent}).why,
            "batch dimensions [2] and [3] do not broadcast");
  EXPECT_EQ(run(OpKind::Matmul, {Shape{2, 3}, Shape{3, 4}, Shape{3}, absent}).why,
            "the bias must be f32[4], got f32[3]");
  EXPECT_TRUE(run(OpKind::Matmul, {Shape{2, 3}, Shape{3, 4}, Shape{4}, Shape{2, 4}}).ok);
  EXPECT_FALSE(run(OpKind::Matmul, {Shape{2, 3}, Shape{3, 4}, absent, Shape{1, 4}}).ok);
  EXPECT_FALSE(run(OpKind::Matmul, {Shape{3}, Shape{3, 4}, absent, absent}).ok);
  EXPECT_EQ(run(OpKind::Matmul, {absent, Shape{3, 4}, absent, absent}).why,
            "operand 1 of matmul is missing");
}

TEST(ShapeRules, AttentionBroadcastsHeadsAndMasks) {
  auto attention = [](Shape q, Shape keys, Shape values, std::optional<Shape> mask = absent) {
    return run(OpKind::Attention, {q, keys, values, mask, absent});
  };
  EXPECT_EQ(attention({5, 8}, {8, 7}, {7, 4}).type, "f32[5, 4]");
  EXPECT_EQ(attention({2, 3, 4, 5, 8}, {2, 3, 1, 8, 7}, {3, 1, 7, 4}).type, "f32[2, 3, 4, 5, 4]");
  EXPECT_EQ(attention({3, 5, 8}, {8, 7}, {7, 4}, Shape{2, 1, 5, 1}).type, "f32[2, 3, 5, 4]");
  EXPECT_EQ(attention({5, 8}, {8, 7}, {7, 4}, Shape{}).type, "f32[5, 4]");
  EXPECT_EQ(attention({5, 8}, {9, 7}, {7, 4}).why,
            "the queries have width 8, but the keys[.., width, places] have width 9");
  EXPECT_EQ(attention({5, 8}, {8, 7}, {6, 4}).why,
            "there are 7 keys[.., width, places], but 6 values[.., places, width]");
  EXPECT_EQ(attention({8}, {8, 7}, {7, 4}).why,
            "attention requires two or more dimensions, got f32[8], f32[8, 7] and f32[7, 4]");
  EXPECT_EQ(attention({2, 5, 8}, {3, 8, 7}, {7, 4}).why,
            "batch dimensions [2], [3] and [] do not broadcast");
  EXPECT_EQ(attention({1, 8}, {8, 7}, {7, 4}, Shape{5, 7}).why,
            "`mask` f32[5, 7] does not broadcast to the scores [1, 7]");
  EXPECT_EQ(run(OpKind::Attention, {Shape{5, 8}, Shape{8, 7}, Shape{7, 4}, absent, Shape{7}}).why,
            "`seen` of attention must be bool, got f32[7]");
}

TEST(ShapeRules, ConvGroupsFollowFromShapes) {
  Shape x{1, 32, 14, 15};
  auto conv = [&](Shape w, Attrs attrs) {
    return run(OpKind::Conv2d, {x, w, absent, absent}, attrs);
  };
  EXPECT_EQ(conv({64, 32, 3, 3}, {}).type, "f32[1, 64, 12, 13]");
  EXPECT_EQ(conv({64, 32, 3, 3}, {{"pad", Value::of_enum("same")}, {"stride", num(2)}}).type,
            "f32[1, 64, 7, 8]");
  EXPECT_EQ(conv({32, 1, 3, 3}, {{"pad", num(1)}}).type, "f32[1, 32, 14, 15]") << "depthwise";
  EXPECT_EQ(conv({64, 8, 3, 3}, {{"dilation", ints({2, 1})}}).type, "f32[1, 64, 10, 13]");
  EXPECT_EQ(conv({64, 5, 3, 3}, {}).why, "32 input channels are not a multiple of the kernel's 5");
  EXPECT_EQ(conv({6, 8, 3, 3}, {}).why, "6 output channels do not divide into 4 groups");
  EXPECT_FALSE(conv({64, 32, 15, 3}, {}).ok);
  EXPECT_EQ(conv({64, 32, 3, 3}, {{"stride", num(0)}}).why, "`stride` must be at least 1, got 0");
  EXPECT_FALSE(conv({64, 32, 3, 3}, {{"dilation", num(int64_t{1} << 40)}}).ok);
}

TEST(ShapeRules, MinimalFilteringHasTheShapesOfItsConvolution) {
  auto weight = [](Shape w, int64_t tile) {
    return run(OpKind::WinogradWeight, {w}, {{"tile", num(tile)}});
  };
  EXPECT_EQ(weight({64, 32, 3, 3}, 4).type, "f32[36, 64, 32]");
  EXPECT_EQ(weight({64, 32, 3, 3}, 2).type, "f32[16, 64, 32]");
  EXPECT_EQ(weight({64, 32, 3, 3}, 3).why, "`tile` must be 2 or 4, got 3");
  EXPECT_EQ(weight({64, 32, 3, 1}, 2).why,
            "winograd_weight requires w[O, I, 3, 3], got f32[64, 32, 3, 1]");
  auto conv = [](Shape u, Attrs attrs = {}, std::optional<Shape> bias = absent) {
    return run(OpKind::WinogradConv2d, {Shape{1, 32, 14, 15}, u, bias, absent}, attrs);
  };
  EXPECT_EQ(conv({36, 64, 32}).type, "f32[1, 64, 12, 13]");
  EXPECT_EQ(conv({16, 64, 8}, {{"pad", Value::of_enum("same")}}, Shape{64}).type,
            "f32[1, 64, 14, 15]");
  EXPECT_EQ(conv({25, 64, 32}).why, "winograd_conv2d requires x[N, C, H, W] and u[16 or 36, O, C / "
                                    "groups], got f32[1, 32, 14, 15] and f32[25, 64, 32]");
  EXPECT_EQ(conv({16, 64, 5}).why, "32 input channels are not a multiple of the kernel's 5");
  EXPECT_EQ(conv({16, 6, 8}).why, "6 output channels do not divide into 4 groups");
  EXPECT_EQ(conv({16, 64, 32}, {}, Shape{32}).why, "the bias must be f32[64], got f32[32]");
}

TEST(ShapeRules, AttributesHaveANormalForm) {
  auto conv = [&](Value pad) {
    return run(OpKind::Conv2d, {Shape{1, 4, 9, 9}, Shape{4, 4, 3, 3}, absent, absent},
               {{"pad", pad}})
        .attrs;
  };
  EXPECT_EQ(conv(num(0))[1], "valid");
  EXPECT_EQ(conv(num(1))[1], "[1, 1, 1, 1]");
  EXPECT_EQ(conv(ints({1, 2}))[1], "[1, 2, 1, 2]");
  EXPECT_EQ(conv(num(1))[0], "[1, 1]");
  EXPECT_EQ(run(OpKind::Concat, {Shape{2, 3}, Shape{2, 4}}, {{"axis", num(-1)}}).attrs[0], "1");
  EXPECT_EQ(
      run(OpKind::Slice, {Shape{9}}, {{"axis", num(0)}, {"start", num(-4)}, {"stop", num(-1)}})
          .attrs,
      (std::vector<std::string>{"0", "5", "8"}));
  EXPECT_EQ(run(OpKind::ReduceSum, {Shape{2, 3, 4}}, {{"axes", ints({-1, 0})}}).attrs[0], "[0, 2]");
}

TEST(ShapeRules, SamePaddingPutsTheOddZeroBehind) {
  std::optional<Window> w = window(224, 3, 2, 1, Value::of_enum("same"), 0);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->out, 112);
  EXPECT_EQ(w->before, 0);
  EXPECT_EQ(w->after, 1);
  w = window(5, 2, 1, 1, Value::of_enum("same"), 0); // an even kernel
  EXPECT_EQ(w->out, 5);
  EXPECT_EQ(w->before, 0);
  EXPECT_EQ(w->after, 1);
}

TEST(ShapeRules, Pieces) {
  EXPECT_EQ(run(OpKind::Concat, {Shape{2, 3}, Shape{2, 4}, Shape{2, 1}}, {{"axis", num(1)}}).type,
            "f32[2, 8]");
  EXPECT_EQ(run(OpKind::Concat, {Shape{2, 3}, Shape{3, 4}}, {{"axis", num(1)}}).why,
            "f32[2, 3] and f32[3, 4] differ outside of axis 1");
  EXPECT_FALSE(
      run(OpKind::Slice, {Shape{9}}, {{"axis", num(0)}, {"start", num(3)}, {"stop", num(3)}}).ok);
  EXPECT_EQ(run(OpKind::Reshape, {Shape{6, 4}}, {{"shape", ints({3, -1})}}).type, "f32[3, 8]");
  EXPECT_FALSE(run(OpKind::Reshape, {Shape{6, 4}}, {{"shape", ints({5, -1})}}).ok);
  EXPECT_FALSE(run(OpKind::Reshape, {Shape{6, 4}}, {{"shape", ints({-1, -1})}}).ok);
  EXPECT_FALSE(
      run(OpKind::Reshape, {Shape{6, 4}}, {{"shape", ints({int64_t{1} << 40, int64_t{1} << 40})}})
          .ok);
  EXPECT_EQ(run(OpKind::Transpose, {Shape{2, 3, 4}}, {{"perm", ints({2, 0, 1})}}).type,
            "f32[4, 2, 3]");
  EXPECT_FALSE(run(OpKind::Transpose, {Shape{2, 3, 4}}, {{"perm", ints({2, 0, 0})}}).ok);
  EXPECT_EQ(
      run(OpKind::Pad, {Shape{2, 3}}, {{"before", ints({0, 1})}, {"after", ints({0, 2})}}).type,
      "f32[2, 6]");
  EXPECT_FALSE(
      run(OpKind::Pad, {Shape{2, 3}}, {{"before", ints({0, -1})}, {"after", ints({0, 2})}}).ok);
}

TEST(ShapeRules, Kernels) {
  EXPECT_EQ(run(OpKind::Enlarge, {Shape{8, 4, 1, 3}}, {{"kernel", ints({3, 3})}}).type,
            "f32[8, 4, 3, 3]");
  EXPECT_FALSE(run(OpKind::Enlarge, {Shape{8, 4, 2, 2}}, {{"kernel", ints({3, 3})}}).ok)
      << "odd difference";
  EXPECT_FALSE(run(OpKind::Enlarge, {Shape{8, 4, 5, 5}}, {{"kernel", ints({3, 3})}}).ok);
  EXPECT_EQ(
      run(OpKind::MergeGconv, {Shape{8, 2, 3, 3}}, {{"count", num(2)}, {"groups", num(4)}}).type,
      "f32[8, 4, 3, 3]");
  EXPECT_FALSE(
      run(OpKind::MergeGconv, {Shape{8, 2, 3, 3}}, {{"count", num(3)}, {"groups", num(4)}}).ok);
}

TEST(ShapeRules, NormsAndReductions) {
  Shape c{3};
  EXPECT_TRUE(run(OpKind::BatchNorm, {Shape{1, 3, 4, 4}, c, c, c, c}).ok);
  EXPECT_EQ(run(OpKind::BatchNorm, {Shape{1, 3, 4, 4}, c, Shape{4}, c, c}).why,
            "`bias` must be f32[3], got f32[4]");
  EXPECT_FALSE(run(OpKind::LayerNorm, {Shape{2, 3}, Shape{2}, Shape{2}}).ok);
  EXPECT_EQ(run(OpKind::ReduceMean, {Shape{2, 3, 4}}, {{"axes", ints({1})}}).type, "f32[2, 4]");
  EXPECT_EQ(run(OpKind::ReduceMean, {Shape{2, 3, 4}},
                {{"axes", ints({1})}, {"keepdims", Value::of_bool(true)}})
                .type,
            "f32[2, 1, 4]");
  EXPECT_FALSE(run(OpKind::ReduceMean, {Shape{2, 3}}, {{"axes", ints({1, -1})}}).ok) << "twice";
  EXPECT_FALSE(run(OpKind::Softmax, {Shape{2, 3}}, {{"axis", num(2)}}).ok);
  EXPECT_EQ(run(OpKind::MaxPool2d, {Shape{1, 3, 8, 8}},
                {{"kernel", num(3)}, {"stride", num(2)}, {"pad", num(1)}})
                .type,
            "f32[1, 3, 4, 4]");
  EXPECT_FALSE(
      run(OpKind::MaxPool2d, {Shape{1, 3, 8, 8}}, {{"kernel", num(2)}, {"pad", num(2)}}).ok)
      << "a window of padding alone has no largest element";
}

TEST(ShapeRules, WindowsAlongAnAxis) {
  auto windows = [](Shape x, int64_t axis, int64_t size, int64_t step, int64_t dilation) {
    return run(OpKind::Windows, {std::move(x)},
               {{"axis", num(axis)},
                {"size", num(size)},
                {"step", num(step)},
                {"dilation", num(dilation)}});
  };
  EXPECT_EQ(windows({2, 9, 4}, 1, 3, 1, 1).type, "f32[2, 7, 3, 4]");
  EXPECT_EQ(windows({2, 9, 4}, -2, 3, 2, 1).type, "f32[2, 4, 3, 4]");
  EXPECT_EQ(windows({2, 9, 4}, 1, 3, 2, 4).type, "f32[2, 1, 3, 4]");
  EXPECT_EQ(windows({9}, 0, 9, 5, 1).type, "f32[1, 9]");
  EXPECT_EQ(windows({9}, 0, 1, 4, 100).type, "f32[3, 1]");
  EXPECT_EQ(windows({2, 9}, 1, 10, 1, 1).why,
            "axis 1 of f32[2, 9] has no window of 10 elements, 1 apart");
  EXPECT_EQ(windows({2, 9}, 1, 3, 1, 5).why,
            "axis 1 of f32[2, 9] has no window of 3 elements, 5 apart");
  EXPECT_EQ(windows({9}, 0, int64_t{1} << 40, 1, int64_t{1} << 40).ok, false);
  EXPECT_EQ(windows({9}, 0, 0, 1, 1).why, "`size` must be at least 1, got 0");
  EXPECT_EQ(windows({9}, 0, 2, -1, 1).why, "`step` must be at least 1, got -1");
  EXPECT_FALSE(windows({}, 0, 1, 1, 1).ok);
}

TEST(ShapeRules, TransposedConvolutionsCutPaddingOff) {
  Value same = Value::of_enum("same");
  auto conv = [](Shape w, Attrs attrs, std::optional<Shape> bias = absent) {
    return run(OpKind::ConvTranspose2d, {Shape{1, 8, 5, 6}, w, bias}, attrs);
  };
  EXPECT_EQ(conv({8, 3, 4, 3}, {}).type, "f32[1, 3, 8, 8]");
  EXPECT_EQ(conv({8, 3, 4, 4}, {{"stride", num(2)}, {"pad", num(1)}}).type, "f32[1, 3, 10, 12]");
  EXPECT_EQ(conv({8, 3, 3, 3}, {{"stride", ints({2, 3})}, {"output_padding", ints({1, 0})}}).type,
            "f32[1, 3, 12, 18]");
  EXPECT_EQ(conv({8, 3, 3, 3}, {{"dilation", num(2)}, {"pad", ints({0, 1, 2, 3})}}).type,
            "f32[1, 3, 7, 6]");
  EXPECT_EQ(conv({8, 3, 3, 3}, {{"groups", num(4)}}, Shape{12}).type, "f32[1, 12, 7, 8]");
  EXPECT_EQ(conv({8, 3, 3, 3}, {{"stride", num(2)}, {"pad", same}}).type, "f32[1, 3, 10, 12]");
  EXPECT_EQ(conv({8, 3, 2, 2}, {{"stride", num(3)}, {"pad", same}}).why,
            "`pad` = same requires windows without gaps between them, got a kernel of 2 and a "
            "stride of 3");
  EXPECT_EQ(conv({4, 3, 3, 3}, {}).why, "x has 8 channels, but the kernel has 4");
  EXPECT_EQ(conv({8, 3, 3, 3}, {{"groups", num(3)}}).why, "8 channels do not divide into 3 groups");
  EXPECT_EQ(conv({8, 3, 3, 3}, {}, Shape{8}).why, "the bias must be f32[3], got f32[8]");
  EXPECT_EQ(
      conv({8, 3, 1, 1}, {{"pad", num(3)}}).why,
      "`pad` = [3, 3, 3, 3] leaves no elements of f32[1, 8, 5, 6] with the kernel f32[8, 3, 1, 1]");
  EXPECT_EQ(conv({8, 3, 3, 3}, {{"output_padding", num(-1)}}).why,
            "`output_padding` must be at least 0, got -1");
  EXPECT_FALSE(conv({8, 3, 3}, {}).ok);
  EXPECT_FALSE(conv({8, 3, 3, 3}, {{"stride", num(int64_t{1} << 40)}}).ok);
}

TEST(ShapeRules, ConvolutionsOfVolumesTakeOneNumberOrThree) {
  auto conv = [](Shape w, Attrs attrs, std::optional<Shape> bias = absent) {
    return run(OpKind::Conv3d, {Shape{2, 4, 6, 7, 8}, w, bias}, attrs);
  };
  Inferred plain = conv({5, 4, 3, 3, 3}, {});
  EXPECT_EQ(plain.type, "f32[2, 5, 4, 5, 6]");
  EXPECT_EQ(plain.attrs, (std::vector<std::string>{"[1, 1, 1]", "[0, 0, 0, 0, 0, 0]", "[1, 1, 1]"}))
      << "the defaults are the normal form";
  EXPECT_EQ(conv({6, 2, 1, 3, 3}, {{"stride", ints({2})}, {"pad", ints({0, 1, 1})}}).type,
            "f32[2, 6, 3, 4, 4]");
  EXPECT_EQ(conv({5, 4, 3, 3, 3}, {{"pad", ints({1})}}).attrs[1], "[1, 1, 1, 1, 1, 1]");
  EXPECT_EQ(conv({5, 4, 3, 3, 3}, {{"pad", ints({0, 0, 0, 2, 1, 1})}}).type, "f32[2, 5, 6, 6, 7]");
  EXPECT_EQ(conv({5, 4, 3, 3, 3}, {{"stride", ints({1, 2})}}).why,
            "`stride` must be n or [d, h, w], got [1, 2]");
  EXPECT_EQ(conv({5, 4, 3, 3, 3}, {{"pad", ints({1, 2})}}).why,
            "`pad` must be n, [d, h, w] or six numbers, three before and three after, got [1, 2]");
  EXPECT_EQ(conv({5, 4, 3, 3, 3}, {{"dilation", ints({0})}}).why,
            "`dilation` must be at least 1, got 0");
  EXPECT_EQ(conv({5, 3, 3, 3, 3}, {}).why, "4 input channels are not a multiple of the kernel's 3");
  EXPECT_FALSE(conv({5, 4, 7, 3, 3}, {}).ok);
  EXPECT_FALSE(conv({5, 4, 3, 3}, {}).ok);
  EXPECT_EQ(conv({5, 4, 3, 3, 3}, {}, Shape{4}).why, "the bias must be f32[5], got f32[4]");
}

TEST(ShapeRules, Broadcasts) {
  auto to = [](Shape x, std::initializer_list<int64_t> shape) {
    return run(OpKind::Broadcast, {x}, {{"shape", ints(shape)}});
  };
  EXPECT_EQ(to({3, 1}, {2, 3, 4}).type, "f32[2, 3, 4]");
  EXPECT_EQ(to({}, {5}).type, "f32[5]");
  EXPECT_EQ(to({}, {}).type, "f32");
  EXPECT_EQ(to({3, 4}, {3, 1}).why, "f32[3, 4] does not broadcast to [3, 1]");
  EXPECT_EQ(to({3, 4}, {4}).why, "f32[3, 4] does not broadcast to [4]");
  EXPECT_FALSE(to({1}, {0}).ok);
  EXPECT_FALSE(to({1}, {-1}).ok);
}

TEST(ShapeRules, OrdersAndBoxes) {
  auto top = [](int64_t axis, int64_t k) {
    return run(OpKind::TopK, {Shape{3, 5}}, {{"axis", num(axis)}, {"k", num(k)}});
  };
  EXPECT_EQ(top(-1, 2).type, "i64[3, 2]");
  EXPECT_EQ(top(0, 3).type, "i64[3, 5]");
  EXPECT_EQ(top(1, 6).why, "`k` = 6 must be from 1 to 5, the size of axis 1 of f32[3, 5]");
  EXPECT_FALSE(top(1, 0).ok);
  auto boxes = [](Shape scores, int64_t most) {
    return run(OpKind::NonMaxSuppression, {Shape{2, 6, 4}, scores},
               {{"max_output", num(most)},
                {"iou_threshold", Value::of_float(0.5)},
                {"score_threshold", Value::of_float(0)}});
  };
  EXPECT_EQ(boxes({2, 3, 6}, 4).type, "i64[24, 3]");
  EXPECT_EQ(boxes({2, 3, 6}, 100).type, "i64[36, 3]");
  EXPECT_EQ(boxes({2, 3, 5}, 4).why, "non_max_suppression requires boxes[B, N, 4] and scores[B, C, "
                                     "N], got f32[2, 6, 4] and f32[2, 3, 5]");
  EXPECT_EQ(boxes({2, 3, 6}, 0).why, "`max_output` must be at least 1, got 0");
}

TEST(ShapeRules, ScatterHasOneIndexForEachUpdate) {
  Symbols symbols;
  auto scatter = [&](DType dtype, TensorType indices, Shape updates, const char* reduce) {
    llvm::SmallVector<ValueId, 2> attrs = {symbols.value(num(-1)),
                                           symbols.value(Value::of_string(reduce))};
    TypeId types[] = {symbols.type({dtype, {2, 5}}), symbols.type(indices),
                      symbols.type({dtype, updates})};
    TypeId result;
    std::string why;
    bool ok = infer(symbols, OpKind::Scatter, attrs, types, result, &why);
    return ok ? symbols.type(result).text() : why;
  };
  TensorType three{DType::I64, {3}};
  EXPECT_EQ(scatter(DType::F32, three, {2, 3}, "none"), "f32[2, 5]");
  EXPECT_EQ(scatter(DType::Bool, {DType::I32, {1}}, {2, 1}, "none"), "bool[2, 5]");
  EXPECT_EQ(scatter(DType::Bool, three, {2, 3}, "add"),
            "`reduce` = \"add\" requires numbers, got bool[2, 5]");
  EXPECT_EQ(scatter(DType::I32, three, {2, 3}, "sum"),
            "`reduce` must be none, add, mul, max or min, in quotes, got \"sum\"");
  EXPECT_EQ(scatter(DType::F32, three, {2, 4}, "none"), "updates must be f32[2, 3], got f32[2, 4]");
  EXPECT_EQ(scatter(DType::F32, {DType::F32, {3}}, {2, 3}, "none"),
            "indices must be i32 or i64, got f32[3]");
  EXPECT_EQ(scatter(DType::F32, {DType::I64, {3, 1}}, {2, 3}, "none"),
            "indices must be a vector, got i64[3, 1]");
}

TEST(ShapeRules, FusedMapIsCanonical) {
  auto fused = [](const char* body, std::vector<std::optional<Shape>> shapes) {
    return run(OpKind::FusedMap, std::move(shapes), {{"body", Value::of_string(body)}});
  };
  Inferred r = fused(" tanh( add($0,mul($1 , $0) ))", {Shape{4, 1}, Shape{3}});
  EXPECT_EQ(r.type, "f32[4, 3]");
  EXPECT_EQ(r.attrs[0], "\"tanh(add($0, mul($1, $0)))\"");
  for (const char* bad :
       {"", "$0 $0", "tanh($0", "tanh($0))", "conv2d($0, $0)", "add($0)", "add($0, $1, $2)", "$",
        "nope($0)", "tanh", "add($0, $99999999999)", "(", "tanh()"})
    EXPECT_FALSE(fused(bad, {Shape{2}, Shape{2}}).ok) << bad;
  EXPECT_EQ(fused("tanh($0)", {Shape{2}, Shape{2}}).why, "the body does not use operand $1");
  EXPECT_FALSE(fused("tanh($1)", {Shape{2}}).ok);
  std::optional<FusedBody> body = parse_fused_body("add(mul($0, $1), relu($2))");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->op_count(), 3u);
  EXPECT_EQ(body->stack_depth(), 2u);
  EXPECT_EQ(body->operands, 3u);
  std::string deep; // a very deeply nested body is refused without recursion into it
  for (int i = 0; i < 100000; ++i) deep += "tanh(";
  EXPECT_FALSE(parse_fused_body(deep));
}

TEST(ShapeRules, SizesAreBounded) {
  Symbols symbols;
  llvm::SmallVector<ValueId, 2> attrs{
      symbols.value(Value::of_string("x")),
      symbols.value(Value::of_type(f32({int64_t{1} << 30, int64_t{1} << 30})))};
  TypeId type;
  std::string why;
  EXPECT_FALSE(infer(symbols, OpKind::Input, attrs, {}, type, &why));
  EXPECT_EQ(why, "[1073741824, 1073741824] has too many elements");
}

TEST(ShapeRules, WorkCountsFlopsAndBytes) {
  Symbols symbols;
  TypeId x = symbols.type(f32({64, 128})), y = symbols.type(f32({128, 32})),
         z = symbols.type(f32({64, 32}));
  OpWork work = op_work(symbols, OpKind::Matmul, symbols.no_attrs(),
                        {x, y, symbols.none_type(), symbols.none_type()}, z);
  EXPECT_EQ(work.flops, 2.0 * 64 * 128 * 32);
  EXPECT_EQ(work.bytes, 4.0 * (64 * 128 + 128 * 32 + 64 * 32));
}

} // namespace
} // namespace tg
