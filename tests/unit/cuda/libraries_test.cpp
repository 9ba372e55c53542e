// Tests the search for NVIDIA's libraries and the parsing of their versions.
// A machine without the libraries gets reasons and no failure.
#include "runtime/cuda/device/driver_api.h"
#include "runtime/cuda/device/libraries.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <gtest/gtest.h>

#include <fstream>

namespace tg::cuda {
namespace {

TEST(Libraries, VersionsReadAsTheirMakersWriteThem) {
  EXPECT_EQ(version_text(Library::Driver, 13000), "13.0");
  EXPECT_EQ(version_text(Library::Driver, 12040), "12.4");
  EXPECT_EQ(version_text(Library::CublasLt, 130001), "13.0.1");
  EXPECT_EQ(version_text(Library::CublasLt, 120805), "12.8.5");
  EXPECT_EQ(version_text(Library::Cudnn, 91300), "9.13");
  EXPECT_EQ(version_text(Library::Cudnn, 8907), "8.9.7");
}

/// A folder that is removed after its test. make() creates a folder inside it.
struct Scratch {
  Scratch() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-libraries", root)); }
  ~Scratch() { llvm::sys::fs::remove_directories(root); }
  std::string path(const char* below) const { return (root + "/" + below).str(); }
  std::string make(const char* below) const {
    EXPECT_FALSE(llvm::sys::fs::create_directories(path(below)));
    return path(below);
  }
  llvm::SmallString<128> root;
};

TEST(Libraries, AreLookedForInWheels) {
  Scratch scratch;
  std::string cudnn = scratch.make("venv/lib/python3.12/site-packages/nvidia/cudnn/lib"),
              conda = scratch.make("conda/lib/python3.11/site-packages/nvidia/cublas/lib"),
              target = scratch.make("target/nvidia/cuda_nvrtc/lib");
  LibraryPlaces places;
  places.cuda_home = "/opt/cuda";
  places.virtual_env = scratch.path("venv");
  places.conda_prefix = scratch.path("conda");
  places.python_path = "/nowhere:" + scratch.path("target");
  std::vector<std::string> folders = library_folders(places);
  EXPECT_EQ(folders[0], "/opt/cuda/lib64");
  for (const std::string& wanted : {cudnn, conda, target, scratch.path("conda/lib")})
    EXPECT_TRUE(llvm::is_contained(folders, wanted)) << wanted;
}

/// An environment that is on PATH without activation, whose python3 links to the system's;
/// and one that PATH reaches through links.
TEST(Libraries, AreLookedForAroundThePythonOfPath) {
  Scratch scratch;
  std::string lib = scratch.make("env/lib/python3.12/site-packages/nvidia/cu13/lib");
  scratch.make("env/bin");
  scratch.make("links");
  scratch.make("system");
  { std::ofstream(scratch.path("system/python3.12")) << ""; }
  auto link = [&](const char* to, const char* from) {
    EXPECT_FALSE(llvm::sys::fs::create_link(to, scratch.path(from)));
  };
  link("../../system/python3.12", "env/bin/python3");
  link("../env/bin/python3", "links/python3");
  for (const char* folder : {"env/bin", "links"}) {
    LibraryPlaces places;
    places.path = "/nowhere:" + scratch.path(folder) + ":/usr/bin";
    EXPECT_TRUE(llvm::is_contained(library_folders(places), lib)) << folder;
  }
  link("python3", "system/python3"); // a cycle of links ends
  LibraryPlaces circle;
  circle.path = scratch.path("system");
  EXPECT_FALSE(llvm::is_contained(library_folders(circle), lib));
}

/// A library in a folder that a variable names is accepted in any version.
/// The driver is the system's.
TEST(Libraries, SearchFoldersOfVariablesFirst) {
  Scratch scratch;
  for (const char* folder : {"old", "venv/lib/python3.12/site-packages/nvidia/cu13/lib"})
    scratch.make(folder);
  auto file = [&](const char* name) {
    std::ofstream(scratch.path(name)) << "";
    return scratch.path(name);
  };
  file("old/libcuda.so"); // for the linker
  std::string old = file("old/libnvrtc.so.12"),
              wheel = file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  LibraryPlaces places;
  places.virtual_env = scratch.path("venv");
  std::vector<std::string> newest = library_candidates(Library::Nvrtc, places);
  EXPECT_EQ(newest[0], "libnvrtc.so.13");
  EXPECT_TRUE(llvm::is_contained(newest, wheel));
  places.library_path = scratch.path("old");
  std::vector<std::string> named = library_candidates(Library::Nvrtc, places);
  EXPECT_EQ(named[0], old);
  EXPECT_EQ(named[1], "libnvrtc.so.13");
  EXPECT_EQ(library_candidates(Library::Driver, places)[0], "libcuda.so.1");
}

/// NVRTC 13 produces code that a driver for CUDA 12 cannot load.
TEST(Libraries, ThoseNewerThanTheDriverComeLast) {
  using Names = std::vector<std::string>;
  auto names = [](Library library, int cuda) {
    Names found = library_candidates(library, {}, cuda);
    llvm::erase_if(found, [](const std::string& name) { return llvm::is_contained(name, '/'); });
    return found;
  };
  EXPECT_EQ(names(Library::Nvrtc, 12),
            (Names{"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", "libnvrtc.so.13"}));
  EXPECT_EQ(names(Library::CublasLt, 11)[0], "libcublasLt.so.11");
  for (int cuda : {0, 13, 14}) EXPECT_EQ(names(Library::CublasLt, cuda)[0], "libcublasLt.so.13");
  EXPECT_EQ(names(Library::Cudnn, 8)[0], "libcudnn.so.9") << "its numbers are its own";
}

TEST(Libraries, HaveAReasonIfMissing) {
  Installation installation = find_installation();
  ASSERT_EQ(installation.libraries.size(), 4u);
  for (const FoundLibrary& library : installation.libraries)
    EXPECT_NE(library.version.empty(), library.problem.empty())
        << library_name(library.library).str();
  EXPECT_NE(installation.gpus.empty(), list_gpus().ok());
  EXPECT_TRUE(!installation.gpus.empty() || !installation.problem.empty());
}

} // namespace
} // namespace tg::cuda
