// Tests writes of whole files: a file is replaced completely or stays unchanged.
// Pipes and devices are written in place.
#include "lang/core/support/data_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>

namespace tg {
namespace {

namespace fs = std::filesystem;

class DataFile : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tg-data-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  static Result<void> write(const std::string& path, llvm::StringRef text) {
    return write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
      out << text;
      return {};
    });
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(DataFile, StaysAsItWasWhenWritingFails) {
  ASSERT_TRUE(write(path("f"), "before"));
  auto written = write_data_file(path("f"), [](llvm::raw_ostream& out) -> Result<void> {
    out << "half";
    return error(Code::internal, "no more");
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "no more");
  EXPECT_EQ(read(path("f")), "before");
  EXPECT_EQ(files(), 1u); // no temporary file is left
}

TEST_F(DataFile, LinksStayLinks) {
  ASSERT_TRUE(write(path("f"), "before"));
  fs::create_symlink(path("f"), path("link"));
  ASSERT_TRUE(write(path("link"), "after"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("f")), "after");
}

TEST_F(DataFile, PipesAndDevicesAreWrittenToInPlace) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read(path("pipe")); });
  EXPECT_TRUE(write(path("pipe"), "text"));
  reader.join();
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  auto full = write("/dev/full", "text");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "cannot write `/dev/full`: No space left on device");
}

TEST_F(DataFile, ReportsInAdvanceThatAPathCannotBeWritten) {
  EXPECT_TRUE(check_writable(path("new")));
  ASSERT_TRUE(write(path("f"), "before"));
  EXPECT_TRUE(check_writable(path("f")));
  EXPECT_TRUE(check_writable("/dev/null"));
  EXPECT_EQ(read(path("f")), "before");
  EXPECT_EQ(files(), 1u);
  for (const std::string& cannot : {folder_.string(), path("nowhere/f"), path("f/below")}) {
    auto asked = check_writable(cannot), written = write(cannot, "text");
    ASSERT_FALSE(asked) << cannot;
    ASSERT_FALSE(written) << cannot;
    EXPECT_EQ(asked.error().code, Code::cannot_write);
    EXPECT_EQ(asked.error().message, written.error().message);
  }
}

} // namespace
} // namespace tg
