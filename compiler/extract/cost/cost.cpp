// Writes the canonical text of an operator instance: types of operands, with weights marked, then
// attributes by name. It is a key in files that outlive this version, so its form changes only
// together with the version of cost tables and databases.
#include "compiler/extract/cost/cost.h"

#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>

namespace tg {

std::string instance_key(const Symbols& symbols, const OpInstance& instance) {
  const OpInfo& info = op_info(instance.op);
  std::string key(info.name);
  key += '(';
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    if (i > 0) key += ", ";
    const TensorType& type = symbols.type(instance.operands[i]);
    if (!type.is_none() && i < 32 && (instance.weight_operands >> i & 1)) key += "w ";
    key += type.text();
  }
  key += ')';
  llvm::ArrayRef<ValueId> attrs = symbols.attrs(instance.attrs);
  for (size_t slot = 0; slot < attrs.size(); ++slot) {
    key += slot == 0 ? " {" : ", ";
    key += info.attrs()[slot].name;
    key += " = ";
    key += symbols.value(attrs[slot]).text_form();
  }
  if (!attrs.empty()) key += '}';
  return key;
}

PriceCache::Key PriceCache::key_of(const OpInstance& instance) {
  Key key{static_cast<uint32_t>(instance.op), instance.attrs.index, instance.result.index,
          instance.weight_operands};
  for (TypeId operand : instance.operands) key.push_back(operand.index);
  return key;
}

uint64_t PriceCache::hash_of(const Key& key) {
  return static_cast<uint64_t>(llvm::hash_combine_range(key.begin(), key.end())) >> 2;
}

const PriceCache::Entry* PriceCache::find(const Key& key, uint64_t hash) const {
  auto bucket = entries_.find(hash);
  if (bucket == entries_.end()) return nullptr;
  for (const Entry& entry : bucket->second)
    if (entry.key == key) return &entry;
  return nullptr;
}

double PriceCache::price(const OpInstance& instance) {
  Key key = key_of(instance);
  uint64_t hash = hash_of(key);
  if (const Entry* known = find(key, hash)) return known->price;
  double price = model_.price(symbols_, instance);
  assert(price >= 0 && "a price is neither negative nor NaN");
  entries_[hash].push_back({std::move(key), price});
  ++size_;
  return price;
}

void PriceCache::prepare(llvm::ArrayRef<OpInstance> instances) {
  std::vector<OpInstance> fresh;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Key, 1>> seen;
  for (const OpInstance& instance : instances) {
    Key key = key_of(instance);
    uint64_t hash = hash_of(key);
    if (find(key, hash) || llvm::is_contained(seen[hash], key)) continue;
    seen[hash].push_back(std::move(key));
    fresh.push_back(instance);
  }
  model_.prepare(symbols_, fresh);
}

} // namespace tg
