// Tests races between candidates with computed times: they end as soon as the result is clear,
// and the winner is worth the change.
#include "runtime/tune/race.h"

#include "tests/unit/random_draws.h"

#include <gtest/gtest.h>

namespace tg::tune {
namespace {

/// Races candidates with these times in microseconds. Each run is longer by up to the fraction
/// `noise`.
std::optional<Race> race_of(const std::vector<double>& us, double noise, uint64_t seed = 1,
                            const RaceOptions& options = {}) {
  RandomDraws random(seed);
  return race(
      us.size(),
      [&](size_t way) -> std::optional<double> {
        return us[way] * (1 + noise * std::abs(static_cast<double>(random.number())));
      },
      options);
}

TEST(Race, EndsAsSoonAsNothingIsOpen) {
  Race alike = *race_of({100, 100, 101}, 0.002);
  EXPECT_EQ(alike.rounds, kFewestRounds);
  EXPECT_FALSE(alike.worth);
  Race faster = *race_of({100, 80}, 0.002);
  EXPECT_EQ(faster.rounds, kFewestRounds);
  EXPECT_TRUE(faster.worth);
  EXPECT_NEAR(faster.times.ratio, 1.25, 0.01);
}

TEST(Race, DropsCandidatesThatCannotWin) {
  size_t longer = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Race race = *race_of({100, 300, 100.5, 97, 200}, 0.08, seed);
    EXPECT_TRUE(race.best == 2 || race.best == 3) << race.best;
    longer += race.rounds > kFewestRounds; // noise hides the faster one
    // The candidates of 300 and of 200 are only in the first rounds.
    EXPECT_LE(race.runs, 5 * kFewestRounds + 3 * (race.rounds - kFewestRounds));
  }
  EXPECT_GT(longer, 10u);
}

TEST(Race, DoesNotTakeNoiseForAGain) {
  int won = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed)
    won += race_of({100, 100, 100, 100}, 0.1, seed)->worth;
  EXPECT_LE(won, 20) << "of 200 races of equals";
}

TEST(Race, HasAtLeastSixRoundsAndEndsInTime) {
  RaceOptions hurry;
  hurry.most_us = 1;
  Race race = *race_of({100, 97}, 0.2, 1, hurry);
  EXPECT_EQ(race.rounds, kFewestRounds);
  Race whole = *race_of({100, 98.5}, 0.2);
  EXPECT_LE(whole.rounds, RaceOptions().most_rounds);
}

TEST(Race, DecidesNothingWhereItHasNoTime) {
  RaceOptions strict;
  strict.strict = true;
  strict.most_us = 6 * 180 + 1;
  Race enough = *race_of({100, 80}, 0, 1, strict);
  EXPECT_TRUE(enough.decided && enough.worth);
  strict.most_us = 6 * 180 - 1;
  Race race = *race_of({100, 80}, 0, 1, strict);
  EXPECT_FALSE(race.decided || race.worth);
  EXPECT_EQ(race.runs, 2u);
  Race one_run = *race_of({1000, 900, 900}, 0, 1, strict);
  EXPECT_FALSE(one_run.decided);
  EXPECT_EQ(one_run.runs, 1u) << "the first one shows it";
}

TEST(Race, NeedsTwoAndFailsWithARun) {
  EXPECT_FALSE(race_of({100}, 0));
  EXPECT_FALSE(
      race(2, [](size_t way) { return way == 0 ? std::optional<double>(1) : std::nullopt; }));
}

} // namespace
} // namespace tg::tune
