// Maps and hashes symbols by value across two tables. Interned numbers depend on the order of
// interning, so data that crosses from one table to another is converted with these.
#pragma once

#include "lang/core/symbols.h"

namespace tg {

/// Maps symbols of one table to another one, adding them there. Each is computed once. `from` must
/// not change during a query.
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
  std::vector<uint32_t> values_, attrs_, types_; // by source number; UINT32_MAX: unknown
};

/// Hashes a symbol's value. The hash is the same for all tables of a process.
class SymbolHash {
public:
  explicit SymbolHash(const Symbols& symbols) : symbols_(symbols) {}
  uint64_t operator()(ValueId id);
  uint64_t operator()(TypeId id);

private:
  const Symbols& symbols_;
  std::vector<uint64_t> values_, types_; // 0: unknown
};

} // namespace tg
