#include "lang/core/fused_body.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace tg {

namespace {

/// Limits the work of parsing and the buffers of an evaluation; far above what rules build.
constexpr size_t kMaxBodyLength = 1024;

size_t arity(OpKind op) { return op_info(op).operand_count; }

/// Reads tokens of the body's text. Calls are kept on an explicit stack, so depth is not a problem.
struct BodyReader {
  llvm::StringRef rest;
  FusedBody body;
  struct Open {
    OpKind op;
    size_t seen = 0;
  };
  llvm::SmallVector<Open, 8> open;

  bool operand() {
    llvm::StringRef digits = rest.drop_front().take_while(llvm::isDigit);
    uint32_t number = 0;
    if (digits.empty() || digits.getAsInteger(10, number) || number >= kMaxBodyLength) return false;
    rest = rest.drop_front(1 + digits.size());
    body.code.push_back({.is_operand = true, .operand = number});
    body.operands = std::max(body.operands, number + 1);
    return close();
  }

  bool call() {
    llvm::StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    std::optional<OpKind> op = find_op(name);
    if (!op || !op_info(*op).has(Trait::Pointwise)) return false;
    rest = rest.drop_front(name.size()).ltrim();
    open.push_back({*op});
    return rest.consume_front("(");
  }

  /// After a complete value, closes every call that it completes.
  bool close() {
    while (!open.empty()) {
      rest = rest.ltrim();
      if (++open.back().seen < arity(open.back().op)) return rest.consume_front(",");
      if (!rest.consume_front(")")) return false;
      body.code.push_back({.op = open.pop_back_val().op});
    }
    return true;
  }
};

} // namespace

size_t FusedBody::op_count() const {
  return static_cast<size_t>(
      std::count_if(code.begin(), code.end(), [](const FusedInstr& i) { return !i.is_operand; }));
}

size_t FusedBody::stack_depth() const {
  size_t depth = 0, deepest = 0;
  for (const FusedInstr& instr : code) {
    depth = instr.is_operand ? depth + 1 : depth + 1 - arity(instr.op);
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

std::string FusedBody::text() const {
  std::vector<std::string> stack;
  for (const FusedInstr& instr : code) {
    if (instr.is_operand) {
      stack.push_back("$" + std::to_string(instr.operand));
      continue;
    }
    std::string call(op_info(instr.op).name);
    size_t first = stack.size() - arity(instr.op);
    call += '(';
    for (size_t i = first; i < stack.size(); ++i) call += (i > first ? ", " : "") + stack[i];
    stack.resize(first);
    stack.push_back(call + ")");
  }
  return stack.empty() ? std::string() : stack.back();
}

std::optional<FusedBody> parse_fused_body(llvm::StringRef text) {
  BodyReader reader{text, {}, {}};
  do {
    reader.rest = reader.rest.ltrim();
    bool ok = reader.rest.startswith("$") ? reader.operand() : reader.call();
    if (!ok || reader.body.code.size() + reader.open.size() > kMaxBodyLength) return std::nullopt;
  } while (!reader.open.empty());
  if (!reader.rest.trim().empty()) return std::nullopt;
  return std::move(reader.body);
}

} // namespace tg
