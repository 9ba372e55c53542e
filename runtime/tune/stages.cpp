// Flat stages one after the other, and shared reductions.
#include "runtime/tune/stages.h"

#include <algorithm>

namespace tg::tune {

namespace {

constexpr int64_t kWarpThreads = 32;

std::vector<int64_t> counts_of_stage(const Program& start, const Program& reused, size_t stage) {
  if (start.sketch == Sketch::CrossThread) {
    int64_t length = product(start.op.reduction), before = product(reused.op.reduction);
    if (start.op.type == OpType::FRB) return norm_threads(reused.threads[0], before, length);
    return cross_threads(growth(start.op, reused.op), reused.threads[0], length);
  }
  int64_t length = flat_stages(start.op)[stage].length;
  auto before = static_cast<double>(flat_stages(reused.op)[stage].length);
  // Only the sum of squares has a reduction whose size depends on the operator.
  bool sums = start.op.type == OpType::FRB && stage == 0;
  Growth grows = growth(static_cast<double>(length), sums ? volume(start.op.reduction) : 1, before,
                        sums ? volume(reused.op.reduction) : 1);
  return flat_threads(grows, reused.threads[stage], length);
}

/// Returns the fastest program with the stages of this sketch.
/// The guess is a trial too and may have another sketch.
const Measured* best_of(const Trials& trials, Sketch sketch) {
  const Measured* best = nullptr;
  for (const Measured& one : trials.ran())
    if (one.program.sketch == sketch && (!best || one.microseconds < best->microseconds))
      best = &one;
  return best;
}

} // namespace

Extents default_flat_threads(const Operator& op, Sketch sketch) {
  if (sketch == Sketch::Tiles) return {};
  if (sketch == Sketch::CrossThread) return {std::min(kWarpThreads, product(op.reduction))};
  Extents threads;
  for (const FlatStage& stage : flat_stages(op))
    threads.push_back(std::min(kWarpThreads, stage.length));
  return threads;
}

void tune_flat_stages(Trials& trials, const Program& start, const Program& reused) {
  bool has_tiles = start.sketch == Sketch::TilesAndFlat;
  if (has_tiles && !best_of(trials, start.sketch)) return; // no program to start from
  for (size_t stage = 0; stage < start.threads.size(); ++stage) {
    const Measured* best = best_of(trials, start.sketch);
    Program base = best ? best->program : start;
    for (int64_t threads : counts_of_stage(start, reused, stage)) {
      base.threads[stage] = threads;
      trials.measure(base);
    }
  }
}

} // namespace tg::tune
