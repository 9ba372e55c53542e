// `tg help NAME`: explains a diagnostic, with an example that gives it and one that does not, an
// operator, a function of the library, or a command. Without a name it lists all diagnostics.
#include "compiler/cli/commands/help.h"

#include "compiler/api/files/model.h"
#include "compiler/cli/options/help_text.h"
#include "compiler/cli/session.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/idioms.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

void print_example(llvm::raw_ostream& out, llvm::StringRef title, llvm::StringRef text) {
  if (text.empty()) return;
  out << '\n' << title << "\n\n";
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    out << "    " << line << '\n';
    text = rest;
  }
}

/// Prints lines of up to 90 columns, broken at spaces.
void print_wrapped(llvm::raw_ostream& out, llvm::StringRef text) {
  constexpr size_t kWidth = 90;
  while (!text.empty()) {
    size_t end = text.size() <= kWidth ? text.size() : text.rfind(' ', kWidth);
    if (end == llvm::StringRef::npos || end == 0) end = text.size();
    out << text.take_front(end) << '\n';
    text = text.drop_front(end).ltrim();
  }
}

void print_json(llvm::raw_ostream& out, const Explanation& e) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("code", code_text(e.code));
    json.attribute("name", e.name);
    json.attribute("summary", code_summary(e.code));
    json.attribute("why", e.why);
    json.attribute("wrong", e.wrong);
    json.attribute("right", e.right);
  });
  out << '\n';
}

/// Prints `tg opt --help`, for the name of a command.
bool explain_command(llvm::raw_ostream& out, const std::string& name) {
  const char* arguments[] = {"tg", name.c_str(), "--help"};
  Parsed parsed = parse_command_line(3, arguments);
  if (parsed.exit_code == 0) out << parsed.out;
  return parsed.exit_code == 0;
}

int unknown(Session& session, llvm::StringRef word) {
  std::vector<std::string> codes;
  for (const Explanation& e : explanations()) {
    codes.push_back(code_text(e.code));
    codes.push_back(e.name.str());
  }
  std::vector<llvm::StringRef> candidates(codes.begin(), codes.end());
  for (const OpInfo& op : all_ops()) candidates.push_back(op.name);
  llvm::StringRef near = near_miss(word, candidates);
  Diagnostic d = error(Code::usage,
                       "there is no diagnostic, operator, library function or command `{0}`", word);
  d.help = idiom_of_function(word);
  if (d.help.empty())
    d.help = near.empty() ? "`tg help` lists the diagnostics, `tg ops` the operators"
                          : "did you mean `" + near.str() + "`?";
  return session.fail(std::move(d));
}

} // namespace

void print_doc(llvm::raw_ostream& out, llvm::StringRef signature, llvm::StringRef doc) {
  out << signature << "\n";
  llvm::SmallVector<llvm::StringRef, 0> lines;
  if (!doc.empty()) doc.split(lines, '\n');
  for (llvm::StringRef line : lines)
    out << (line.trim().empty() ? "" : "  ") << line.trim() << "\n";
}

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
    if (c == ')' && llvm::StringRef(line).endswith(", ")) line.resize(line.size() - 2);
    if (!blank)
      line += c;
    else if (!after_open)
      line += ' ';
  }
  return llvm::StringRef(line).trim().str();
}

bool explain_library(llvm::raw_ostream& out, llvm::StringRef name) {
  for (const std::string& file : library().list("stdlib")) {
    std::string module = "std." + llvm::sys::path::stem(file).str();
    SourceManager sources;
    DiagnosticSink ignored;
    Ast tree = parse(sources, sources.add(file, library().read(file).value_or("")), ignored);
    if (module == name) {
      print_doc(out, "use " + module, tree.doc());
      for (ast::DeclId id : tree.decls())
        if (tree[id].kind == ast::DeclKind::Fn)
          out << "  " << signature_text(tree, sources, tree[id]) << "\n";
      return true;
    }
    for (ast::DeclId id : tree.decls()) {
      if (tree[id].kind == ast::DeclKind::Use || tree[id].name.text != name) continue;
      print_doc(out, signature_text(tree, sources, tree[id]), tree[id].doc);
      out << "  `use " << module << ": " << name << "` imports it\n";
      return true;
    }
  }
  return false;
}

bool explain_operator(llvm::raw_ostream& out, llvm::StringRef name) {
  if (std::optional<OpKind> op = find_op(name)) {
    const OpInfo& info = op_info(*op);
    print_doc(out, (name + "(" + parameters_text(*op) + ")").str(),
              llvm::StringRef(info.doc.data(), info.doc.size()));
    return true;
  }
  for (const BuiltinInfo& builtin : all_builtins()) {
    if (builtin.name != name) continue;
    llvm::SmallVector<llvm::StringRef, 4> params;
    llvm::StringRef(builtin.params).split(params, ' ', -1, /*KeepEmpty=*/false);
    out << name << "(" << (params.empty() ? "…" : llvm::join(params, ", "))
        << ")\n  built into the language\n";
    return true;
  }
  return false;
}

/// Explains an operator, a function or a command.
static int explain_name(Session& session, const std::string& name) {
  std::string text;
  llvm::raw_string_ostream words(text);
  if (!explain_operator(words, name) && !explain_library(words, name) &&
      !explain_command(words, name))
    return unknown(session, name);
  if (session.options.json)
    session.out << llvm::formatv(
        "{0:2}\n", llvm::json::Value(llvm::json::Object{{"name", name}, {"text", text}}));
  else
    session.out << text;
  return 0;
}

int run_help(Session& session) {
  llvm::raw_ostream& out = session.out;
  const Options& o = session.options;
  if (!o.completion.empty()) return out << as_program(completion_script(o.completion)), 0;
  if (o.manual) return out << as_program(manual_page()), 0;
  if (session.options.files.empty()) {
    for (const Explanation& e : explanations())
      out << code_text(e.code) << "  " << code_summary(e.code) << '\n';
    out << "\n`tg help CODE` explains a diagnostic; `tg --help` lists the commands\n";
    return 0;
  }
  const std::string& name = session.options.files[0];
  const Explanation* e = find_explanation(name);
  if (!e) return explain_name(session, name);
  if (session.options.json) return print_json(out, *e), 0;
  out << code_text(e->code) << ": " << code_summary(e->code) << "\n\n";
  print_wrapped(out, e->why);
  print_example(out, "wrong:", e->wrong);
  print_example(out, e->is_file ? "right:" : "instead:", e->right);
  return 0;
}

} // namespace tg::cli
