#include "runtime/cuda/device/compile.h"

#include "lang/core/support/data_file.h"
#include "runtime/cuda/device/libraries.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace tg::cuda {

namespace {

struct NvrtcProgram;

/// Names and values are those of nvrtc.h.
#define TG_NVRTC(F)                                                                                \
  F(version, "nvrtcVersion", (int*, int*))                                                         \
  F(capability_count, "nvrtcGetNumSupportedArchs", (int*))                                         \
  F(capabilities, "nvrtcGetSupportedArchs", (int*))                                                \
  F(create, "nvrtcCreateProgram",                                                                  \
    (NvrtcProgram**, const char*, const char*, int, const char* const*, const char* const*))       \
  F(destroy, "nvrtcDestroyProgram", (NvrtcProgram**))                                              \
  F(compile, "nvrtcCompileProgram", (NvrtcProgram*, int, const char* const*))                      \
  F(log_size, "nvrtcGetProgramLogSize", (NvrtcProgram*, size_t*))                                  \
  F(log, "nvrtcGetProgramLog", (NvrtcProgram*, char*))                                             \
  F(ptx_size, "nvrtcGetPTXSize", (NvrtcProgram*, size_t*))                                         \
  F(ptx, "nvrtcGetPTX", (NvrtcProgram*, char*))                                                    \
  F(cubin_size, "nvrtcGetCUBINSize", (NvrtcProgram*, size_t*))                                     \
  F(cubin, "nvrtcGetCUBIN", (NvrtcProgram*, char*))

struct NvrtcApi {
  TG_NVRTC(TG_LIBRARY_MEMBER)
};

/// Fused multiply-add is allowed, fast functions are not: errors stay those of f32.
constexpr llvm::StringLiteral kOptions[] = {"--std=c++17", "-default-device"};

class Nvrtc final : public KernelCompiler {
public:
  explicit Nvrtc(std::unique_ptr<SharedLibrary> file) : file_(std::move(file)) {}

  Result<void> load() {
    const SharedLibrary& file = *file_;
    NvrtcApi& api = api_;
    const char* missing = nullptr;
    TG_NVRTC(TG_LIBRARY_LOAD)
    if (missing)
      return error(Code::no_backend, "NVRTC is too old: it lacks the function {0}", missing);
    if (api_.version(&major_, &minor_) != 0)
      return error(Code::no_backend, "NVRTC does not report its version");
    int count = 0;
    if (api_.capability_count(&count) != 0 || count < 1)
      return error(Code::no_backend, "NVRTC does not report which GPUs it supports");
    capabilities_.resize(static_cast<size_t>(count));
    if (api_.capabilities(capabilities_.data()) != 0)
      return error(Code::no_backend, "NVRTC does not report which GPUs it supports");
    llvm::sort(capabilities_);
    return {};
  }

  std::string version() const override {
    return "NVRTC " + std::to_string(major_) + "." + std::to_string(minor_);
  }

  std::string options() const override {
    return llvm::join(std::begin(kOptions), std::end(kOptions), " ");
  }

  llvm::ArrayRef<int> capabilities() const override { return capabilities_; }

  Result<Cubin> compile(const std::string& source, const std::string& target) override {
    if (is_ptx(target)) return build(source, target, api_.ptx_size, api_.ptx);
    return build(source, target, api_.cubin_size, api_.cubin);
  }

  Result<std::string> assembly(const std::string& source,
                               const std::string& architecture) override {
    return build(source, architecture, api_.ptx_size, api_.ptx);
  }

private:
  using Size = int (*)(NvrtcProgram*, size_t*);
  using Bytes = int (*)(NvrtcProgram*, char*);

  static std::string bytes(NvrtcProgram* program, Size size, Bytes get) {
    size_t count = 0;
    if (size(program, &count) != 0) return "";
    std::string text(count, '\0');
    return get(program, text.data()) == 0 ? text : "";
  }

  Result<std::string> build(const std::string& source, const std::string& architecture, Size size,
                            Bytes get) {
    NvrtcProgram* program = nullptr;
    if (int status = api_.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr))
      return error(Code::device, "NVRTC cannot create a program (error {0})", status);
    std::string arch = "--gpu-architecture=" + architecture;
    std::vector<const char*> options = {arch.c_str()};
    for (llvm::StringLiteral option : kOptions) options.push_back(option.data());
    int status = api_.compile(program, static_cast<int>(options.size()), options.data());
    std::string result = status == 0 ? bytes(program, size, get) : "";
    std::string log = status == 0 ? "" : bytes(program, api_.log_size, api_.log);
    api_.destroy(&program);
    if (!result.empty()) return result;
    return error(Code::device, "NVRTC cannot compile a kernel for {0} (error {1})", architecture,
                 status)
        .note(llvm::StringRef(log).take_front(2000).rtrim('\0').str());
  }

