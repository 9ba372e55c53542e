// Verdicts on matches, remembered. Whether a rule applies, and with which types and attributes, is
// a function of the rule, the attribute values bound, and the type and flags of each class bound
// (ValueExpr can ask for nothing else); a large e-graph has few of these. Of interned numbers
// alone, so rollback leaves it.
#pragma once

#include "compiler/egraph/infer_memo.h"

namespace tg {

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
