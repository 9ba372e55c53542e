#include "lang/core/support/file_kind.h"

#include "lang/core/support/data_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>

#include <array>

namespace tg {

namespace {

struct Signature {
  size_t at;
  llvm::StringRef bytes;
  FileKind kind;
};

constexpr llvm::StringLiteral kExport = "export the model to ONNX and name that file";

const Signature kSignatures[] = {
    {0,
     "GGUF",
     {"a GGUF file", ".gguf",
      "GGUF is not supported: export the original model to ONNX, or its "
      "weights to Safetensors"}},
    {0, "PK\x03\x04", {"a zip archive, as written by PyTorch and NumPy", "", kExport}},
    {0, "\x93NUMPY", {"a NumPy array", ".npy", "`tg run --input` reads arrays"}},
    {0, "\x89HDF\r\n", {"an HDF5 file, as written by Keras", "", kExport}},
    {0, "\x80\x02", {"a Python pickle, as written by PyTorch", "", kExport}},
    {0, "\x80\x03", {"a Python pickle", "", kExport}},
    {0, "\x80\x04", {"a Python pickle", "", kExport}},
    {0, "\x80\x05", {"a Python pickle", "", kExport}},
    {0,
     "{\"",
     {"JSON text", ".json",
      "`tg report` reads traces, and `--cost file:TABLE` reads tables of prices"}},
    {4, "TFL3", {"a TensorFlow Lite file", ".tflite", kExport}},
    {8,
     "{\"",
     {"a Safetensors file", ".safetensors",
      "it contains weights but no model: `--weights` reads it from a path "
      "that ends in .safetensors"}},
};

/// Returns true for the version field of the format, a small number,
/// followed by one of the first fields of a model.
bool begins_as_onnx(llvm::StringRef bytes) {
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 32 &&
         llvm::StringRef("\x12\x1a\x22\x2a\x32\x3a\x42\x72", 8).contains(bytes[2]);
}

} // namespace

std::optional<FileKind> kind_of_file(llvm::StringRef bytes) {
  for (const Signature& one : kSignatures)
    if (bytes.substr(one.at).startswith(one.bytes)) return one.kind;
  if (begins_as_onnx(bytes))
    return FileKind{"an ONNX file", ".onnx", "the path of an ONNX file must end in .onnx"};
  return std::nullopt;
}

Diagnostic with_kind(Diagnostic error, llvm::StringRef bytes, llvm::StringRef wanted) {
  std::optional<FileKind> kind = kind_of_file(bytes);
  if (kind && kind->ending != wanted) error.notes.push_back(("it looks like " + kind->what).str());
  auto is_text = [](char c) { return llvm::isPrint(c) || llvm::isSpace(c); };
  llvm::StringRef text = bytes.take_front(kHeadOfKind).ltrim();
  if (kind || text.empty() || !llvm::all_of(text, is_text)) return error;
  bool json = text.startswith("{") || text.startswith("[");
  if (!json) error.notes.push_back("it looks like text, such as a .tg file");
  if (json && wanted != ".json") error.notes.push_back("it looks like JSON text");
  return error;
}

std::optional<FileKind> kind_of_file_at(llvm::StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path)) return std::nullopt;
  llvm::Expected<llvm::sys::fs::file_t> file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  std::array<char, kHeadOfKind> head = {};
  llvm::Expected<size_t> count = llvm::sys::fs::readNativeFile(*file, head);
  llvm::sys::fs::closeFile(*file);
  if (count) return kind_of_file({head.data(), *count});
  llvm::consumeError(count.takeError());
  return std::nullopt;
}

} // namespace tg
