#include "compiler/verify/counterexample/instance_changes.h"

#include <llvm/ADT/STLExtras.h>

#include <bit>

namespace tg {

namespace {

constexpr size_t kCandidates = 64; // of which one is compared
constexpr size_t kTries = 6;       // rounds of candidates before giving up on new kinds
constexpr size_t kStarts = 32;     // left-side instances kept as starting points
constexpr size_t kNewest = 8;      // latest compared instances, preferred as starting points
constexpr size_t kWalk = 16;       // candidates kept as starting points without a comparison

template <class F> void each_bit(const RuleKinds::Set& set, F visit) {
  for (size_t word = 0; word < set.size(); ++word)
    for (uint64_t bits = set[word]; bits; bits &= bits - 1)
      visit(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
}

size_t count_bits(const RuleKinds::Set& set) {
  size_t count = 0;
  for (uint64_t word : set) count += static_cast<size_t>(std::popcount(word));
  return count;
}

void add(RuleKinds::Set& to, const RuleKinds::Set& set) {
  for (size_t i = 0; i < set.size(); ++i) to[i] |= set[i];
}

} // namespace

InstanceChanges::InstanceChanges(Symbols& symbols, const Rule& rule, uint64_t seed)
    : rng_(seed ^ 0x6b696e6473), changes_(symbols, rule, rng_), of_(symbols, rule),
      reached_(of_.subjects()), seen_(of_.subjects()), beside_(of_.subjects() * 64) {}

void InstanceChanges::reached(const RuleInstance& instance) {
  if (!changes_.admitted(instance, types_)) return; // an attribute that is not in normal form
  RuleKinds::Set set = of_.of(instance, types_);
  add(reached_, set);
  add(seen_, set);
  each_bit(set, [&](size_t kind) {
    if (beside_[kind].empty()) beside_[kind].resize(set.size());
    add(beside_[kind], set);
  });
  compared_.push_back({instance, std::move(set)});
}

void InstanceChanges::start_from(const RuleInstance& instance) {
  if (compared_.size() < kStarts) compared_.push_back({instance, {}});
}

bool InstanceChanges::new_to(const RuleKinds::Set& known, const RuleKinds::Set& set) const {
  for (size_t i = 0; i < set.size(); ++i)
    if (set[i] & ~known[i]) return true;
  return false;
}

size_t InstanceChanges::new_pairs(const RuleKinds::Set& set) const {
  size_t count = 0;
  each_bit(set, [&](size_t kind) {
    const RuleKinds::Set& known = beside_[kind];
    for (size_t i = 0; i < set.size(); ++i)
      if (uint64_t fresh = set[i] & ~(known.empty() ? 0 : known[i]))
        count += static_cast<size_t>(std::popcount(fresh));
  });
  return count;
}

size_t InstanceChanges::new_pairs(const RuleInstance& instance) {
  return changes_.admitted(instance, types_) ? new_pairs(of_.of(instance, types_)) : 0;
}

std::optional<InstanceChanges::Candidate> InstanceChanges::candidate() {
  bool walk = !walk_.empty() && rng_() % 3 == 0;
  // Prefer the newest instances, which brought something new.
  size_t among = rng_() % 4 ? compared_.size() : std::min(compared_.size(), kNewest);
  const RuleInstance& from = walk ? walk_[rng_() % walk_.size()].instance
                                  : compared_[compared_.size() - 1 - rng_() % among].instance;
  Candidate made{changes_.changed(from), {}};
  if (!changes_.admitted(made.instance, types_)) return std::nullopt;
  made.kinds = of_.of(made.instance, types_);
  return made;
}

bool InstanceChanges::pending() {
  while (!pending_.empty() && !new_to(reached_, pending_.front().kinds)) pending_.pop_front();
  return !pending_.empty();
}

std::optional<RuleInstance> InstanceChanges::next() {
  if (compared_.empty()) return std::nullopt;
  std::optional<Candidate> best;
  size_t most = 0;
  for (size_t tries = 0; tries < kTries && !best; ++tries)
    for (size_t i = 0; i < kCandidates; ++i) {
      std::optional<Candidate> made = candidate();
      if (!made) continue;
      if (new_to(seen_, made->kinds)) {
        add(seen_, made->kinds);
        pending_.push_back(*made);
      }
      if (size_t count = new_pairs(made->kinds); count > most) {
        most = count;
        best = *made;
      }
      walk_.push_back(std::move(*made));
      if (walk_.size() > kWalk) walk_.pop_front();
    }
  if (!pending()) return best ? std::optional(best->instance) : std::nullopt;
  RuleInstance instance = std::move(pending_.front().instance);
  pending_.pop_front();
  return instance;
}

size_t InstanceChanges::kinds() const { return count_bits(reached_); }

size_t InstanceChanges::pairs() const {
  size_t count = 0; // each pair occurs twice, and each kind beside itself
  for (const RuleKinds::Set& set : beside_) count += count_bits(set);
  return (count - kinds()) / 2;
}

} // namespace tg
