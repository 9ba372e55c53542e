// libFuzzer target: reads any bytes as an ONNX file, through the scan of its wire format, the
// importer and the text of the graph. All inputs give errors or a well-formed graph. The weights of
// the graph have the number of elements that their types declare, and its text parses to the same
// graph.
#include "compiler/import/onnx/read/import.h"
#include "compiler/import/onnx/write/export.h"
#include "compiler/ir/from_ast.h"
#include "compiler/ir/to_text.h"
#include "lang/syntax/parse.h"

#include <cstddef>
#include <cstdint>

namespace {

struct NoLibrary : tg::ModuleLoader {
  std::optional<std::string> read(llvm::StringRef) const override { return std::nullopt; }
  std::vector<std::string> list(llvm::StringRef) const override { return {}; }
};

/// Sets each symbolic size of an input to 2.
tg::onnx::ImportOptions sizes_of(const tg::onnx::ModelFile& file) {
  tg::onnx::ImportOptions options;
  for (const tg::onnx::schema::ValueInfo& input : file.model().graph().input())
    for (const auto& dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty() && dim.dim_param() != "?") options.dims[dim.dim_param()] = 2;
  return options;
}

void check_weights(const tg::onnx::Imported& imported) {
  for (const tg::onnx::ImportedWeight& weight : imported.weights) {
    tg::Result<tg::TensorType> type = imported.file->type_of(*weight.tensor);
    tg::Result<tg::onnx::Elements> elements = imported.file->elements(*weight.tensor);
    if (elements && (!type || elements->bytes.size() != static_cast<size_t>(type->bytes())))
      __builtin_trap();
  }
}

void check_text(const tg::Graph& graph, bool functions) {
  tg::TextOptions options;
  options.functions = functions;
  tg::SourceManager sources;
  tg::DiagnosticSink sink;
  NoLibrary library;
  tg::Result<tg::FileId> file = tg::load_text(sources, "imported.tg", tg::to_text(graph, options));
  if (!file) __builtin_trap();
  tg::Program program = tg::load_program(sources, library, *file, sink);
  std::optional<tg::Graph> read;
  if (!sink.failed())
    read = tg::instantiate(program, "", {}, std::make_shared<tg::Symbols>(), sink);
  if (!read || !tg::difference(*read, tg::with_text_names(graph)).empty()) __builtin_trap();
}

/// Checks that parts that were cut out of a graph can be spliced in again.
void check_kept(const std::shared_ptr<const tg::onnx::ModelFile>& file) {
  tg::DiagnosticSink sink;
  tg::onnx::ImportOptions options = sizes_of(*file);
  options.keep_for = tg::onnx::kNewestExport;
  std::optional<tg::onnx::Imported> imported = tg::onnx::import_model(file, options, sink);
  if (!imported || !tg::verify(imported->graph).empty()) __builtin_trap();
  if (imported->kept && !tg::onnx::join_kept(imported->graph, *imported->kept)) __builtin_trap();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLongest = 16384, kMostOps = 2000; // longer inputs test nothing new
  if (size > kLongest) return 0;
  llvm::StringRef bytes(reinterpret_cast<const char*>(data), size);
  tg::Result<std::shared_ptr<const tg::onnx::ModelFile>> file =
      tg::onnx::ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz.onnx");
  if (!file) return 0;
  tg::DiagnosticSink sink;
  std::optional<tg::onnx::Imported> imported =
      tg::onnx::import_model(*file, sizes_of(**file), sink);
  for (const tg::Diagnostic& d : sink.all())
    if (d.code == tg::Code::internal) __builtin_trap();
  if (!imported) {
    if (!sink.failed()) __builtin_trap(); // it failed without an error
    return 0;
  }
  if (!tg::verify(imported->graph).empty()) __builtin_trap();
  check_weights(*imported);
  check_kept(*file);
  if (imported->graph.size() > kMostOps) return 0;
  for (bool functions : {false, true}) check_text(imported->graph, functions);
  return 0;
}
