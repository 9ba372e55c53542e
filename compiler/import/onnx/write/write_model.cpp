#include "compiler/import/onnx/write/write_model.h"

#include "lang/core/support/data_file.h"

#include <llvm/Support/MathExtras.h>
#include <llvm/Support/Path.h>

namespace tg::onnx {

namespace {

// Tags of the wire format: the field's number, and 2 for length-delimited data.
constexpr char kGraphOfModel = 7 << 3 | 2, kInitializerOfGraph = 5 << 3 | 2,
               kRawDataOfTensor = 9 << 3 | 2;

/// Smaller tensors stay in the model: readers use some of them for shapes.
constexpr uint64_t kLeastExternal = 1024;
/// Alignment of external tensors: large ones at a page of any system that may map them, small ones
/// at a cache line.
constexpr uint64_t kPage = 65536, kLine = 64;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

int64_t element_size(const schema::Tensor& tensor) {
  switch (tensor.data_type()) {
  case schema::Tensor::FLOAT:
  case schema::Tensor::INT32: return 4;
  case schema::Tensor::DOUBLE:
  case schema::Tensor::INT64: return 8;
  case schema::Tensor::BOOL: return 1;
  default: return 2; // half types
  }
}

uint64_t bytes_of(const schema::Tensor& tensor) {
  int64_t bytes = element_size(tensor);
  for (int64_t size : tensor.dims()) bytes *= size;
  return static_cast<uint64_t>(bytes);
}

/// A weight as written in the graph: the tag and all bytes before its elements.
struct Prefix {
  std::string bytes;
  uint64_t elements = 0;    // bytes of the elements
  uint64_t external_at = 0; // their offset in the other file
  bool is_external = false;
};

class ModelWriter {
public:
  ModelWriter(const Exported& exported, llvm::StringRef path, ElementSource source)
      : exported_(exported), path_(path), data_path_((path + ".data").str()), source_(source) {}

  Result<Written> write(uint64_t most);

private:
  uint64_t assign_offsets(bool external);
  Prefix prefix(const ExportedWeight& weight, bool external);
  Result<void> write_elements(size_t weight, llvm::raw_ostream& out) const;
  Result<void> write_external() const;
  Result<void> write_main(llvm::raw_ostream& out) const;

  const Exported& exported_;
  llvm::StringRef path_;
  std::string data_path_;
  ElementSource source_;
  std::string head_, graph_;     // serialised: model without graph, graph without weights
  std::vector<Prefix> prefixes_; // of the weights
  uint64_t graph_bytes_ = 0, data_bytes_ = 0;
};

void add_place(schema::Tensor& tensor, const char* key, std::string value) {
  schema::KeyValue& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(std::move(value));
}

Prefix ModelWriter::prefix(const ExportedWeight& weight, bool external) {
  Prefix out;
  schema::Tensor tensor = weight.tensor;
  uint64_t elements = bytes_of(tensor);
  out.is_external = external && elements >= kLeastExternal;
  out.elements = out.is_external ? 0 : elements;
  std::string raw;
  if (out.is_external) {
    out.external_at = llvm::alignTo(data_bytes_, elements >= kPage ? kPage : kLine);
    data_bytes_ = out.external_at + elements;
    tensor.set_data_location(schema::Tensor::EXTERNAL);
    add_place(tensor, "location", llvm::sys::path::filename(data_path_).str());
    add_place(tensor, "offset", std::to_string(out.external_at));
    add_place(tensor, "length", std::to_string(elements));
  } else {
    raw = kRawDataOfTensor + varint(elements);
  }
  std::string fields = tensor.SerializeAsString() + raw;
  out.bytes = kInitializerOfGraph + varint(fields.size() + out.elements) + fields;
  return out;
}

/// Computes the layout and returns the size of the model's file.
uint64_t ModelWriter::assign_offsets(bool external) {
  prefixes_.clear();
  data_bytes_ = 0;
  graph_bytes_ = graph_.size();
  for (const ExportedWeight& weight : exported_.weights) {
    prefixes_.push_back(prefix(weight, external));
    graph_bytes_ += prefixes_.back().bytes.size() + prefixes_.back().elements;
  }
  return head_.size() + 1 + varint(graph_bytes_).size() + graph_bytes_;
}

Result<void> check_indices(const ExportedWeight& weight, llvm::StringRef bytes) {
  bool wide = weight.tensor.data_type() == schema::Tensor::INT64;
  for (size_t at = 0; at < bytes.size(); at += wide ? 8 : 4) {
    uint64_t bits = read_little_endian(bytes, at, wide ? 8 : 4);
    int64_t index = wide ? static_cast<int64_t>(bits) : static_cast<int32_t>(bits);
    if (index < 0 || index >= weight.indices_below)
      return error(
          Code::unsupported,
          "`{0}` takes index {1}, from `{2}`, of an axis of {3}: ONNX rejects it, or counts "
          "it from the end",
          op_info(weight.picks).name, index, weight.tensor.name(), weight.indices_below);
  }
  return {};
}

Result<void> ModelWriter::write_elements(size_t i, llvm::raw_ostream& out) const {
  const ExportedWeight& weight = exported_.weights[i];
  return source_(weight.node, [&](llvm::StringRef bytes) -> Result<void> {
    if (bytes.size() != bytes_of(weight.tensor))
      return error(Code::internal, "the weight `{0}` has {1} bytes", weight.tensor.name(),
                   bytes.size());
    if (weight.indices_below > 0) TG_CHECK(check_indices(weight, bytes));
    out << bytes;
    return {};
  });
}

Result<void> ModelWriter::write_external() const {
  return write_data_file(data_path_, [&](llvm::raw_ostream& out) -> Result<void> {
    uint64_t at = 0;
    for (size_t i = 0; i < prefixes_.size(); ++i) {
      if (!prefixes_[i].is_external) continue;
      out.write_zeros(static_cast<unsigned>(prefixes_[i].external_at - at));
      TG_CHECK(write_elements(i, out));
      at = prefixes_[i].external_at + bytes_of(exported_.weights[i].tensor);
    }
    return {};
  });
}

Result<void> ModelWriter::write_main(llvm::raw_ostream& out) const {
  out << head_ << kGraphOfModel << varint(graph_bytes_) << graph_;
  for (size_t i = 0; i < prefixes_.size(); ++i) {
    out << prefixes_[i].bytes;
    if (!prefixes_[i].is_external) TG_CHECK(write_elements(i, out));
  }
  return {};
}

Result<Written> ModelWriter::write(uint64_t most) {
  head_ = exported_.model.SerializeAsString();
  graph_ = exported_.graph.SerializeAsString();
  uint64_t bytes = assign_offsets(false);
  if (bytes > most) bytes = assign_offsets(true);
  TG_CHECK(write_data_file(path_, [&](llvm::raw_ostream& out) -> Result<void> {
    if (data_bytes_ > 0) TG_CHECK(write_external());
    return write_main(out);
  }));
  return Written{bytes + data_bytes_, data_bytes_};
}

} // namespace

Result<Written> write_model(const Exported& exported, llvm::StringRef path, ElementSource source,
                            uint64_t most) {
  return ModelWriter(exported, path, source).write(most);
}

} // namespace tg::onnx
