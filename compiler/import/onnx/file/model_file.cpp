#include "compiler/import/onnx/file/model_file.h"

#include "compiler/import/onnx/file/elements.h"
#include "compiler/import/onnx/file/external_data.h"
#include "compiler/import/onnx/file/wire_scan.h"
#include "lang/core/support/data_file.h"
#include "lang/core/support/file_kind.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <llvm/Support/Path.h>

#include <cstring>

namespace tg::onnx {

struct ModelFile::Impl {
  std::string name;
  std::unique_ptr<llvm::MemoryBuffer> file;
  ExternalData external;
  schema::Model model;

  Impl(llvm::StringRef name, llvm::StringRef folder) : name(name.str()), external(folder) {}

  /// Adds the name of the tensor to an error.
  Diagnostic of(const schema::Tensor& tensor, Diagnostic why) const;
  Diagnostic bad(const schema::Tensor& tensor, const llvm::Twine& what) const {
    return of(tensor, error(Code::bad_data_file, "{0}", what.str()));
  }
  /// Returns the type in the specification. Errors: `bad_data_file`, `unsupported`.
  Result<const ElementType*> element_type_of(const schema::Tensor& tensor) const;
  /// Errors: `bad_data_file` for sizes that no tensor can have.
  Result<uint64_t> count_of(const schema::Tensor& tensor) const;
  Result<Elements> elements(const schema::Tensor& tensor, const ElementType& type,
                            uint64_t count) const;
  Result<Elements> raw_elements(const schema::Tensor& tensor, uint64_t size) const;
  Result<schema::Tensor> dense(const schema::SparseTensor& sparse, llvm::ArrayRef<int64_t> indices);
  void make_dense(const ModelFile& self);
};

Diagnostic ModelFile::Impl::of(const schema::Tensor& tensor, Diagnostic why) const {
  std::string place = "`" + name + "`: ";
  if (tensor.name().empty())
    place += "a tensor without a name: ";
  else
    place += "tensor `" + tensor.name() + "`: ";
  why.message = place + why.message;
  return why;
}

Result<const ElementType*> ModelFile::Impl::element_type_of(const schema::Tensor& tensor) const {
  const ElementType* type = element_type(tensor.data_type());
  if (!type || type->list == DataList::None)
    return bad(tensor, "its elements are of " + element_type_name(tensor.data_type()) +
                           ", which is not an ONNX type");
  if (type->bits == 0)
    return of(tensor, error(Code::unsupported, "elements of type string are not supported"));
  return type;
}

Result<uint64_t> ModelFile::Impl::count_of(const schema::Tensor& tensor) const {
  uint64_t count = 1;
  bool empty = false, huge = false;
  for (int64_t size : tensor.dims()) {
    if (size < 0) return bad(tensor, "it has the size " + llvm::Twine(size));
    auto factor = static_cast<uint64_t>(size);
    empty |= factor == 0;
    huge |= factor > kMaxElements || (factor != 0 && count > kMaxElements / factor);
    if (!empty && !huge) count *= factor;
  }
  if (empty) return uint64_t{0};
  if (huge) return bad(tensor, "it has more than " + llvm::Twine(kMaxElements) + " elements");
  return count;
}

Result<Elements> ModelFile::Impl::raw_elements(const schema::Tensor& tensor, uint64_t size) const {
  llvm::StringRef bytes = tensor.raw_data();
  if (tensor.place_end() != 0) {
    // A tensor of another file, or a modified one, may contain anything.
    if (!file || tensor.place_begin() > tensor.place_end() ||
        tensor.place_end() > file->getBufferSize())
      return bad(tensor, "it is not a tensor of this file");
    bytes = file->getBuffer().slice(tensor.place_begin(), tensor.place_end());
  }
  if (bytes.size() != size)
    return bad(tensor, "its raw data has " + llvm::Twine(bytes.size()) +
                           " bytes, but its type requires " + llvm::Twine(size));
  return Elements{bytes, nullptr};
}

Result<Elements> ModelFile::Impl::elements(const schema::Tensor& tensor, const ElementType& type,
                                           uint64_t count) const {
  if (tensor.has_segment())
    return of(tensor, error(Code::unsupported, "tensors in segments are not supported"));
  bool raw = !tensor.raw_data().empty() || tensor.place_end() != 0;
  bool external_data = tensor.data_location() == schema::Tensor::EXTERNAL;
  if (const char* list = other_list(tensor, raw || external_data ? DataList::None : type.list))
    return bad(tensor, "its elements are of type " + llvm::Twine(type.name) + ", but it has " +
                           (raw             ? "raw data and "
                            : external_data ? "external data and "
                                            : "") +
                           list);
  if (external_data) {
    if (raw) return bad(tensor, "it has raw data and external data");
    auto place = external_place(tensor);
    if (!place) return of(tensor, std::move(place.error()));
    auto bytes = external.bytes(*place, bytes_of(type, count));
    if (!bytes) return of(tensor, std::move(bytes.error()));
    return Elements{*bytes, nullptr};
  }
  if (raw) return raw_elements(tensor, bytes_of(type, count));
  auto listed = elements_from_list(tensor, type, count);
  if (!listed) return of(tensor, std::move(listed.error()));
  return listed;
}

std::string element_type_name(int32_t data_type) {
  const ElementType* type = element_type(data_type);
  return type ? type->name : "type " + std::to_string(data_type);
}

Result<DType> dtype_of(int32_t data_type) {
  switch (data_type) {
  case schema::Tensor::FLOAT: return DType::F32;
  case schema::Tensor::FLOAT16: return DType::F16;
  case schema::Tensor::BFLOAT16: return DType::BF16;
  case schema::Tensor::DOUBLE: return DType::F64;
  case schema::Tensor::INT32: return DType::I32;
  case schema::Tensor::INT64: return DType::I64;
  case schema::Tensor::BOOL: return DType::Bool;
  default:
    return error(Code::unsupported, "elements of ONNX's type {0} are not supported",
                 element_type_name(data_type));
  }
}

DType carrier_of(int32_t data_type) {
  const ElementType* type = element_type(data_type);
  if (!type || !type->is_integer || dtype_of(data_type)) return DType::None;
  return type->bits <= 16 ? DType::I32 : DType::I64;
}

// --- sparse tensors ------------------------------------------------------------------------------

/// Returns a dense tensor. `indices` has for each value one position in row-major order, or one
/// position along each axis.
Result<schema::Tensor> ModelFile::Impl::dense(const schema::SparseTensor& sparse,
                                              llvm::ArrayRef<int64_t> indices) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  schema::Tensor made;
  made.set_name(sparse.values().name());
  made.set_data_type(sparse.values().data_type());
  *made.mutable_dims() = sparse.dims();
  TG_TRY(const ElementType* type, element_type_of(made));
  TG_TRY(uint64_t count, count_of(made));
  TG_TRY(uint64_t values, count_of(sparse.values()));
  TG_TRY(Elements elements, this->elements(sparse.values(), *type, values));
  if (type->bits < 8 || bytes_of(*type, count) > kMostBytes)
    return of(made,
              error(Code::unsupported, "a sparse tensor of this type or size is not supported"));
  auto axes = static_cast<size_t>(sparse.indices().dims_size() == 2 ? sparse.dims_size() : 1);
  if (indices.size() != values * axes)
    return bad(made, "it is sparse, but its indices do not match its values");
  std::string raw(bytes_of(*type, count), '\0');
  size_t width = values == 0 ? 0 : elements.bytes.size() / values;
  for (size_t i = 0; i < values; ++i) {
    int64_t place = 0;
    for (size_t axis = 0; axis < axes; ++axis) {
      int64_t size = axes == 1 ? static_cast<int64_t>(count) : sparse.dims(static_cast<int>(axis));
      int64_t index = indices[i * axes + axis];
      if (index < 0 || index >= size)
        return bad(made, "it is sparse, but has the index " + llvm::Twine(index) + " of " +
                             llvm::Twine(size));
      place = place * size + index;
    }
    std::memcpy(raw.data() + static_cast<size_t>(place) * width, elements.bytes.data() + i * width,
                width);
  }
  made.set_raw_data(std::move(raw));
  return made;
}

