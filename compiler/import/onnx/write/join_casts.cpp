#include "compiler/import/onnx/write/join_casts.h"

#include "compiler/import/onnx/file/elements.h"
#include "compiler/import/onnx/write/export_nodes.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace tg::onnx {
namespace {

/// Joins casts. Tracks the source and the type of values that concern integers of types that
/// Tangram lacks.
class Joiner {
public:
  explicit Joiner(schema::Graph& graph) : graph_(graph) {
    for (const auto* values : {&graph.input(), &graph.value_info()})
      for (const schema::ValueInfo& value : *values)
        note(value.name(), value.type().tensor_type().elem_type());
    for (const schema::ValueInfo& output : graph.output()) outputs_.insert(output.name());
  }

  void run() {
    for (schema::Node& node : *graph_.mutable_node()) {
      for (std::string& input : *node.mutable_input())
        if (auto other = same_.find(input); other != same_.end()) input = other->second;
      if (node.op_type() == "Cast") join(node);
    }
    drop_unread();
  }

private:
  void note(const std::string& name, int32_t type) {
    if (carrier_of(type) != DType::None) type_[name] = type;
  }

  /// Replaces a cast of a small constant to these integers by a constant of their type.
  bool becomes_constant(const std::string& x, const std::string& y, int32_t to) {
    auto* tensors = graph_.mutable_initializer();
    auto found = llvm::find_if(*tensors, [&](const auto& one) { return one.name() == x; });
    DType carrier = carrier_of(to);
    auto width = static_cast<size_t>(element_type(to)->bits / 8);
    if (found == tensors->end() || found->data_type() != data_type(carrier) || width == 0)
      return false;
    schema::Tensor made = *found;
    made.set_name(y);
    made.set_data_type(to);
    std::string bytes;
    for (size_t i = 0; i < found->raw_data().size(); i += static_cast<size_t>(dtype_size(carrier)))
      bytes += found->raw_data().substr(i, width); // little-endian: the low bytes
    made.set_raw_data(std::move(bytes));
    *graph_.add_initializer() = std::move(made);
    return true;
  }

  /// Lets a cast of a carrier read the value from which the carrier was cast. Not to floats for
  /// uint64: its carrier is another number.
  void join(schema::Node& cast) {
    std::string x = cast.input(0), y = cast.output(0);
    auto to = static_cast<int32_t>(cast.attribute(0).i());
    if (auto from = from_.find(x); from != from_.end()) {
      int32_t type = type_[from->second];
      if (type != schema::Tensor::UINT64 || type == to) cast.set_input(0, from->second);
      if (type == to && !outputs_.contains(y)) same_[y] = from->second;
    }
    note(y, to);
    if (type_.count(y) && !outputs_.contains(y) && becomes_constant(x, y, to)) constants_.insert(y);
    auto narrow = type_.find(x);
    if (narrow != type_.end() && data_type(carrier_of(narrow->second)) == to) from_[y] = x;
  }

  void drop_unread() {
    llvm::StringSet<> read = outputs_;
    auto& nodes = *graph_.mutable_node();
    std::vector<bool> stays(static_cast<size_t>(nodes.size()));
    for (int i = nodes.size(); i-- > 0;) {
      const schema::Node& node = nodes[i];
      bool is_cast = node.op_type() == "Cast";
      bool needed =
          !is_cast || (read.contains(node.output(0)) && !constants_.contains(node.output(0)));
      stays[static_cast<size_t>(i)] = needed;
      for (const std::string& input : node.input())
        if (needed) read.insert(input);
    }
    int i = 0;
    for (auto at = nodes.begin(); at != nodes.end();)
      at = stays[static_cast<size_t>(i++)] ? std::next(at) : nodes.erase(at);
    auto& tensors = *graph_.mutable_initializer();
    for (auto at = tensors.begin(); at != tensors.end();)
      at = constants_.empty() || read.contains(at->name()) ? std::next(at) : tensors.erase(at);
    auto& values = *graph_.mutable_value_info();
    for (auto at = values.begin(); at != values.end();)
      at = read.contains(at->name()) ? std::next(at) : values.erase(at);
  }

  schema::Graph& graph_;
  llvm::StringMap<int32_t> type_;     // ONNX types of narrow integers
  llvm::StringMap<std::string> from_; // carrier to the integers from which it was cast
  llvm::StringMap<std::string> same_; // value to an equal one that is read instead
  llvm::StringSet<> outputs_, constants_;
};

} // namespace

void join_casts(schema::Graph& graph) { Joiner(graph).run(); }

} // namespace tg::onnx
