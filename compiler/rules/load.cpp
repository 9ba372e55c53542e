// Loads selections of rules; see from_ast.h. Files are read once. `use` is followed depth first; a
// file that is reached while it is being read closes a cycle.
#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <memory>

namespace tg {

namespace path = llvm::sys::path;

namespace {

/// Names contain no slash; `-` is standard input.
bool is_file(llvm::StringRef entry) {
  return entry.endswith(".tg") || entry.contains('/') || entry == "-";
}

/// `-name` switches rules off.
bool is_exclusion(llvm::StringRef entry) { return entry.startswith("-") && entry != "-"; }

std::string module_file(llvm::StringRef module) {
  module.consume_front("rules.");
  return ("rules/" + module + ".tg").str();
}

bool matches_name(const Rule& rule, llvm::StringRef name) {
  return rule.name == name || rule.declared == name || (!rule.set.empty() && rule.set == name);
}

class RuleLoader {
public:
  RuleLoader(SourceManager& sources, const ModuleLoader& loader, DiagnosticSink& sink,
             std::vector<UnreadRule>* unread = nullptr)
      : sources_(sources), loader_(loader), sink_(sink), unread_(unread) {}

  std::optional<std::vector<Rule>> select(llvm::ArrayRef<std::string> selection) {
    std::vector<std::string> entries(selection.begin(), selection.end());
    bool only_off = llvm::all_of(entries, is_exclusion);
    if (only_off) entries.insert(entries.begin(), "default");
    for (const std::string& entry : entries)
      if (!is_exclusion(entry)) add(entry);
    for (const std::string& entry : entries)
      if (is_exclusion(entry)) remove(llvm::StringRef(entry).drop_front());
    return finish();
  }

  std::optional<std::vector<Rule>> everything() {
    for (const std::string& file : loader_.list("rules"))
      if (const File* read = library_file(file, {})) take(read->rules);
    return finish();
  }

private:
  struct File {
    std::vector<Rule> rules;             // those that it uses, then its own
    bool open = true;                    // still being read
    std::unique_ptr<Ast> tree;           // owns the operators
    OpScope operators;                   // visible to its rules
    std::vector<llvm::StringRef> others; // models, which rules cannot use
  };

  void add(llvm::StringRef entry) {
    if (is_file(entry)) {
      Result<FileId> file = load_file(sources_, entry);
      if (!file) return sink_.report(std::move(file.error()));
      const File* rules = read(entry, *file);
      if (rules->rules.empty() && !sink_.failed())
        sink_.report(error(Code::unknown_rule, "{0} has no rules", entry)
                         .suggest("a rule looks like this: rule once(x) { relu(relu(x)) => "
                                  "relu(x) }"));
      return take(rules->rules);
    }
    if (loader_.read(module_file(entry))) {
      if (const File* read = library_file(module_file(entry), {})) take(read->rules);
      return;
    }
    std::vector<Rule> found;
    for (const Rule& rule : known())
      if (matches_name(rule, entry)) found.push_back(rule);
    if (found.empty()) return report_unknown(entry);
    take(found);
  }

  void remove(llvm::StringRef entry) {
    size_t before = taken_.size();
    llvm::erase_if(taken_, [&](const Rule& rule) { return matches_name(rule, entry); });
    if (taken_.size() != before) return;
    if (llvm::none_of(known(), [&](const Rule& rule) { return matches_name(rule, entry); }))
      report_unknown(entry); // switching off a rule that is not on is allowed
  }

  void take(llvm::ArrayRef<Rule> rules) {
    for (const Rule& rule : rules)
      if (names_.insert((rule.file + "\n" + rule.name)).second) taken_.push_back(rule);
  }

