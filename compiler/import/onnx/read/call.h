// One node of a file while it becomes nodes of the graph: its operator's version, attributes,
// inputs and results. What a form does not look at refuses the node: an attribute, an input or a
// result that is silently left out would be another model.
#pragma once

#include "compiler/import/onnx/read/emitter.h"

#include <llvm/ADT/SmallBitVector.h>
#include <llvm/ADT/StringMap.h>

namespace tg::onnx {

/// What a name of the file stands for.
struct FileValue {
  enum class Kind : uint8_t {
    Absent,   // an optional input that is not given
    Tensor,   // a node of the graph
    Empty,    // a tensor without elements, of which there is no node
    Sequence, // of values
    Narrow,   // integers of a type that Tangram does not have, in a node of a wider one
    Padded,   // rows that data selects: a node with as many as there may be, and their number
    Nothing,  // an optional value that holds none
    Refused,  // a result of a node that was refused
  };
  Kind kind = Kind::Absent;
  NodeId node;
  TensorType type; // of Tensor, Narrow, Padded and Empty
  std::vector<FileValue> items;
  int32_t element = 0; // of Narrow, and of Empty instead of it: the type in ONNX
  NodeId count = {};   // of Padded: how many rows there are
  int64_t axis = 0;    // of Padded: along which the rows are

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

/// Its name, or that of its first result.
std::string name_of(const schema::Node& node);

/// Runs graphs within a graph: branches and the bodies of loops.
class Bodies {
public:
  virtual ~Bodies() = default;
  /// Its results for these inputs; what it does not define comes from around the node. nullopt
  /// where a node of it was refused or the file contradicts itself, which is reported.
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
  /// Of the operator set that the node belongs to.
  int version() const { return version_; }
  /// The node stays what it is (read/keep.h): of its results only the types are looked at.
  bool is_kept() const { return is_kept_; }

  // --- attributes; each is looked at by being asked for ---
  const schema::Attribute* attribute(llvm::StringRef name);
  int64_t whole(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  std::string text(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<Shape> wholes(llvm::StringRef name);
  std::optional<std::vector<double>> reals(llvm::StringRef name);
  /// That it names as ONNX numbers them. Fails for one that Tangram does not have.
  DType dtype(llvm::StringRef name, DType otherwise);
  const schema::Graph* graph(llvm::StringRef name);
  /// One that must be there. Fails otherwise.
  int64_t whole(llvm::StringRef name);
  /// Looked at, and of no consequence here.
  void ignore(llvm::StringRef attribute) { (void)this->attribute(attribute); }

  /// A tensor that is an attribute. Fails for one that cannot be read.
  FileValue tensor(const schema::Tensor& attribute);

  // --- inputs ---
  size_t input_count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].is(FileValue::Kind::Absent); }
  /// What the file calls it.
  llvm::StringRef input_name(size_t i) const { return node_.input(static_cast<int>(i)); }
  /// The value as it is, of any kind.
  const FileValue& value(size_t i);
  /// A tensor with elements. Fails, and is invalid, for what is none.
  NodeId input(size_t i);
  /// The same, or invalid without a failure where there is none.
  NodeId optional(size_t i) { return has(i) ? input(i) : NodeId(); }
  /// Its type, also of a tensor without elements. Fails for what is no tensor.
  TensorType type(size_t i);
  /// Elements that are known now. Fails where they depend on data.
  Shape known_wholes(size_t i);
  std::vector<double> known_reals(size_t i);
  /// The one element.
  int64_t known_whole(size_t i);
  double known_real(size_t i);

  // --- results ---
  size_t result_count() const { return static_cast<size_t>(node_.output_size()); }
  /// Whether somebody may read it.
  bool wants(size_t i) const {
    return i < result_count() && !node_.output(static_cast<int>(i)).empty();
  }
  void result(size_t i, NodeId node);
  void result(NodeId node) { result(0, node); }
  void result(size_t i, FileValue value);

  /// The node is refused. Returns an invalid node.
  NodeId fail(const llvm::Twine& why) { return emitter_.fail(why); }
  bool failed() const { return emitter_.failed(); }

  /// An axis as the file counts it, from the front. Fails where there is none such.
  int64_t axis(int64_t given, int64_t rank);
  Shape axes(Ints given, int64_t rank);

  // --- for who made the call ---
  /// What was given and not looked at; empty if nothing was.
  std::string overlooked() const;
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

/// An attribute of 0 or 1. Fails for another number.
bool flag(Call& call, llvm::StringRef name, bool otherwise);
/// An input, also of integers that Tangram does not have.
NodeId carried(Call& call, size_t i);
/// The type in ONNX of an input of such integers; 0 for other inputs.
int32_t narrow_element(Call& call, size_t i);
/// Makes a result of rows along an axis, of which the first `count` are used.
void padded_result(Call& call, size_t i, NodeId rows, NodeId count, int64_t axis);
/// An input of integers. Fails for others.
NodeId indices_of(Call& call, size_t i);

/// An operator of the file's, by name ("Add", "ai.onnx.preview.FlexAttention"), and its form here.
struct Form {
  const char* name;
  void (*write)(Call& call);
};

/// Null where there is none.
const Form* find_form(llvm::StringRef name);
/// The nearest name that there is a form of; empty if none is near.
llvm::StringRef near_form(llvm::StringRef name);

// By what they do, one file each.
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
