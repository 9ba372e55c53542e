// A file with named tensors, in any format, from which models take their weights. Elements stay in
// the mapped file, and are used there if possible.
#pragma once

#include "compiler/import/onnx/read/import.h"
#include "runtime/files/safetensors.h"

namespace tg {

/// Returns true if the path has the extension of an ONNX file.
inline bool is_onnx_path(llvm::StringRef path) { return path.endswith(".onnx"); }

class WeightFile {
public:
  struct Entry {
    std::string name;
    TensorType type;  // invalid for a dtype unknown to Tangram: listed but not readable
    std::string text; // "f32[2, 3]", "F64[2, 3]"
  };
  using Metadata = llvm::ArrayRef<std::pair<std::string, std::string>>;

  virtual ~WeightFile() = default;
  WeightFile(const WeightFile&) = delete;

  /// Entries in the order of the file.
  llvm::ArrayRef<Entry> entries() const { return entries_; }
  const Entry* find(llvm::StringRef name) const;
  virtual llvm::StringRef file_name() const = 0;
  /// Metadata texts by key.
  virtual Metadata metadata() const { return {}; }
  /// Returns a tensor of this file at an arbitrary address, for copying. Errors: those of the
  /// format; `memory_limit`.
  Result<Tensor> view(const Entry& entry) const {
    return view(static_cast<size_t>(&entry - entries_.data()));
  }
  /// The same, aligned for computing.
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

/// Opens a file by its extension: the tensors of a .onnx file, else of a .safetensors file. Errors:
/// `cannot_read`, `empty_file`, `bad_data_file`.
Result<std::shared_ptr<const WeightFile>> open_weight_file(llvm::StringRef path);

std::shared_ptr<const WeightFile> weight_file(Safetensors file);
/// A tensor in memory that `owner` keeps.
struct TensorInMemory {
  std::string name;
  TensorType type;
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner = {};
};
std::shared_ptr<const WeightFile> weight_file(std::vector<TensorInMemory> tensors);
/// Weights of a graph that was made from the file.
std::shared_ptr<const WeightFile> weight_file(std::shared_ptr<const onnx::ModelFile> file,
                                              llvm::ArrayRef<onnx::ImportedWeight> weights);

} // namespace tg
