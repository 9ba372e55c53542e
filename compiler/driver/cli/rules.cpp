// `tg rules list`: the rules that a selection names, or the whole library. Whether a rule is proved
// is the business of `tg rules verify`, of a later version: `status` is null here.
#include "compiler/driver/cli/session.h"
#include "compiler/driver/cli/table.h"
#include "compiler/driver/model.h"
#include "compiler/egraph/rule_from_ast.h"
#include "compiler/egraph/rule_text.h"

namespace tg::cli {
namespace {

void write_rules(llvm::json::OStream& json, llvm::ArrayRef<Rule> rules) {
  json.attributeArray("rules", [&] {
    for (const Rule& rule : rules)
      json.object([&] {
        json.attribute("name", rule.name);
        json.attribute("declared", rule.declared);
        json.attribute("set", rule.set);
        json.attribute("file", rule.file);
        json.attribute("line", rule.line);
        json.attribute("kind", rule_kind(rule));
        json.attribute("numerics", numerics_name(rule.numerics));
        json.attribute("text", rule_text(rule));
        for (const char* later : {"status", "cases", "error_bound", "counterexample"})
          json.attribute(later, nullptr);
      });
  });
}

void print_rules(Session& session, llvm::ArrayRef<Rule> rules) {
  llvm::raw_ostream& out = session.out;
  if (session.options.verbose) {
    for (const Rule& rule : rules) out << rule_text(rule) << "\n";
    return;
  }
  // One declaration may give many rules (directions, operators): a line for each declaration.
  Table table({{"rule"}, {"set"}, {"kind"}, {"numerics"}, {"forms", Align::Right}, {"place"}});
  size_t declarations = 0;
  for (size_t i = 0, next = 0; i < rules.size(); i = next, ++declarations) {
    while (next < rules.size() && rules[next].declared == rules[i].declared &&
           rules[next].file == rules[i].file)
      ++next;
    const Rule& rule = rules[i];
    table.add({rule.declared, rule.set, rule_kind(rule).str(), numerics_name(rule.numerics).str(),
               std::to_string(next - i), rule.file + ":" + std::to_string(rule.line)});
  }
  table.print(out, session.color);
  out << "\n" << declarations << " declarations, " << rules.size() << " rules\n";
}

} // namespace

int run_rules_list(Session& session) {
  const Options& o = session.options;
  std::optional<std::vector<Rule>> rules =
      o.files.empty() ? load_rule_library(session.sources, library(), session.sink)
                      : load_rules(session.sources, library(), o.files, session.sink);
  if (!rules || session.sink.failed()) return session.fail();
  session.print_warnings();
  if (!o.json) {
    if (!o.quiet) print_rules(session, *rules);
    return 0;
  }
  llvm::json::OStream json(session.out, 2);
  json.object([&] { write_rules(json, *rules); });
  session.out << "\n";
  return 0;
}

} // namespace tg::cli
