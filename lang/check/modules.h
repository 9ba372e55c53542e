// Programs: a main file and the modules that it uses, each parsed once,
// with the names visible in each. `use std.nn: conv` reads stdlib/nn.tg through a ModuleLoader
// (embedded files, or a folder that replaces them). `use ./blocks:
// fire` reads blocks.tg in the folder of the using file.
//
// Invariant after load_program: every FnRef in a Module's names points to a Fn or Model
// of a module of the same Program. Modules that use each other are an error and stay unlinked.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/result.h"
#include "lang/core/support/data_file.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/StringMap.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tg {

/// The source of library files. Names are those of the source tree: "stdlib/nn.tg".
class ModuleLoader {
public:
  virtual ~ModuleLoader() = default;
  virtual std::optional<std::string> read(llvm::StringRef name) const = 0;
  /// Returns the names of all files under `folder` ("stdlib"), sorted.
  virtual std::vector<std::string> list(llvm::StringRef folder) const = 0;
  /// Returns true if all files are those that the program was built with.
  virtual bool as_built() const { return true; }
};

/// The files built into the program. If `override_dir` is given,
/// its files take precedence (`override_dir`/stdlib/nn.tg), so that a library
/// can be edited without a new build.
class EmbeddedLoader : public ModuleLoader {
public:
  explicit EmbeddedLoader(llvm::ArrayRef<EmbeddedFile> files, std::string override_dir = "")
      : files_(files), override_dir_(std::move(override_dir)) {}
  std::optional<std::string> read(llvm::StringRef name) const override;
  std::vector<std::string> list(llvm::StringRef folder) const override;
  bool as_built() const override { return override_dir_.empty(); }

private:
  llvm::ArrayRef<EmbeddedFile> files_;
  std::string override_dir_;
};

/// A function or model of a Program.
struct FnRef {
  uint32_t module = UINT32_MAX;
  ast::DeclId decl;
  bool operator==(const FnRef&) const = default;
};

struct Module {
  FileId file;
  std::string name; // "std.nn", or the path of the file
  Ast ast;
  /// The functions and models visible in this module, own and imported, by their names here.
  llvm::StringMap<FnRef> names;

  Module(FileId file, std::string name, Ast tree)
      : file(file), name(std::move(name)), ast(std::move(tree)) {}
};

struct Program {
  SourceManager* sources = nullptr;
  const ModuleLoader* loader = nullptr;
  std::deque<Module> modules; // the first is the main file; a deque: references stay valid

  const Module& module(FnRef fn) const { return modules[fn.module]; }
  const ast::Decl& decl(FnRef fn) const { return modules[fn.module].ast[fn.decl]; }
  /// Returns the models of the main file, in order.
  std::vector<FnRef> models() const;
  /// Returns the model of that name, or the only model if `name` is empty. Errors: no_model.
  Result<FnRef> find_model(llvm::StringRef name) const;
};

/// Reads and parses `path` and everything that it uses. Errors go to the sink;
/// the returned program is well formed in any case. The loader of rules handles `use rules.x`.
/// Errors: cannot_read and the others of load_file, unknown_module, module_cycle, unknown_name,
/// duplicate_name, and what the parser reports.
Program load_program(SourceManager& sources, const ModuleLoader& loader, llvm::StringRef path,
                     DiagnosticSink& sink);
/// The same for a file that is already in `sources` (the prompt, tests).
Program load_program(SourceManager& sources, const ModuleLoader& loader, FileId main,
                     DiagnosticSink& sink);

struct LibraryFunction {
  std::string name, module; // "leaky_relu", "std.activation"
};
std::vector<LibraryFunction> library_functions(const ModuleLoader& loader);
/// Returns the library module that has a function of that name ("std.nn"), or "".
std::string library_module_of(const ModuleLoader& loader, llvm::StringRef function);

} // namespace tg
