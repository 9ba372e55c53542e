// Memo tables of pure functions on interned numbers. Rollback does not affect them.
#pragma once

#include "compiler/egraph/hashcons.h"
#include "lang/core/shape_rules.h"

#include <vector>

namespace tg {

struct Typing {
  AttrsId attrs; // in normal form
  TypeId type;   // invalid if the operator rejects the operands
  bool ok() const { return type.index != UINT32_MAX; }
};

/// Memoises `infer`: from (operator, attributes, operand types) to normalised attributes and the
/// type of the result, or a rejection.
class InferMemo {
public:
  explicit InferMemo(Symbols& symbols) : symbols_(&symbols) {}
  Typing operator()(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands);
  size_t memory_bytes() const;

private:
  struct Entry {
    OpKind op{};
    AttrsId attrs;
    uint32_t first = 0, count = 0; // index into types_
    Typing result;
  };
  Typing compute(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> operands);

  Symbols* symbols_;
  std::vector<Entry> entries_;
  std::vector<TypeId> types_;
  Hashcons table_;
};

/// Memoises checks of matches. The result, and the types and attributes of the steps, are functions
/// of the rule, the bound attribute values, and the type and flags of each bound class, because
/// ValueExpr can access nothing else. A large e-graph has few distinct combinations.
class CheckMemo {
public:
  struct Verdict {
    bool known = false;
    bool applies = false;
    llvm::ArrayRef<Typing> steps; // of the rule's plan, if it applies; valid until the next insert
  };
  Verdict find(llvm::ArrayRef<uint32_t> key) const;
  /// `steps` is only used if the rule applies.
  void insert(llvm::ArrayRef<uint32_t> key, bool applies, llvm::ArrayRef<Typing> steps);
  size_t memory_bytes() const;

private:
  struct Entry {
    uint32_t key = 0, key_size = 0, steps = 0, step_count = 0;
    bool applies = false;
  };
  static constexpr size_t kMaxEntries = size_t{1} << 15; // then it is cleared

  llvm::ArrayRef<uint32_t> key_of(const Entry& e) const {
    return llvm::ArrayRef<uint32_t>(keys_).slice(e.key, e.key_size);
  }
  std::vector<Entry> entries_;
  std::vector<uint32_t> keys_;
  std::vector<Typing> steps_;
  Hashcons table_;
};

} // namespace tg
