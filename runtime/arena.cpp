#include "runtime/arena.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <numeric>

namespace tg {

namespace {

bool live_together(const BufferLife& a, const BufferLife& b) {
  return a.first <= b.last && b.first <= a.last;
}

struct Placed {
  int64_t begin, end;
  uint32_t buffer;
};

/// Returns the start of the tightest gap between the busy ranges that holds `bytes`,
/// or the end of the last range. `busy` is sorted by begin; ranges may overlap each other.
int64_t best_fit(llvm::ArrayRef<Placed> busy, int64_t bytes) {
  int64_t best = -1, best_gap = INT64_MAX, free_from = 0;
  for (const Placed& range : busy) {
    int64_t gap = range.begin - free_from;
    if (gap >= bytes && gap < best_gap) {
      best = free_from;
      best_gap = gap;
    }
    free_from = std::max(free_from, range.end);
  }
  return best >= 0 ? best : free_from;
}

} // namespace

ArenaPlan plan_arena(llvm::ArrayRef<BufferLife> buffers) {
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::stable_sort(order, [&](uint32_t a, uint32_t b) {
    if (buffers[a].bytes != buffers[b].bytes) return buffers[a].bytes > buffers[b].bytes;
    return buffers[a].first < buffers[b].first;
  });
  ArenaPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<Placed> placed, busy; // placed is sorted by begin
  for (uint32_t index : order) {
    int64_t bytes = align_up(buffers[index].bytes);
    if (bytes == 0) continue;
    busy.clear();
    for (const Placed& p : placed)
      if (live_together(buffers[p.buffer], buffers[index])) busy.push_back(p);
    int64_t begin = best_fit(busy, bytes);
    Placed range{begin, add_bytes(begin, bytes), index};
    placed.insert(
        llvm::upper_bound(placed, range,
                          [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        range);
    plan.offsets[index] = begin;
    plan.bytes = std::max(plan.bytes, range.end);
  }
  return plan;
}

int64_t peak_bytes(llvm::ArrayRef<BufferLife> buffers) {
  struct Change {
    uint64_t step;
    int64_t bytes;
  };
  std::vector<Change> changes;
  for (const BufferLife& buffer : buffers) {
    changes.push_back({buffer.first, align_up(buffer.bytes)});
    changes.push_back({uint64_t{buffer.last} + 1, -align_up(buffer.bytes)});
  }
  llvm::sort(changes, [](const Change& a, const Change& b) { // at one step, frees come first
    return a.step != b.step ? a.step < b.step : a.bytes < b.bytes;
  });
  int64_t live = 0, peak = 0;
  for (const Change& change : changes) peak = std::max(peak, live += change.bytes);
  return peak;
}

namespace {

class StorageBuilder {
public:
  StorageBuilder(const Plan& plan, Phase phase, const StorageRequest& request)
      : plan_(plan), phase_(phase), request_(request) {
    storage_.buffer.assign(plan.values.size(), kNoBuffer);
    storage_.runs_in_place.assign(plan.steps.size(), false);
    storage_.is_view.assign(plan.steps.size(), false);
    storage_.root.resize(plan.values.size());
    std::iota(storage_.root.begin(), storage_.root.end(), 0u);
  }

  Storage run() {
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      if (plan_.steps[s].phase == phase_) place(s);
    return std::move(storage_);
  }

private:
  void place(PlanStepId s) {
    const PlanStep& step = plan_.steps[s];
    int64_t bytes = request_.bytes(step.result);
    PlanValueId viewed = request_.view_of(s);
    if (viewed != kNoValue && !(outlives_phase(step.result) && in_arena(viewed))) {
      storage_.is_view[s] = true;
      storage_.root[step.result] = storage_.root[viewed];
      share(step.result, storage_.buffer[viewed], bytes);
    } else if (may_overwrite(s)) {
      storage_.runs_in_place[s] = true;
      storage_.root[step.result] = storage_.root[step.in_place];
      share(step.result, storage_.buffer[step.in_place], bytes);
    } else if (bytes > 0 && !outlives_phase(step.result)) {
      storage_.buffer[step.result] = static_cast<uint32_t>(storage_.buffers.size());
      storage_.buffers.push_back({bytes, s, end_of(step.result)});
    }
  }

  bool in_arena(PlanValueId id) const { return storage_.buffer[id] != kNoBuffer; }

  void share(PlanValueId value, uint32_t buffer, int64_t bytes) {
    storage_.buffer[value] = buffer;
    if (buffer == kNoBuffer) return;
    BufferLife& life = storage_.buffers[buffer];
    life.last = std::max(life.last, end_of(value));
    life.bytes = std::max(life.bytes, bytes);
  }

  /// Returns true if all values in the operand's buffer die here and the step reads nothing else
  /// from that buffer. Elementwise operators are exempt from the second condition
  /// because they read an element before they write it.
  bool may_overwrite(PlanStepId s) const {
    const PlanStep& step = plan_.steps[s];
    if (step.in_place == kNoValue || outlives_phase(step.result)) return false;
    if (request_.in_place && !request_.in_place(s)) return false;
    uint32_t buffer = storage_.buffer[step.in_place];
    if (buffer == kNoBuffer || storage_.buffers[buffer].last > s) return false;
    for (PlanValueId id : step.operands)
      if (id != kNoValue && id != step.in_place && storage_.buffer[id] == buffer) return false;
    return true;
  }

  bool outlives_phase(PlanValueId id) const {
    return phase_ == Phase::Load && plan_.values[id].pinned;
  }

  uint32_t end_of(PlanValueId id) const {
    const PlanValue& v = plan_.values[id];
    if (v.pinned || plan_.streams > 1) return static_cast<uint32_t>(plan_.steps.size());
    return v.last_use == kNever ? v.defined_by : v.last_use;
  }

  const Plan& plan_;
  Phase phase_;
  const StorageRequest& request_;
  Storage storage_;
};

} // namespace

Storage plan_storage(const Plan& plan, Phase phase, const StorageRequest& request) {
  return StorageBuilder(plan, phase, request).run();
}

} // namespace tg
