// Selections of rules, see rule_from_ast.h. Files are read once; `use` is followed depth first, and
// a file that is met again while it is being read closes a cycle.
#include "compiler/egraph/rule_from_ast.h"
#include "lang/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/Path.h>

namespace tg {

namespace path = llvm::sys::path;

namespace {

bool is_file(llvm::StringRef entry) { return entry.endswith(".tg"); }

std::string module_file(llvm::StringRef module) {
  module.consume_front("rules.");
  return ("rules/" + module + ".tg").str();
}

bool answers_to(const Rule& rule, llvm::StringRef name) {
  return rule.name == name || rule.declared == name || (!rule.set.empty() && rule.set == name);
}

class RuleLoader {
public:
  RuleLoader(SourceManager& sources, const ModuleLoader& loader, DiagnosticSink& sink)
      : sources_(sources), loader_(loader), sink_(sink) {}

  std::optional<std::vector<Rule>> select(llvm::ArrayRef<std::string> selection) {
    std::vector<std::string> entries(selection.begin(), selection.end());
    bool only_off = llvm::all_of(entries, [](auto& entry) { return entry[0] == '-'; });
    if (only_off) entries.insert(entries.begin(), "default");
    for (const std::string& entry : entries)
      if (entry[0] != '-') add(entry);
    for (const std::string& entry : entries)
      if (entry[0] == '-') remove(llvm::StringRef(entry).drop_front());
    return finish();
  }

  std::optional<std::vector<Rule>> everything() {
    for (const std::string& file : loader_.list("rules"))
      if (const std::vector<Rule>* rules = library_file(file, {})) take(*rules);
    return finish();
  }

private:
  struct File {
    std::vector<Rule> rules; // those that it uses, then its own
    bool open = true;        // still being read
  };

  void add(llvm::StringRef entry) {
    if (is_file(entry)) {
      Result<FileId> file = load_file(sources_, entry);
      if (!file) return sink_.report(std::move(file.error()));
      return take(read(entry, *file)->rules);
    }
    if (loader_.read(module_file(entry))) {
      if (const std::vector<Rule>* rules = library_file(module_file(entry), {})) take(*rules);
      return;
    }
    std::vector<Rule> found;
    for (const Rule& rule : known())
      if (answers_to(rule, entry)) found.push_back(rule);
    if (found.empty()) return report_unknown(entry);
    take(found);
  }

  void remove(llvm::StringRef entry) {
    size_t before = taken_.size();
    llvm::erase_if(taken_, [&](const Rule& rule) { return answers_to(rule, entry); });
    if (taken_.size() != before) return;
    if (llvm::none_of(known(), [&](const Rule& rule) { return answers_to(rule, entry); }))
      report_unknown(entry); // switching off what was not on is fine
  }

  void take(llvm::ArrayRef<Rule> rules) {
    for (const Rule& rule : rules)
      if (names_.insert((rule.file + "\n" + rule.name)).second) taken_.push_back(rule);
  }

  /// Two rules of one name from different files, or declarations of one file, cannot both be on.
  std::optional<std::vector<Rule>> finish() {
    llvm::StringMap<const Rule*> seen;
    for (const Rule& rule : taken_) {
      auto [at, fresh] = seen.try_emplace(rule.name, &rule);
      if (!fresh)
        sink_.report(error(Code::duplicate_name, "two rules are named `{0}`: {1}:{2} and {3}:{4}",
                           rule.name, at->second->file, at->second->line, rule.file, rule.line)
                         .suggest("switch one off, or rename it"));
    }
    if (sink_.failed()) return std::nullopt;
    return std::move(taken_);
  }

  /// What single names are looked up in: files read so far, then the whole library.
  const std::vector<Rule>& known() {
    if (known_ready_) return known_;
    known_ready_ = true;
    known_ = taken_;
    llvm::StringSet<> names;
    for (const Rule& rule : known_) names.insert(rule.name);
    for (const std::string& file : loader_.list("rules"))
      if (const std::vector<Rule>* rules = library_file(file, {}))
        for (const Rule& rule : *rules)
          if (names.insert(rule.name).second) known_.push_back(rule);
    return known_;
  }

  void report_unknown(llvm::StringRef entry) {
    std::vector<llvm::StringRef> names;
    std::vector<std::string> modules = loader_.list("rules");
    for (const std::string& file : modules) names.push_back(path::stem(file));
    for (const Rule& rule : known()) {
      names.push_back(rule.declared);
      if (!rule.set.empty()) names.push_back(rule.set);
    }
    Diagnostic d =
        error(Code::unknown_rule, "there is no rule, rule set or rule file `{0}`", entry);
    llvm::StringRef near = near_miss(entry, names);
    d.help = near.empty() ? "`tg rules list` shows all" : "did you mean `" + near.str() + "`?";
    sink_.report(std::move(d));
  }

