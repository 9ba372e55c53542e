// Writes a graph of the file node by node, with unique names. Scalars, lists and casts are created
// on first use. Tensors are not shared if sizes are open: they may differ at other sizes.
//
// Invariant: a name denotes one value; nodes come after their operands.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "compiler/ir/whole_ranges.h"
#include "lang/core/symbols.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <variant>

namespace tg::onnx {

/// A value of the file. An empty name is an omitted optional input.
struct Operand {
  std::string name;
  DType dtype = DType::None;
  WholeRange range = range_of_dtype(DType::I64); // of integers: the numbers that they can be
};

/// Rounds a number as an attribute does.
inline double as_float(double x) { return static_cast<double>(static_cast<float>(x)); }

/// An attribute of a node of the file.
struct Attr {
  const char* name;
  std::variant<int64_t, float, llvm::SmallVector<int64_t, 4>, std::string> value;

  static Attr whole(const char* name, int64_t value) { return {name, value}; }
  static Attr real(const char* name, double value) { return {name, static_cast<float>(value)}; }
  static Attr list(const char* name, llvm::ArrayRef<int64_t> value) {
    return {name, llvm::SmallVector<int64_t, 4>(value.begin(), value.end())};
  }
  static Attr word(const char* name, llvm::StringRef value) { return {name, value.str()}; }
};

/// Returns the TensorProto.DataType of a dtype.
schema::Tensor::DataType data_type(DType dtype);
void set_attr(schema::Node& node, const Attr& attr);
/// Sets name, dtype and shape of a tensor of the file, without its elements.
void describe(schema::Tensor& tensor, llvm::StringRef name, const TensorType& type);
/// Returns row-major, little-endian elements; floats are rounded to nearest even.
std::string element_bytes(llvm::ArrayRef<double> values, DType dtype);
std::string element_bytes(llvm::ArrayRef<int64_t> values, DType dtype);

class NodeWriter {
public:
  /// `varying`: by node of the graph, ExportOptions::varying.
  explicit NodeWriter(int opset, const std::vector<bool>* varying = nullptr)
      : opset_(opset), varying_(varying) {}
  int opset() const { return opset_; }
  /// Returns true if the node has another shape or other attributes at other sizes.
  bool varies(NodeId id) const { return varying_ && (*varying_)[id.index]; }
  schema::Graph take() { return std::move(graph_); }
  size_t node_count() const { return static_cast<size_t>(graph_.node_size()); }

  /// Returns false if the name is taken.
  bool reserve(llvm::StringRef name) { return taken_.insert(name).second; }
  /// Returns the name, or the name with a number if it is taken.
  std::string fresh(llvm::StringRef name);

  /// `element`: the type in ONNX if it is not that of the dtype; otherwise 0.
  void add_input(llvm::StringRef name, const TensorType& type, int32_t element = 0);
  /// `open_axis`: the axis whose size depends on data; -1: none.
  void add_output(llvm::StringRef name, const TensorType& type, int32_t element, int64_t open_axis);

  /// Adds the type of a value between nodes.
  void add_value_info(llvm::StringRef name, const TensorType& type, int32_t element = 0);

  /// Adds a node whose names are reserved.
  void add(schema::Node node) { *graph_.add_node() = std::move(node); }

  /// Sets the prefix for names of the following nodes.
  void begin(llvm::StringRef name);
  /// Adds a node and returns its last output. Equal nodes are written once.
  Operand node(llvm::StringRef op_type, llvm::ArrayRef<Operand> inputs, DType result,
               llvm::ArrayRef<Attr> attrs = {}, int outputs = 1);
  /// is_last() returns true if the value is the result of the last node written, which nothing
  /// reads yet. name_result() then renames it; outputs of the model are described already.
  bool is_last(const Operand& result) const;
  void name_result(Operand& result, llvm::StringRef name, const TensorType& type, bool describe);
  /// Gives the value another name.
  void alias(const Operand& value, llvm::StringRef name);

  /// Returns the value itself if it already has the dtype.
  Operand cast(const Operand& value, DType dtype);
  /// Casts from or to a type that Tangram lacks: `to` in ONNX, `carrier` in Tangram.
  Operand cast_element(const Operand& value, int32_t to, DType carrier);
  Operand tensor(llvm::StringRef name, const TensorType& type, std::string bytes);
  Operand scalar(double value, DType dtype);
  /// Adds a number that is an attribute of an operator.
  Operand scalar(const Value& number, DType dtype);
  Operand whole_scalar(int64_t value, DType dtype);
  /// Adds a tensor that repeats the bytes of one element.
  Operand filled(const TensorType& type, std::string element);
  /// Adds an i64[n] tensor.
  Operand list(llvm::ArrayRef<int64_t> values);

private:
  Operand shared_tensor(llvm::StringRef name, const TensorType& type, std::string bytes);
  Operand place(schema::Node node, DType result, int outputs);

  int opset_;
  const std::vector<bool>* varying_; // null: all sizes are fixed
  schema::Graph graph_;
  llvm::StringSet<> taken_;
  llvm::StringMap<int> written_;         // by node without names, the index of the node
  llvm::StringMap<std::string> tensors_; // scalars and lists, by type and elements
  std::string base_;
};

} // namespace tg::onnx