/// Converts sparse initialisers and constants of the model's graph to dense ones. Those that cannot
/// be read remain, and are rejected when used.
void ModelFile::Impl::make_dense(const ModelFile& self) {
  schema::Graph& graph = *model.mutable_graph();
  auto dense_of = [&](const schema::SparseTensor& sparse) -> Result<schema::Tensor> {
    TG_TRY(std::vector<int64_t> indices, self.integers(sparse.indices()));
    return dense(sparse, indices);
  };
  auto* all = graph.mutable_sparse_initializer();
  for (auto at = all->begin(); at != all->end();) {
    Result<schema::Tensor> made = dense_of(*at);
    if (made) *graph.add_initializer() = std::move(*made);
    at = made ? all->erase(at) : std::next(at);
  }
  for (schema::Node& node : *graph.mutable_node())
    for (schema::Attribute& attribute : *node.mutable_attribute()) {
      if (attribute.name() != "sparse_value" || !attribute.has_sparse_tensor()) continue;
      Result<schema::Tensor> made = dense_of(attribute.sparse_tensor());
      if (!made) continue;
      *attribute.mutable_t() = std::move(*made);
      attribute.set_name("value");
      attribute.set_type(schema::Attribute::TENSOR);
      attribute.clear_sparse_tensor();
    }
}

