// A file that has tensors by name, of whichever format: what models take their weights from. The
// elements stay in the mapped file, also where a tensor is read whose elements can be used there.
#pragma once

#include "compiler/import/onnx/read/import.h"
#include "runtime/files/safetensors.h"

namespace tg {

/// Whether a path is an ONNX file's by its ending.
inline bool is_onnx_path(llvm::StringRef path) { return path.endswith(".onnx"); }

class WeightFile {
public:
  struct Entry {
    std::string name;
    TensorType type;  // none where the dtype is one that Tangram does not have: listed, not read
    std::string text; // "f32[2, 3]", "F64[2, 3]"
  };
  using Metadata = llvm::ArrayRef<std::pair<std::string, std::string>>;

  virtual ~WeightFile() = default;
  WeightFile(const WeightFile&) = delete;

  /// In the order of the file.
  llvm::ArrayRef<Entry> entries() const { return entries_; }
  const Entry* find(llvm::StringRef name) const;
  virtual llvm::StringRef file_name() const = 0;
  /// Free texts, by key.
  virtual Metadata metadata() const { return {}; }
  /// A tensor of this file, to be copied: at any address. Errors: those of the format;
  /// `memory_limit`.
  Result<Tensor> view(const Entry& entry) const {
    return view(static_cast<size_t>(&entry - entries_.data()));
  }
  /// The same to compute with: aligned.
  Result<Tensor> read(const Entry& entry) const {
    TG_TRY(Tensor tensor, view(entry));
    return Tensor::aligned(std::move(tensor));
  }

protected:
  WeightFile() = default;
  void add(Entry entry);
  virtual Result<Tensor> view(size_t entry) const = 0;

private:
  std::vector<Entry> entries_;
  llvm::StringMap<size_t> index_;
};

/// By the ending: the tensors of a .onnx file, else those of a .safetensors file. Errors:
/// `cannot_read`, `empty_file`, `bad_data_file`.
Result<std::shared_ptr<const WeightFile>> open_weight_file(llvm::StringRef path);

std::shared_ptr<const WeightFile> weight_file(Safetensors file);
/// Tensors in memory that `owner` keeps.
struct HeldTensor {
  std::string name;
  TensorType type;
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner = {};
};
std::shared_ptr<const WeightFile> weight_file(std::vector<HeldTensor> tensors);
/// Weights of a graph that was made of the file.
std::shared_ptr<const WeightFile> weight_file(std::shared_ptr<const onnx::ModelFile> file,
                                              llvm::ArrayRef<onnx::ImportedWeight> weights);

} // namespace tg
