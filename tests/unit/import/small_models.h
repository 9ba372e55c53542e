// Small ONNX models as messages and as bytes.
#pragma once

#include "compiler/import/onnx/file/model_file.h"

namespace tg::onnx {

inline void set_dims(schema::Tensor& tensor, llvm::ArrayRef<int64_t> dims) {
  for (int64_t size : dims) tensor.add_dims(size);
}

/// A tensor `w` with a type and sizes, without elements.
inline schema::Tensor tensor(int32_t data_type, llvm::ArrayRef<int64_t> dims) {
  schema::Tensor t;
  t.set_name("w");
  t.set_data_type(data_type);
  set_dims(t, dims);
  return t;
}

/// A tensor with raw data of the floats 0, 1, 2, …
inline schema::Tensor floats(llvm::StringRef name, int64_t count) {
  schema::Tensor t = tensor(schema::Tensor::FLOAT, {count});
  t.set_name(name.str());
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  t.set_raw_data(values.data(), values.size() * sizeof(float));
  return t;
}

inline schema::Tensor external(llvm::ArrayRef<std::pair<const char*, const char*>> entries,
                               int64_t count) {
  schema::Tensor t = tensor(schema::Tensor::FLOAT, {count});
  t.set_data_location(schema::Tensor::EXTERNAL);
  for (auto [key, value] : entries) {
    schema::KeyValue& entry = *t.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return t;
}

/// A model that contains only these initialisers.
inline schema::Model model_of(llvm::ArrayRef<schema::Tensor> tensors) {
  schema::Model model;
  model.set_ir_version(8);
  schema::Graph& graph = *model.mutable_graph();
  graph.set_name("g");
  for (const schema::Tensor& t : tensors) *graph.add_initializer() = t;
  return model;
}

inline Result<std::shared_ptr<const ModelFile>> parse_bytes(llvm::StringRef bytes,
                                                            llvm::StringRef folder = "") {
  return ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes), "m.onnx", folder);
}

/// Returns the file of a model, which must be well formed.
inline std::shared_ptr<const ModelFile> file_of(const schema::Model& model,
                                                llvm::StringRef folder = "") {
  auto file = parse_bytes(model.SerializeAsString(), folder);
  if (file) return *file;
  ADD_FAILURE() << file.error().message;
  return nullptr;
}

/// Returns the message of a failed result, or "".
template <class T> std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

} // namespace tg::onnx