ModelFile::ModelFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelFile::~ModelFile() = default;

Result<std::shared_ptr<const ModelFile>> ModelFile::open(llvm::StringRef path) {
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  std::string head = file->getBuffer().take_front(kHeadOfKind).str();
  auto model = parse(std::move(file), path, folder.empty() ? "." : folder);
  if (!model) return with_kind(std::move(model.error()), head, ".onnx");
  return model;
}

Result<std::shared_ptr<const ModelFile>> ModelFile::parse(std::unique_ptr<llvm::MemoryBuffer> file,
                                                          llvm::StringRef name,
                                                          llvm::StringRef folder) {
  auto impl = std::make_unique<Impl>(name, folder);
  TG_TRY(std::string messages, without_raw_data(file->getBuffer(), name));
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(messages.data()),
                                                static_cast<int>(messages.size()));
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::LogSilencer silencer; // this program reports the error itself
#endif
  stream.SetRecursionLimit(2 * kMaxMessageDepth); // some that are not walked are below walked ones
  if (!impl->model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return error(Code::bad_data_file,
                 "`{0}` is not a readable ONNX file: a part of it is damaged, contains text that "
                 "is not UTF-8, or is nested too deep",
                 name);
  if (!impl->model.has_graph())
    return error(Code::bad_data_file, "`{0}` is not a readable ONNX file: it has no graph", name);
  impl->file = std::move(file);
  Impl& own = *impl;
  std::shared_ptr<const ModelFile> made(new ModelFile(std::move(impl)));
  own.make_dense(*made);
  return made;
}

const schema::Model& ModelFile::model() const { return impl_->model; }
llvm::StringRef ModelFile::file_name() const { return impl_->name; }
llvm::StringRef ModelFile::bytes() const { return impl_->file->getBuffer(); }

Result<TensorType> ModelFile::type_of(const schema::Tensor& tensor) const {
  Result<DType> dtype = carrier_of(tensor.data_type());
  if (*dtype == DType::None) dtype = dtype_of(tensor.data_type());
  if (!dtype) return impl_->of(tensor, std::move(dtype.error()));
  TG_CHECK(impl_->count_of(tensor));
  if (tensor.dims_size() > kMaxRank)
    return impl_->bad(tensor, "it has " + llvm::Twine(tensor.dims_size()) + " axes; the limit is " +
                                  llvm::Twine(kMaxRank));
  return TensorType{*dtype, Shape(tensor.dims().begin(), tensor.dims().end())};
}

Result<Elements> ModelFile::elements(const schema::Tensor& tensor) const {
  TG_TRY(const ElementType* type, impl_->element_type_of(tensor));
  TG_TRY(uint64_t count, impl_->count_of(tensor));
  return impl_->elements(tensor, *type, count);
}

Result<Elements> ModelFile::carried_elements(const schema::Tensor& tensor) const {
  TG_TRY(Elements elements, this->elements(tensor));
  DType carrier = carrier_of(tensor.data_type());
  if (carrier == DType::None) return elements;
  TG_TRY(uint64_t count, impl_->count_of(tensor));
  return as_carried(elements.bytes, *element_type(tensor.data_type()), count, carrier);
}

Result<std::vector<int64_t>> ModelFile::integers(const schema::Tensor& tensor) const {
  TG_TRY(const ElementType* type, impl_->element_type_of(tensor));
  TG_TRY(uint64_t count, impl_->count_of(tensor));
  TG_TRY(Elements elements, impl_->elements(tensor, *type, count));
  auto values = as_integers(elements.bytes, *type, count);
  if (!values) return impl_->of(tensor, std::move(values.error()));
  return values;
}

Result<std::vector<double>> ModelFile::doubles(const schema::Tensor& tensor) const {
  TG_TRY(const ElementType* type, impl_->element_type_of(tensor));
  TG_TRY(uint64_t count, impl_->count_of(tensor));
  TG_TRY(Elements elements, impl_->elements(tensor, *type, count));
  auto values = as_doubles(elements.bytes, tensor.data_type(), count);
  if (!values) return impl_->of(tensor, std::move(values.error()));
  return values;
}

} // namespace tg::onnx
