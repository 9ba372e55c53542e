// See modules.h. Loads modules by a depth-first walk over `use` with an explicit stack.
// A module that is found while it is still on the stack closes a cycle.
#include "lang/check/modules.h"

#include "lang/core/op.h"
#include "lang/core/support/data_file.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace tg {

namespace path = llvm::sys::path;

std::optional<std::string> EmbeddedLoader::read(llvm::StringRef name) const {
  if (!override_dir_.empty()) {
    llvm::SmallString<128> file(override_dir_);
    path::append(file, name);
    if (Result<std::string> text = read_text_file(file, kMaxFileBytes)) return std::move(*text);
  }
  for (const EmbeddedFile& file : files_)
    if (file.name == name) return file.text.str();
  return std::nullopt;
}

std::vector<std::string> EmbeddedLoader::list(llvm::StringRef folder) const {
  std::vector<std::string> names;
  std::string prefix = (folder + "/").str();
  for (const EmbeddedFile& file : files_)
    if (file.name.startswith(prefix)) names.push_back(file.name.str());
  if (!override_dir_.empty()) {
    llvm::SmallString<128> dir(override_dir_);
    path::append(dir, folder);
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(dir, ec), end; it != end && !ec; it.increment(ec))
      if (path::extension(it->path()) == ".tg")
        names.push_back(prefix + path::filename(it->path()).str());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<FnRef> Program::models() const {
  std::vector<FnRef> found;
  if (modules.empty()) return found;
  for (ast::DeclId id : modules[0].ast.decls())
    if (modules[0].ast[id].kind == ast::DeclKind::Model) found.push_back({0, id});
  return found;
}

Result<FnRef> Program::find_model(llvm::StringRef name) const {
  std::vector<FnRef> all = models();
  std::vector<llvm::StringRef> names;
  names.reserve(all.size());
  for (FnRef fn : all) names.push_back(decl(fn).name.text);
  for (FnRef fn : all)
    if (decl(fn).name.text == name) return fn;
  std::string file = modules.empty() ? "the program" : "`" + modules[0].name + "`";
  if (all.empty()) return error(Code::no_model, "{0} has no model", file);
  if (name.empty() && all.size() == 1) return all[0];
  std::string list = llvm::join(names, ", ");
  if (name.empty())
    return error(Code::no_model, "{0} has several models: {1}", file, list)
        .suggest("choose one with --model NAME");
  Diagnostic d = error(Code::no_model, "{0} has no model `{1}`", file, name);
  llvm::StringRef near = near_miss(name, names);
  d.help =
      near.empty() ? "its models are: " + list : llvm::formatv("did you mean `{0}`?", near).str();
  return d;
}

namespace {

/// A `use` as written and its module; `target` is invalid if loading failed.
struct Link {
  ast::DeclId use;
  uint32_t target = UINT32_MAX;
};

/// Returns true if other modules can use the declaration.
bool is_callable(const ast::Decl& decl) {
  return decl.kind == ast::DeclKind::Fn || decl.kind == ast::DeclKind::Op;
}

class Loader {
public:
  Loader(Program& program, DiagnosticSink& sink) : program_(program), sink_(sink) {}

  void load(FileId main) {
    add(main, program_.sources->file(main).name().str());
    while (!stack_.empty()) step();
    for (uint32_t i = 0; i < program_.modules.size(); ++i) declare(i);
    for (uint32_t i = 0; i < program_.modules.size(); ++i)
      for (const Link& link : links_[i]) import(i, link);
  }

private:
  struct Open {
    uint32_t module;
    size_t next = 0; // index into the module's declarations
  };

  uint32_t add(FileId file, std::string name) {
    auto index = static_cast<uint32_t>(program_.modules.size());
    by_name_[name] = index;
    size_t errors = sink_.errors();
    program_.modules.emplace_back(file, std::move(name), parse(*program_.sources, file, sink_));
    broken_.push_back(sink_.errors() != errors);
    links_.emplace_back();
    stack_.push_back({index});
    return index;
  }

  /// Processes one declaration of the module on top of the stack.
  void step() {
    Open& open = stack_.back();
    const Module& module = program_.modules[open.module];
    if (open.next == module.ast.decls().size()) return stack_.pop_back();
    ast::DeclId id = module.ast.decls()[open.next++];
    const ast::Decl& use = module.ast[id];
    if (use.kind != ast::DeclKind::Use || use.path.empty()) return;
    if (!use.relative && module.ast[use.path][0].text == "rules") return;
    uint32_t from = open.module;
    uint32_t target = find(module, use); // may grow stack_ and links_: `open` dangles
    links_[from].push_back({id, target});
  }

  uint32_t find(const Module& module, const ast::Decl& use) {
    std::string name = use.relative ? relative_path(module, use) : dotted(module, use);
    if (auto it = by_name_.find(name); it != by_name_.end()) {
      if (!on_stack(it->second)) return it->second;
      report_cycle(it->second, use);
      return UINT32_MAX;
    }
    FileId file = use.relative ? read_relative(name, use) : read_library(module, name, use);
    return file.valid() ? add(file, std::move(name)) : UINT32_MAX;
  }

  static std::string dotted(const Module& module, const ast::Decl& use) {
    std::string name;
    for (const ast::Name& part : module.ast[use.path])
      name += (name.empty() ? "" : ".") + part.text.str();
    return name;
  }

  static std::string relative_path(const Module& module, const ast::Decl& use) {
    llvm::SmallString<128> file(path::parent_path(module.name));
    for (const ast::Name& part : module.ast[use.path]) path::append(file, part.text);
    path::remove_dots(file, /*remove_dot_dot=*/true);
    return (file + ".tg").str();
  }

  FileId read_relative(llvm::StringRef name, const ast::Decl& use) {
    Result<FileId> file = load_file(*program_.sources, name);
    if (file) return *file;
    sink_.report(error(Code::unknown_module, use.path_span, "unknown module `{0}`",
                       program_.sources->text(use.path_span))
                     .mark(file.error().message));
    return {};
  }

  FileId read_library(const Module& module, llvm::StringRef name, const ast::Decl& use) {
    llvm::ArrayRef<ast::Name> parts = module.ast[use.path];
    bool is_std = parts[0].text == "std" && parts.size() >= 2;
    std::string file = "stdlib";
    for (const ast::Name& part : parts.drop_front()) file += "/" + part.text.str();
    file += ".tg";
    if (auto text = is_std ? program_.loader->read(file) : std::nullopt) {
      Result<FileId> loaded = load_text(*program_.sources, file, std::move(*text));
      if (loaded) return *loaded;
      sink_.report(loaded.error());
      return {};
    }
    std::vector<std::string> known;
    for (const std::string& entry : program_.loader->list("stdlib"))
      known.push_back("std." + path::stem(entry).str());
    std::vector<llvm::StringRef> refs(known.begin(), known.end());
    Diagnostic d = error(Code::unknown_module, use.path_span, "unknown module `{0}`", name);
    llvm::StringRef near = near_miss(name, refs);
    if (!near.empty())
      d.help = llvm::formatv("did you mean `{0}`?", near);
    else
      d.help = "the modules of the library are " + llvm::join(refs, ", ") +
               "; write `./name` for a file in this folder";
    sink_.report(std::move(d));
    return {};
  }

  bool on_stack(uint32_t module) const {
    return llvm::any_of(stack_, [&](const Open& open) { return open.module == module; });
  }

  void report_cycle(uint32_t first, const ast::Decl& use) {
    std::string cycle;
    bool inside = false;
    for (const Open& open : stack_) {
      inside |= open.module == first;
      if (inside) cycle += program_.modules[open.module].name + " uses ";
    }
    sink_.report(error(Code::module_cycle, use.path_span, "modules use each other")
                     .mark("this closes the cycle")
                     .note(cycle + program_.modules[first].name));
  }

  void declare(uint32_t index) {
    Module& module = program_.modules[index];
    for (ast::DeclId id : module.ast.decls()) {
      const ast::Decl& decl = module.ast[id];
      if (!is_callable(decl) && decl.kind != ast::DeclKind::Model) continue;
      bind(module, decl.name, {index, id});
    }
    // Models cannot be called: in the file of a model named `softplus`,
    // `softplus(x)` is the operator.
    for (ast::DeclId id : module.ast.decls())
      if (module.ast[id].kind == ast::DeclKind::Model && find_op(module.ast[id].name.text))
        if (auto it = module.names.find(module.ast[id].name.text);
            it != module.names.end() && it->second == FnRef{index, id})
          module.names.erase(it);
  }

  void import(uint32_t index, const Link& link) {
    if (link.target == UINT32_MAX) return;
    Module& module = program_.modules[index];
    const Module& target = program_.modules[link.target];
    const ast::Decl& use = module.ast[link.use];
    std::vector<llvm::StringRef> own;
    for (ast::DeclId id : target.ast.decls()) {
      const ast::Decl& decl = target.ast[id];
      if (!is_callable(decl)) continue;
      own.push_back(decl.name.text);
      if (use.imports.empty()) bind(module, {decl.name.text, use.path_span}, {link.target, id});
    }
    for (const ast::Name& name : module.ast[use.imports])
      import_one(module, link.target, name, own);
  }

  void import_one(Module& module, uint32_t from, const ast::Name& name,
                  llvm::ArrayRef<llvm::StringRef> own) {
    const Module& target = program_.modules[from];
    auto it = target.names.find(name.text);
    bool found = it != target.names.end() && it->second.module == from &&
                 is_callable(program_.decl(it->second));
    if (found) return bind(module, name, it->second);
    if (broken_[from]) return; // it may be in the part that could not be read
    Diagnostic d =
        error(Code::unknown_name, name.span, "`{0}` has no function `{1}`", target.name, name.text);
    llvm::StringRef near = near_miss(name.text, own);
    std::optional<OpKind> op = find_op(name.text);
    if (op && !op_info(*op).has(Trait::Leaf))
      d.help = llvm::formatv("`{0}` is an operator: call it without `use`", name.text);
    else if (!near.empty())
      d.help = llvm::formatv("did you mean `{0}`?", near);
    sink_.report(std::move(d));
  }

  void bind(Module& module, const ast::Name& name, FnRef fn) {
    if (!name.present()) return;
    auto [it, fresh] = module.names.try_emplace(name.text, fn);
    if (fresh || it->second == fn) return;
    const ast::Decl& first = program_.decl(it->second);
    sink_.report(error(Code::duplicate_name, name.span, "`{0}` is defined twice", name.text)
                     .at(first.name.span, "first here"));
  }

  Program& program_;
  DiagnosticSink& sink_;
  llvm::StringMap<uint32_t> by_name_;
  std::vector<std::vector<Link>> links_; // one list per module
  std::vector<bool> broken_;             // by module: the parser reported errors
  std::vector<Open> stack_;
};

} // namespace

Program load_program(SourceManager& sources, const ModuleLoader& loader, FileId main,
                     DiagnosticSink& sink) {
  Program program;
  program.sources = &sources;
  program.loader = &loader;
  Loader(program, sink).load(main);
  return program;
}

Program load_program(SourceManager& sources, const ModuleLoader& loader, llvm::StringRef path,
                     DiagnosticSink& sink) {
  Result<FileId> file = load_file(sources, path);
  if (file) return load_program(sources, loader, *file, sink);
  sink.report(file.error());
  Program program;
  program.sources = &sources;
  program.loader = &loader;
  return program;
}

std::vector<LibraryFunction> library_functions(const ModuleLoader& loader) {
  std::vector<LibraryFunction> functions;
  for (const std::string& name : loader.list("stdlib")) {
    auto text = loader.read(name);
    if (!text) continue;
    SourceManager scratch;
    DiagnosticSink ignored;
    Ast ast = parse(scratch, scratch.add(name, std::move(*text)), ignored);
    for (ast::DeclId id : ast.decls())
      if (ast[id].kind == ast::DeclKind::Fn)
        functions.push_back({ast[id].name.text.str(), "std." + path::stem(name).str()});
  }
  return functions;
}

std::string library_module_of(const ModuleLoader& loader, llvm::StringRef function) {
  for (LibraryFunction& known : library_functions(loader))
    if (known.name == function) return std::move(known.module);
  return {};
}

} // namespace tg
