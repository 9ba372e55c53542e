#include "runtime/cuda/device/libraries.h"

#include "runtime/cuda/device/compile.h"
#include "runtime/cuda/device/driver_api.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tg::cuda {

namespace {

constexpr llvm::StringRef kDriverFiles[] = {"libcuda.so.1", "libcuda.so"};
constexpr llvm::StringRef kNvrtcFiles[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                           "libnvrtc.so"};
constexpr llvm::StringRef kCublasLtFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                              "libcublasLt.so.11", "libcublasLt.so"};
constexpr llvm::StringRef kCudnnFiles[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

LibraryPlaces library_places_of_environment() {
  std::string cuda = environment("CUDA_HOME");
  if (cuda.empty()) cuda = environment("CUDA_PATH");
  return {cuda,
          environment("VIRTUAL_ENV"),
          environment("HOME"),
          environment("CONDA_PREFIX"),
          environment("PYTHONPATH"),
          environment("PATH"),
          environment("LD_LIBRARY_PATH")};
}

/// Returns subfolders in alphabetical order; none for a folder that does not exist.
std::vector<std::string> subfolders(const std::string& folder, llvm::StringRef prefix = "") {
  std::vector<std::string> found;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error))
    if (llvm::sys::path::filename(it->path()).startswith(prefix)) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Adds the libraries of Python wheels in a package folder: PACKAGES/nvidia/PACKAGE/lib.
void add_packages(const std::string& packages, std::vector<std::string>& folders) {
  for (const std::string& package : subfolders(packages + "/nvidia"))
    folders.push_back(package + "/lib");
}

/// Adds those of a Python installation: PREFIX/lib/python3.N/site-packages.
void add_wheels(const std::string& prefix, std::vector<std::string>& folders) {
  if (prefix.empty()) return;
  for (const std::string& python : subfolders(prefix + "/lib", "python3"))
    for (const char* packages : {"/site-packages", "/dist-packages"})
      add_packages(python + packages, folders);
}

llvm::SmallVector<llvm::StringRef, 8> split_path(llvm::StringRef path) {
  llvm::SmallVector<llvm::StringRef, 8> folders;
  path.split(folders, ':', -1, /*KeepEmpty=*/false);
  return folders;
}

/// Returns the prefixes of the first Python on PATH. A link may be in its environment's folder
/// or point to one, so every folder on its way is a candidate.
std::vector<std::string> python_prefixes(llvm::StringRef path) {
  constexpr int kMostLinks = 8;
  std::vector<std::string> prefixes;
  for (llvm::StringRef folder : split_path(path)) {
    llvm::SmallString<128> program(folder);
    llvm::sys::path::append(program, "python3");
    if (!llvm::sys::fs::exists(program)) continue;
    for (int links = 0; links < kMostLinks; ++links) {
      llvm::StringRef bin = llvm::sys::path::parent_path(program);
      prefixes.push_back(llvm::sys::path::parent_path(bin).str());
      char target[4096];
      ssize_t length = readlink(program.c_str(), target, sizeof target);
      if (length < 0) break;
      llvm::StringRef next(target, static_cast<size_t>(length));
      if (llvm::sys::path::is_absolute(next)) {
        program = next;
      } else {
        llvm::sys::path::remove_filename(program);
        llvm::sys::path::append(program, next);
      }
      llvm::sys::path::remove_dots(program, /*remove_dot_dot=*/true);
    }
    break;
  }
  return prefixes;
}

/// Versions marked OnGpu ran the examples on an H100 (bench/results/gpu_h100.md).
/// NVRTC 11.8 has compiled the kernels of the examples, 12.9 those of tests;
/// cuDNN 9.19 has planned the convolutions.
constexpr TriedVersion kTried[] = {
    {Library::Driver, "13.0", Tried::OnGpu},   {Library::Nvrtc, "13.0", Tried::OnGpu},
    {Library::CublasLt, "13.1", Tried::OnGpu}, {Library::Cudnn, "9.14", Tried::OnGpu},
    {Library::Nvrtc, "12.9", Tried::Compiled}, {Library::Nvrtc, "11.8", Tried::Compiled},
    {Library::Cudnn, "9.19", Tried::Planned}};

