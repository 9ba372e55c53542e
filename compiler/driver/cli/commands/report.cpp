// `tg report`: the trace of a search as one page that needs nothing but a browser. The trace goes
// into the page as it is, with its graphs as drawings; the page draws the rest (report_page.cpp).
#include "compiler/driver/cli/pages/graph_picture.h"
#include "compiler/driver/cli/session.h"
#include "compiler/driver/files/json_files.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

Result<llvm::json::Value> read_trace(llvm::StringRef path) {
  TG_TRY(std::string file, read_text_file(path));
  return parse_trace(file, path);
}

std::vector<std::string> texts(const llvm::json::Object& node, llvm::StringRef key) {
  std::vector<std::string> out;
  if (const llvm::json::Array* list = node.getArray(key))
    for (const llvm::json::Value& text : *list)
      out.push_back(text.getAsString().getValueOr("").str());
  return out;
}

/// A graph of a trace that has been checked.
Picture picture_of(const llvm::json::Object& trace, llvm::StringRef key, llvm::StringRef title) {
  Picture picture{title.str(), {}};
  for (const llvm::json::Value& value : *trace.getArray(key)) {
    const llvm::json::Object& from = *value.getAsObject();
    PictureNode node;
    node.op = from.getString("op")->str();
    node.type = from.getString("type")->str();
    node.attrs = from.getString("attrs")->str();
    node.name = from.getString("name").getValueOr("").str();
    node.changed = *from.getBoolean("changed");
    node.weights = texts(from, "weights");
    node.outputs = texts(from, "outputs");
    for (const llvm::json::Value& operand : *from.getArray("operands"))
      node.operands.push_back(static_cast<uint32_t>(*operand.getAsInteger()));
    picture.nodes.push_back(std::move(node));
  }
  return picture;
}

/// Beside the trace: `t.json` becomes `t.html`.
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
  const llvm::json::Object& fields = *trace->getAsObject();
  llvm::StringRef model = *fields.getObject("report")->getString("model");
  std::string text;
  llvm::raw_string_ostream(text) << *trace; // parsed and written anew: nothing else gets through
  std::string page =
      report_page(text, picture_of(fields, "source", model), picture_of(fields, "result", model));
  std::string path = o.out_file.empty() ? default_page(o.files.front()) : o.out_file;
  if (auto written = write_text_file(session, path, page); !written)
    return session.fail(std::move(written.error()));
  if (path != "-" && !o.quiet) session.out << "wrote " << path << "\n";
  return 0;
}

} // namespace tg::cli
