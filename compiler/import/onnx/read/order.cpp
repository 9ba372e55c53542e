#include "compiler/import/onnx/read/order.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>

#include <queue>

namespace tg::onnx {
namespace {

using NodeList = google::protobuf::RepeatedPtrField<schema::Node>;

/// Calls `see` for every name that a node or its nested graphs read; names of nested graphs
/// included.
void each_read(const schema::Node& node, llvm::function_ref<void(llvm::StringRef)> see) {
  llvm::SmallVector<const schema::Node*, 8> worklist = {&node};
  while (!worklist.empty()) {
    const schema::Node* at = worklist.pop_back_val();
    for (const std::string& name : at->input())
      if (!name.empty()) see(name);
    auto within = [&](const schema::Graph& graph) {
      for (const schema::Node& inner : graph.node()) worklist.push_back(&inner);
      for (const schema::ValueInfo& output : graph.output()) see(output.name());
    };
    for (const schema::Attribute& attribute : at->attribute()) {
      if (attribute.has_g()) within(attribute.g());
      for (const schema::Graph& graph : attribute.graphs()) within(graph);
    }
  }
}

} // namespace

std::vector<int> order_of(const NodeList& nodes, std::string& cycle) {
  llvm::StringMap<int> maker;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes.Get(i).output())
      if (!name.empty()) maker.try_emplace(name, i);
  std::vector<std::vector<int>> readers(static_cast<size_t>(nodes.size()));
  std::vector<int> waits(static_cast<size_t>(nodes.size()), 0);
  for (int i = 0; i < nodes.size(); ++i)
    each_read(nodes.Get(i), [&](llvm::StringRef name) {
      auto made = maker.find(name);
      if (made == maker.end() || made->second == i) return; // its own name, reused within it
      readers[static_cast<size_t>(made->second)].push_back(i);
      ++waits[static_cast<size_t>(i)];
    });
  std::priority_queue<int, std::vector<int>, std::greater<>>
      ready; // in the file's order if possible
  for (int i = 0; i < nodes.size(); ++i)
    if (waits[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int reader : readers[static_cast<size_t>(i)])
      if (--waits[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  int named = 0;
  for (int i = 0; i < nodes.size() && named < 3; ++i)
    if (waits[static_cast<size_t>(i)] > 0) {
      const schema::Node& node = nodes.Get(i);
      cycle += (named++ ? ", `" : "`") +
               (node.name().empty() ? node.output_size() ? node.output(0) : node.op_type()
                                    : node.name()) +
               "` (" + node.op_type() + ")";
    }
  return order;
}

std::vector<bool> needed_nodes(const NodeList& nodes, llvm::ArrayRef<std::string> outputs) {
  llvm::StringMap<int> maker;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes.Get(i).output()) maker.try_emplace(name, i);
  std::vector<bool> needed(static_cast<size_t>(nodes.size()));
  std::vector<int> open;
  auto need = [&](llvm::StringRef name) {
    auto made = maker.find(name);
    if (made == maker.end() || needed[static_cast<size_t>(made->second)]) return;
    needed[static_cast<size_t>(made->second)] = true;
    open.push_back(made->second);
  };
  for (const std::string& name : outputs) need(name);
  while (!open.empty()) {
    int i = open.back();
    open.pop_back();
    each_read(nodes.Get(i), need);
  }
  return needed;
}

} // namespace tg::onnx