/// A patch version such as 9.19.1 counts as 9.19.
Tried tried_as(Library library, llvm::StringRef version) {
  for (const TriedVersion& tried : kTried)
    if (tried.library == library && (version + ".").str().starts_with((tried.version + ".").str()))
      return tried.how;
  return Tried::Not;
}

/// Returns the message and, if there is one, the help.
std::string with_help(const Diagnostic& why) {
  return why.help.empty() ? why.message : why.message + "; " + why.help;
}

/// The first GPU is the one that is used; without code for it there is no usable GPU.
void find_targets(Installation& installation) {
  auto compiler = open_nvrtc();
  if (!compiler) {
    installation.problem = with_help(compiler.error());
    return;
  }
  for (Gpu& gpu : installation.gpus) {
    auto target = compile_target(**compiler, gpu.architecture());
    if (target) gpu.target = *target;
    if (!target && &gpu == &installation.gpus[0]) installation.problem = with_help(target.error());
  }
}

int64_t library_version(Library library, const SharedLibrary& file) {
  int number = 0;
  switch (library) {
  case Library::Driver: {
    CUresult (*version)(int*) = nullptr;
    return file.find(version, "cuDriverGetVersion") && version(&number) == 0 ? number : 0;
  }
  case Library::Nvrtc: {
    int (*version)(int*, int*) = nullptr;
    int minor = 0;
    if (!file.find(version, "nvrtcVersion") || version(&number, &minor) != 0) return 0;
    return number * 1000 + minor * 10;
  }
  case Library::CublasLt:
  case Library::Cudnn: {
    size_t (*version)() = nullptr;
    const char* name = library == Library::Cudnn ? "cudnnGetVersion" : "cublasLtGetVersion";
    return file.find(version, name) ? static_cast<int64_t>(version()) : 0;
  }
  }
  return 0;
}

/// Returns true if the version number in the library's file names is CUDA's.
bool of_cuda(Library library) { return library == Library::Nvrtc || library == Library::CublasLt; }

/// Returns the major CUDA version of the driver; 0 if there is no driver.
int driver_cuda() {
  auto driver = SharedLibrary::open(Library::Driver);
  return driver ? static_cast<int>(library_version(Library::Driver, **driver) / 1000) : 0;
}

/// A driver runs libraries of older major versions but not of newer ones, which come last.
std::vector<llvm::StringRef> files_for(Library library, int cuda) {
  std::vector<llvm::StringRef> files = library_files(library).vec();
  if (cuda == 0 || !of_cuda(library)) return files;
  std::stable_partition(files.begin(), files.end(), [&](llvm::StringRef file) {
    int major = 0; // of a name without a number, which gives no version
    (void)file.split(".so.").second.split('.').first.getAsInteger(10, major);
    return major <= cuda;
  });
  return files;
}

} // namespace

llvm::StringRef library_name(Library library) {
  constexpr llvm::StringRef kNames[] = {"NVIDIA driver", "NVRTC", "cuBLASLt", "cuDNN"};
  return kNames[static_cast<size_t>(library)];
}

llvm::ArrayRef<llvm::StringRef> library_files(Library library) {
  switch (library) {
  case Library::Driver: return kDriverFiles;
  case Library::Nvrtc: return kNvrtcFiles;
  case Library::CublasLt: return kCublasLtFiles;
  case Library::Cudnn: return kCudnnFiles;
  }
  return {};
}

llvm::ArrayRef<TriedVersion> tried_versions() { return kTried; }

std::vector<std::string> library_folders(const LibraryPlaces& places) {
  std::vector<std::string> folders;
  for (const std::string& root : {places.cuda_home, std::string("/usr/local/cuda")})
    if (!root.empty())
      for (const char* lib : {"/lib64", "/lib"}) folders.push_back(root + lib);
  if (!places.conda_prefix.empty()) folders.push_back(places.conda_prefix + "/lib");
  for (llvm::StringRef packages : split_path(places.python_path))
    add_packages(packages.str(), folders);
  for (const std::string& prefix : {places.virtual_env, places.conda_prefix})
    add_wheels(prefix, folders);
  for (const std::string& prefix : python_prefixes(places.path)) add_wheels(prefix, folders);
  add_wheels(places.home.empty() ? "" : places.home + "/.local", folders);
  add_wheels("/usr/local", folders);
  add_wheels("/usr", folders);
  return folders;
}

