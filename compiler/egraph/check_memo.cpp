#include "compiler/egraph/check_memo.h"

namespace tg {

namespace {

uint32_t hash_of(llvm::ArrayRef<uint32_t> key) {
  WordHash h(key.size());
  for (uint32_t word : key) h.add(word);
  return h.finish();
}

} // namespace

CheckMemo::Verdict CheckMemo::find(llvm::ArrayRef<uint32_t> key) const {
  uint32_t index =
      table_.find(hash_of(key), [&](uint32_t i) { return key_of(entries_[i]) == key; });
  if (index == Hashcons::kEmpty) return {};
  const Entry& e = entries_[index];
  return {true, e.applies, llvm::ArrayRef<Typing>(steps_).slice(e.steps, e.step_count)};
}

void CheckMemo::insert(llvm::ArrayRef<uint32_t> key, bool applies, llvm::ArrayRef<Typing> steps) {
  if (entries_.size() >= kMaxEntries) *this = CheckMemo();
  Entry entry{static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(key.size()),
              static_cast<uint32_t>(steps_.size()), static_cast<uint32_t>(steps.size()), applies};
  keys_.insert(keys_.end(), key.begin(), key.end());
  steps_.insert(steps_.end(), steps.begin(), steps.end());
  if (table_.full()) table_.grow([](uint32_t, uint32_t) { return true; });
  table_.insert(hash_of(key), static_cast<uint32_t>(entries_.size()));
  entries_.push_back(entry);
}

size_t CheckMemo::memory_bytes() const {
  return entries_.capacity() * sizeof(Entry) + keys_.capacity() * sizeof(uint32_t) +
         steps_.capacity() * sizeof(Typing) + table_.memory_bytes();
}

} // namespace tg
