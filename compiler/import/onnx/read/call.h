// One node of a file on its way to nodes of the graph: its operator's version, attributes, inputs
// and results. A node with an attribute, input or result that its form does not use is rejected:
// silently ignoring it would give another model.
#pragma once

#include "compiler/import/onnx/read/emitter.h"

#include <llvm/ADT/SmallBitVector.h>
#include <llvm/ADT/StringMap.h>

namespace tg::onnx {

/// The value of a name in the file.
struct FileValue {
  enum class Kind : uint8_t {
    Absent,   // an omitted optional input
    Tensor,   // a node of the graph
    Empty,    // a tensor without elements, which has no node
    Sequence, // a list of values
    Narrow,   // integers of a type that Tangram lacks, in a node of a wider type
    Padded,   // rows selected by data: a node padded to the largest number, and the actual number
    Nothing,  // an empty optional
    Refused,  // a result of a rejected node
  };
  Kind kind = Kind::Absent;
  NodeId node;
  TensorType type; // of Tensor, Narrow, Padded and Empty
  std::vector<FileValue> items;
  int32_t element = 0; // of Narrow, and of an Empty of such a type: the type in ONNX
  NodeId count = {};   // of Padded: the actual number of rows
  int64_t axis = 0;    // of Padded: the axis of the rows

  static FileValue empty(TensorType type) { return {Kind::Empty, {}, std::move(type), {}}; }
  static FileValue narrow(NodeId node, TensorType type, int32_t element) {
    return {Kind::Narrow, node, std::move(type), {}, element};
  }
  static FileValue sequence(std::vector<FileValue> items) {
    return {Kind::Sequence, {}, {}, std::move(items)};
  }
  static FileValue of(Kind kind) { return {kind, {}, {}, {}}; }
  bool is(Kind k) const { return kind == k; }
};

/// Returns the node's name, or that of its first result.
std::string name_of(const schema::Node& node);

/// Runs nested graphs: branches and bodies of loops.
class Bodies {
public:
  virtual ~Bodies() = default;
  /// Returns the results for these inputs. Names that the body does not define come from the
  /// scope of the node. nullopt if a node of the body was rejected or the file is inconsistent,
  /// which is reported.
  virtual std::optional<std::vector<FileValue>> run(const schema::Graph& body,
                                                    llvm::ArrayRef<FileValue> inputs) = 0;
};

class Call {
public:
  Call(Emitter& emitter, Bodies& bodies, const ModelFile& file, const schema::Node& node,
       int version, llvm::ArrayRef<FileValue> inputs,
       const llvm::StringMap<const schema::Attribute*>& attributes, bool is_kept);

  Emitter& emit() { return emitter_; }
  Bodies& bodies() { return bodies_; }
  llvm::StringRef op() const { return node_.op_type(); }
  std::string name() const { return name_of(node_); }
  /// Version of the operator set of the node.
  int version() const { return version_; }
  /// True if the node is kept (read/keep.h): only the types of its results are used.
  bool is_kept() const { return is_kept_; }

  // --- attributes; reading one marks it as used ---
  const schema::Attribute* attribute(llvm::StringRef name);
  int64_t whole(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  std::string text(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<Shape> wholes(llvm::StringRef name);
  std::optional<std::vector<double>> reals(llvm::StringRef name);
  /// Returns the dtype for the attribute's ONNX number. Fails if Tangram lacks it.
  DType dtype(llvm::StringRef name, DType otherwise);
  const schema::Graph* graph(llvm::StringRef name);
  /// Reads a required attribute. Fails if it is missing.
  int64_t whole(llvm::StringRef name);

  /// Returns a tensor attribute. Fails if it cannot be read.
  FileValue tensor(const schema::Tensor& attribute);

  // --- inputs ---
  size_t input_count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].is(FileValue::Kind::Absent); }
  /// Returns the name in the file.
  llvm::StringRef input_name(size_t i) const { return node_.input(static_cast<int>(i)); }
  /// Returns the value of any kind.
  const FileValue& value(size_t i);
  /// Returns a tensor with elements. Fails, and is invalid, for other values.
  NodeId input(size_t i);
  /// The same, but invalid without a failure if the input is absent.
  NodeId optional(size_t i) { return has(i) ? input(i) : NodeId(); }
  /// Returns the type of a tensor, with or without elements. Fails for other values.
  TensorType type(size_t i);
  /// Returns elements that are known at import time. Fails if they depend on data.
  Shape known_wholes(size_t i);
  std::vector<double> known_reals(size_t i);
  /// Returns the only element.
  int64_t known_whole(size_t i);
  double known_real(size_t i);

