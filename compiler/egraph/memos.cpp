#include "compiler/egraph/memos.h"

namespace tg {

namespace {

uint32_t hash_of(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands) {
  WordHash h(static_cast<uint64_t>(op) + 1);
  h.add(attrs.index);
  for (TypeId type : operands) h.add(type.index);
  return h.finish();
}

} // namespace

Typing InferMemo::operator()(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands) {
  uint32_t hash = hash_of(op, attrs, operands);
  uint32_t found = table_.find(hash, [&](uint32_t index) {
    const Entry& e = entries_[index];
    return e.op == op && e.attrs == attrs &&
           llvm::ArrayRef<TypeId>(types_).slice(e.first, e.count) == operands;
  });
  if (found != Hashcons::kEmpty) return entries_[found].result;
  Entry entry{op, attrs, static_cast<uint32_t>(types_.size()),
              static_cast<uint32_t>(operands.size()), compute(op, attrs, operands)};
  types_.insert(types_.end(), operands.begin(), operands.end());
  if (table_.full()) table_.grow([](uint32_t, uint32_t) { return true; });
  table_.insert(hash, static_cast<uint32_t>(entries_.size()));
  entries_.push_back(entry);
  return entry.result;
}

Typing InferMemo::compute(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands) {
  llvm::ArrayRef<ValueId> given = symbols_->attrs(attrs);
  llvm::SmallVector<ValueId, 4> normal(given.begin(), given.end());
  TypeId type;
  if (!infer(*symbols_, op, normal, operands, type)) return {};
  return {symbols_->attrs(normal), type};
}

size_t InferMemo::memory_bytes() const {
  return entries_.capacity() * sizeof(Entry) + types_.capacity() * sizeof(TypeId) +
         table_.memory_bytes();
}

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