  std::unique_ptr<SharedLibrary> file_;
  NvrtcApi api_;
  int major_ = 0, minor_ = 0;
  std::vector<int> capabilities_;
};

uint64_t hash(llvm::StringRef text, uint64_t h) {
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

constexpr llvm::StringLiteral kMagic = "TGCUBIN1";

} // namespace

Result<std::unique_ptr<KernelCompiler>> open_nvrtc() {
  TG_TRY(std::unique_ptr<SharedLibrary> file, SharedLibrary::open(Library::Nvrtc));
  auto nvrtc = std::make_unique<Nvrtc>(std::move(file));
  TG_CHECK(nvrtc->load());
  return std::unique_ptr<KernelCompiler>(std::move(nvrtc));
}

Result<std::string> compile_target(const KernelCompiler& compiler,
                                   const std::string& architecture) {
  int wanted = 0;
  llvm::StringRef digits = architecture;
  if (!digits.consume_front("sm_") || digits.getAsInteger(10, wanted))
    return error(Code::device, "`{0}` is not a GPU architecture", architecture);
  llvm::ArrayRef<int> known = compiler.capabilities();
  // One past the newest capability that is not newer than the GPU.
  const int* after = llvm::upper_bound(known, wanted);
  if (after == known.begin())
    return error(Code::no_backend, "{0} does not support {1}, only sm_{2} and newer",
                 compiler.version(), architecture, known.front())
        .suggest("name the NVRTC of an older CUDA with LD_LIBRARY_PATH or CUDA_HOME");
  int newest = *std::prev(after);
  return newest == wanted ? architecture : "compute_" + std::to_string(newest);
}

std::string default_kernel_cache() { return cache_path("kernels"); }

CubinCache::CubinCache(std::string folder, KernelCompiler& compiler)
    : folder_(std::move(folder)), compiler_(compiler) {
  if (folder_.empty()) return;
  if (std::error_code error = llvm::sys::fs::create_directories(folder_)) {
    notes_.push_back("compiled kernels are not stored: cannot create " + folder_ + ": " +
                     error.message());
    folder_.clear();
  }
}

std::string CubinCache::path_of(const std::string& key) const {
  uint64_t first = hash(key, 1469598103934665603u), second = hash(key, first ^ 0x9e3779b97f4a7c15u);
  return folder_ + "/" + llvm::utohexstr(first, true, 16) + llvm::utohexstr(second, true, 16) +
         ".cubin";
}

Result<Cubin> CubinCache::get(const std::string& source, const std::string& architecture) {
  TG_TRY(std::string target, compile_target(compiler_, architecture));
  std::string key =
      target + "\n" + compiler_.version() + "\n" + compiler_.options() + "\n" + source;
  std::string path = folder_.empty() ? "" : path_of(key);
  Cubin cubin;
  if (!path.empty() && read(path, key, cubin)) {
    ++hits_;
    return cubin;
  }
  TG_TRY(cubin, compiler_.compile(source, target));
  ++compiled_;
  if (!path.empty()) write(path, key, cubin);
  return cubin;
}

/// Format: magic, size of the key, size of the code, hash of both, key, code.
bool CubinCache::read(const std::string& path, const std::string& key, Cubin& cubin) {
  if (!llvm::sys::fs::exists(path)) return false;
  auto file = read_cache_file(path);
  llvm::StringRef bytes = file ? (*file)->getBuffer() : llvm::StringRef();
  constexpr size_t kHeader = 32;
  bool fits = bytes.size() >= kHeader && bytes.startswith(kMagic) &&
              read_little_endian(bytes, 8, 8) == key.size() &&
              read_little_endian(bytes, 16, 8) == bytes.size() - kHeader - key.size() &&
              read_little_endian(bytes, 24, 8) == hash(bytes.drop_front(kHeader), kHeader) &&
              bytes.substr(kHeader, key.size()) == key;
  if (fits) cubin = bytes.drop_front(kHeader + key.size()).str();
  if (!fits) notes_.push_back("the kernel cache entry " + path + " was damaged and is replaced");
  return fits;
}

void CubinCache::write(const std::string& path, const std::string& key, const Cubin& cubin) {
  std::string header = kMagic.str(), content = key + cubin;
  append_little_endian(header, key.size(), 8);
  append_little_endian(header, cubin.size(), 8);
  append_little_endian(header, hash(content, header.size() + 8), 8);
  auto written = write_cache_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    out << header << content;
    return {};
  });
  if (!written)
    notes_.push_back("a compiled kernel could not be stored: " + written.error().message);
}

} // namespace tg::cuda
