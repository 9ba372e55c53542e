// `:help`: what is known about a name.
#include "compiler/driver/cli/help.h"
#include "compiler/driver/cli/repl.h"

#include "compiler/driver/cli/table.h"
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

} // namespace

void Repl::help(llvm::StringRef argument) {
  if (argument.empty()) {
    out_ << "Type declarations (`fn`, `model`, `rule`, `op`, `use`), inputs (`x: f32[4, 8]`),\n"
            "statements (`let`, `var`, `param`) and expressions; types are printed.\n\n";
    Table table({{"command"}, {""}, {"does"}});
    for (const Command& c : commands())
      table.add({(":" + c.name).str(), c.arguments.str(), c.help.str()});
    table.print(out_, color_, 2);
    return;
  }
  if (help_command(argument) || help_code(argument) || help_declared(argument) ||
      explain_operator(out_, argument) || explain_library(out_, argument))
    return;
  std::vector<std::string> all = words();
  std::vector<llvm::StringRef> names(all.begin(), all.end());
  Diagnostic d = error(Code::unknown_name, "nothing is named `{0}`", argument);
  llvm::StringRef near = near_miss(argument, names);
  if (!near.empty()) d.help = llvm::formatv("did you mean `{0}`?", near);
  fail(std::move(d));
}

bool Repl::help_command(llvm::StringRef name) {
  if (!name.consume_front(":")) return false;
  for (const Command& c : commands()) {
    if (c.name != name) continue;
    out_ << ":" << c.name << (c.arguments.empty() ? "" : " ") << c.arguments << "\n  " << c.help
         << "\n";
    return true;
  }
  return false;
}

bool Repl::help_code(llvm::StringRef name) {
  for (const CodeRow& row : kCodes) {
    if (!name.equals_insensitive(code_text(row.code))) continue;
    out_ << code_text(row.code) << ": " << row.summary << "\n";
    return true;
  }
  return false;
}

/// In the session, the loaded file, and what they `use`.
bool Repl::help_declared(llvm::StringRef name) {
  Session session = begin();
  Program program = read(session, notebook_);
  for (const Module& module : program.modules)
    for (ast::DeclId id : module.ast.decls()) {
      const ast::Decl& decl = module.ast[id];
      if (decl.kind == ast::DeclKind::Use || decl.name.text != name) continue;
      if (decl.name.text == Notebook::kModel) continue;
      print_doc(out_, signature_text(module.ast, session.sources, decl), decl.doc);
      if (&module != &program.modules.front()) out_ << "  from " << module.name << "\n";
      return true;
    }
  return false;
}

} // namespace tg::cli
