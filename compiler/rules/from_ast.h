// Converts the `rule` declarations of .tg files to Rules, and loads the rule library.
//
// A declaration gives one Rule for each direction (`name`, `name-rev`), each choice of its operator
// variables (`name[relu]`), and each meaning of `//` (`name-int`). Each rule is compiled, then
// type-checked over sample types (check_rule), so that a rule that can never apply, or whose sides
// differ in type, is an error at its declaration.
#pragma once

#include "compiler/rules/rule.h"
#include "lang/check/modules.h"
#include "lang/check/unfold_ops.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/ast.h"

#include <optional>
#include <string>
#include <vector>

namespace tg {

/// Returns the rules of one file, in order, with file, line and rule set. An error goes to the
/// sink, once for each declaration, and the declaration is left out. Other declarations of the file
/// are ignored. Errors: unbound_variable, rule_arity, rule_type, rule_pattern, unknown_name,
/// duplicate_name, the argument errors, wrong_kind, bad_attribute. `operators`: the operators that
/// the file defines or uses, which its rules may name; null for only its own. `types`: Known skips
/// check_rule for rules of which every variant is known to have types: the program's own rules,
/// which a test reads with Checked.
enum class RuleTypes : uint8_t { Checked, Known };
std::vector<Rule> rules_from_ast(const Ast& tree, const SourceManager& sources,
                                 DiagnosticSink& sink, const OpScope* operators = nullptr,
                                 RuleTypes types = RuleTypes::Checked);

/// A rule whose declaration has errors.
struct UnreadRule {
  std::string name, set, file;
  uint32_t line = 0;
  std::string why; // the first error
};

/// Returns the rules of `trees` in which the errors are, each once; nullopt if an error is
/// anywhere else.
std::optional<std::vector<UnreadRule>> unread_rules(llvm::ArrayRef<const Ast*> trees,
                                                    const SourceManager& sources,
                                                    llvm::ArrayRef<Diagnostic> diagnostics);

/// Returns the rules of a selection, in its order, each once. Entries, of which one string may have
/// several separated by commas, are:
///   - a file: a name that ends in .tg;
///   - a module of the library: `rules.matmul`, or `matmul` for short; `default` is
///     rules/default.tg;
///   - a rule set (`ruleset name`), or a single rule by its declared or full name, in the library
///     or in a file named before;
///   - one of the last two after a `-`: switched off, whichever entry selected it.
/// A file's `use rules.x` adds that module's rules before its own. Its rules can use the operators
/// (`op`, `extern op`) and functions of every module that it uses. An empty selection is `default`.
/// nullopt after an error. If `unread` is given, rules with errors are added to it and left out,
/// unless no rule remains. Errors in the sink: unknown_rule (with near misses), duplicate_name for
/// two rules of one name, unknown_module, module_cycle, and those of reading, parsing and
/// rules_from_ast.
std::optional<std::vector<Rule>> load_rules(SourceManager& sources, const ModuleLoader& loader,
                                            llvm::ArrayRef<std::string> selection,
                                            DiagnosticSink& sink,
                                            std::vector<UnreadRule>* unread = nullptr);

/// Returns all rules of the library (every file under rules/), for `tg rules list` and for tests.
std::optional<std::vector<Rule>>
load_rule_library(SourceManager& sources, const ModuleLoader& loader, DiagnosticSink& sink);

/// The result of the type check of a rule: the left side is typed over random operand types that
/// satisfy the conditions (sample.h), then the right side is.
struct RuleFault {
  enum class Kind : uint8_t {
    None,
    NeverTyped,  // no operand types were found that make the left side well typed
    NeverHolds,  // the left side can be typed, but no types that were tried satisfy the conditions
    NeverBuilt,  // the right side is ill-typed wherever the left side is typed
    TypesDiffer, // the right side has another type
  };
  Kind kind = Kind::None;
  std::string rule;                  // its name
  std::string why;                   // the message of `infer`
  std::string left, right;           // TypesDiffer: the two types
  size_t side = 0;                   // TypesDiffer: which result
  std::vector<std::string> operands; // "x: f32[2, 3]", "stride = [1, 1]": the types tried
};

/// Type-checks a rule. Deterministic: the samples depend only on the rule's name. Native rules
/// pass.
RuleFault check_rule(Symbols& symbols, const Rule& rule);

} // namespace tg
