// An analytic model with the proportions of a P100: 56 processors at 1.3 GHz.
#include "tests/unit/tune/synthetic_device.h"

#include "lang/core/support/random.h"
#include "runtime/tune/costs.h"

#include <algorithm>
#include <cmath>

namespace tg::tune {
namespace {

constexpr double kProcessors = 56, kCyclesOfMicrosecond = 1300, kFmaOfCycle = 64;
constexpr double kLinesOfCycle = 0.25; // per processor, from memory

/// The cycles that a block of a program takes on its processor.
struct BlockCycles {
  double arithmetic, shared, memory, latency;
};

BlockCycles cycles_of(const Program& program, const Nest& nest) {
  const Tile& tile = program.tile;
  Extents block = tile.block();
  auto threads = static_cast<double>(tile.threads()), warps = std::ceil(threads / 32);
  auto rounds = static_cast<double>(tile.rounds(nest));
  double points = volume(block) * volume(nest.reduction);
  ThreadShape shape{tile.grid(), tile.virtuals(), {}};
  for (const auto& split : tile.space) shape.inner.push_back(split[3] * split[4]);
  double requests = ThreadCost(nest, block, tile.fetched()).of(shape, HUGE_VAL);
  BlockCost lines(nest);
  double unrolled = unrolled_loops(tile, tile.unroll) == 0
                        ? 1
                        : 1.0 + std::log2(1.0 + static_cast<double>(tile.unroll));
  double idle = warps * 32 / threads;
  double fetches = 0;
  for (size_t i = 0; i < nest.inputs.size(); ++i) {
    double elements = staged_elements(nest, nest.inputs[i], block, tile.fetched());
    fetches += std::ceil(elements / threads / static_cast<double>(tile.vectors[i])) * warps;
  }
  double registers_wanted = registers(nest, tile, tile.unroll);
  double spills = registers_wanted > 200 ? registers_wanted / 200 : 1;
  return {points / kFmaOfCycle * idle * (1 + 0.6 / unrolled) * spills,
          (requests * 1.0 + fetches * 4) * rounds,
          static_cast<double>(lines.of(block)) / kLinesOfCycle, rounds * 600};
}

} // namespace

double SyntheticDevice::tiles_us(const Program& program, const Nest& nest) const {
  const Tile& tile = program.tile;
  BlockCycles cycles = cycles_of(program, nest);
  auto threads = static_cast<double>(tile.threads()), warps = std::ceil(threads / 32);
  double shared = staged_elements(nest, tile.block(), tile.fetched());
  double taken = std::min(255.0, registers(nest, tile, tile.unroll) + 24);
  double resident =
      std::min({32.0, std::floor(16384 / std::max(1.0, shared)),
                std::floor(65536 / (taken * warps * 32)), std::floor(2048 / (warps * 32))});
  if (resident < 1) return -1;
  auto blocks = static_cast<double>(tile.blocks());
  double at_once = std::min(resident, std::ceil(blocks / kProcessors));
  double results = volume(tile.block()) / threads;
  // Few warps with few independent results cannot hide the latency of arithmetic.
  double busy = std::min(1.0, at_once * warps * std::min(results, 8.0) / 48);
  double cached = 0.5 + 0.5 / (1 + std::log2(1 + blocks / 64)); // blocks read the same lines
  double one = std::max({cycles.arithmetic / busy, cycles.shared, cycles.memory * cached}) +
               0.2 * (cycles.arithmetic + cycles.shared + cycles.memory * cached);
  double wave = std::max(at_once * one, one + cycles.latency);
  double waves = std::ceil(blocks / (kProcessors * at_once));
  return waves * wave / kCyclesOfMicrosecond;
}

std::optional<double> SyntheticDevice::measure(const Program& program) {
  ++measured;
  Nest nest = nest_of(program.op);
  double us = 3; // launch of a kernel
  if (!program.tile.space.empty()) {
    double found = tiles_us(program, nest);
    if (found < 0) return {};
    us += found;
  }
  if (program.sketch == Sketch::CrossThread) {
    auto threads = static_cast<double>(program.threads[0]);
    double rounds = std::ceil(volume(nest.reduction) / threads);
    us += volume(nest.space) * (rounds * 20 + std::log2(threads) * 40) /
          std::min(kProcessors * 8, volume(nest.space)) / kCyclesOfMicrosecond;
  } else {
    std::vector<FlatStage> stages = flat_stages(program.op);
    for (size_t i = 0; i < program.threads.size(); ++i) {
      auto threads = static_cast<double>(program.threads[i]);
      double blocks = std::ceil(static_cast<double>(stages[i].length) / threads);
      us += std::ceil(blocks / (kProcessors * std::min(32.0, 2048 / threads))) *
            (200 + std::ceil(threads / 32) * 40) / kCyclesOfMicrosecond;
    }
  }
  return us * (1 + 0.03 * (RandomStream(1, text(program)).uniform(0) - 0.5));
}

} // namespace tg::tune
