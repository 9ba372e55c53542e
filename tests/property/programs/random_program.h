// Random well-typed programs as text: models that call functions with dimension variables, weights,
// tuples, loops, conditions, compile-time arithmetic, slices and splits,
// formatted irregularly and commented. Types are tracked as text: a dimension is an expression
// (`N`, `4`, `D - 1`), and two are equal if their text is, so that one generator serves bodies over
// variables and over numbers. Values stay moderate, since they are squashed before products.
#pragma once

#include "lang/core/support/random.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tg::test {

class RandomProgram {
public:
  explicit RandomProgram(uint64_t seed) : random_(seed, "program") {
    text_ = "## Seed " + std::to_string(seed) + ".\n\n";
    size_t functions = below(4);
    for (size_t i = 0; i < functions; ++i) function(i);
    model();
  }
  const std::string& text() const { return text_; }

private:
  struct Dim {
    std::string text;
    int64_t size = 0; // in the model; in a function, for one of its calls
  };
  using Shape = std::vector<Dim>;
  struct Var {
    std::string name;
    Shape shape;
  };
  struct Fn {
    std::string name;
    bool widens = false; // takes a width: [N, D] to [N, width]; else [N, D] to [N, D]
  };

  // --- chance ---

  size_t below(size_t n) { return static_cast<size_t>(random_.bits(draws_++) % n); }
  bool coin() { return below(2) == 0; }
  bool rarely() { return below(6) == 0; }
  template <class T> T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  /// Prefers later variables, so that programs become deep. Returns a copy, since vars_ may grow.
  Var pick() { return vars_[std::max(below(vars_.size()), below(vars_.size()))]; }

  // --- layout: legal, not canonical ---

  std::string gap() { return of({" ", " ", "  ", " "}); }
  void line(const std::string& what) {
    if (rarely()) text_ += "\n";
    if (rarely()) text_ += indent() + "# " + of({"a comment", "another one", "-- "}) + "\n";
    text_ += indent() + what;
    if (rarely()) text_ += "   # at the end";
    text_ += "\n";
  }
  std::string indent() { return std::string(depth_ * of<size_t>({2, 2, 4}), ' '); }
  std::string fresh() { return "v" + std::to_string(names_++); }

  // --- types ---

