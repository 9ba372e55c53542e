#include "compiler/verify/proof/proof.h"

#include "compiler/verify/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using proof::Case;
using proof::Outcome;

constexpr const char* kTooMany = "too many cases";

Proof prove_with(const Rule& rule, std::optional<size_t> named,
                 const std::shared_ptr<proof::Solver>& solver, const ProofOptions& options) {
  proof::Ranks ranks = proof::known_ranks(rule);
  proof::Choices choices;
  Proof proof;
  size_t tried = 0, questions = options.total;
  do {
    if (++tried > options.cases) return proof.why = kTooMany, proof;
    Case one(rule, ranks, choices, named, solver, std::min(options.questions, questions));
    Outcome outcome = one.run();
    questions -= std::min(questions, one.questions());
    if (outcome == Outcome::Impossible) continue;
    if (outcome != Outcome::Proved) {
      proof.why = one.why().empty() ? "too many solver queries" : one.why();
      return proof;
    }
    ++proof.cases;
  } while (choices.next());
  proof.proved = proof.cases > 0;
  if (!proof.proved) proof.why = "no case is possible";
  return proof;
}

} // namespace

bool can_prove() { return proof::have_solver(); }

Proof prove_rule(const Rule& rule, const ProofOptions& options) {
  if (rule.native != Native::No) return {false, 0, "a built-in rule"};
  if (!can_prove()) return {false, 0, "no solver"};
  std::shared_ptr<proof::Solver> solver = proof::make_solver();
  Proof whole;
  if (proof::prove_whole(rule, solver, whole.why)) return {true, 1, ""};
  // First treats tensors of any rank at once; in products, two axes are named. Otherwise
  // ranks are cases.
  bool products = llvm::any_of(rule.terms, [](const Term& term) {
    return term.kind == Term::Kind::Op && term.op == OpKind::Matmul;
  });
  Proof packed = prove_with(rule, products ? 2 : 0, solver, options);
  if (packed.proved) return packed;
  Proof ranked = prove_with(rule, std::nullopt, solver, options);
  if (!ranked.proved && ranked.why == kTooMany) ranked.why += "; at once: " + packed.why;
  return ranked;
}

} // namespace tg
