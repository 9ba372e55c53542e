// Symbols of two tables, compared by what they stand for. Interned numbers depend on the order in
// which a table met things; what crosses from one table to another goes through these.
#pragma once

#include "lang/core/symbols.h"

namespace tg {

/// From the numbers of one table to those of another, which is added to; each is worked out once.
/// Nobody may add to `from` while one is asked for.
class SymbolMap {
public:
  SymbolMap(const Symbols& from, Symbols& to) : from_(from), to_(to) {}
  ValueId operator()(ValueId id);
  AttrsId operator()(AttrsId id);
  TypeId operator()(TypeId id);
  size_t memory_bytes() const {
    return (values_.capacity() + attrs_.capacity() + types_.capacity()) * sizeof(uint32_t);
  }

private:
  const Symbols& from_;
  Symbols& to_;
  std::vector<uint32_t> values_, attrs_, types_; // by number there; UINT32_MAX: not asked yet
};

/// A hash of what a symbol stands for, which is the same in all tables of a process.
class SymbolHash {
public:
  explicit SymbolHash(const Symbols& symbols) : symbols_(symbols) {}
  uint64_t operator()(ValueId id);
  uint64_t operator()(TypeId id);

private:
  const Symbols& symbols_;
  std::vector<uint64_t> values_, types_; // 0: not asked yet
};

} // namespace tg