std::vector<std::string> library_candidates(Library library, const LibraryPlaces& places,
                                            int cuda) {
  std::vector<std::string> candidates;
  auto add = [&](llvm::StringRef folder, llvm::StringRef file) {
    std::string path = (folder + "/" + file).str();
    if (llvm::sys::fs::exists(path)) candidates.push_back(std::move(path));
  };
  // Folders given by the user, in any version. Not for the driver:
  // folders of stubs for linking are in the same variables.
  if (library != Library::Driver) {
    for (llvm::StringRef folder : split_path(places.library_path))
      for (llvm::StringRef file : library_files(library)) add(folder, file);
    for (const char* lib : {"/lib64", "/lib"})
      for (llvm::StringRef file : library_files(library))
        if (!places.cuda_home.empty()) add(places.cuda_home + lib, file);
  }
  std::vector<std::string> folders = library_folders(places);
  for (llvm::StringRef file : files_for(library, cuda)) {
    candidates.push_back(file.str()); // the system's search path
    for (const std::string& folder : folders) add(folder, file);
  }
  return candidates;
}

Result<std::unique_ptr<SharedLibrary>> SharedLibrary::open(Library library) {
  std::string reason;
  int cuda = of_cuda(library) ? driver_cuda() : 0;
  for (const std::string& path :
       library_candidates(library, library_places_of_environment(), cuda)) {
    // Never unloaded before the process ends: these libraries leave state behind,
    // which then stays reachable.
    if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE))
      return std::unique_ptr<SharedLibrary>(new SharedLibrary(handle, path));
    // Keeps the first real reason: a file that exists and does not load.
    const char* why = dlerror();
    if (why && reason.empty() && !llvm::StringRef(why).contains("No such file")) reason = why;
  }
  if (!reason.empty())
    return error(Code::no_backend, "{0} cannot be loaded: {1}", library_name(library), reason);
  return error(Code::no_backend, "{0} is not found ({1})", library_name(library),
               library_files(library)[0]);
}

SharedLibrary::~SharedLibrary() { dlclose(handle_); }

void* SharedLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

std::string version_text(Library library, int64_t n) {
  auto text = [](int64_t a, int64_t b, int64_t c) {
    std::string result = std::to_string(a) + "." + std::to_string(b);
    return c > 0 ? result + "." + std::to_string(c) : result;
  };
  switch (library) {
  case Library::Driver:
  case Library::Nvrtc: return text(n / 1000, n % 1000 / 10, 0);
  case Library::CublasLt: // 110605 up to 11, 120100 and 130001 since
    return text(n / 10000, n % 10000 / 100, n % 100);
  case Library::Cudnn:
    return n >= 10000 ? text(n / 10000, n % 10000 / 100, n % 100)
                      : text(n / 1000, n % 1000 / 100, n % 100);
  }
  return "";
}

Installation find_installation() {
  Installation installation;
  for (Library library : {Library::Driver, Library::Nvrtc, Library::CublasLt, Library::Cudnn}) {
    FoundLibrary found{library, "", "", Tried::Not};
    auto file = SharedLibrary::open(library);
    if (!file) {
      found.problem = with_help(file.error());
    } else if (int64_t number = library_version(library, **file)) {
      found.version = version_text(library, number);
      found.tried = tried_as(library, found.version);
    } else {
      found.problem = (library_name(library) + " does not report its version").str();
    }
    installation.libraries.push_back(std::move(found));
  }
  auto gpus = list_gpus();
  if (gpus)
    installation.gpus = std::move(*gpus);
  else
    installation.problem = with_help(gpus.error());
  if (installation.problem.empty() && !installation.libraries[1].problem.empty())
    installation.problem = installation.libraries[1].problem + ", which compiles kernels";
  if (installation.problem.empty()) find_targets(installation);
  return installation;
}

} // namespace tg::cuda
