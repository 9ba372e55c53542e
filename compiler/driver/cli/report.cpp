// `tg report`: the trace of a search as one page that needs nothing but a browser. The trace goes
// into the page as it is; all drawing is done there (report_page.cpp).
#include "compiler/driver/cli/report_page.h"
#include "compiler/driver/cli/session.h"
#include "compiler/driver/json_files.h"
#include "lang/core/data_file.h"

namespace tg::cli {
namespace {

/// The trace, once it is certain that it is one.
Result<std::string> read_trace(llvm::StringRef path) {
  TG_TRY(std::string file, read_text_file(path));
  TG_TRY(llvm::json::Value value, parse_trace(file, path));
  std::string text;
  llvm::raw_string_ostream(text) << value; // parsed and written anew: nothing else gets through
  return text;
}

/// JSON inside a script element: nothing in it may end the element.
std::string for_script(llvm::StringRef json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

} // namespace

int run_report(Session& session) {
  const Options& o = session.options;
  Result<std::string> trace = read_trace(o.files.front());
  if (!trace) return session.fail(std::move(trace.error()));
  std::string page = report_page_head().str() + for_script(*trace) + report_page_tail().str();
  if (auto written = write_text_file(session, o.out_file, page); !written)
    return session.fail(std::move(written.error()));
  return 0;
}

} // namespace tg::cli
