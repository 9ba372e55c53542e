#include "compiler/egraph/symbol_map.h"

#include <bit>

namespace tg {

namespace {

constexpr uint32_t kUnknown = UINT32_MAX;

/// Returns the cached entry of a number; resizes the table if needed.
template <class T> T& slot(std::vector<T>& known, uint32_t index, T unknown) {
  if (index >= known.size()) known.resize(index + size_t{1}, unknown);
  return known[index];
}

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

uint64_t hash_ints(uint64_t hash, llvm::ArrayRef<int64_t> ints) {
  for (int64_t x : ints) hash = mix(hash, static_cast<uint64_t>(x));
  return mix(hash, ints.size());
}

uint64_t hash_of(const Value& v) {
  uint64_t hash = mix(static_cast<uint64_t>(v.kind) + 1, static_cast<uint64_t>(v.number));
  hash = hash_ints(mix(hash, std::bit_cast<uint64_t>(v.real)), v.ints);
  for (double x : v.reals) hash = mix(hash, std::bit_cast<uint64_t>(x));
  for (char c : v.text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

} // namespace

ValueId SymbolMap::operator()(ValueId id) {
  uint32_t& known = slot(values_, id.index, kUnknown);
  if (known == kUnknown) known = to_.value(from_.value(id)).index;
  return {known};
}

AttrsId SymbolMap::operator()(AttrsId id) {
  uint32_t& known = slot(attrs_, id.index, kUnknown);
  if (known == kUnknown) {
    llvm::SmallVector<ValueId, 8> list;
    for (ValueId value : from_.attrs(id)) list.push_back((*this)(value));
    known = to_.attrs(list).index;
  }
  return {known};
}

TypeId SymbolMap::operator()(TypeId id) {
  uint32_t& known = slot(types_, id.index, kUnknown);
  if (known == kUnknown) known = to_.type(from_.type(id)).index;
  return {known};
}

uint64_t SymbolHash::operator()(ValueId id) {
  uint64_t& known = slot(values_, id.index, uint64_t{0});
  if (known == 0) known = hash_of(symbols_.value(id)) | 1;
  return known;
}

uint64_t SymbolHash::operator()(TypeId id) {
  uint64_t& known = slot(types_, id.index, uint64_t{0});
  if (known == 0) {
    const TensorType& type = symbols_.type(id);
    known = hash_ints(static_cast<uint64_t>(type.dtype) + 1, type.shape) | 1;
  }
  return known;
}

} // namespace tg
