#include "compiler/import/onnx/model_file.h"

#include "lang/core/data_file.h"

#include <limits>

namespace tg::onnx {

struct ModelFile::Impl {
  std::string name;
  std::unique_ptr<llvm::MemoryBuffer> file;
  schema::Model model;
};

std::string element_type_name(int32_t data_type) {
  static constexpr const char* kNames[] = {
      "undefined",      "float",    "uint8",        "int8",           "uint16",
      "int16",          "int32",    "int64",        "string",         "bool",
      "float16",        "double",   "uint32",       "uint64",         "complex64",
      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
      "uint2",          "int2"};
  if (data_type >= 0 && data_type < static_cast<int32_t>(std::size(kNames)))
    return kNames[data_type];
  return "type " + std::to_string(data_type);
}

Result<DType> dtype_of(int32_t data_type) {
  switch (data_type) {
  case schema::Tensor::FLOAT: return DType::F32;
  case schema::Tensor::FLOAT16: return DType::F16;
  case schema::Tensor::BFLOAT16: return DType::BF16;
  case schema::Tensor::INT32: return DType::I32;
  case schema::Tensor::INT64: return DType::I64;
  case schema::Tensor::BOOL: return DType::Bool;
  default:
    return error(Code::unsupported, "elements of ONNX's type {0} are not supported",
                 element_type_name(data_type));
  }
}

ModelFile::ModelFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelFile::~ModelFile() = default;

Result<std::shared_ptr<const ModelFile>> ModelFile::open(llvm::StringRef path) {
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  return parse(std::move(file), path);
}

Result<std::shared_ptr<const ModelFile>> ModelFile::parse(std::unique_ptr<llvm::MemoryBuffer> file,
                                                          llvm::StringRef name, llvm::StringRef) {
  auto impl = std::make_unique<Impl>();
  impl->name = name.str();
  if (file->getBufferSize() > std::numeric_limits<int>::max() ||
      !impl->model.ParseFromArray(file->getBufferStart(), static_cast<int>(file->getBufferSize())))
    return error(Code::bad_data_file, "`{0}` is no ONNX file that can be read", name);
  impl->file = std::move(file);
  return std::shared_ptr<const ModelFile>(new ModelFile(std::move(impl)));
}

const schema::Model& ModelFile::model() const { return impl_->model; }
llvm::StringRef ModelFile::file_name() const { return impl_->name; }

Result<TensorType> ModelFile::type_of(const schema::Tensor& tensor) const {
  TG_TRY(DType dtype, dtype_of(tensor.data_type()));
  return TensorType{dtype, Shape(tensor.dims().begin(), tensor.dims().end())};
}

Result<Elements> ModelFile::elements(const schema::Tensor& tensor) const {
  if (tensor.raw_data().empty())
    return error(Code::unsupported, "`{0}`: `{1}` has no raw data", impl_->name, tensor.name());
  return Elements{tensor.raw_data(), nullptr};
}

Result<std::vector<int64_t>> ModelFile::integers(const schema::Tensor& tensor) const {
  if (tensor.data_type() == schema::Tensor::INT64 && tensor.int64_data_size() > 0)
    return std::vector<int64_t>(tensor.int64_data().begin(), tensor.int64_data().end());
  TG_TRY(Elements elements, this->elements(tensor));
  if (tensor.data_type() != schema::Tensor::INT64)
    return error(Code::unsupported, "`{0}`: `{1}` holds no int64", impl_->name, tensor.name());
  std::vector<int64_t> values(elements.bytes.size() / sizeof(int64_t));
  memcpy(values.data(), elements.bytes.data(), values.size() * sizeof(int64_t));
  return values;
}

Result<std::vector<double>> ModelFile::doubles(const schema::Tensor& tensor) const {
  TG_TRY(Elements elements, this->elements(tensor));
  if (tensor.data_type() != schema::Tensor::FLOAT)
    return error(Code::unsupported, "`{0}`: `{1}` holds no float", impl_->name, tensor.name());
  std::vector<float> values(elements.bytes.size() / sizeof(float));
  memcpy(values.data(), elements.bytes.data(), values.size() * sizeof(float));
  return std::vector<double>(values.begin(), values.end());
}

} // namespace tg::onnx