  /// Rejects two active rules of one name from different files, or from different declarations
  /// of one file.
  std::optional<std::vector<Rule>> finish() {
    llvm::StringMap<const Rule*> seen;
    for (const Rule& rule : taken_) {
      auto [at, fresh] = seen.try_emplace(rule.name, &rule);
      if (!fresh)
        sink_.report(error(Code::duplicate_name, "two rules are named `{0}`: {1}:{2} and {3}:{4}",
                           rule.name, at->second->file, at->second->line, rule.file, rule.line)
                         .suggest("leave one out or rename it"));
    }
    if (!sink_.failed()) return std::move(taken_);
    if (!unread_ || taken_.empty()) return std::nullopt;
    std::vector<const Ast*> trees;
    for (const auto& file : files_)
      if (file.second.tree) trees.push_back(file.second.tree.get());
    std::optional<std::vector<UnreadRule>> unread = unread_rules(trees, sources_, sink_.all());
    if (!unread) return std::nullopt;
    llvm::append_range(*unread_, *unread);
    return std::move(taken_);
  }

  /// The rules in which single names are looked up: those of the files read so far, then the
  /// whole library.
  const std::vector<Rule>& known() {
    if (known_ready_) return known_;
    known_ready_ = true;
    known_ = taken_;
    llvm::StringSet<> names;
    for (const Rule& rule : known_) names.insert(rule.name);
    for (const std::string& file : loader_.list("rules"))
      if (const File* read = library_file(file, {}))
        for (const Rule& rule : read->rules)
          if (names.insert(rule.name).second) known_.push_back(rule);
    return known_;
  }

  void report_unknown(llvm::StringRef entry) {
    std::vector<llvm::StringRef> names;
    std::vector<std::string> modules = loader_.list("rules");
    names.reserve(modules.size());
    for (const std::string& file : modules) names.push_back(path::stem(file));
    for (const Rule& rule : known()) {
      names.push_back(rule.declared);
      if (!rule.set.empty()) names.push_back(rule.set);
    }
    Diagnostic d =
        error(Code::unknown_rule, "there is no rule, rule set or rule file `{0}`", entry);
    llvm::StringRef near = near_miss(entry, names);
    d.help = near.empty() ? "`tg rules list` shows all" : "did you mean `" + near.str() + "`?";
    if (llvm::sys::fs::is_regular_file(entry)) d.help = "the path of a rule file must end in .tg";
    sink_.report(std::move(d));
  }

