#include "runtime/arena.h"

#include "lang/core/support/random.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg {
namespace {

bool together(const BufferLife& a, const BufferLife& b) {
  return a.first <= b.last && b.first <= a.last;
}

void expect_disjoint(llvm::ArrayRef<BufferLife> buffers, const ArenaPlan& plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kAlignment, 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                   plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(apart || !together(buffers[i], buffers[j])) << i << " and " << j;
    }
  }
}

TEST(Arena, AChainNeedsTwoBuffers) {
  std::vector<BufferLife> chain;
  for (uint32_t s = 0; s < 20; ++s) chain.push_back({1000, s, s + 1});
  ArenaPlan plan = plan_arena(chain);
  expect_disjoint(chain, plan);
  EXPECT_EQ(plan.bytes, 2 * 1024);
}

TEST(Arena, TakesTheTightestGap) {
  // 1 and 3 leave gaps of 960 and 448 bytes between live neighbours when the last buffer is placed.
  std::vector<BufferLife> buffers = {{1024, 0, 9}, {960, 0, 3}, {512, 0, 9},
                                     {448, 0, 3},  {256, 0, 9}, {192, 5, 9}};
  ArenaPlan plan = plan_arena(buffers);
  expect_disjoint(buffers, plan);
  EXPECT_EQ(plan.offsets[5], plan.offsets[3]);
}

TEST(Arena, LiveBuffersNeverOverlapAndPackWell) {
  double worst = 0;
  for (uint64_t round = 0; round < 200; ++round) {
    RandomStream random(round, "arena");
    std::vector<BufferLife> buffers;
    for (uint64_t i = 0; i < 1 + random.bits(0) % 60; ++i) {
      auto first = static_cast<uint32_t>(random.bits(3 * i + 1) % 50);
      auto length = static_cast<uint32_t>(random.bits(3 * i + 2) % 10);
      buffers.push_back(
          {static_cast<int64_t>(random.bits(3 * i + 3) % 5000), first, first + length});
    }
    ArenaPlan plan = plan_arena(buffers);
    expect_disjoint(buffers, plan);
    EXPECT_GE(plan.bytes, peak_bytes(buffers));
    worst = std::max(worst, static_cast<double>(plan.bytes) /
                                static_cast<double>(std::max<int64_t>(peak_bytes(buffers), 1)));
  }
  EXPECT_LT(worst, 1.5);
}

TEST(Arena, CountsValuesThatLiveAtOneStep) {
  EXPECT_EQ(peak_bytes({{64, 0, 1}, {128, 2, 3}}), 128);
  EXPECT_EQ(peak_bytes({{64, 0, 2}, {128, 2, 3}}), 192);
  EXPECT_EQ(peak_bytes({}), 0);
}

TEST(Arena, MemoryIsZeroedThoughItWasUsedBefore) {
  for (int64_t bytes : {int64_t{100}, int64_t{3} << 20}) // small, and large enough for huge pages
    for (int round = 0; round < 3; ++round) {
      AlignedBuffer buffer = allocate_aligned(bytes);
      ASSERT_TRUE(buffer);
      llvm::ArrayRef<std::byte> all(buffer.get(), static_cast<size_t>(bytes));
      EXPECT_TRUE(llvm::all_of(all, [](std::byte b) { return b == std::byte{}; }));
      std::fill_n(buffer.get(), bytes, std::byte{0x5a});
    }
}

TEST(Arena, SizesThatNoMachineHasSaturate) {
  std::vector<BufferLife> buffers(40, {int64_t{1} << 60, 0, 1});
  EXPECT_EQ(plan_arena(buffers).bytes, INT64_MAX);
  EXPECT_EQ(align_up(INT64_MAX) % kAlignment, 0);
  EXPECT_EQ(allocate_aligned(INT64_MAX), nullptr);
}

StorageRequest row_major(const Plan& plan) {
  return {.bytes = [&](PlanValueId id) { return plan.values[id].type.bytes(); },
          .view_of =
              [&](PlanStepId s) {
                const PlanStep& step = plan.steps[s];
                return step.op == OpKind::Reshape ? step.operands[0] : kNoValue;
              },
          .in_place = {}};
}

TEST(Storage, InPlaceTakesOverTheBuffer) {
  PlanWriter p;
  PlanValueId x = p.input("x", {64});
  PlanValueId a = p.run(OpKind::Relu, {}, {x});
  PlanValueId b = p.run(OpKind::Neg, {}, {a});
  p.in_place(a);
  p.output("y", p.run(OpKind::Exp, {}, {b}));
  p.in_place(b);
  Plan plan = p.finish();
  Storage storage = plan_storage(plan, Phase::Run, row_major(plan));
  ASSERT_EQ(storage.buffers.size(), 1u);
  EXPECT_EQ(storage.buffers[0].last, plan.steps.size());
  EXPECT_TRUE(storage.runs_in_place[1] && storage.runs_in_place[2]);
}

TEST(Storage, AViewThatLivesOnForbidsInPlace) {
  PlanWriter p;
  PlanValueId x = p.input("x", {64});
  PlanValueId a = p.run(OpKind::Relu, {}, {x});
  PlanValueId view = p.run(OpKind::Reshape, {Value::of_ints({8, 8})}, {a});
  PlanValueId b = p.run(OpKind::Neg, {}, {a});
  p.in_place(a); // valid for the plan, since a dies here; but the view keeps its memory
  PlanValueId c = p.run(OpKind::Neg, {}, {view});
  p.in_place(view);
  p.output("b", b);
  p.output("c", c);
  Plan plan = p.finish();
  Storage storage = plan_storage(plan, Phase::Run, row_major(plan));
  EXPECT_FALSE(storage.runs_in_place[2]);
  EXPECT_TRUE(storage.runs_in_place[3]);
  EXPECT_EQ(storage.buffer[view], storage.buffer[a]);
  EXPECT_NE(storage.buffer[b], storage.buffer[a]);
  EXPECT_EQ(storage.root[c], a);
}

TEST(Storage, AViewOfAWeightHasNoBufferAndIsNeverOverwritten) {
  PlanWriter p;
  PlanValueId w = p.weight("w", {4, 4}), x = p.input("x", {16});
  PlanValueId flat = p.run(OpKind::Reshape, {Value::of_ints({16})}, {w});
  PlanValueId sum = p.run(OpKind::Add, {}, {flat, x});
  p.in_place(flat);
  p.output("y", sum);
  Plan plan = p.finish();
  Storage storage = plan_storage(plan, Phase::Run, row_major(plan));
  EXPECT_EQ(storage.buffer[flat], kNoBuffer);
  EXPECT_EQ(storage.root[flat], w);
  EXPECT_FALSE(storage.runs_in_place[1]);
}

TEST(Storage, LoadResultsThatRunsReadLeaveTheLoadArena) {
  PlanWriter p;
  PlanValueId w = p.weight("w", {16}), x = p.input("x", {4, 4});
  PlanValueId twice = p.load(OpKind::Add, {}, {w, w});
  PlanValueId kept = p.load(OpKind::Reshape, {Value::of_ints({4, 4})}, {twice});
  p.output("y", p.run(OpKind::Add, {}, {x, kept}));
  Plan plan = p.finish();
  Storage storage = plan_storage(plan, Phase::Load, row_major(plan));
  EXPECT_NE(storage.buffer[twice], kNoBuffer);
  EXPECT_FALSE(storage.is_view[1]) << "the arena of the load phase is gone when a run reads it";
  EXPECT_EQ(storage.buffer[kept], kNoBuffer);
  EXPECT_EQ(storage.root[kept], kept);
}

} // namespace
} // namespace tg
