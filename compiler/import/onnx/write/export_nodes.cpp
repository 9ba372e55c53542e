#include "compiler/import/onnx/write/export_nodes.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/Support/FormatVariadic.h>

#include <cassert>
#include <cstring>

namespace tg::onnx {

namespace {

template <class T> void append(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T)); // Tangram runs only on little-endian machines
  bytes.append(raw, sizeof(T));
}

uint16_t half_bits(double value, const llvm::fltSemantics& semantics) {
  llvm::APFloat x(value);
  bool loses = false;
  x.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(x.bitcastToAPInt().getZExtValue());
}

void append_element(std::string& bytes, double value, DType dtype) {
  switch (dtype) {
  case DType::F32: return append(bytes, static_cast<float>(value));
  case DType::F16: return append(bytes, half_bits(value, llvm::APFloat::IEEEhalf()));
  case DType::BF16: return append(bytes, half_bits(value, llvm::APFloat::BFloat()));
  case DType::I32: return append(bytes, static_cast<int32_t>(value));
  case DType::I64: return append(bytes, static_cast<int64_t>(value));
  case DType::Bool: return append(bytes, static_cast<uint8_t>(value != 0));
  case DType::F64: return append(bytes, value);
  case DType::None: break;
  }
  assert(false && "a tensor has a dtype");
}

void set_type(schema::Type& out, const TensorType& type) {
  auto& tensor = *out.mutable_tensor_type();
  tensor.set_elem_type(data_type(type.dtype));
  tensor.mutable_shape(); // a scalar has a shape too
  for (int64_t size : type.shape) tensor.mutable_shape()->add_dim()->set_dim_value(size);
}

void describe_value(schema::ValueInfo& info, llvm::StringRef name, const TensorType& type) {
  info.set_name(name.str());
  set_type(*info.mutable_type(), type);
}

} // namespace

void set_attr(schema::Node& node, const Attr& attr) {
  schema::Attribute& out = *node.add_attribute();
  out.set_name(attr.name);
  if (const auto* whole = std::get_if<int64_t>(&attr.value)) {
    out.set_type(schema::Attribute::INT);
    out.set_i(*whole);
  } else if (const auto* real = std::get_if<float>(&attr.value)) {
    out.set_type(schema::Attribute::FLOAT);
    out.set_f(*real);
  } else if (const auto* word = std::get_if<std::string>(&attr.value)) {
    out.set_type(schema::Attribute::STRING);
    out.set_s(*word);
  } else {
    out.set_type(schema::Attribute::INTS);
    for (int64_t value : *std::get_if<2>(&attr.value)) out.add_ints(value);
  }
}

schema::Tensor::DataType data_type(DType dtype) {
  switch (dtype) {
  case DType::F32: return schema::Tensor::FLOAT;
  case DType::F16: return schema::Tensor::FLOAT16;
  case DType::BF16: return schema::Tensor::BFLOAT16;
  case DType::I32: return schema::Tensor::INT32;
  case DType::I64: return schema::Tensor::INT64;
  case DType::Bool: return schema::Tensor::BOOL;
  case DType::F64: return schema::Tensor::DOUBLE;
  case DType::None: break;
  }
  return schema::Tensor::UNDEFINED;
}

void describe(schema::Tensor& tensor, llvm::StringRef name, const TensorType& type) {
  for (int64_t size : type.shape) tensor.add_dims(size);
  tensor.set_data_type(data_type(type.dtype));
  tensor.set_name(name.str());
}

std::string element_bytes(llvm::ArrayRef<double> values, DType dtype) {
  std::string bytes;
  for (double value : values) append_element(bytes, value, dtype);
  return bytes;
}

std::string element_bytes(llvm::ArrayRef<int64_t> values, DType dtype) {
  std::string bytes;
  for (int64_t value : values)
    if (dtype == DType::I64)
      append(bytes, value);
    else
      append_element(bytes, static_cast<double>(value), dtype); // exact for i32 and smaller types
  return bytes;
}

std::string NodeWriter::fresh(llvm::StringRef name) {
  std::string candidate = name.str();
  for (int i = 2; !reserve(candidate); ++i) candidate = (name + "_" + llvm::Twine(i)).str();
  return candidate;
}

void NodeWriter::add_input(llvm::StringRef name, const TensorType& type, int32_t element) {
  schema::ValueInfo& info = *graph_.add_input();
  describe_value(info, name, type);
  if (element) info.mutable_type()->mutable_tensor_type()->set_elem_type(element);
}

void NodeWriter::add_output(llvm::StringRef name, const TensorType& type, int32_t element,
                            int64_t open_axis) {
  schema::ValueInfo& info = *graph_.add_output();
  describe_value(info, name, type);
  schema::Type::OfTensor& tensor = *info.mutable_type()->mutable_tensor_type();
  if (element) tensor.set_elem_type(element);
  if (open_axis >= 0) tensor.mutable_shape()->mutable_dim(static_cast<int>(open_axis))->Clear();
}

