#include "runtime/cuda/cudnn/api.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cuda {

// clang-format off
DnnType dnn_type(DnnAttr attr) {
  switch (attr) {
#define TG_DNN_ATTR(name, number, type) case DnnAttr::name: return DnnType::type;
#include "runtime/cuda/cudnn/names.def"
  }
  return DnnType::Int64;
}

llvm::StringRef dnn_name(DnnKind kind) {
  switch (kind) {
#define TG_DNN_KIND(name, number) case DnnKind::name: return #name;
#include "runtime/cuda/cudnn/names.def"
  }
  return "";
}

llvm::StringRef dnn_name(DnnAttr attr) {
  switch (attr) {
#define TG_DNN_ATTR(name, number, type) case DnnAttr::name: return #name;
#include "runtime/cuda/cudnn/names.def"
  }
  return "";
}
// clang-format on

Result<DnnApi> dnn_api(const SharedLibrary& file) {
  DnnApi api;
  const char* missing = nullptr;
  TG_CUDNN(TG_LIBRARY_LOAD)
  if (!missing && !file.find(api.version, "cudnnGetVersion")) missing = "cudnnGetVersion";
  if (!missing && !file.find(api.error_text, "cudnnGetErrorString"))
    missing = "cudnnGetErrorString";
  if (missing)
    return error(Code::no_backend, "cuDNN lacks the function {0}: the version may be too old",
                 missing);
  file.find(api.last_error, "cudnnGetLastErrorString");
  return api;
}

std::string dnn_problem(const DnnApi& api, int status) {
  std::string text = api.error_text ? api.error_text(status) : "";
  char reason[512] = {};
  if (api.last_error) api.last_error(reason, sizeof reason - 1);
  if (reason[0]) text += (text.empty() ? "" : ": ") + llvm::StringRef(reason).trim().str();
  if (text.empty()) text = llvm::formatv("status {0}", status);
  return text;
}

DnnDescriptor::DnnDescriptor(const DnnApi& api, DnnKind kind) : api_(&api), kind_(kind) {
  if (int status = api.descriptor_create(static_cast<int>(kind), &raw_)) {
    raw_ = nullptr;
    fail(status, "be created");
  }
}

DnnDescriptor::~DnnDescriptor() {
  if (raw_) api_->descriptor_destroy(raw_);
}

DnnDescriptor& DnnDescriptor::operator=(DnnDescriptor&& other) noexcept {
  if (this == &other) return *this;
  if (raw_) api_->descriptor_destroy(raw_);
  api_ = other.api_;
  raw_ = std::exchange(other.raw_, nullptr);
  kind_ = other.kind_;
  problem_ = std::move(other.problem_);
  return *this;
}

void DnnDescriptor::fail(int status, const std::string& what) {
  if (problem_.empty())
    problem_ = llvm::formatv("cuDNN's {0} cannot {1}: {2}", dnn_name(kind_), what,
                             dnn_problem(*api_, status));
}

void DnnDescriptor::put(DnnAttr attr, int64_t count, const void* values) {
  if (!raw_) return;
  int status =
      api_->set(raw_, static_cast<int>(attr), static_cast<int>(dnn_type(attr)), count, values);
  if (status != 0) fail(status, ("accept this " + dnn_name(attr)).str());
}

void DnnDescriptor::set_text(DnnAttr attr, llvm::StringRef text) {
  std::string ended = text.str(); // the library counts the terminating zero
  put(attr, static_cast<int64_t>(ended.size() + 1), ended.c_str());
}

Result<void> DnnDescriptor::finish() {
  if (problem_.empty())
    if (int status = api_->finalize(raw_)) fail(status, "be finalised");
  if (problem_.empty()) return {};
  return error(Code::device, "{0}", problem_);
}

bool DnnDescriptor::read(DnnAttr attr, int64_t wanted, int64_t& count, void* values) const {
  return raw_ && api_->get(raw_, static_cast<int>(attr), static_cast<int>(dnn_type(attr)), wanted,
                           &count, values) == 0;
}

bool DnnDescriptor::get(DnnAttr attr, llvm::MutableArrayRef<int64_t> values, int64_t& count) const {
  return read(attr, static_cast<int64_t>(values.size()), count, values.data());
}

bool DnnDescriptor::get_enums(DnnAttr attr, llvm::MutableArrayRef<int> values,
                              int64_t& count) const {
  return read(attr, static_cast<int64_t>(values.size()), count, values.data());
}

bool DnnDescriptor::get(DnnAttr attr, llvm::MutableArrayRef<DnnDescriptor> values,
                        int64_t& count) const {
  llvm::SmallVector<void*, 16> raw;
  for (const DnnDescriptor& value : values) raw.push_back(value.raw_);
  return read(attr, static_cast<int64_t>(raw.size()), count, raw.empty() ? nullptr : raw.data());
}

std::string DnnDescriptor::get_text(DnnAttr attr) const {
  int64_t size = 0;
  if (!read(attr, 0, size, nullptr) || size <= 0) return "";
  std::string text(static_cast<size_t>(size), '\0');
  if (!read(attr, size, size, text.data())) return "";
  text.resize(static_cast<size_t>(size));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

} // namespace tg::cuda
