// `tg report`: writes the trace of a search as one self-contained HTML page. This file checks the
// trace; pages/trace_page.cpp makes the page.
#include "compiler/cli/session.h"
#include "compiler/report/pages/graph_picture.h"
#include "compiler/report/trace_check.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

Result<llvm::json::Value> read_trace(llvm::StringRef path) {
  TG_TRY(std::string file, read_text_file(path));
  return parse_trace(file, path);
}

/// Returns the path next to the trace: `t.json` becomes `t.html`.
std::string default_page(llvm::StringRef trace) {
  llvm::SmallString<128> path(trace);
  llvm::sys::path::replace_extension(path, ".html");
  return path.str().str();
}

} // namespace

int run_report(Session& session) {
  const Options& o = session.options;
  Result<llvm::json::Value> trace = read_trace(o.files.front());
  if (!trace) return session.fail(std::move(trace.error()));
  std::string page = pages::trace_page(*trace);
  std::string path = o.out_file.empty() ? default_page(o.files.front()) : o.out_file;
  if (auto written = write_text_file(session, path, page); !written)
    return session.fail(std::move(written.error()));
  if (path != "-" && !o.quiet) session.out << "wrote " << path << "\n";
  return 0;
}

} // namespace tg::cli
