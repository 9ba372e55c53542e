// Tests tensors whose elements are in files beside the model.
#include <gtest/gtest.h>

#include "tests/unit/import/small_models.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

#include <sys/stat.h>
#include <unistd.h>

namespace tg::onnx {
namespace {

namespace fs = llvm::sys::fs;

/// A folder that contains a model's folder `m`, with eight floats 0, 1, … in its `data.bin`.
class ExternalFiles : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(fs::createUniqueDirectory("tangram_external", made));
    top_ = made.str().str();
    folder_ = top_ + "/m";
    ASSERT_FALSE(fs::create_directory(folder_));
    ASSERT_FALSE(fs::create_directory(top_ + "/m2"));
    for (const char* name : {"/m/data.bin", "/secret.bin", "/m2/secret.bin"}) write(top_ + name);
  }
  void TearDown() override { fs::remove_directories(top_); }

  static void write(const std::string& path) {
    std::error_code why;
    llvm::raw_fd_ostream out(path, why);
    for (int i = 0; i < 8; ++i) {
      auto value = static_cast<float>(i);
      out.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }

  Result<std::vector<double>> read(const schema::Tensor& t) const {
    file_ = file_of(model_of({t}), folder_);
    return file_->doubles(file_->model().graph().initializer(0));
  }
  Result<std::vector<double>> read(const std::string& location, int64_t count = 2) const {
    return read(external({{"location", location.c_str()}}, count));
  }

  std::string top_, folder_;
  mutable std::shared_ptr<const ModelFile> file_;
};

TEST_F(ExternalFiles, AreReadAtTheirPlaces) {
  auto values = read(external({{"location", "data.bin"}, {"offset", "8"}, {"length", "8"}}, 2));
  ASSERT_TRUE(values) << message_of(values);
  EXPECT_EQ(*values, (std::vector<double>{2, 3}));
  EXPECT_EQ(*read("./data.bin"), (std::vector<double>{0, 1}));
  EXPECT_TRUE(read("data.bin", 8));
}

TEST_F(ExternalFiles, AreFoundBesideTheModelThatIsOpened) {
  std::string path = folder_ + "/model.onnx";
  {
    std::error_code why;
    llvm::raw_fd_ostream out(path, why);
    out << model_of({external({{"location", "data.bin"}}, 8)}).SerializeAsString();
  }
  auto file = ModelFile::open(path);
  ASSERT_TRUE(file) << message_of(file);
  EXPECT_TRUE((*file)->doubles((*file)->model().graph().initializer(0)));
  EXPECT_EQ(ModelFile::open(folder_ + "/none.onnx").error().code, Code::cannot_read);
}

TEST_F(ExternalFiles, OutsideOfTheFolderAreRefused) {
  ASSERT_EQ(symlink("../secret.bin", (folder_ + "/link.bin").c_str()), 0);
  ASSERT_EQ(symlink("..", (folder_ + "/up").c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder_ + "/zero").c_str()), 0);
  const std::string outside[] = {"../secret.bin",
                                 "../m/data.bin",
                                 "./../secret.bin",
                                 top_ + "/secret.bin",
                                 folder_ + "/data.bin",
                                 "link.bin",
                                 "up/secret.bin",
                                 "up/m2/secret.bin",
                                 "zero",
                                 "",
                                 ".",
                                 "..",
                                 "a\\..\\b",
                                 "C:/x"};
  for (const std::string& location : outside) {
    auto values = read(location);
    ASSERT_FALSE(values) << location;
    EXPECT_NE(values.error().message.find("tensor `w`"), std::string::npos);
  }
  EXPECT_EQ(message_of(read("link.bin")), "`m.onnx`: tensor `w`: its external data `link.bin` is "
                                          "not a path to a file in the model's folder");
}

TEST_F(ExternalFiles, LinksWithinTheFolderAreFollowed) {
  ASSERT_EQ(symlink("data.bin", (folder_ + "/other.bin").c_str()), 0);
  ASSERT_EQ(symlink(folder_.c_str(), (top_ + "/alias").c_str()), 0);
  EXPECT_TRUE(read("other.bin"));
  folder_ = top_ + "/alias";
  EXPECT_TRUE(read("data.bin"));
}

TEST_F(ExternalFiles, NamesMissingFilesAndFilesThatAreNotRegular) {
  auto missing = read("none.bin");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::cannot_read);
  EXPECT_EQ(missing.error().message, "`m.onnx`: tensor `w`: its external data `" + folder_ +
                                         "/none.bin` cannot be read: No such file or directory");
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(message_of(read("pipe")).find("it is not a regular file"), std::string::npos);
}

TEST_F(ExternalFiles, RefusesFilesThatAreTooShort) {
  EXPECT_EQ(message_of(read("data.bin", 9)),
            "`m.onnx`: tensor `w`: its external data `data.bin` has 32 bytes, but the model "
            "requires 36 from byte 0 on");
  EXPECT_FALSE(read(external({{"location", "data.bin"}, {"offset", "28"}}, 2)));
  EXPECT_FALSE(read(external({{"location", "data.bin"}, {"offset", "18446744073709551615"}}, 2)));
  EXPECT_FALSE(read(external({{"location", "data.bin"}, {"length", "12"}}, 2)));
}

TEST_F(ExternalFiles, RefusesMalformedReferences) {
  EXPECT_FALSE(read(external({}, 2)));
  EXPECT_FALSE(read(external({{"location", "data.bin"}, {"offset", "-4"}}, 2)));
  EXPECT_FALSE(read(external({{"location", "data.bin"}, {"offset", ""}}, 2)));
  EXPECT_FALSE(read(external({{"location", "data.bin"}, {"location", "data.bin"}}, 2)));
  schema::Tensor both = floats("w", 2);
  both.set_data_location(schema::Tensor::EXTERNAL);
  EXPECT_FALSE(read(both));
}

TEST_F(ExternalFiles, RefusesExternalDataOfAModelInMemory) {
  folder_ = "";
  EXPECT_NE(message_of(read("data.bin")).find("requires a model that is read from a file"),
            std::string::npos);
}

} // namespace
} // namespace tg::onnx
