// libFuzzer target: reads any text as a .tg file, through scanner, parser, checker, instantiation,
// rule compiler and formatter. All inputs give diagnostics that can be rendered, and no internal
// error. A file without errors can be formatted, and formatting it again changes nothing.
#include "compiler/ir/from_ast.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

#include <cstddef>
#include <cstdint>

namespace {

/// A library without files: `use std.nn` is an ordinary error.
struct NoLibrary : tg::ModuleLoader {
  std::optional<std::string> read(llvm::StringRef) const override { return std::nullopt; }
  std::vector<std::string> list(llvm::StringRef) const override { return {}; }
};

void show(const tg::SourceManager& sources, tg::DiagnosticSink& sink) {
  sink.sort();
  llvm::raw_null_ostream out;
  for (const tg::Diagnostic& d : sink.all()) tg::render(d, sources, out);
}

/// Returns the formatted text, or "" if it has errors.
std::string laid_out(const std::string& text) {
  tg::SourceManager sources;
  tg::DiagnosticSink sink;
  tg::Result<tg::FileId> file = tg::load_text(sources, "fuzz.tg", text);
  if (!file) return "";
  std::optional<std::string> formatted = tg::format_file(sources, *file, sink);
  for (const tg::Diagnostic& d : sink.all())
    if (d.code == tg::Code::internal) __builtin_trap();
  show(sources, sink);
  return formatted.value_or("");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLongest = 4096; // instantiation may unroll; longer inputs test nothing new
  if (size > kLongest) return 0;
  std::string text(reinterpret_cast<const char*>(data), size);
  // Imports of files by path are not tested.
  if (llvm::StringRef(text).contains("./")) return 0;

  tg::SourceManager sources;
  tg::DiagnosticSink sink;
  tg::Result<tg::FileId> file = tg::load_text(sources, "fuzz.tg", text);
  if (!file) return 0;
  NoLibrary library;
  tg::Program program = tg::load_program(sources, library, *file, sink);
  if (!sink.failed()) {
    tg::rules_from_ast(program.modules.front().ast, sources, sink);
    tg::check(program, sink);
  }
  for (const tg::Diagnostic& d : sink.all())
    if (d.code == tg::Code::internal) __builtin_trap();
  show(sources, sink);

  std::string once = laid_out(text);
  if (!once.empty() && laid_out(once) != once) __builtin_trap();
  return 0;
}