  static std::string written(const Shape& shape) {
    std::string text = "f32[";
    for (const Dim& dim : shape) text += (text.back() == '[' ? "" : ", ") + dim.text;
    return text + "]";
  }
  static bool same(const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i].text != b[i].text) return false;
    return true;
  }
  static Dim number(int64_t size) { return {std::to_string(size), size}; }
  /// Returns another variable of this shape, or the same one.
  Var like(const Var& var) {
    for (int i = 0; i < 8; ++i)
      if (Var other = pick(); same(other.shape, var.shape)) return other;
    return var;
  }

  void bind(const std::string& name, Shape shape) { vars_.push_back({name, std::move(shape)}); }
  void let(const std::string& value, Shape shape) {
    std::string name = fresh();
    line(of({"let ", "let ", "var "}) + name + gap() + "=" + gap() + value);
    bind(name, std::move(shape));
  }

  // --- expressions ---

  std::string unary(const std::string& x) {
    switch (below(7)) {
    case 0: return "relu(" + x + ")";
    case 1: return "tanh(" + x + ")";
    case 2: return "sigmoid(" + x + ")";
    case 3: return "gelu(" + x + ")";
    case 4: return "(-" + x + ")"; // a line cannot start with an operator
    case 5: return x + " * " + of({"0.5", "2", "(1 / 4.0)", "-1.5"});
    default: return "(" + x + gap() + of({"+", "-"}) + " " + of({"0.25", "1", "3e-1"}) + ")";
    }
  }
  std::string binary(const std::string& a, const std::string& b) {
    switch (below(5)) {
    case 0: return a + gap() + "+" + gap() + b;
    case 1: return a + " - " + b;
    case 2: return a + " * tanh(" + b + ")";
    case 3: return "maximum(" + a + "," + gap() + b + ")";
    default: return "(" + a + " + " + b + ") / 2";
    }
  }

  // --- statements ---

  void statement() {
    switch (below(11)) {
    case 0:
    case 1: return apply();
    case 2: return combine();
    case 3: return product();
    case 4: return join();
    case 5: return take_apart();
    case 6: return slice();
    case 7: return loop();
    case 8: return choose();
    case 9: return call();
    default: return reduce();
    }
  }

  void apply() {
    const Var x = pick();
    let(unary(x.name), x.shape);
  }
  void combine() {
    const Var a = pick(), b = like(a);
    let(binary(a.name, b.name), a.shape);
  }
  void product() {
    const Var x = pick();
    Dim width = rarely() ? x.shape.back() : number(static_cast<int64_t>(4 + below(5)));
    std::string w = "w" + std::to_string(names_++);
    std::string more = of({"", "", " (init = normal(0.3))", " (init = uniform(-0.5, 0.5))",
                           " (init = orthogonal(0.7))"});
    line("param " + w + ":" + gap() + written({x.shape.back(), width}) + more);
    Shape shape = x.shape;
    shape.back() = width;
    let(x.name + " @ " + w, shape);
  }
  void join() {
    const Var a = pick(), b = like(a);
    if (a.shape.back().size > 24) return;
    Shape shape = a.shape;
    const Dim& d = a.shape.back();
    shape.back() = {"(" + d.text + " + " + d.text + ")", 2 * d.size};
    let("concat([" + a.name + ", " + b.name + "], axis = " + of({"-1", "1"}) + ")", shape);
  }
  void take_apart() {
    const Var x = pick();
    const Dim& d = x.shape.back();
    if (d.size < 4) return;
    std::string a = fresh(), b = fresh();
    line("let (" + a + ", " + b + ") = split(" + x.name + ", axis = -1, sizes = [2, dim(" + x.name +
         ", -1) - 2])");
    Shape left = x.shape, right = x.shape;
    left.back() = number(2);
    right.back() = {"(" + d.text + " - 2)", d.size - 2};
    bind(a, left);
    bind(b, right);
  }
  void slice() {
    const Var x = pick();
    if (x.shape.back().size < 4) return;
    Shape shape = x.shape;
    shape.back() = number(3);
    let(x.name + of({"[:, 0:3]", "[..., 1:4]", "[:,1 : 4]"}), shape);
  }
  void loop() {
    const Var x = pick();
    std::string z = fresh();
    line("var " + z + " = " + x.name);
    line("for i in 0.." + std::to_string(1 + below(3)) + " {");
    ++depth_;
    line(z + " = " + binary(z, x.name) + (coin() ? " + i" : ""));
    if (coin()) line(z + " = tanh(" + z + ")");
    --depth_;
    line("}");
    bind(z, x.shape);
  }
  void choose() {
    const Var x = pick();
    std::string condition = of({"1 + 1 == 2", "not true", "7 // 2 > 3 or false"});
    if (coin()) condition = "dim(" + x.name + ", 0) % 2 == 0";
    let("if " + condition + " { " + unary(x.name) + " } else { " + unary(x.name) + " }", x.shape);
  }
  void call() {
    if (callable_ == 0) return;
    const Fn& fn = functions_[below(callable_)];
    const Var x = pick();
    if (x.shape[0].size < 4 || x.shape[1].size < 4) return;
    Shape shape = x.shape;
    std::string arguments = x.name;
    if (fn.widens) {
      shape.back() = number(static_cast<int64_t>(4 + below(4)));
      arguments += of({", ", ", width = "}) + shape.back().text;
    }
    let(fn.name + "(" + arguments + ")" + (rarely() ? " as n" + std::to_string(names_) : ""),
        shape);
  }
  void reduce() {
    const Var x = pick();
    if (coin()) return let("softmax(" + x.name + ", axis = " + of({"-1", "0"}) + ")", x.shape);
    std::string name = of({"reduce_mean(", "reduce_max("});
    let(x.name + " - " + name + x.name + ", axes = [1], keepdims = true)", x.shape);
  }

  // --- declarations ---

  void body(size_t statements) {
    ++depth_;
    for (size_t i = 0; i < statements; ++i) statement();
  }

  void function(size_t index) {
    Fn fn{"f" + std::to_string(index), coin()};
    vars_.clear();
    if (coin()) text_ += "\n## What " + fn.name + " does.\n";
    text_ += "fn " + fn.name + "(x: f32[N, D]" + (fn.widens ? ", width: int = 4" : "") + ")" +
             (coin() ? "" : " -> f32[N, " + std::string(fn.widens ? "width" : "D") + "]") +
             of({" ", "\n  where N > 1, D >= 4\n"}) + "{\n";
    bind("x", {{"N", 4}, {"D", 4}});
    body(1 + below(4));
    std::string last = "x";
    for (const Var& var : vars_)
      if (same(var.shape, {{"N", 4}, {"D", 4}})) last = var.name;
    if (fn.widens) {
      line("param out: f32[D, width]");
      last += " @ out";
    }
    line(unary(last));
    --depth_;
    text_ += "}\n";
    functions_.push_back(fn);
    callable_ = functions_.size();
  }

  void model() {
    vars_.clear();
    text_ += std::string(coin() ? "\n" : "") + "model m(x: f32[6, 8], y: f32[4,5]) {\n";
    bind("x", {number(6), number(8)});
    bind("y", {number(4), number(5)});
    body(4 + below(8));
    std::string outputs;
    for (size_t i = 0; i < 3; ++i) {
      const Var var = i == 0 ? vars_.back() : pick();
      outputs += (i ? ", " : "") + unary(var.name);
    }
    line("(" + outputs + ")");
    --depth_;
    text_ += "}\n";
  }

  RandomStream random_;
  uint64_t draws_ = 0;
  std::string text_;
  std::vector<Var> vars_;
  std::vector<Fn> functions_;
  size_t callable_ = 0, names_ = 0, depth_ = 0;
};

} // namespace tg::test
