// What was asked before, remembered:
// pure functions of interned numbers, so that rollback leaves them alone.
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

/// What `infer` says: from (operator, attributes, operand types) to the attributes in normal form
/// and the type of the result, or that the operator does not apply.
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

/// Verdicts on matches, remembered. Whether a rule applies, and with which types and attributes, is
/// a function of the rule, the attribute values bound, and the type and flags of each class bound
/// (ValueExpr can ask for nothing else); a large e-graph has few of these.
class CheckMemo {
public:
  struct Verdict {
    bool known = false;
    bool applies = false;
    llvm::ArrayRef<Typing> steps; // of the rule's plan, if it applies; until the next insert
  };
  Verdict find(llvm::ArrayRef<uint32_t> key) const;
  /// `steps` only if the rule applies there.
  void insert(llvm::ArrayRef<uint32_t> key, bool applies, llvm::ArrayRef<Typing> steps);
  size_t memory_bytes() const;

private:
  struct Entry {
    uint32_t key = 0, key_size = 0, steps = 0, step_count = 0;
    bool applies = false;
  };
  static constexpr size_t kMaxEntries = size_t{1} << 15; // then it starts afresh

  llvm::ArrayRef<uint32_t> key_of(const Entry& e) const {
    return llvm::ArrayRef<uint32_t>(keys_).slice(e.key, e.key_size);
  }
  std::vector<Entry> entries_;
  std::vector<uint32_t> keys_;
  std::vector<Typing> steps_;
  Hashcons table_;
};

} // namespace tg
