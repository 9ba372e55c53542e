#include "compiler/ir/eval/statements.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::eval {

using ast::ExprKind;

namespace {

/// Collects the calls of a body in textual order, including those inside `if` and `for`.
class CallFinder {
public:
  explicit CallFinder(const Ast& ast) : ast_(ast) {}

  void block(ast::BlockId id) {
    if (!id) return;
    for (ast::StmtId stmt : ast_[ast_[id].stmts]) {
      expression(ast_[stmt].value);
      block(ast_[stmt].body);
    }
  }

  std::vector<ast::ExprId> in_order() {
    llvm::sort(calls_, [&](ast::ExprId a, ast::ExprId b) {
      return ast_[a].callee.span.begin < ast_[b].callee.span.begin;
    });
    return std::move(calls_);
  }

private:
  void expression(ast::ExprId id) { // recursion is bounded by the parser's depth limit
    if (!id) return;
    const ast::Expr& e = ast_[id];
    if (e.kind == ExprKind::Call) calls_.push_back(id);
    for_each_child(ast_, id, [this](ast::ExprId child) { expression(child); });
    block(e.then_block);
    block(e.else_block);
  }

  const Ast& ast_;
  std::vector<ast::ExprId> calls_;
};

std::string round_suffix(const Frame& frame) {
  std::string text;
  for (int64_t round : frame.rounds) text += "[" + std::to_string(round) + "]";
  return text;
}

} // namespace

/// Returns the name that `as` gives, or else the callee's name, numbered from 1 in textual order if
/// the function has several unnamed calls of it.
const std::string& WeightPaths::segment(const Frame& frame, ast::ExprId call) {
  auto key = [&](ast::ExprId id) { return std::make_pair(frame.fn.module, id.index); };
  if (segmented_.insert({frame.fn.module, frame.fn.decl.index}).second) {
    CallFinder finder(frame.ast);
    finder.block(frame.decl.body);
    llvm::StringMap<std::vector<ast::ExprId>> by_callee;
    for (ast::ExprId id : finder.in_order()) {
      const ast::Expr& e = frame.ast[id];
      segments_[key(id)] = e.alias.present() ? e.alias.text.str() : e.callee.text.str();
      if (!e.alias.present()) by_callee[e.callee.text].push_back(id);
    }
    for (const auto& entry : by_callee) { // any order: each writes its own entries
      const std::vector<ast::ExprId>& calls = entry.second;
      for (size_t i = 0; i < calls.size() && calls.size() > 1; ++i)
        segments_[key(calls[i])] += std::to_string(i + 1);
    }
  }
  return segments_[key(call)];
}

std::string WeightPaths::of_weight(const Frame& frame, const ast::Stmt& s) {
  return frame.prefix + frame.ast[s.targets][0].text.str() + round_suffix(frame);
}

std::string WeightPaths::of_call(const Frame& frame, ast::ExprId call) {
  return segment(frame, call) + round_suffix(frame);
}

const WeightPaths::Declared* WeightPaths::declare(const std::string& path, Declared declared) {
  auto [known, fresh] = weights_.try_emplace(path, std::move(declared));
  return fresh ? nullptr : &known->second;
}

} // namespace tg::eval
