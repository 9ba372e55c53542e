#include "compiler/rules/compile/compiler.h"

namespace tg {

RuleCompiler::RuleCompiler(const Ast& tree, const ast::Decl& decl, OperatorChoice operators,
                           bool reversed, uint32_t swaps, DiagnosticSink& sink, bool integers)
    : tree_(tree), decl_(decl), reversed_(reversed), errors_(tree, decl.span, reversed, sink),
      draft_(decl.name.text, errors_), names_(tree, decl, std::move(operators), draft_, errors_),
      calls_(tree, names_, errors_), values_(tree, names_, draft_, errors_),
      left_(tree, swaps, integers, names_, calls_, values_, draft_, errors_),
      right_(tree, integers, left_.rest(), names_, calls_, values_, draft_, errors_) {}

std::optional<Rule> RuleCompiler::run() {
  if (!names_.declare()) return std::nullopt;
  if (!left_.lower(reversed_ ? decl_.rhs : decl_.lhs)) return std::nullopt;
  for (ast::ExprId where : tree_[decl_.where])
    if (!values_.condition(where)) return std::nullopt;
  draft_.begin_right();
  if (!right_.lower(reversed_ ? decl_.lhs : decl_.rhs) || !sides_agree() ||
      !names_.check_bound(reversed_) || !names_.check_all_used())
    return std::nullopt;
  return std::move(draft_.rule());
}

bool RuleCompiler::sides_agree() {
  size_t left = draft_.rule().lhs.size(), right = draft_.rule().rhs.size();
  if (left == right) return true;
  if (reversed_) std::swap(left, right); // as written
  errors_.fail(error(Code::rule_arity, decl_.arrow_span,
                     "the left side has {0} result{1}, but the right side has {2}", left,
                     left == 1 ? "" : "s", right));
  return false;
}

} // namespace tg
