// Random models with two open sizes, N and M, of each family of shape rules and of the constructs
// of the language that read sizes. Many have errors at some or all sizes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace tg::test {

using Random = std::mt19937_64;

class Models {
public:
  explicit Models(uint64_t seed) : random_(seed) {}

  /// `last`: a further statement.
  std::string next(const std::string& last = "") {
    std::string body;
    for (int64_t steps = pick(1, 5); steps > 0; --steps) body += "  " + step() + "\n";
    std::string out = "fn twice(x: f32[A, B]) -> f32[2 * A, B] { concat([x, x], axis = 0) }\n"
                      "fn same_rows(x: f32[A, B], y: f32[A, C]) { concat([x, y], axis = 1) }\n"
                      "model m(x: f32[" +
                      size() + ", " + size() + "], y: f32[" + size() + ", " + size() + "], " +
                      range("N") + ", " + range("M") + ") {\n  var z = x\n";
    return out + body + last + "  z\n}\n";
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
};

} // namespace tg::test
