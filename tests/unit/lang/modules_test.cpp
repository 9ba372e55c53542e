// Tests modules: the names visible to a file, library folders, cycles, and name checks across
// files.
#include "lang/check/check.h"
#include "lang/check/modules.h"
#include "lang/check/resolve.h"

#include <gtest/gtest.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

namespace tg {
namespace {

constexpr EmbeddedFile kFiles[] = {
    {"rules/a.tg", "ruleset a"},
    {"stdlib/math.tg", "use std.more: cube\nfn square(x: f32[N]) { x * x }\n"
                       "fn sixth(x: f32[N]) { square(cube(x)) }"},
    {"stdlib/more.tg", "fn cube(x: f32[N]) { x * x * x }"},
};

struct Loaded {
  SourceManager sources;
  EmbeddedLoader loader{kFiles};
  DiagnosticSink sink;
  Program program;
  explicit Loaded(std::string text) {
    program = load_program(sources, loader, sources.add("main.tg", std::move(text)), sink);
    if (!sink.failed()) (void)check_names(program, sink);
  }
  std::string errors() const {
    std::string text;
    for (const Diagnostic& d : sink.all())
      text += code_text(d.code) + ": " + d.message + (d.help.empty() ? "" : " | " + d.help) + "\n";
    return text;
  }
};

TEST(Modules, NamesThatAModuleSees) {
  Loaded some("use std.math: sixth\nfn own(x: f32[N]) { sixth(x) }");
  EXPECT_EQ(some.errors(), "");
  EXPECT_EQ(some.program.modules.size(), 3u);
  EXPECT_EQ(some.program.modules[0].names.count("sixth"), 1u);
  EXPECT_EQ(some.program.modules[0].names.count("square"), 0u); // not imported
  Loaded all("use std.math\nfn own(x: f32[N]) { square(sixth(x)) }");
  EXPECT_EQ(all.errors(), "");
  EXPECT_EQ(all.program.modules[0].names.count("cube"), 0u); // not defined there
}

TEST(Modules, RuleSetsAreNotModules) {
  EXPECT_EQ(Loaded("use rules.a\nmodel m(x: f32[2]) { x }").errors(), "");
}

TEST(Modules, ReportsUnknownModulesAndFunctions) {
  EXPECT_EQ(Loaded("use std.mat: square").errors(),
            "E0208: unknown module `std.mat` | did you mean `std.math`?\n");
  EXPECT_EQ(Loaded("use std.math: sqare").errors(),
            "E0201: `std.math` has no function `sqare` | did you mean `square`?\n");
  EXPECT_EQ(Loaded("use std.math: cube").errors(), "E0201: `std.math` has no function `cube`\n");
  EXPECT_EQ(Loaded("use ./nothing: f").errors(), "E0208: unknown module `./nothing`\n");
}

TEST(Modules, TheLibraryIsSuggested) {
  EXPECT_EQ(Loaded("model m(x: f32[2]) { cube(x) }").errors(),
            "E0201: unknown function `cube` | it is in the library: use std.more: cube\n");
}

TEST(Modules, NamesTwice) {
  Loaded b("use std.math: square\nfn square(x: f32[N]) { x }");
  EXPECT_EQ(b.errors(), "E0202: `square` is defined twice\n");
  EXPECT_EQ(Loaded("use std.math: square\nuse std.math: square").errors(), "");
}

TEST(Modules, AFolderComesBeforeTheEmbeddedFiles) {
  llvm::SmallString<128> dir;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram", dir));
  llvm::SmallString<128> file(dir);
  llvm::sys::path::append(file, "stdlib");
  ASSERT_FALSE(llvm::sys::fs::create_directory(file));
  llvm::sys::path::append(file, "math.tg");
  std::error_code ec;
  llvm::raw_fd_ostream(file, ec) << "fn changed(x: f32[N]) { x }";
  EmbeddedLoader loader(kFiles, dir.str().str());
  EXPECT_EQ(loader.read("stdlib/math.tg"), "fn changed(x: f32[N]) { x }");
  EXPECT_EQ(loader.read("stdlib/more.tg"), kFiles[2].text.str());
  EXPECT_EQ(loader.read("stdlib/none.tg"), std::nullopt);
  EXPECT_EQ(loader.list("stdlib"), (std::vector<std::string>{"stdlib/math.tg", "stdlib/more.tg"}));
  ASSERT_FALSE(llvm::sys::fs::remove_directories(dir));
}

TEST(Modules, FindModel) {
  Loaded none("fn f(x: f32[N]) { x }"), one("model a(x: f32[2]) { x }");
  Loaded two("model alpha(x: f32[2]) { x }\nmodel beta(x: f32[2]) { x }");
  EXPECT_FALSE(none.program.find_model(""));
  EXPECT_TRUE(one.program.find_model(""));
  EXPECT_FALSE(two.program.find_model(""));
  EXPECT_EQ(two.program.decl(*two.program.find_model("beta")).name.text, "beta");
  EXPECT_EQ(two.program.find_model("alpa").error().help, "did you mean `alpha`?");
}

TEST(CheckNames, OneUnknownNameIsReportedOnce) {
  EXPECT_EQ(Loaded("fn f(x: f32[N]) { widht + widht * other(widht) }").errors(),
            "E0201: unknown name `widht`\nE0201: unknown function `other`\n");
}

TEST(CheckNames, ScopesEndWithTheirBlocks) {
  EXPECT_EQ(Loaded("fn f(x: f32[N]) {\n for i in 0..2 { let y = x }\n if N > 1 { let z = x\n z } "
                   "else { x }\n y + z + i\n}")
                .errors(),
            "E0201: unknown name `y`\nE0201: unknown name `z`\nE0201: unknown name `i`\n");
  // A body may shadow a parameter, and an inner block may shadow an outer name.
  EXPECT_EQ(
      Loaded("fn f(x: f32[N]) {\n let x = relu(x)\n for i in 0..2 { let x = i }\n x\n}").errors(),
      "");
}

TEST(CheckNames, OperatorsTakePositionsByKind) {
  EXPECT_EQ(
      Loaded("fn f(x: f32[N, D], w: f32[D, D]) {\n"
             "  matmul(x, w, relu) + matmul(x, w, residual = x) + softmax(x, 1) +\n"
             "  concat(x, x, axis = 0) + concat([x, x], 0) + fused_map(x, body = \"relu($0)\")\n}")
          .errors(),
      "");
  EXPECT_EQ(
      Loaded("fn f(x: f32[N]) { matmul(x) + concat(x) + relu(x, x, x) }").errors(),
      "E0204: `matmul` requires the argument `y` | it takes x, y, bias = none, residual = none, "
      "act = none\nE0204: `concat` requires the argument `axis` | it takes xs..., axis\n"
      "E0205: `relu` takes 1 argument, not 3\n");
}

} // namespace
} // namespace tg
