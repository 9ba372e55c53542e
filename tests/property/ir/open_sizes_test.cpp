// Checks of models with open sizes against instantiation: random models with random ranges. A model
// that the check accepts instantiates at random sizes of the ranges and at their ends. A model that
// it refuses at sizes that it names does not instantiate there. Generated models are of each family
// of shape rules and of the constructs of the language that read sizes.
#include "compiler/ir/open_check.h"
#include "lang/check/check.h"
#include "lang/check/size_range.h"
#include "tests/unit/ir/ir_test.h"

#include <random>

namespace tg {
namespace {

using Random = std::mt19937_64;

class Models {
public:
  explicit Models(uint64_t seed) : random_(seed) {}

  std::string next() {
    std::string body;
    rank_ = 2;
    for (int64_t steps = pick(1, 5); steps > 0; --steps) body += "  " + step() + "\n";
    std::string out = "fn twice(x: f32[A, B]) -> f32[2 * A, B] { concat([x, x], axis = 0) }\n"
                      "fn same_rows(x: f32[A, B], y: f32[A, C]) { concat([x, y], axis = 1) }\n"
                      "model m(x: f32[" +
                      size() + ", " + size() + "], y: f32[" + size() + ", " + size() + "], " +
                      range("N") + ", " + range("M") + ") {\n  var z = x\n";
    return out + body + "  z\n}\n";
  }

private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  std::string number(int64_t low, int64_t high) { return std::to_string(pick(low, high)); }
  template <size_t N> std::string one_of(const char* const (&list)[N]) {
    return list[pick(0, static_cast<int64_t>(N) - 1)];
  }

  std::string range(const std::string& name) {
    int64_t least = pick(0, 3), most = least + pick(0, 20);
    bool endless = pick(0, 3) == 0;
    return name + ": int in " + std::to_string(least) + ".." +
           (endless ? "" : std::to_string(most)) + " = " +
           std::to_string(pick(least, endless ? least + 9 : most));
  }
  std::string size() {
    static const char* const kSizes[] = {"N", "M", "N", "M", "4", "1", "2 * N", "N + M", "N + 1"};
    return one_of(kSizes);
  }
  /// A compile-time integer of sizes.
  std::string integer() {
    static const char* const kIntegers[] = {"N",
                                            "M",
                                            "dim(z, 0)",
                                            "dim(z, 1)",
                                            "dim(z, 0) // 2",
                                            "N // 2",
                                            "min(N, M)",
                                            "max(N, 2)",
                                            "N % 3 + 1",
                                            "dim(z, 1) / 2",
                                            "abs(N - M)",
                                            "sum(shape(z))",
                                            "prod(shape(z))",
                                            "floor(N * 0.5)",
                                            "2"};
    return one_of(kIntegers);
  }

  std::string step() {
    switch (pick(0, 17)) {
    case 0: return "z = z + y";
    case 1: return "z = z @ transpose(" + std::string(pick(0, 1) ? "z" : "y") + ")";
    case 2: return "z = reshape(z, [" + integer() + ", -1])";
    case 3: return "z = reshape(z, [dim(z, 1), dim(z, 0)])";
    case 4: return "z = z[" + std::string(pick(0, 1) ? "" : "1") + ":" + integer() + ", :]";
    case 5: return "z = concat([z, y], axis = " + number(0, 1) + ")";
    case 6: return "z = twice(z)";
    case 7: return "z = same_rows(z, y)";
    case 8: return "z = split(z, axis = 1, parts = " + number(1, 3) + ")[0]";
    case 9:
      return "z = if " + integer() + " " + one_of({"<", "==", ">="}) + " " + integer() +
             " { z } else { relu(z) + 1 }";
    case 10:
      return "z = pad(z, before = [" + number(0, 1) + ", 0], after = [0, " + integer() + "])";
    case 11:
      return "z = reduce_sum(z, axes = [1], keepdims = true) + zeros([1, " + integer() + "])";
    case 12:
      return "z = max_pool2d(reshape(z, [1, 1, dim(z, 0), dim(z, 1)]), kernel = " + number(1, 3) +
             ", stride = " + number(1, 2) + ", pad = " + one_of({"valid", "same"}) + ")[0, 0]";
    case 13:
      return "z = windows(z, axis = 1, size = " + number(1, 3) + ", step = " + number(1, 2) +
             ")[:, :, 0]";
    case 14: return "z = z[:, ::" + number(1, 3) + "]";
    case 15: return "z = z + iota(" + integer() + ")";
    case 16: return "for i in 0.." + std::string(pick(0, 3) ? "2" : integer()) + " { z = z * i }";
    default: return "z = z * (1.0 / " + integer() + ")";
    }
  }
  std::string one_of(std::initializer_list<const char*> list) {
    return list.begin()[pick(0, static_cast<int64_t>(list.size()) - 1)];
  }

  Random random_;
  int64_t rank_ = 2;
};

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
