// Writes the trace of a search as a page: the unchanged trace, and its graphs as drawings. The
// page's script draws everything else (report_page.cpp).
#include "compiler/report/pages/graph_picture.h"

namespace tg::pages {
namespace {

std::vector<std::string> texts(const llvm::json::Object& node, llvm::StringRef key) {
  std::vector<std::string> out;
  if (const llvm::json::Array* list = node.getArray(key))
    for (const llvm::json::Value& text : *list)
      out.push_back(text.getAsString().getValueOr("").str());
  return out;
}

/// Returns the picture of a graph in a checked trace.
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

} // namespace

std::string trace_page(const llvm::json::Value& trace) {
  const llvm::json::Object& fields = *trace.getAsObject();
  llvm::StringRef model = *fields.getObject("report")->getString("model");
  std::string text;
  llvm::raw_string_ostream(text) << trace; // parsed and rewritten, so that only JSON is inserted
  return report_page(text, picture_of(fields, "source", model),
                     picture_of(fields, "result", model));
}

} // namespace tg::pages
