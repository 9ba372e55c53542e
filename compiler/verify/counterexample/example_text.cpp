#include "compiler/verify/counterexample/narrow.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

constexpr int64_t kWhole = 12; // largest leaf that is written completely

std::string index_text(const Shape& index) {
  std::vector<std::string> parts;
  for (int64_t i : index) parts.push_back(std::to_string(i));
  return parts.empty() ? "" : "[" + llvm::join(parts, ", ") + "]";
}

std::string number_text(const ConstNumber& x) {
  std::string text = value_of(x).text_form();
  return llvm::StringRef(text).endswith(".0") ? text.substr(0, text.size() - 2) : text;
}

/// Formats row-major elements as nested lists.
std::string nested(llvm::ArrayRef<ConstNumber> values, llvm::ArrayRef<int64_t> shape) {
  if (shape.empty()) return number_text(values[0]);
  std::vector<std::string> parts;
  size_t size = static_cast<size_t>(shape[0]), piece = size == 0 ? 0 : values.size() / size;
  for (size_t i = 0; i < size; ++i)
    parts.push_back(nested(values.slice(i * piece, piece), shape.drop_front()));
  return "[" + llvm::join(parts, ", ") + "]";
}

size_t offset(const Shape& index, llvm::ArrayRef<int64_t> shape) {
  int64_t at = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) at = at * shape[axis] + index[axis];
  return static_cast<size_t>(at);
}

std::string leaf_text(llvm::StringRef name, const TensorType& type, const Counterexample& example) {
  std::vector<ConstNumber> values(static_cast<size_t>(std::min(type.elements(), kWhole)));
  std::vector<std::string> parts;
  for (const WitnessElement& element : example.elements) {
    if (element.leaf != name) continue;
    if (type.elements() <= kWhole) values[offset(element.index, type.shape)] = element.value;
    parts.push_back((name + index_text(element.index) + " = " + number_text(element.value)).str());
  }
  if (type.elements() <= kWhole) return (name + " = " + nested(values, type.shape)).str();
  return parts.empty() ? (name + " = 0").str() : llvm::join(parts, ", ") + " and else 0";
}

} // namespace

std::string example_text(const Graph& graph, const Counterexample& example) {
  if (!example.complete) return "";
  std::vector<std::string> leaves;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    OpKind op = graph.node({i}).op;
    if (is_variable(op))
      leaves.push_back(leaf_text(graph.attr({i}, 0).text, graph.type({i}), example));
  }
  std::string place = index_text(example.index);
  std::string at = leaves.empty() ? "" : llvm::join(leaves, ", ") + ": ";
  return llvm::formatv("{0}left {1}, right {2}{3}", at, number_text(example.a),
                       number_text(example.b), place.empty() ? "" : " at " + place);
}

} // namespace tg
