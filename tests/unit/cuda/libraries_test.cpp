// Where NVIDIA's libraries are looked for, how their versions read, and that a machine without them
// gives reasons and no failure.
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/libraries.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <gtest/gtest.h>

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

TEST(Libraries, AreLookedForInWheels) {
  llvm::SmallString<128> root;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-venv", root));
  std::string lib = (root + "/lib/python3.12/site-packages/nvidia/cudnn/lib").str();
  ASSERT_FALSE(llvm::sys::fs::create_directories(lib));
  std::vector<std::string> folders = library_folders({"/opt/cuda", root.str().str(), ""});
  EXPECT_EQ(folders[0], "/opt/cuda/lib64");
  EXPECT_TRUE(llvm::is_contained(folders, lib));
  llvm::sys::fs::remove_directories(root);
}

TEST(Libraries, WhatIsMissingHasAReason) {
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
