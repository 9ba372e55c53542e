// What exported operators are written with: a graph of the file that grows node by node, with names
// that occur once, and scalars, lists and casts made where they are first asked for.
//
// Invariant: a name stands for one value; nodes come after what they read.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "compiler/ir/whole_ranges.h"
#include "lang/core/symbols.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <variant>

namespace tg::onnx {

/// A value of the file. An empty name is an optional input that is not given.
struct Operand {
  std::string name;
  DType dtype = DType::None;
  WholeRange range = range_of_dtype(DType::I64); // of integers: the numbers that they can be
};

/// What an attribute keeps of a number.
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

/// TensorProto.DataType of a dtype.
schema::Tensor::DataType data_type(DType dtype);
/// Name, dtype and shape of a tensor of the file, without its elements.
void describe(schema::Tensor& tensor, llvm::StringRef name, const TensorType& type);
/// Row-major, little-endian elements; floats are rounded to nearest even.
std::string element_bytes(llvm::ArrayRef<double> values, DType dtype);
std::string element_bytes(llvm::ArrayRef<int64_t> values, DType dtype);

class NodeWriter {
public:
  explicit NodeWriter(int opset) : opset_(opset) {}
  int opset() const { return opset_; }
  schema::Graph take() { return std::move(graph_); }
  size_t node_count() const { return static_cast<size_t>(graph_.node_size()); }

  /// False if the name is taken.
  bool reserve(llvm::StringRef name) { return taken_.insert(name).second; }
  /// The name, or where that is taken the name with a number behind it.
  std::string fresh(llvm::StringRef name);

  /// `element`: the type in ONNX where it is not that of the dtype; 0 elsewhere.
  void add_input(llvm::StringRef name, const TensorType& type, int32_t element = 0);
  /// `open_axis`: data decides the size along it; -1: along none.
  void add_output(llvm::StringRef name, const TensorType& type, int32_t element, int64_t open_axis);

  /// The type of a value between nodes.
  void add_value_info(llvm::StringRef name, const TensorType& type, int32_t element = 0);

  /// A node whose names are reserved.
  void add(schema::Node node) { *graph_.add_node() = std::move(node); }

  /// Nodes that follow are named after this.
  void begin(llvm::StringRef name);
  /// The last of its outputs. Equal nodes are written once.
  Operand node(llvm::StringRef op_type, llvm::ArrayRef<Operand> inputs, DType result,
               llvm::ArrayRef<Attr> attrs = {}, int outputs = 1);
  /// Whether it is the result of the node written last, which nothing reads yet. And its name then;
  /// outputs of the model are described already.
  bool is_last(const Operand& result) const;
  void name_result(Operand& result, llvm::StringRef name, const TensorType& type, bool describe);
  /// The value under another name.
  void alias(const Operand& value, llvm::StringRef name);

  /// The value itself where it has the dtype.
  Operand cast(const Operand& value, DType dtype);
  /// A cast from or to a type that Tangram does not have: `to` in ONNX, the carrier's dtype here.
  Operand cast_element(const Operand& value, int32_t to, DType carrier);
  Operand tensor(llvm::StringRef name, const TensorType& type, std::string bytes);
  Operand scalar(double value, DType dtype);
  /// A number among the attributes of an operator.
  Operand scalar(const Value& number, DType dtype);
  Operand whole_scalar(int64_t value, DType dtype);
  /// The bytes of one element in all places.
  Operand filled(const TensorType& type, std::string element);
  /// i64[n]
  Operand list(llvm::ArrayRef<int64_t> values);

private:
  Operand shared_tensor(llvm::StringRef name, const TensorType& type, std::string bytes);
  Operand place(schema::Node node, DType result, int outputs);

  int opset_;
  schema::Graph graph_;
  llvm::StringSet<> taken_;
  llvm::StringMap<int> written_;         // by all but names of nodes and results: the place
  llvm::StringMap<std::string> tensors_; // scalars and lists, by type and elements
  std::string base_;
};

} // namespace tg::onnx
