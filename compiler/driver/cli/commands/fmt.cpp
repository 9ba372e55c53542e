// `tg fmt`: canonical layout, in place; --check only looks. A file with errors is left alone.
#include "compiler/driver/cli/session.h"

#include "lang/core/diagnostics/escape.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

namespace tg::cli {
namespace {

/// Formats one file; true if its text was not laid out canonically.
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
  if (o.check || (!differs && target == path)) return differs;
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
    if (!o.quiet && o.out_file.empty())
      session.out << (o.check ? "not laid out: " : "laid out: ") << printable(path) << "\n";
  }
  if (session.sink.failed()) return session.fail();
  return o.check && differing > 0 ? 1 : 0;
}

} // namespace tg::cli
