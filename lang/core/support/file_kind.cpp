#include "lang/core/support/file_kind.h"

#include "lang/core/support/data_file.h"

#include <llvm/Support/FileSystem.h>

#include <array>

namespace tg {

namespace {

constexpr size_t kHead = 64;

struct Signature {
  size_t at;
  llvm::StringRef bytes;
  FileKind kind;
};

constexpr llvm::StringLiteral kExport = "export the model to ONNX, and name that file";

const Signature kSignatures[] = {
    {0,
     "GGUF",
     {"a GGUF file", ".gguf",
      "GGUF is not supported: export the original model to ONNX, or its "
      "weights to Safetensors"}},
    {0, "PK\x03\x04", {"a zip archive, as PyTorch and NumPy write them", "", kExport}},
    {0, "\x93NUMPY", {"an array of NumPy", ".npy", "arrays are read by `tg run --input`"}},
    {0, "\x89HDF\r\n", {"an HDF5 file, as Keras writes them", "", kExport}},
    {0, "\x80\x02", {"a Python pickle, as PyTorch writes them", "", kExport}},
    {4, "TFL3", {"a TensorFlow Lite file", ".tflite", kExport}},
    {8,
     "{\"",
     {"a Safetensors file", ".safetensors",
      "it has weights and no model: `--weights` reads it from a path "
      "that ends in .safetensors"}},
};

/// The version of the format, a small number, and then one of the first fields of a model.
bool begins_as_onnx(llvm::StringRef bytes) {
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 32 &&
         llvm::StringRef("\x12\x1a\x22\x2a\x32\x3a\x42\x72", 8).contains(bytes[2]);
}

} // namespace

std::optional<FileKind> kind_of_file(llvm::StringRef bytes) {
  for (const Signature& one : kSignatures)
    if (bytes.substr(one.at).startswith(one.bytes)) return one.kind;
  if (begins_as_onnx(bytes))
    return FileKind{"an ONNX file", ".onnx", "the path of an ONNX file has to end in .onnx"};
  return std::nullopt;
}

std::optional<FileKind> kind_of_file_at(llvm::StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path)) return std::nullopt;
  llvm::Expected<llvm::sys::fs::file_t> file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  std::array<char, kHead> head = {};
  llvm::Expected<size_t> count = llvm::sys::fs::readNativeFile(*file, head);
  llvm::sys::fs::closeFile(*file);
  if (count) return kind_of_file({head.data(), *count});
  llvm::consumeError(count.takeError());
  return std::nullopt;
}

} // namespace tg
