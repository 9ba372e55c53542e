// Runs the phases: scan, lay out, parse. Reads files, and rejects input that is not text.
#include "lang/syntax/parse.h"

#include "lang/core/support/data_file.h"
#include "lang/core/support/file_kind.h"
#include "lang/syntax/ast_builder.h"
#include "lang/syntax/parser.h"
#include "lang/syntax/token_cursor.h"

#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>

namespace tg {
namespace {

/// Returns the 1-based number of the line that contains `offset`.
size_t line_number(llvm::StringRef text, size_t offset) {
  return text.take_front(offset).count('\n') + 1;
}

/// Returns the offset of the first byte that is not part of UTF-8 text, or npos.
size_t first_bad_byte(llvm::StringRef text) {
  size_t zero = text.find('\0');
  const auto* at = reinterpret_cast<const llvm::UTF8*>(text.bytes_begin());
  const auto* end = reinterpret_cast<const llvm::UTF8*>(text.bytes_end());
  if (llvm::isLegalUTF8String(&at, end)) return zero;
  return std::min<size_t>(
      zero, static_cast<size_t>(at - reinterpret_cast<const llvm::UTF8*>(text.bytes_begin())));
}

/// Returns the number of the first line over the limit, with its length; {0, 0} if there is none.
std::pair<size_t, size_t> longest_offender(llvm::StringRef text) {
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > kMaxLineBytes) return {number, end - begin};
    begin = end + 1;
  }
  return {0, 0};
}

Diagnostic too_large(llvm::StringRef path, uint64_t bytes) {
  return error(Code::input_too_long, "{0} has {1} MiB, but a .tg file may have at most {2} MiB",
               path, bytes >> 20, kMaxFileBytes >> 20);
}

Diagnostic other_kind(llvm::StringRef path, const FileKind& kind) {
  return error(Code::not_text, "{0} is {1}, not a .tg file", path, kind.what)
      .suggest(kind.advice.str());
}

/// Reports the errors found while reading, in the order of the text, up to the limit.
void report_errors(std::vector<Diagnostic>& found, DiagnosticSink& sink) {
  std::stable_sort(found.begin(), found.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  size_t shown = std::min(found.size(), kMaxSyntaxErrors);
  if (shown < found.size()) found[shown - 1].note("this file has more errors; fix these first");
  for (size_t i = 0; i < shown; ++i) sink.report(std::move(found[i]));
}

} // namespace

/// Standard input can be read only once; later calls return the same text.
static Result<std::string> standard_input() {
  static const Result<std::string> text = read_standard_input(kMaxFileBytes);
  if (text) return *text;
  return text.error();
}

Result<FileId> load_file(SourceManager& sources, llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  std::error_code failed = path == "-" ? std::error_code() : llvm::sys::fs::status(path, status);
  if (failed) return error(Code::cannot_read, "cannot read {0}: {1}", path, failed.message());
  if (llvm::sys::fs::is_directory(status))
    return error(Code::cannot_read, "cannot read {0}: it is a directory", path)
        .suggest("name a .tg file in that directory");
  if (path != "-")
    if (std::optional<FileKind> kind = kind_of_file_at(path)) return other_kind(path, *kind);
  if (status.getSize() > kMaxFileBytes) return too_large(path, status.getSize());
  TG_TRY(std::string text, path == "-" ? standard_input() : read_text_file(path, kMaxFileBytes));
  return load_text(sources, path.str(), std::move(text));
}

Result<FileId> load_text(SourceManager& sources, std::string name, std::string text) {
  if (text.size() > kMaxFileBytes) return too_large(name, text.size());
  if (llvm::StringRef(text).trim().empty())
    return error(Code::empty_file, "{0} is empty", name)
        .suggest("a model looks like this: model m(x: f32[1, 8]) { relu(x) }");
  if (size_t bad = first_bad_byte(text); bad != llvm::StringRef::npos)
    return error(Code::not_text, "{0} is not UTF-8 text (byte {1}, line {2})", name, bad + 1,
                 line_number(text, bad));
  auto [line, length] = longest_offender(text);
  if (line != 0)
    return error(Code::input_too_long, "{0}: line {1} has {2} bytes; the limit is {3}", name, line,
                 length, kMaxLineBytes);
  return sources.add(std::move(name), std::move(text));
}

Ast parse(const SourceManager& sources, FileId file, DiagnosticSink& sink) {
  llvm::StringRef text = sources.file(file).text();
  SyntaxErrors errors(file);
  RawTokens raw = scan(text, errors);
  std::vector<Token> tokens = insert_line_ends(raw.tokens, text, errors);
  errors.seal();
  TokenCursor cursor(tokens, text, errors);
  AstBuilder builder(text, errors);
  Grammar(cursor, builder).parse();
  Ast tree = builder.finish(std::move(raw.comments));
  report_errors(errors.found(), sink);
  return tree;
}

} // namespace tg