void NodeWriter::add_value_info(llvm::StringRef name, const TensorType& type, int32_t element) {
  schema::ValueInfo& info = *graph_.add_value_info();
  describe_value(info, name, type);
  if (element) info.mutable_type()->mutable_tensor_type()->set_elem_type(element);
}

void NodeWriter::begin(llvm::StringRef name) { base_ = name.str(); }

Operand NodeWriter::node(llvm::StringRef op_type, llvm::ArrayRef<Operand> inputs, DType result,
                         llvm::ArrayRef<Attr> attrs, int outputs) {
  schema::Node node;
  node.set_op_type(op_type.str());
  while (!inputs.empty() && inputs.back().name.empty()) inputs = inputs.drop_back();
  for (const Operand& input : inputs) node.add_input(input.name);
  for (const Attr& attr : attrs) set_attr(node, attr);
  return place(std::move(node), result, outputs);
}

Operand NodeWriter::place(schema::Node node, DType result, int outputs) {
  auto [known, fresh_one] =
      written_.try_emplace(node.SerializeAsString() + std::to_string(outputs), graph_.node_size());
  if (!fresh_one) return {*graph_.node(known->second).output().rbegin(), result};
  std::string name = fresh(base_ + "/" + node.op_type());
  node.set_name(name);
  for (int i = 1; i < outputs; ++i) node.add_output(fresh(name));
  node.add_output(name);
  add(std::move(node));
  return {std::move(name), result};
}

bool NodeWriter::is_last(const Operand& result) const {
  return *graph_.node(graph_.node_size() - 1).output().rbegin() == result.name;
}

void NodeWriter::name_result(Operand& result, llvm::StringRef name, const TensorType& type,
                             bool describe) {
  assert(is_last(result));
  schema::Node& last = *graph_.mutable_node(graph_.node_size() - 1);
  taken_.erase(result.name);
  *last.mutable_output()->rbegin() = name.str();
  last.set_name(name.str());
  result.name = name.str();
  if (describe) add_value_info(name, type);
}

void NodeWriter::alias(const Operand& value, llvm::StringRef name) {
  schema::Node& node = *graph_.add_node();
  node.set_op_type("Identity");
  node.set_name(name.str());
  node.add_input(value.name);
  node.add_output(name.str());
}

Operand NodeWriter::cast(const Operand& value, DType dtype) {
  if (value.dtype == dtype) return value;
  return cast_element(value, data_type(dtype), dtype);
}

Operand NodeWriter::cast_element(const Operand& value, int32_t to, DType carrier) {
  return node("Cast", {value}, carrier, {Attr::whole("to", to)});
}

Operand NodeWriter::tensor(llvm::StringRef name, const TensorType& type, std::string bytes) {
  schema::Tensor& tensor = *graph_.add_initializer();
  std::string unique = fresh(name);
  describe(tensor, unique, type);
  tensor.set_raw_data(std::move(bytes));
  return {std::move(unique), type.dtype};
}

Operand NodeWriter::shared_tensor(llvm::StringRef name, const TensorType& type, std::string bytes) {
  if (varying_) return tensor(name, type, std::move(bytes));
  std::string& known = tensors_[type.text() + '\0' + bytes];
  if (known.empty()) known = tensor(name, type, std::move(bytes)).name;
  return {known, type.dtype};
}

Operand NodeWriter::scalar(double value, DType dtype) {
  std::string name = llvm::formatv("scalar_{0}", dtype_name(dtype));
  return shared_tensor(name, {dtype, {}}, element_bytes(llvm::makeArrayRef(value), dtype));
}

Operand NodeWriter::scalar(const Value& number, DType dtype) {
  return number.is(Value::Kind::Int) ? whole_scalar(number.number, dtype)
                                     : scalar(number.real, dtype);
}

Operand NodeWriter::whole_scalar(int64_t value, DType dtype) {
  std::string name = llvm::formatv("scalar_{0}", dtype_name(dtype));
  return shared_tensor(name, {dtype, {}}, element_bytes(llvm::makeArrayRef(value), dtype));
}

/// Some opsets cannot fill with bf16, so it is cast from f32, of which it is the upper half.
Operand NodeWriter::filled(const TensorType& type, std::string element) {
  if (type.dtype == DType::BF16)
    return cast(filled({DType::F32, type.shape}, std::string(2, '\0') + element), DType::BF16);
  begin("constant");
  schema::Node node;
  node.set_op_type("ConstantOfShape");
  node.add_input(list(type.shape).name);
  schema::Attribute& attr = *node.add_attribute();
  attr.set_name("value");
  attr.set_type(schema::Attribute::TENSOR);
  describe(*attr.mutable_t(), "value", {type.dtype, {1}});
  attr.mutable_t()->set_raw_data(std::move(element));
  return place(std::move(node), type.dtype, 1);
}

Operand NodeWriter::list(llvm::ArrayRef<int64_t> values) {
  TensorType type{DType::I64, {static_cast<int64_t>(values.size())}};
  return shared_tensor("ints", type, element_bytes(values, DType::I64));
}

} // namespace tg::onnx
