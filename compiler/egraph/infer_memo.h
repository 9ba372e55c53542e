// What `infer` says, remembered: from (operator, attributes, operand types) to the attributes in
// normal form and the type of the result, or that the operator does not apply. A pure function of
// interned numbers, so rollback leaves it alone.
#pragma once

#include "compiler/egraph/hashcons.h"
#include "lang/core/shape_rules.h"

#include <vector>

namespace tg {

struct Typing {
  AttrsId attrs; // in normal form
  TypeId type;   // invalid if the operator does not apply
  bool ok() const { return type.index != UINT32_MAX; }
};

class InferMemo {
public:
  explicit InferMemo(Symbols& symbols) : symbols_(&symbols) {}
  Typing operator()(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands);
  size_t memory_bytes() const;

private:
  struct Entry {
    OpKind op{};
    AttrsId attrs;
    uint32_t first = 0, count = 0; // into types_
    Typing result;
  };
  Typing compute(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands);

  Symbols* symbols_;
  std::vector<Entry> entries_;
  std::vector<TypeId> types_;
  Hashcons table_;
};

} // namespace tg
