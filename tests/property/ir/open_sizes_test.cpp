// Checks of models with open sizes against instantiation: random models with random ranges. A model
// that the check accepts instantiates at random sizes of the ranges and at their ends. A model that
// it refuses at sizes that it names does not instantiate there. Generated models are of each family
// of shape rules and of the constructs of the language that read sizes.
#include "compiler/ir/open_check.h"
#include "lang/check/check.h"
#include "lang/check/size_range.h"
#include "tests/property/ir/generic_models.h"
#include "tests/unit/ir/ir_test.h"

#include <random>

namespace tg {
namespace {

using test::Models, test::Random;

/// Parses "for N = 2, M = 3, within …" of a note.
std::optional<ModelSettings> sizes_of_note(llvm::StringRef note) {
  if (!note.consume_front("for ")) return std::nullopt;
  ModelSettings settings;
  note = note.take_until([](char c) { return c == 'w'; });
  llvm::SmallVector<llvm::StringRef, 4> parts;
  note.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [name, number] = part.trim().split(" = ");
    int64_t size = 0;
    if (!name.empty() && !number.getAsInteger(10, size)) settings[name.str()] = Value::of_int(size);
  }
  return settings;
}

struct Checked {
  test::Built built;
  DiagnosticSink sink;
  FnRef model;
  explicit Checked(const std::string& text) : built(text, {{"?", Value::of_int(0)}}) {
    model = *built.program.find_model("");
  }
  bool instantiates(const ModelSettings& settings, std::string& why) {
    DiagnosticSink found;
    bool good =
        instantiate(built.program, "m", settings, std::make_shared<Symbols>(), found).has_value();
    for (const Diagnostic& d : found.all()) why += d.message + "\n";
    return good;
  }
};

TEST(OpenSizes, ChecksAgreeWithInstantiation) {
  bool full = std::getenv("TANGRAM_FULL_TESTS") != nullptr;
  size_t accepted = 0, refused = 0, undecided = 0, rounds = full ? 20'000 : 300;
  Random random(7);
  Models models(11);
  for (size_t round = 0; round < rounds; ++round) {
    std::string text = models.next();
    Checked checked(text);
    const Ast& ast = checked.built.program.module(checked.model).ast;
    if (check_open(checked.built.program, checked.model, checked.sink)) {
      ++accepted;
      for (int i = 0; i < 20; ++i) {
        ModelSettings settings;
        for (const ast::Param& param : ast[checked.built.program.decl(checked.model).params])
          if (std::optional<SizeRange> range = size_range(ast, param)) {
            int64_t most = range->most.value_or(range->least + 60);
            int64_t n = i == 0 ? range->least
                        : i == 1
                            ? most
                            : std::uniform_int_distribution<int64_t>(range->least, most)(random);
            settings[param.name.text.str()] = Value::of_int(n);
          }
        std::string why;
        ASSERT_TRUE(checked.instantiates(settings, why))
            << text << "N = " << settings["N"].number << ", M = " << settings["M"].number << "\n"
            << why;
      }
      continue;
    }
    ASSERT_TRUE(checked.sink.failed()) << text;
    std::optional<ModelSettings> witness;
    for (const Diagnostic& d : checked.sink.all())
      for (const std::string& note : d.notes)
        if (!witness) witness = sizes_of_note(note);
    if (!witness) {
      ++undecided;
      continue;
    }
    ++refused;
    std::string why;
    ASSERT_FALSE(checked.instantiates(*witness, why)) << text << checked.sink.all()[0].message;
  }
  EXPECT_GT(accepted, rounds / 10);
  EXPECT_GT(refused, rounds / 10);
  EXPECT_LT(undecided, rounds / 4);
  std::printf("%zu accepted, %zu refused at sizes, %zu not decided\n", accepted, refused,
              undecided);
}

} // namespace
} // namespace tg
