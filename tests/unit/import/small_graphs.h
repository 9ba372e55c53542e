// Builds small graphs of ONNX nodes, imports them, and computes them by the operators' definitions.
#pragma once

#include "compiler/import/onnx/read/import.h"
#include "compiler/import/onnx/read/literal.h"
#include "tests/unit/import/small_models.h"

namespace tg::onnx {

using Names = std::vector<std::string>;

inline schema::Node& add_node(schema::Graph& graph, const std::string& op, const Names& inputs,
                              const Names& outputs) {
  schema::Node& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

inline schema::Attribute& attribute(schema::Node& node, const std::string& name,
                                    schema::Attribute::Type type) {
  schema::Attribute& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(type);
  return made;
}
inline void set(schema::Node& node, const std::string& name, int64_t value) {
  attribute(node, name, schema::Attribute::INT).set_i(value);
}
inline void set(schema::Node& node, const std::string& name, const std::string& value) {
  attribute(node, name, schema::Attribute::STRING).set_s(value);
}
inline void set(schema::Node& node, const std::string& name, const schema::Graph& value) {
  *attribute(node, name, schema::Attribute::GRAPH).mutable_g() = value;
}

inline void declare(schema::ValueInfo& info, const std::string& name, int32_t data_type,
                    llvm::ArrayRef<int64_t> shape) {
  info.set_name(name);
  schema::Type::OfTensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(data_type);
  (void)tensor.mutable_shape();
  for (int64_t size : shape) tensor.mutable_shape()->add_dim()->set_dim_value(size);
}
inline void add_input(schema::Graph& graph, const std::string& name, llvm::ArrayRef<int64_t> shape,
                      int32_t data_type = schema::Tensor::FLOAT) {
  declare(*graph.add_input(), name, data_type, shape);
}
/// A graph with the names of its inputs and outputs, without types.
inline schema::Graph body(const Names& inputs, const Names& outputs) {
  schema::Graph graph;
  graph.set_name("body");
  for (const std::string& name : inputs) graph.add_input()->set_name(name);
  for (const std::string& name : outputs) graph.add_output()->set_name(name);
  return graph;
}

inline void add_integers(schema::Graph& graph, const std::string& name,
                         const std::vector<int64_t>& values, llvm::ArrayRef<int64_t> shape,
                         int32_t data_type = schema::Tensor::INT64) {
  schema::Tensor t = tensor(data_type, shape);
  t.set_name(name);
  for (int64_t value : values)
    if (data_type == schema::Tensor::INT64)
      t.add_int64_data(value);
    else
      t.add_int32_data(static_cast<int32_t>(value));
  *graph.add_initializer() = t;
}
inline void add_floats(schema::Graph& graph, const std::string& name,
                       const std::vector<float>& values, llvm::ArrayRef<int64_t> shape) {
  schema::Tensor t = tensor(schema::Tensor::FLOAT, shape);
  t.set_name(name);
  for (float value : values) t.add_float_data(value);
  *graph.add_initializer() = t;
}

/// Imports a model that consists of this graph. Without a result, `messages` has the errors.
inline std::optional<Imported> import_graph(const schema::Graph& graph, std::string& messages,
                                            int64_t opset = 18) {
  schema::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  *model.mutable_graph() = graph;
  auto file = file_of(model);
  if (!file) return std::nullopt;
  DiagnosticSink sink;
  std::optional<Imported> made = import_model(file, {}, sink);
  for (const Diagnostic& one : sink.all()) messages += one.message + "\n";
  return made;
}
inline std::string messages_of(const schema::Graph& graph, int64_t opset = 18) {
  std::string messages;
  (void)import_graph(graph, messages, opset);
  return messages;
}

using Literals = std::map<std::string, Literal>;

inline Literal numbers(llvm::ArrayRef<int64_t> shape, std::vector<double> values) {
  return {f32(shape), {}, std::move(values)};
}
inline Literal truth(bool value) { return {{DType::Bool, {}}, {value ? 1 : 0}, {}}; }

/// Returns the outputs by name. Outputs that cannot be computed are missing.
inline Literals compute(Imported& imported, const Literals& inputs) {
  Graph& graph = imported.graph;
  std::vector<std::optional<Literal>> values(graph.size());
  for (uint32_t i = 0; i < values.size(); ++i) {
    NodeId id{i};
    const Node& node = graph.node(id);
    if (node.op == OpKind::Input) {
      values[i] = inputs.at(graph.attr(id, 0).text);
    } else if (node.op == OpKind::Weight) {
      for (const ImportedWeight& weight : imported.weights)
        if (weight.path == graph.attr(id, 0).text)
          values[i] = Literal{graph.type(id), {}, *imported.file->doubles(*weight.tensor)};
    } else if (node.op == OpKind::Constant) {
      values[i] = literal_of(graph, id);
    } else if (node.op == OpKind::None) {
      values[i].emplace();
    } else {
      std::vector<Literal> operands;
      for (NodeId x : graph.operands(id))
        if (values[x.index]) operands.push_back(*values[x.index]);
      if (operands.size() == graph.operands(id).size())
        values[i] = evaluate(graph, node.op, graph.attrs(id), graph.type(id), operands);
    }
  }
  Literals made;
  for (const GraphOutput& output : graph.outputs())
    if (values[output.node.index]) made[output.name] = *values[output.node.index];
  return made;
}

} // namespace tg::onnx