  // --- results ---
  size_t result_count() const { return static_cast<size_t>(node_.output_size()); }
  /// Returns true if the result may be used.
  bool uses_result(size_t i) const {
    return i < result_count() && !node_.output(static_cast<int>(i)).empty();
  }
  void result(size_t i, NodeId node);
  void result(NodeId node) { result(0, node); }
  void result(size_t i, FileValue value);

  /// Rejects the node. Returns an invalid node.
  NodeId fail(const llvm::Twine& why) { return emitter_.fail(why); }
  bool failed() const { return emitter_.failed(); }

  /// Returns a given axis counted from the front. Fails if it is out of range.
  int64_t axis(int64_t given, int64_t rank);
  Shape axes(Ints given, int64_t rank);

  // --- for the caller of the form ---
  /// Returns the given but unused parts of the node; empty if there are none.
  std::string unused_parts() const;
  std::vector<FileValue>& results() { return results_; }

private:
  std::optional<Literal> known(size_t i);

  Emitter& emitter_;
  Bodies& bodies_;
  const ModelFile& file_;
  const schema::Node& node_;
  int version_;
  bool is_kept_;
  llvm::SmallVector<FileValue, 4> inputs_;
  llvm::SmallVector<const schema::Attribute*, 4>
      attributes_; // null: not given by the function's call
  llvm::SmallBitVector attribute_seen_, input_seen_;
  std::vector<FileValue> results_;
};

/// Marks an attribute as used although it has no effect here.
inline void ignore(Call& call, llvm::StringRef attribute) { (void)call.attribute(attribute); }
/// Reads an attribute of 0 or 1. Fails for another number.
bool flag(Call& call, llvm::StringRef name, bool otherwise);
/// Returns an input, which may have integers of a type that Tangram lacks.
NodeId carried(Call& call, size_t i);
/// Returns the ONNX type of an input of such integers; 0 for other inputs.
int32_t narrow_element(Call& call, size_t i);
/// Sets a result with rows along an axis, of which the first `count` are used.
void padded_result(Call& call, size_t i, NodeId rows, NodeId count, int64_t axis);
/// Returns an input of integers. Fails for others.
NodeId indices_of(Call& call, size_t i);

/// An operator of the file, by name ("Add", "ai.onnx.preview.FlexAttention"), and its form, the
/// function that writes it in Tangram's operators.
struct Form {
  const char* name;
  void (*write)(Call& call);
};

/// Returns null if there is none.
const Form* find_form(llvm::StringRef name);
/// Returns the closest name that has a form; empty if none is close.
llvm::StringRef near_form(llvm::StringRef name);

// Tables of forms by topic, one file each.
llvm::ArrayRef<Form> pointwise_forms();
llvm::ArrayRef<Form> shape_forms();
llvm::ArrayRef<Form> layout_forms();
llvm::ArrayRef<Form> index_forms();
llvm::ArrayRef<Form> product_forms();
llvm::ArrayRef<Form> convolution_forms();
llvm::ArrayRef<Form> pool_forms();
llvm::ArrayRef<Form> norm_forms();
llvm::ArrayRef<Form> loss_forms();
llvm::ArrayRef<Form> spectrum_forms();
llvm::ArrayRef<Form> reduction_forms();
llvm::ArrayRef<Form> resize_forms();
llvm::ArrayRef<Form> recurrent_forms();
llvm::ArrayRef<Form> attention_forms();
llvm::ArrayRef<Form> control_forms();
llvm::ArrayRef<Form> sequence_forms();
llvm::ArrayRef<Form> ml_forms();

} // namespace tg::onnx
