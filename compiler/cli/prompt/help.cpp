// `:help`: describes a name.
#include "compiler/cli/commands/help.h"
#include "compiler/cli/prompt/commands.h"

#include "compiler/cli/terminal/table.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

struct CodeRow {
  Code code;
  llvm::StringRef summary;
};

constexpr CodeRow kCodes[] = {
#define TG_DIAGNOSTIC(name, number, summary) {Code::name, summary},
#include "lang/core/diagnostics.def"
};

bool help_command(const ReplSession& repl, llvm::StringRef name) {
  if (!name.consume_front(":")) return false;
  for (const ReplCommands::Command& c : ReplCommands::commands()) {
    if (c.name != name) continue;
    repl.out() << ":" << c.name << (c.arguments.empty() ? "" : " ") << c.arguments << "\n  "
               << c.help << "\n";
    return true;
  }
  return false;
}

bool help_code(const ReplSession& repl, llvm::StringRef name) {
  for (const CodeRow& row : kCodes) {
    if (!name.equals_insensitive(code_text(row.code))) continue;
    repl.out() << code_text(row.code) << ": " << row.summary << "\n";
    return true;
  }
  return false;
}

/// Searches the session, the loaded file, and the modules that they `use`.
bool help_declared(const ReplSession& repl, llvm::StringRef name) {
  Session session = repl.begin();
  Program program = repl.read(session, repl.state().notebook);
  for (const Module& module : program.modules)
    for (ast::DeclId id : module.ast.decls()) {
      const ast::Decl& decl = module.ast[id];
      if (decl.kind == ast::DeclKind::Use || decl.name.text != name) continue;
      if (decl.name.text == Notebook::kModel) continue;
      print_doc(repl.out(), signature_text(module.ast, session.sources, decl), decl.doc);
      if (&module != &program.modules.front()) repl.out() << "  from " << module.name << "\n";
      return true;
    }
  return false;
}

} // namespace

void help_on(ReplSession& repl, llvm::StringRef argument) {
  if (argument.empty()) {
    repl.out()
        << "Type declarations (`fn`, `model`, `rule`, `op`, `use`), inputs (`x: f32[4, 8]`),\n"
           "statements (`let`, `var`, `param`) and expressions; types are printed.\n\n";
    Table table({{"command"}, {""}, {"does"}});
    for (const ReplCommands::Command& c : ReplCommands::commands())
      table.add({(":" + c.name).str(), c.arguments.str(), c.help.str()});
    table.print(repl.out(), repl.color(), 2);
    return;
  }
  if (help_command(repl, argument) || help_code(repl, argument) || help_declared(repl, argument) ||
      explain_operator(repl.out(), argument) || explain_library(repl.out(), argument))
    return;
  std::vector<std::string> all = repl.words();
  std::vector<llvm::StringRef> names(all.begin(), all.end());
  Diagnostic d = error(Code::unknown_name, "unknown name `{0}`", argument);
  llvm::StringRef near = near_miss(argument, names);
  if (!near.empty()) d.help = llvm::formatv("did you mean `{0}`?", near);
  repl.fail(std::move(d));
}

} // namespace tg::cli
