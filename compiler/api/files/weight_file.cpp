#include "compiler/api/files/weight_file.h"

#include "compiler/api/files/mapped_pages.h"

#include <cstring>
#include <mutex>

namespace tg {

const WeightFile::Entry* WeightFile::find(llvm::StringRef name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void WeightFile::add(Entry entry) {
  if (index_.try_emplace(entry.name, entries_.size()).second) entries_.push_back(std::move(entry));
}

namespace {

/// Returns a tensor whose elements `owner` keeps. Releases the pages of a large tensor with it, so
/// that packed weights are not also kept in the file's form.
Tensor within(std::shared_ptr<const void> owner, const TensorType& type, llvm::StringRef bytes) {
  assert(bytes.size() == static_cast<size_t>(type.bytes()));
  const auto* elements = reinterpret_cast<const std::byte*>(bytes.data());
  constexpr size_t kLarge = 1 << 20;
  if (bytes.size() >= kLarge)
    return Tensor::borrowed(type, {elements, [owner = std::move(owner), bytes](const std::byte*) {
                                     release_mapped_pages(bytes);
                                   }});
  return Tensor::borrowed(type, std::shared_ptr<const std::byte>(std::move(owner), elements));
}

class SafetensorsWeights final : public WeightFile {
public:
  explicit SafetensorsWeights(Safetensors file)
      : file_(std::make_shared<const Safetensors>(std::move(file))) {
    for (const Safetensors::Entry& entry : file_->entries())
      add({entry.name, entry.type, entry.text()});
  }
  llvm::StringRef file_name() const override { return file_->file_name(); }
  Metadata metadata() const override { return file_->metadata(); }

private:
  Result<Tensor> view(size_t entry) const override {
    TG_TRY(llvm::StringRef bytes, file_->bytes(file_->entries()[entry]));
    return within(file_, file_->entries()[entry].type, bytes);
  }

  std::shared_ptr<const Safetensors> file_;
};

class OnnxWeights final : public WeightFile {
public:
  OnnxWeights(std::shared_ptr<const onnx::ModelFile> file,
              llvm::ArrayRef<onnx::ImportedWeight> weights)
      : file_(std::move(file)) {
    for (const onnx::ImportedWeight& weight : weights) {
      size_t before = entries().size();
      Result<TensorType> type = file_->type_of(*weight.tensor);
      add({weight.path, type ? *type : TensorType{}, type ? type->text() : other(weight)});
      if (entries().size() > before) tensors_.push_back(weight.tensor);
    }
    for (const onnx::schema::KeyValue& note : file_->model().metadata_props())
      metadata_.emplace_back(note.key(), note.value());
  }
  llvm::StringRef file_name() const override { return file_->file_name(); }
  Metadata metadata() const override { return metadata_; }

private:
  static std::string other(const onnx::ImportedWeight& weight) {
    std::string text = onnx::element_type_name(weight.tensor->data_type()) + "[";
    for (int i = 0; i < weight.tensor->dims_size(); ++i)
      text += (i ? ", " : "") + std::to_string(weight.tensor->dims(i));
    return text + "]";
  }

  Result<Tensor> view(size_t entry) const override {
    TG_TRY(TensorType type, file_->type_of(*tensors_[entry]));
    TG_TRY(onnx::Elements elements, file_->carried_elements(*tensors_[entry]));
    bool flags = type.dtype != DType::Bool ||
                 llvm::all_of(elements.bytes, [](char c) { return c == 0 || c == 1; });
    if (flags && elements.owned)
      return within(std::shared_ptr<const char[]>(std::move(elements.owned)), type, elements.bytes);
    if (flags) return within(file_, type, elements.bytes);
    return error(Code::bad_data_file, "`{0}`: tensor `{1}`: a bool is neither 0 nor 1", file_name(),
                 entries()[entry].name);
  }

  std::shared_ptr<const onnx::ModelFile> file_;
  std::vector<const onnx::schema::Tensor*> tensors_; // by entry
  std::vector<std::pair<std::string, std::string>> metadata_;
};

class WeightsInMemory final : public WeightFile {
public:
  explicit WeightsInMemory(std::vector<TensorInMemory> tensors) {
    for (TensorInMemory& tensor : tensors) {
      size_t before = entries().size();
      add({tensor.name, tensor.type, tensor.type.text()});
      if (entries().size() > before) tensors_.push_back(std::move(tensor));
    }
  }
  llvm::StringRef file_name() const override { return "<given weights>"; }

private:
  // Copied, because memory may be changed later.
  Result<Tensor> view(size_t entry) const override {
    const TensorType& type = tensors_[entry].type;
    TG_TRY(Tensor copy, Tensor::in_place_of(spare_->take(type.bytes()), type));
    std::memcpy(copy.data(), tensors_[entry].data, static_cast<size_t>(copy.bytes()));
    if (type.bytes() < Spare::kLeast) return copy;
    auto held = std::make_shared<Tensor>(std::move(copy));
    const std::byte* elements = std::as_const(*held).data();
    return Tensor::borrowed(type,
                            {elements, [held, known = std::weak_ptr(spare_)](const std::byte*) {
                               if (std::shared_ptr<Spare> spare = known.lock())
                                 spare->give(std::move(*held));
                             }});
  }

  /// Memory of the copies that were released last, for the next ones of about their sizes, which
  /// alternate within a layer: new memory has to be cleared first, which takes longer than to copy.
  class Spare {
  public:
    static constexpr int64_t kLeast = 1 << 20, kMost = 64 << 20; // bytes: of one, of all
    Tensor take(int64_t bytes) {
      std::lock_guard lock(mutex_);
      for (auto one = memory_.begin(); bytes >= kLeast && one != memory_.end(); ++one) {
        if (one->capacity() < bytes || one->capacity() / 2 > bytes) continue;
        Tensor found = std::move(*one);
        memory_.erase(one);
        return found;
      }
      return {};
    }
    void give(Tensor tensor) {
      std::lock_guard lock(mutex_);
      memory_.push_back(std::move(tensor));
      int64_t bytes = 0;
      for (const Tensor& one : memory_) bytes += one.capacity();
      while (bytes > kMost) {
        bytes -= memory_.front().capacity();
        memory_.erase(memory_.begin());
      }
    }

  private:
    std::mutex mutex_;
    std::vector<Tensor> memory_; // the oldest first
  };

  std::vector<TensorInMemory> tensors_; // by entry
  std::shared_ptr<Spare> spare_ = std::make_shared<Spare>();
};

/// Returns the tensors of a file without a graph: the initialisers and the constants.
std::vector<onnx::ImportedWeight> tensors_of(const onnx::ModelFile& file) {
  std::vector<onnx::ImportedWeight> tensors;
  const onnx::schema::Graph& graph = file.model().graph();
  for (const onnx::schema::Tensor& tensor : graph.initializer())
    tensors.push_back({tensor.name(), &tensor});
  for (const onnx::schema::Node& node : graph.node())
    if (node.op_type() == "Constant" && node.output_size() == 1)
      for (const onnx::schema::Attribute& attribute : node.attribute())
        if (attribute.has_t()) tensors.push_back({node.output(0), &attribute.t()});
  return tensors;
}

} // namespace

std::shared_ptr<const WeightFile> weight_file(Safetensors file) {
  return std::make_shared<const SafetensorsWeights>(std::move(file));
}

std::shared_ptr<const WeightFile> weight_file(std::vector<TensorInMemory> tensors) {
  return std::make_shared<const WeightsInMemory>(std::move(tensors));
}

std::shared_ptr<const WeightFile> weight_file(std::shared_ptr<const onnx::ModelFile> file,
                                              llvm::ArrayRef<onnx::ImportedWeight> weights) {
  return std::make_shared<const OnnxWeights>(std::move(file), weights);
}

Result<std::shared_ptr<const WeightFile>> open_weight_file(llvm::StringRef path) {
  if (is_onnx_path(path)) {
    TG_TRY(std::shared_ptr<const onnx::ModelFile> file, onnx::ModelFile::open(path));
    std::vector<onnx::ImportedWeight> tensors = tensors_of(*file);
    return weight_file(std::move(file), tensors);
  }
  TG_TRY(Safetensors file, Safetensors::open(path));
  return weight_file(std::move(file));
}

} // namespace tg
