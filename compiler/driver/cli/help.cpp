// `tg help CODE`: what a diagnostic means, with an example that gives it and one that does not.
// Without a code, all of them in a line each.
#include "compiler/driver/cli/help.h"

#include "compiler/driver/cli/session.h"
#include "lang/core/explanations.h"

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

/// Lines of up to 90 columns, broken at blanks.
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

int unknown(Session& session, llvm::StringRef word) {
  std::vector<std::string> codes;
  for (const Explanation& e : explanations()) {
    codes.push_back(code_text(e.code));
    codes.push_back(e.name.str());
  }
  std::vector<llvm::StringRef> candidates(codes.begin(), codes.end());
  llvm::StringRef near = near_miss(word, candidates);
  Diagnostic d = error(Code::usage, "there is no diagnostic `{0}`", word);
  d.help = near.empty() ? "`tg help` lists them" : "did you mean `" + near.str() + "`?";
  return session.fail(std::move(d));
}

} // namespace

int run_help(Session& session) {
  llvm::raw_ostream& out = session.out;
  if (session.options.files.empty()) {
    for (const Explanation& e : explanations())
      out << code_text(e.code) << "  " << code_summary(e.code) << '\n';
    out << "\n`tg help CODE` explains one; `tg --help` lists the commands\n";
    return 0;
  }
  const Explanation* e = find_explanation(session.options.files[0]);
  if (!e) return unknown(session, session.options.files[0]);
  if (session.options.json) return print_json(out, *e), 0;
  out << code_text(e->code) << ": " << code_summary(e->code) << "\n\n";
  print_wrapped(out, e->why);
  print_example(out, "gives it:", e->wrong);
  print_example(out, e->is_file ? "does not:" : "instead:", e->right);
  return 0;
}

} // namespace tg::cli
