// `:help`: what is known about a name.
#include "compiler/driver/cli/repl.h"

#include "compiler/driver/cli/table.h"
#include "lang/parse.h"

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

void print_doc(llvm::raw_ostream& out, llvm::StringRef signature, llvm::StringRef doc) {
  out << signature << "\n";
  llvm::SmallVector<llvm::StringRef, 0> lines;
  if (!doc.empty()) doc.split(lines, '\n');
  for (llvm::StringRef line : lines) out << "  " << line.trim() << "\n";
}

} // namespace

std::string signature_text(const Ast& tree, const SourceManager& sources, const ast::Decl& decl) {
  llvm::StringRef text = sources.text(decl.span);
  if (decl.body) text = text.take_front(tree[decl.body].span.begin - decl.span.begin);
  if (decl.kind == ast::DeclKind::Rule) text = text.take_front(text.find('{'));
  std::string line;
  bool comment = false;
  for (char c : text.trim()) {
    comment = c == '#' || (comment && c != '\n');
    if (comment) continue;
    bool blank = c == '\n' || c == ' ' || c == '\t' || c == '\r';
    bool after_open = line.empty() || line.back() == ' ' || line.back() == '(';
    if (!blank)
      line += c;
    else if (!after_open)
      line += ' ';
  }
  return llvm::StringRef(line).trim().str();
}

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
      help_operator(argument) || help_library(argument))
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

/// Functions of the library, and its modules: `std.nn`.
bool Repl::help_library(llvm::StringRef name) {
  for (const std::string& file : library().list("stdlib")) {
    std::string module = "std." + llvm::sys::path::stem(file).str();
    SourceManager sources;
    DiagnosticSink ignored;
    Ast tree = parse(sources, sources.add(file, library().read(file).value_or("")), ignored);
    if (module == name) {
      print_doc(out_, "use " + module, tree.doc());
      for (ast::DeclId id : tree.decls())
        if (tree[id].kind == ast::DeclKind::Fn)
          out_ << "  " << signature_text(tree, sources, tree[id]) << "\n";
      return true;
    }
    for (ast::DeclId id : tree.decls()) {
      if (tree[id].kind == ast::DeclKind::Use || tree[id].name.text != name) continue;
      print_doc(out_, signature_text(tree, sources, tree[id]), tree[id].doc);
      out_ << "  `use " << module << ": " << name << "` brings it here\n";
      return true;
    }
  }
  return false;
}

bool Repl::help_operator(llvm::StringRef name) {
  if (std::optional<OpKind> op = find_op(name)) {
    const OpInfo& info = op_info(*op);
    std::vector<std::string> params;
    for (const OperandInfo& operand : info.operands())
      params.push_back(std::string(operand.name) + (operand.variadic   ? "..."
                                                    : operand.optional ? " = none"
                                                                       : ""));
    for (const AttrInfo& attr : info.attrs())
      params.push_back(std::string(attr.name) +
                       (attr.required ? "" : " = " + std::string(attr.default_text)));
    print_doc(out_, (name + "(" + llvm::join(params, ", ") + ")").str(),
              llvm::StringRef(info.doc.data(), info.doc.size()));
    return true;
  }
  for (const BuiltinInfo& builtin : all_builtins()) {
    if (builtin.name != name) continue;
    out_ << name << "(" << builtin.params << ")\n  built into the language\n";
    return true;
  }
  return false;
}

} // namespace tg::cli
