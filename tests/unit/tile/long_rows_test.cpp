// Tests convolutions of sequences that are cut into rows: they give the bits of the whole row,
// for any cut at its ends, gaps between pixels and fused steps. Operands and results
// are between inaccessible pages.
#include "runtime/cpu/tile/long_rows.h"

#include "runtime/cpu/tile/depthwise.h"
#include "tests/unit/tile/convolution_cases.h"

#include <cstring>

namespace tg::tile {
namespace {

class TileLongRows : public EmittedConvolution {};
INSTANTIATE_TEST_SUITE_P(Sets, TileLongRows, testing::ValuesIn(kConvolutionSets), set_name);

GroupedShape random_sequence(RandomDraws& r) {
  GroupedShape s;
  s.images = r.in(1, 2);
  s.groups = r.coin() ? 1 : r.in(1, 3);
  s.inputs = r.coin() ? r.in(1, 20) : r.in(30, 300);
  s.outputs = r.in(2, 70); // with one output it would be depthwise
  s.kernel.columns = r.in(1, 12);
  s.stride.columns = r.in(1, 3);
  s.dilation.columns = r.in(1, 3);
  s.before = {0, r.in(0, 8)};
  s.image.columns = r.in(300, 2000);
  int64_t extent = (s.kernel.columns - 1) * s.dilation.columns + 1;
  s.result.columns =
      (s.image.columns + s.before.columns + r.in(0, 8) - extent) / s.stride.columns + 1;
  return s;
}

TEST_P(TileLongRows, HaveTheBitsOfTheWholeRow) {
  int cut = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomDraws r(seed);
    GroupedShape s = random_sequence(r);
    s.isa = GetParam();
    ConvolutionCase c = random_case(r);
    int64_t all = lay(r, s, s.image, 1, s.groups * s.inputs, s.x);
    Guarded x(all, c.at_end);
    int64_t results = lay(r, s, s.result, 1, s.groups * s.outputs, s.y);
    Guarded y(results, c.at_end), whole(results, c.at_end), before(results, c.at_end);
    if (!LongRows::suits(s)) continue;
    ++cut;
    s.residual = s.y;
    GroupedShape middle = LongRows::middle(s);
    ConvolutionSchedule schedule =
        LongRows::default_schedule(middle, c.tail, c.threads, {4 << 10, 32 << 10});
    GroupedTile tile = Grouped::tile(middle, schedule);
    Guarded packed(Grouped::weight_elements(s, tile), c.at_end);
    ASSERT_EQ(packed.size(), Grouped::weight_elements(middle, schedule));
    Guarded bias(s.groups * s.outputs, c.at_end);
    std::vector<float> w = r.floats(s.groups * s.outputs * s.inputs * s.taps());
    for (Guarded* array : {&x, &bias, &before})
      for (float& v : *array) v = r.number();
    Grouped::pack(packed.data, w.data(), s, tile);
    std::fill(y.begin(), y.end(), kNotWritten);
    std::fill(whole.begin(), whole.end(), kNotWritten);
    ConvolutionData data;
    data.x = x.data;
    data.weights = packed.data;
    data.bias = bias.data;
    data.residual = before.data;
    ConvolutionSchedule one;
    one.vectors = schedule.vectors;
    one.columns = Grouped::most_columns(s, one.vectors);
    auto made = Grouped::make(s, c.tail, one, 1);
    auto made_cut = LongRows::make(s, c.tail, schedule, c.threads);
    ASSERT_TRUE(made.ok() && made_cut.ok()) << seed;
    int64_t count = s.images * s.result.columns * s.groups * s.outputs;
    data.y = whole.data;
    ASSERT_EQ(run_parts(**made, c, count, data), "");
    data.y = y.data;
    ASSERT_EQ(run_parts(**made_cut, c, count, data), "") << seed;
    ASSERT_EQ(std::memcmp(y.data, whole.data, static_cast<size_t>(results) * sizeof(float)), 0)
        << "seed " << seed << ": " << s.groups << " x " << s.inputs << " to " << s.outputs << ", "
        << s.image.columns << " by " << s.kernel.columns << " / " << s.stride.columns;
  }
  EXPECT_GT(cut, 50);
}

TEST_P(TileLongRows, SuitDepthwiseConvolutions) {
  int cut = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomDraws r(seed);
    GroupedShape s = random_sequence(r);
    s.isa = GetParam();
    s.groups = r.coin() ? r.in(2, 40) : 8 * r.in(5, 40);
    s.inputs = s.outputs = 1;
    ConvolutionCase c = random_case(r);
    Guarded x(lay(r, s, s.image, 1, s.groups, s.x), c.at_end);
    int64_t results = lay(r, s, s.result, 1, s.groups, s.y);
    Guarded y(results, c.at_end), whole(results, c.at_end), before(results, c.at_end);
    if (!LongRows::suits(s)) continue;
    ++cut;
    s.residual = s.y;
    DepthwiseShape of = depthwise_shape(s);
    Guarded packed(Depthwise::weight_elements(of), c.at_end), bias(s.groups, c.at_end);
    std::vector<float> w = r.floats(s.groups * s.taps());
    for (Guarded* array : {&x, &bias, &before})
      for (float& v : *array) v = r.number();
    Depthwise::pack(packed.data, w.data(), of);
    std::fill(y.begin(), y.end(), kNotWritten);
    std::fill(whole.begin(), whole.end(), kNotWritten);
    ConvolutionData data;
    data.x = x.data;
    data.weights = packed.data;
    data.bias = bias.data;
    data.residual = before.data;
    ConvolutionSchedule by_rule =
        LongRows::default_schedule(LongRows::middle(s), c.tail, c.threads, {4 << 10, 32 << 10});
    auto made = Depthwise::make(of, c.tail, c.threads, caches());
    auto made_cut = LongRows::make(s, c.tail, by_rule, c.threads);
    ASSERT_TRUE(made.ok() && made_cut.ok()) << seed;
    int64_t count = s.images * s.result.columns * s.groups;
    data.y = whole.data;
    ASSERT_EQ(run_parts(**made, c, count, data), "");
    data.y = y.data;
    ASSERT_EQ(run_parts(**made_cut, c, count, data), "") << seed;
    ASSERT_EQ(std::memcmp(y.data, whole.data, static_cast<size_t>(results) * sizeof(float)), 0)
        << "seed " << seed;
  }
  EXPECT_GT(cut, 100);
}

TEST(TileLongRowsShape, ImagesAndShortRowsAreNotCut) {
  GroupedShape s;
  s.inputs = s.outputs = 32;
  s.kernel = {1, 3};
  s.before = {0, 0};
  s.image = {1, 4096};
  s.result = {1, 4094};
  s.x = {4096 * 32, 0, 32};
  s.y = {4094 * 32, 0, 32};
  EXPECT_TRUE(LongRows::suits(s));
  GroupedShape two = s, few = s;
  two.image.rows = two.result.rows = 2;
  EXPECT_FALSE(LongRows::suits(two));
  few.image.columns = 42;
  few.result.columns = 40;
  EXPECT_FALSE(LongRows::suits(few));
}

} // namespace
} // namespace tg::tile
