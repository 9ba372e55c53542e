// Tests the texts of operators and programs: written text can be read back,
// and damaged text is rejected with a message.
#include "runtime/tune/search/space.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/workloads.h"

#include <gtest/gtest.h>

namespace tg::tune {
namespace {

/// One operator of each type, with all parameters.
const char* const kOperators[] = {
    "C1D [1, 8, 30 | 4, 3] stride 2 padding 1 dilation 1",
    "C2D [2, 64, 28, 28 | 64, 3, 3] stride 1, 2 padding 1, 1 dilation 2, 1",
    "C3D [1, 16, 4, 14, 14 | 8, 3, 1, 1] stride 2, 1, 1",
    "BMM [12, 128, 64 | 128] shared 0, 1",
    "GRP [1, 128, 28, 28 | 32, 3, 3] groups 2",
    "DEP [1, 96, 56, 56 | 3, 3] multiplier 3",
    "T2D [1, 128, 16, 16 | 256, 4, 4] stride 2, 2 padding 1, 1",
    "CAP [1, 8, 8, 4, 4, 32 | 3, 3, 4, 32] stride 2",
    "WIN [4, 4, 196, 64 | 32] output 1, 28, 28, 2",
    "FRB [4 | 256, 256]",
};

TEST(Workloads, HaveAsManyOperatorsAsPublished) {
  EXPECT_EQ(resnet50().operators.size(), 20u);
  EXPECT_EQ(mobilenet_convolutions().operators.size(), 20u);
  EXPECT_EQ(mobilenet_depthwise().operators.size(), 10u);
  EXPECT_EQ(r2plus1d_18().operators.size(), 25u);
  EXPECT_EQ(bert_large_set().operators.size(), 36u);
  for (const Workload& workload : all_workloads())
    for (const Operator& op : workload.operators) {
      EXPECT_TRUE(check(op).ok()) << text(op);
      EXPECT_EQ(*read_operator(text(op)), op);
    }
}

TEST(Workloads, NarrowConvolutionsHaveASecondSketch) {
  for (const Operator& op : resnest50_narrow().operators) EXPECT_EQ(sketches_of(op).size(), 2u);
  EXPECT_EQ(sketches_of(*read_operator("C2D [1, 1000, 1, 1 | 1280, 1, 1]")).size(), 2u);
  EXPECT_EQ(sketches_of(*read_operator("C2D [1, 128, 1, 1 | 32, 1, 1]")).size(), 1u);
  for (const Operator& op : resnet50().operators) EXPECT_EQ(sketches_of(op).size(), 1u);
}

TEST(Inputs, HaveTheExtentsOfTheirTypes) {
  auto boxes = [](const char* op) {
    Nest nest = nest_of(*read_operator(op));
    std::vector<Extents> all;
    for (const Input& input : nest.inputs) all.push_back(box_of(input, nest.loops()));
    return all;
  };
  using Boxes = std::vector<Extents>;
  // (L - 1) * stride + (q - 1) * dilation + 1
  EXPECT_EQ(boxes(kOperators[0]), (Boxes{{1, 4, 61}, {8, 4, 3}}));
  EXPECT_EQ(boxes(kOperators[1]), (Boxes{{2, 64, 32, 57}, {64, 64, 3, 3}}));
  EXPECT_EQ(boxes(kOperators[2]), (Boxes{{1, 8, 9, 14, 14}, {16, 8, 3, 1, 1}}));
  EXPECT_EQ(boxes(kOperators[3]), (Boxes{{12, 128, 128}, {1, 64, 128}}));
  EXPECT_EQ(boxes(kOperators[4]), (Boxes{{1, 2, 32, 30, 30}, {128, 32, 3, 3}})); // 64 channels
  EXPECT_EQ(boxes(kOperators[5]), (Boxes{{1, 32, 58, 58}, {96, 3, 3}}));
  EXPECT_EQ(boxes(kOperators[6]), (Boxes{{1, 256, 19, 19}, {256, 128, 4, 4}}));
  EXPECT_EQ(boxes(kOperators[7]), (Boxes{{1, 17, 17, 4, 4, 32}, {3, 3, 4, 4, 32, 32}}));
  EXPECT_EQ(boxes(kOperators[8]), (Boxes{{4, 4, 196, 32}, {4, 4, 64, 32}}));
  EXPECT_EQ(boxes(kOperators[9]), (Boxes{{4, 256, 256}}));
}

TEST(Texts, RandomProgramsReadBack) {
  for (const char* op_text : kOperators) {
    Result<Operator> op = read_operator(op_text);
    ASSERT_TRUE(op.ok()) << op.error().message;
    EXPECT_EQ(text(*op), op_text);
    ProgramSpace space(*op, {}, 7);
    for (int i = 0; i < 50; ++i) {
      std::optional<Program> program = space.random();
      ASSERT_TRUE(program) << op_text;
      if (i % 2) program = space.mutated(*program);
      ASSERT_TRUE(program) << op_text;
      Result<Program> again = read_program(text(*program));
      ASSERT_TRUE(again.ok()) << text(*program) << ": " << again.error().message;
      EXPECT_EQ(*again, *program);
    }
  }
}

TEST(Texts, DamagedProgramsAreRefusedInWords) {
  const std::string good = "C2D [1, 8, 4, 4 | 6, 3, 3]; tiles 1.1.1.1.1, 2.1.4.1.1, 4.1.1.1.1, "
                           "1.1.4.1.1 | 3.2.1, 1.1.3, 1.3.1; unroll 16; vectors 1, 4";
  ASSERT_TRUE(read_program(good).ok());
  auto message = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string damaged = good;
    damaged.replace(damaged.find(from.str()), from.size(), to.str());
    Result<Program> program = read_program(damaged);
    return program.ok() ? std::string("read") : program.error().message;
  };
  EXPECT_EQ(message("C2D", "C4D"), "expected a type of operator, got `C4D [1, 8, 4, 4 | 6, 3, `");
  EXPECT_EQ(message("[1, 8,", "[0, 8,"),
            "expected a number from 1 to 4294967296, got `0, 8, 4, 4 | 6, 3, 3]; t`");
  EXPECT_EQ(message("[1, 8,", "[8,"), "C2D has 4 space and 3 reduction loops, got 3 and 3");
  EXPECT_EQ(message("2.1.4.1.1", "2.1.3.1.1"), "factors 2.1.3.1.1 do not make 8");
  EXPECT_EQ(message("2.1.4.1.1", "2.1.4.1"), "expected 5 factors, got 4");
  EXPECT_EQ(message("1.1.3", "3.1.1"), "only the load axis can be fetched in rounds");
  EXPECT_EQ(message("unroll 16", "unroll 17"), "17 is not an unroll step");
  EXPECT_EQ(message("vectors 1, 4", "vectors 1, 3"), "3 is not a vector length");
  EXPECT_EQ(message("vectors 1, 4", "vectors 1"), "expected vectors of 2 inputs, got 1");
  EXPECT_EQ(message("vectors 1, 4", "vectors 1, 4 x"), "expected the end, got `x`");
  EXPECT_EQ(message("; unroll 16; vectors 1, 4", ""), "expected `;`, got the end");
  EXPECT_FALSE(read_operator("GRP [1, 10, 4, 4 | 6, 3, 3] groups 4").ok());
  EXPECT_FALSE(read_operator("WIN [4, 4, 196, 64 | 32]").ok());
  EXPECT_FALSE(read_operator("C2D [4294967296, 4294967296, 1, 1 | 1, 1, 1]").ok());
}

TEST(Texts, AnyDamageReadsAsSomethingSoundOrNotAtAll) {
  RandomDraws random(5);
  for (const char* op_text : kOperators) {
    ProgramSpace space(*read_operator(op_text), {}, 11);
    for (int i = 0; i < 200; ++i) {
      std::string damaged = text(*space.random());
      for (int64_t n = random.in(1, 3); n > 0 && !damaged.empty(); --n) {
        auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(damaged.size()) - 1));
        if (random.coin())
          damaged[at] = static_cast<char>(random.in(0, 255));
        else
          damaged.erase(at, static_cast<size_t>(random.in(1, 4)));
      }
      Result<Program> program = read_program(damaged);
      if (!program.ok()) continue;
      EXPECT_TRUE(check(*program).ok()) << damaged;
      EXPECT_EQ(*read_program(text(*program)), *program);
    }
  }
}

TEST(Space, ProgramsAreLegal) {
  DeviceLimits limits;
  for (const char* op_text : kOperators) {
    Operator op = *read_operator(op_text);
    Nest nest = nest_of(op);
    ProgramSpace space(op, limits, 13);
    for (int i = 0; i < 50; ++i) {
      std::optional<Program> a = space.random(), b = space.random();
      ASSERT_TRUE(a && b);
      EXPECT_TRUE(check(*a).ok());
      EXPECT_EQ(why_illegal(*a, nest, limits), "");
      if (std::optional<Program> child = space.crossed(*a, *b)) {
        EXPECT_TRUE(check(*child).ok());
        EXPECT_EQ(why_illegal(*child, nest, limits), "");
      }
    }
  }
}

} // namespace
} // namespace tg::tune
