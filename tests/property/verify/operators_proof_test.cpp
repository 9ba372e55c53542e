// Tests that proofs ignore nothing. For every operator in the table, `op(..) => op(..)`
// is proved. No change of an attribute, of the order of operands or of an optional operand
// on one side is proved: alone, inside another operator, or inside operators through
// which proofs see. Changes without effect are listed in no_changes.txt with their reasons,
// and instances must agree with these.
#include "compiler/rules/text.h"
#include "compiler/verify/proof/proof.h"
#include "compiler/verify/verify_rule.h"
#include "tests/property/verify/operator_rules.h"
#include "tests/unit/verify/status_name.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace tg::test {
namespace {

/// Returns operators through which a proof sees the operator itself. Bools have no negation.
std::vector<Around> around(const Composed& composed) {
  return {Around::Nothing, composed.numbers ? Around::Negations : Around::NoPadding,
          Around::Transposes};
}

/// The prefix of listed changes in one of two composed operators.
constexpr const char* kWithin = "within: ";

/// Small limits, since there are many small rules.
ProofOptions quick() {
  ProofOptions options;
  options.cases = 300;
  options.questions = 600;
  options.total = 1000;
  return options;
}

/// Returns the names of changes without effect, such as "conv2d.stride".
std::set<std::string> no_changes() {
  std::set<std::string> names;
  std::ifstream file(TG_SOURCE_DIR "/tests/property/verify/no_changes.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t reason = line.find(" -- ");
    EXPECT_NE(reason, std::string::npos) << line << ": no reason";
    names.insert(line.substr(0, reason));
  }
  return names;
}

/// Returns instances of a form, with its attributes as literals.
std::vector<Composed> instances(const std::vector<Form>& forms, size_t count) {
  std::vector<Composed> found;
  Composed open = open_form(forms);
  Rule rule = open.make().rule();
  Symbols symbols;
  RuleSampler sampler(symbols, rule, 11);
  for (size_t tries = 0; tries < 20 * count && found.size() < count; ++tries) {
    std::optional<RuleInstance> instance = sampler.draw(400);
    if (!instance) continue;
    auto absent = [&](TypeId type) { return symbols.type(type).is_none(); };
    if (llvm::any_of(instance->types, absent)) continue; // another form covers this
    if (std::optional<Composed> made = at_instance(open, symbols, *instance))
      found.push_back(std::move(*made));
  }
  return found;
}

class Prover {
public:
  /// Expects that a wrong rule is not proved, unless it is listed; then its instances must agree.
  void expect_unproved(const Changed& changed, const std::string& where) {
    ++tried;
    if (!prove_rule(changed.rule, quick()).proved) return;
    RuleCheckOptions options;
    options.instances = 60;
    options.smaller = 0;
    std::string verdict = status_name(verify_rule(changed.rule, options).status).str();
    EXPECT_NE(verdict, "refuted") << where << changed.what << ": " << changed.how << "\n"
                                  << rule_text(changed.rule);
    bool listed = known_.count(changed.what) != 0 ||
                  (!where.empty() && known_.count(kWithin + changed.what) != 0);
    EXPECT_TRUE(changed.none || listed)
        << where << changed.what << ": " << changed.how << ", instances: " << verdict << "\n"
        << rule_text(changed.rule) << "\nproved, and not listed in no_changes.txt";
    seen.insert(changed.what);
  }

  const std::set<std::string>& known() const { return known_; }
  size_t tried = 0;
  std::set<std::string> seen;

private:
  std::set<std::string> known_ = no_changes();
};

/// Returns true if a proof knows the operator by more than its name.
bool looked_through(const Composed& composed) {
  Rule rule = composed.make().rule();
  return wrap(rule, around(composed)[1], composed) && prove_rule(rule, quick()).proved;
}

TEST(OperatorsInProofs, NothingOfOneIsIgnored) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  Prover prover;
  size_t through = 0, forms = 0;
  for (const Form& form : all_forms()) {
    std::vector<Composed> found = instances({form}, 2);
    EXPECT_FALSE(found.empty()) << form.text() << ": no instance is drawn; see texts()";
    for (const Composed& composed : found) {
      Rule identity = composed.make().rule();
      EXPECT_TRUE(prove_rule(identity, quick()).proved) << rule_text(identity);
      bool see = looked_through(composed);
      ++forms, through += see;
      for (Changed& changed : Changes(composed, 0).all())
        for (Around what : around(composed)) {
          Changed wrapped = changed;
          if (!wrap(wrapped.rule, what, composed) || (what != Around::Nothing && !see)) continue;
          prover.expect_unproved(wrapped, "");
        }
    }
  }
  std::printf("%zu forms, %zu looked through, %zu changes\n", forms, through, prover.tried);
  EXPECT_GE(through, 40u);
  for (const std::string& listed : prover.known())
    EXPECT_TRUE(llvm::StringRef(listed).startswith(kWithin) || prover.seen.count(listed))
        << listed << ": listed in no_changes.txt, and never proved";
}

/// Operators over operators, both of which proofs see through, with a few changes of each.
TEST(OperatorsInProofs, NothingOfTwoIsIgnored) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  constexpr size_t kEveryPair = 7, kEvery = 5;
  std::vector<Form> seen;
  for (const Form& form : all_forms()) {
    bool plain = op_info(form.op).has(Trait::Pointwise);
    if (plain && form.op != OpKind::Mul && form.op != OpKind::Relu) continue; // all are alike
    for (const Composed& composed : instances({form}, 1))
      if (looked_through(composed)) seen.push_back(form);
  }
  Prover prover;
  size_t pairs = 0, drawn = 0, at = 0;
  for (const Form& outer : seen)
    for (const Form& inner : seen) {
      if (op_info(outer.op).operand_count == 0 || drawn++ % kEveryPair) continue;
      for (const Composed& composed : instances({outer, inner}, 1)) {
        if (!looked_through(composed)) continue;
        ++pairs;
        for (size_t n : {0, 1})
          for (Changed& changed : Changes(composed, n).all()) {
            if (at++ % kEvery) continue;
            wrap(changed.rule, around(composed)[1], composed);
            prover.expect_unproved(changed, outer.text() + " over " + inner.text() + ": ");
          }
      }
    }
  std::printf("%zu pairs, %zu changes\n", pairs, prover.tried);
  EXPECT_GE(pairs, 20u);
}

} // namespace
} // namespace tg::test
