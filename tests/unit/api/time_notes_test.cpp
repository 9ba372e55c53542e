// Tests which notes on times a user sees, and their reasons, without a clock.
#include "compiler/trial/time_notes.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

TEST(TimeNotes, ANarrowFloatIsSlowerBeyondTheNoise) {
  EXPECT_FALSE((DTypeTimes{DType::F16, 10, 20}.slower()));
  EXPECT_FALSE((DTypeTimes{DType::F16, 20.5, 20}.slower()));
  EXPECT_TRUE((DTypeTimes{DType::BF16, 22, 20}.slower()));
  EXPECT_EQ(text_of({DType::BF16, 62, 20}),
            "a run takes 62.0 us in bf16 and 20.0 us in f32: bf16 is slower on this machine");
  EXPECT_EQ(text_of({DType::F16, 10, 20}), "a run takes 10.0 us in f16 and 20.0 us in f32");
}

TEST(TimeNotes, PricesNearTheRunsHaveNoNote) {
  EXPECT_EQ(gap_note({.price_us = 100, .run_us = 150}), "");
  EXPECT_EQ(gap_note({.price_us = 100, .run_us = 60}), "");
  EXPECT_EQ(gap_note({.price_us = 2, .run_us = 9}), ""); // overhead of a run
  EXPECT_EQ(gap_note({.price_us = 0, .run_us = 900}), "");
  EXPECT_EQ(gap_note({.price_us = 900, .run_us = 0}), "");
}

TEST(TimeNotes, AWideGapNamesBothFiguresAndItsCause) {
  PriceGap gap{.price_us = 18.5, .run_us = 128};
  auto names = [&](llvm::StringRef cause) {
    return llvm::StringRef(gap_note(gap)).contains(cause);
  };
  EXPECT_EQ(gap_note(gap),
            "a whole run takes 128.0 us, 6.9 times as long as its cost of 18.5 us; likely "
            "cause: operands are not in the caches, as they are when operators are timed");
  gap.threads = 2;
  EXPECT_TRUE(names("`--threads 1`"));
  gap.origin = PriceOrigin::Estimated;
  EXPECT_TRUE(names("`tg calibrate`"));
  gap.slow_machine = true;
  EXPECT_TRUE(names("slower now than when the prices were measured"));
  gap.origin = PriceOrigin::Timed;
  EXPECT_TRUE(names("slower now than when the prices were measured"));
  gap.origin = PriceOrigin::Profile;
  EXPECT_TRUE(names("a named device"));
  gap.origin = PriceOrigin::Table;
  EXPECT_TRUE(names("another machine"));
  EXPECT_TRUE(is_gap_note(gap_note(gap)));
  gap.denormals = true;
  EXPECT_TRUE(names("denormal"));
  gap.disturbance = Disturbance::Slight;
  EXPECT_TRUE(names("other programs"));
}

TEST(TimeNotes, RunsFarBelowTheirPriceHaveANoteToo) {
  EXPECT_EQ(gap_note({.price_us = 500, .run_us = 100, .threads = 2, .denormals = true}),
            "a whole run takes 100.0 us, 5.0 times as short as its cost of 500.0 us; likely "
            "cause: the prices were measured on a busy machine");
}

TEST(TimeNotes, TheOriginOfPricesIsThatOfTheirSource) {
  OptimizeReport report;
  report.cost_after_us = 10;
  auto origin = [&](const tangram::CostSpec& spec) { return gap_of(report, spec, 20, 1).origin; };
  EXPECT_EQ(origin(tangram::CostSpec::measured()), PriceOrigin::Timed);
  EXPECT_EQ(origin(tangram::CostSpec::calibrated()), PriceOrigin::Estimated);
  EXPECT_EQ(origin(tangram::CostSpec::analytic()), PriceOrigin::Estimated);
  EXPECT_EQ(origin(tangram::CostSpec::analytic("cpu")), PriceOrigin::Profile);
  EXPECT_EQ(origin(tangram::CostSpec::table("costs.json")), PriceOrigin::Table);
  report.slow_machine = true;
  report.notes = {"denormal numbers occur in runs"};
  PriceGap gap = gap_of(report, {}, 20, 1);
  EXPECT_TRUE(gap.slow_machine && gap.denormals);
  EXPECT_EQ(gap.price_us, 10);
  EXPECT_EQ(gap.run_us, 20);
}

} // namespace
} // namespace tg