  /// Null after an error.
  const std::vector<Rule>* library_file(const std::string& name, Span used) {
    if (auto at = files_.find(name); at != files_.end()) {
      if (!at->second.open) return &at->second.rules;
      sink_.report(error(Code::module_cycle, used, "rule file `{0}` uses itself", name));
      return nullptr;
    }
    std::optional<std::string> text = loader_.read(name);
    if (!text) {
      std::vector<std::string> all = loader_.list("rules");
      std::vector<llvm::StringRef> stems;
      for (const std::string& file : all) stems.push_back(path::stem(file));
      Diagnostic d = error(Code::unknown_module, used, "there is no rule file `{0}`", name);
      llvm::StringRef near = near_miss(path::stem(name), stems);
      if (!near.empty()) d.help = "did you mean `rules." + near.str() + "`?";
      sink_.report(std::move(d));
      return nullptr;
    }
    Result<FileId> file = load_text(sources_, name, std::move(*text));
    if (!file) {
      sink_.report(std::move(file.error()));
      return nullptr;
    }
    return &read(name, *file, /*built_in=*/true)->rules;
  }

  const File* read(llvm::StringRef name, FileId id, bool built_in = false) {
    auto [at, fresh] = files_.try_emplace(name);
    if (!fresh) return &at->second; // named twice
    Ast tree = parse(sources_, id, sink_);
    std::vector<Rule> rules;
    for (ast::DeclId decl : tree.decls())
      if (tree[decl].kind == ast::DeclKind::Use) use(tree, tree[decl], name, rules);
    std::vector<Rule> own = rules_from_ast(tree, sources_, sink_);
    for (Rule& rule : own) rule.built_in = built_in;
    std::move(own.begin(), own.end(), std::back_inserter(rules));
    File& file = files_[name]; // the map may have grown
    file.rules = std::move(rules);
    file.open = false;
    return &file;
  }

  /// `use rules.matmul`, `use rules.matmul: join_matmuls`, `use ./mine`. Functions' modules
  /// (`use std.nn: conv`) are none of ours.
  void use(const Ast& tree, const ast::Decl& decl, llvm::StringRef from, std::vector<Rule>& out) {
    const std::vector<Rule>* rules = nullptr;
    llvm::ArrayRef<ast::Name> parts = tree[decl.path];
    if (decl.relative) {
      llvm::SmallString<128> file(path::parent_path(from));
      for (const ast::Name& part : parts) path::append(file, part.text);
      path::remove_dots(file, /*remove_dot_dot=*/true);
      rules = relative_file((file + ".tg").str(), decl.path_span);
    } else if (!parts.empty() && parts[0].text == "rules") {
      std::string file = "rules";
      for (const ast::Name& part : parts.drop_front()) file += "/" + part.text.str();
      rules = library_file(file + ".tg", decl.path_span);
    }
    if (!rules) return;
    llvm::ArrayRef<ast::Name> wanted = tree[decl.imports];
    for (const ast::Name& name : wanted)
      if (llvm::none_of(*rules, [&](auto& rule) { return answers_to(rule, name.text); }))
        report_not_there(name, *rules);
    for (const Rule& rule : *rules)
      if (wanted.empty() ||
          llvm::any_of(wanted, [&](auto& name) { return answers_to(rule, name.text); }))
        if (llvm::none_of(out, [&](auto& r) { return r.name == rule.name && r.file == rule.file; }))
          out.push_back(rule);
  }

  void report_not_there(const ast::Name& name, llvm::ArrayRef<Rule> rules) {
    std::vector<llvm::StringRef> names;
    for (const Rule& rule : rules) names.push_back(rule.declared);
    Diagnostic d = error(Code::unknown_rule, name.span, "there is no rule `{0}` there", name.text);
    llvm::StringRef near = near_miss(name.text, names);
    if (!near.empty()) d.help = "did you mean `" + near.str() + "`?";
    sink_.report(std::move(d));
  }

  const std::vector<Rule>* relative_file(const std::string& name, Span used) {
    if (auto at = files_.find(name); at != files_.end()) {
      if (!at->second.open) return &at->second.rules;
      sink_.report(error(Code::module_cycle, used, "rule file `{0}` uses itself", name));
      return nullptr;
    }
    if (loader_.read(name)) return library_file(name, used);
    Result<FileId> file = load_file(sources_, name);
    if (file) return &read(name, *file)->rules;
    Diagnostic d = std::move(file.error());
    d.span = used;
    sink_.report(std::move(d));
    return nullptr;
  }

  SourceManager& sources_;
  const ModuleLoader& loader_;
  DiagnosticSink& sink_;
  llvm::StringMap<File> files_; // StringMap: values do not move as it grows
  std::vector<Rule> taken_, known_;
  llvm::StringSet<> names_;
  bool known_ready_ = false;
};

} // namespace

std::optional<std::vector<Rule>> load_rules(SourceManager& sources, const ModuleLoader& loader,
                                            llvm::ArrayRef<std::string> selection,
                                            DiagnosticSink& sink) {
  std::vector<std::string> entries;
  for (llvm::StringRef entry : selection)
    for (llvm::StringRef part : llvm::split(entry, ','))
      if (!part.trim().empty()) entries.push_back(part.trim().str());
  return RuleLoader(sources, loader, sink).select(entries);
}

std::optional<std::vector<Rule>>
load_rule_library(SourceManager& sources, const ModuleLoader& loader, DiagnosticSink& sink) {
  return RuleLoader(sources, loader, sink).everything();
}

} // namespace tg