  /// Returns null after an error.
  const File* library_file(const std::string& name, Span used) {
    if (auto at = files_.find(name); at != files_.end()) {
      if (!at->second.open) return &at->second;
      sink_.report(error(Code::module_cycle, used, "rule file `{0}` uses itself", name));
      return nullptr;
    }
    std::optional<std::string> text = loader_.read(name);
    if (!text) {
      std::vector<std::string> all = loader_.list("rules");
      std::vector<llvm::StringRef> stems;
      stems.reserve(all.size());
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
    return read(name, *file, /*built_in=*/true);
  }

  const File* read(llvm::StringRef name, FileId id, bool built_in = false) {
    auto [at, fresh] = files_.try_emplace(name);
    if (!fresh) return &at->second; // named twice
    File& file = at->second;        // values of the map keep their addresses as it grows
    file.tree = std::make_unique<Ast>(parse(sources_, id, sink_));
    const Ast& tree = *file.tree;
    for (ast::DeclId decl : tree.decls()) {
      if (tree[decl].kind == ast::DeclKind::Use) use(tree, tree[decl], name, file);
      if (tree[decl].kind == ast::DeclKind::Model) file.others.push_back(tree[decl].name.text);
    }
    file.operators.declare(tree);
    bool with_program = built_in && loader_.as_built();
    std::vector<Rule> own = rules_from_ast(tree, sources_, sink_, &file.operators,
                                           with_program ? RuleTypes::Known : RuleTypes::Checked);
    for (Rule& rule : own) {
      rule.built_in = built_in;
      rule.with_program = with_program;
    }
    std::move(own.begin(), own.end(), std::back_inserter(file.rules));
    file.open = false;
    return &file;
  }

  /// Handles `use rules.matmul`, `use rules.matmul: join_matmuls`, `use ./mine`: adds rules,
  /// and operators and functions that rules may name; a module of functions (`use std.nn`)
  /// adds only these.
  void use(const Ast& tree, const ast::Decl& decl, llvm::StringRef from, File& into) {
    const File* used = nullptr;
    llvm::ArrayRef<ast::Name> parts = tree[decl.path];
    if (decl.relative) {
      llvm::SmallString<128> file(path::parent_path(from));
      for (const ast::Name& part : parts) path::append(file, part.text);
      path::remove_dots(file, /*remove_dot_dot=*/true);
      used = relative_file((file + ".tg").str(), decl.path_span);
    } else if (!parts.empty() && (parts[0].text == "rules" || parts[0].text == "std")) {
      std::string file = parts[0].text == "std" ? "stdlib" : "rules";
      for (const ast::Name& part : parts.drop_front()) file += "/" + part.text.str();
      used = library_file(file + ".tg", decl.path_span);
    }
    if (!used) return;
    llvm::ArrayRef<ast::Name> wanted = tree[decl.imports];
    for (const ast::Name& name : wanted)
      if (!has(*used, name.text)) report_not_there(name, used->rules);
    for (const Rule& rule : used->rules)
      if (wanted.empty() ||
          llvm::any_of(wanted, [&](auto& name) { return matches_name(rule, name.text); }))
        if (llvm::none_of(into.rules,
                          [&](auto& r) { return r.name == rule.name && r.file == rule.file; }))
          into.rules.push_back(rule);
    for (auto table : {&OpScope::ops, &OpScope::fns})
      for (const auto& op : used->operators.*table)
        if (wanted.empty() || llvm::any_of(wanted, [&](auto& n) { return n.text == op.getKey(); }))
          (into.operators.*table)[op.getKey()] = op.second;
  }

  static bool has(const File& file, llvm::StringRef name) {
    return file.operators.ops.count(name) || file.operators.fns.count(name) ||
           llvm::is_contained(file.others, name) ||
           llvm::any_of(file.rules, [&](auto& rule) { return matches_name(rule, name); });
  }

  void report_not_there(const ast::Name& name, llvm::ArrayRef<Rule> rules) {
    std::vector<llvm::StringRef> names;
    for (const Rule& rule : rules) names.push_back(rule.declared);
    Diagnostic d = error(Code::unknown_rule, name.span, "that file has no rule `{0}`", name.text);
    llvm::StringRef near = near_miss(name.text, names);
    if (!near.empty()) d.help = "did you mean `" + near.str() + "`?";
    sink_.report(std::move(d));
  }

  const File* relative_file(const std::string& name, Span used) {
    if (auto at = files_.find(name); at != files_.end()) {
      if (!at->second.open) return &at->second;
      sink_.report(error(Code::module_cycle, used, "rule file `{0}` uses itself", name));
      return nullptr;
    }
    if (loader_.read(name)) return library_file(name, used);
    Result<FileId> file = load_file(sources_, name);
    if (file) return read(name, *file);
    Diagnostic d = std::move(file.error());
    d.span = used;
    sink_.report(std::move(d));
    return nullptr;
  }

  SourceManager& sources_;
  const ModuleLoader& loader_;
  DiagnosticSink& sink_;
  std::vector<UnreadRule>* unread_;
  llvm::StringMap<File> files_; // a StringMap, whose values keep their addresses as it grows
  std::vector<Rule> taken_, known_;
  llvm::StringSet<> names_;
  bool known_ready_ = false;
};

} // namespace

std::optional<std::vector<Rule>> load_rules(SourceManager& sources, const ModuleLoader& loader,
                                            llvm::ArrayRef<std::string> selection,
                                            DiagnosticSink& sink, std::vector<UnreadRule>* unread) {
  std::vector<std::string> entries;
  for (llvm::StringRef entry : selection)
    for (llvm::StringRef part : llvm::split(entry, ','))
      if (!part.trim().empty()) entries.push_back(part.trim().str());
  return RuleLoader(sources, loader, sink, unread).select(entries);
}

std::optional<std::vector<Rule>>
load_rule_library(SourceManager& sources, const ModuleLoader& loader, DiagnosticSink& sink) {
  return RuleLoader(sources, loader, sink).everything();
}

} // namespace tg
