#include "compiler/egraph/infer_memo.h"

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

} // namespace tg
