// `tg fmt`: formats files in place; --check only compares. A file with errors is not changed.
// Standard input is always written to standard output in full, since an editor replaces its
// buffer by it.
#include "compiler/cli/session.h"

#include "lang/core/diagnostics/escape.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

namespace tg::cli {
namespace {

constexpr llvm::StringLiteral kStandardStream = "-";

/// Formats one file. Returns true if its text was not in canonical layout.
bool format_one(Session& session, const std::string& path) {
  const Options& o = session.options;
  Result<FileId> file = load_file(session.sources, path);
  if (!file) {
    session.sink.report(file.error());
    return false;
  }
  std::optional<std::string> text = format_file(session.sources, *file, session.sink);
  if (!text) return false;
  bool differs = session.sources.file(*file).text() != *text;
  std::string target = o.out_file.empty() ? path : o.out_file;
  bool replaces = target == path && target != kStandardStream;
  if (o.check || (!differs && replaces)) return differs;
  if (auto written = write_text_file(session, target, *text); !written)
    session.sink.report(written.error());
  return differs;
}

} // namespace

int run_fmt(Session& session) {
  const Options& o = session.options;
  size_t differing = 0;
  for (const std::string& path : o.files) {
    if (!format_one(session, path)) continue;
    ++differing;
    bool prints_text = !o.check && path == kStandardStream;
    if (!o.quiet && o.out_file.empty() && !prints_text)
      session.out << (o.check ? "not formatted: " : "formatted: ") << printable(path) << "\n";
  }
  if (session.sink.failed()) return session.fail();
  return o.check && differing > 0 ? 1 : 0;
}

} // namespace tg::cli
