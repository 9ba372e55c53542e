// Rules from text: the `rule` declarations of .tg files to Rules, and the library of them.
//
// A declaration is taken apart into one Rule for each direction (`name`, `name-rev`), each choice
// of its operator variables (`name[relu]`), and each meaning of `//` (`name-int`). Each is
// compiled, then type-checked over sample types (check_rule), so that a rule that can never apply,
// or whose sides differ in type, is an error where it is written.
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

/// The rules of one file, in order; each carries file, line and rule set. What is wrong goes to the
/// sink, once for each declaration, and leaves that declaration out. Other declarations of the file
/// are passed over. Errors: unbound_variable, rule_arity, rule_type, rule_pattern, unknown_name,
/// duplicate_name, the argument errors, wrong_kind, bad_attribute.
/// `operators`: those that the file defines or uses, which its rules may name; null for its own.
/// `types`: Known spares check_rule where every variant of a rule has types; of the program's own
/// rules, which a test reads with Checked.
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

/// Returns the rules of `trees` that the errors are in, each once;
/// nullopt if an error is anywhere else.
std::optional<std::vector<UnreadRule>> unread_rules(llvm::ArrayRef<const Ast*> trees,
                                                    const SourceManager& sources,
                                                    llvm::ArrayRef<Diagnostic> diagnostics);

/// The rules that a selection names, in the order of the selection, each once. Entries, also
/// several in one string, parted by commas:
///   - a file: anything that ends in .tg;
///   - a module of the library: `rules.matmul`, or `matmul` for short; `default` is
///   rules/default.tg;
///   - a rule set (`ruleset name`), or a single rule by its declared or full name, in the library
///   or
///     in a file named before;
///   - any of the last two after a `-`: switched off, wherever it came from.
/// A file's `use rules.x` adds that module's rules before its own; of any module that it uses, its
/// rules see the operators (`op`, `extern op`) and functions. An empty selection is `default`.
/// nullopt if anything is wrong; with `unread`, rules that cannot be read are added to it and left
/// out, while there are others. The sink says what is wrong: unknown_rule (with near misses),
/// duplicate_name for two rules of one name, unknown_module, module_cycle, what reading and parsing
/// report, and what rules_from_ast does.
std::optional<std::vector<Rule>> load_rules(SourceManager& sources, const ModuleLoader& loader,
                                            llvm::ArrayRef<std::string> selection,
                                            DiagnosticSink& sink,
                                            std::vector<UnreadRule>* unread = nullptr);

/// All rules of the library (every file under rules/), for `tg rules list` and for tests.
std::optional<std::vector<Rule>>
load_rule_library(SourceManager& sources, const ModuleLoader& loader, DiagnosticSink& sink);

/// Type check of a rule when it is read: the left side is typed over random operand types that
/// satisfy the conditions (sample.h), then the right side is.
struct RuleFault {
  enum class Kind : uint8_t {
    None,
    NeverTyped,  // no operand types were found for which the left side is well typed
    NeverHolds,  // the left side can be typed, but the conditions held for none of the types tried
    NeverBuilt,  // wherever the left side is typed, the right side is not
    TypesDiffer, // the right side has another type
  };
  Kind kind = Kind::None;
  std::string rule;                  // its name
  std::string why;                   // what `infer` said, in the user's words
  std::string left, right;           // TypesDiffer: the two types
  size_t side = 0;                   // TypesDiffer: which result
  std::vector<std::string> operands; // "x: f32[2, 3]", "stride = [1, 1]": the types tried
};

/// Deterministic: the samples depend on the rule's name alone. Native rules are passed.
RuleFault check_rule(Symbols& symbols, const Rule& rule);

} // namespace tg
