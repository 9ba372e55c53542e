// Tests which steps become one launch if no library runs them: neighbours that do not depend
// on each other. They are executed on the processor against `ref`.
#include "tests/unit/cuda/cpp_target.h"
#include "tests/unit/runtime/plan_writer.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::test {
namespace {

bool products(const PlanStep& step) { return step.op == OpKind::Matmul; }

class Network {
public:
  PlanValueId product(PlanValueId x, PlanValueId y) {
    return w.run(OpKind::Matmul, {Value::of_enum("none")}, {x, y, kNoValue, kNoValue});
  }
  PlanValueId of(OpKind op, PlanValueId x) { return w.run(op, {}, {x}); }

  /// Returns the number of generated kernels, and expects correct results.
  size_t kernels() {
    Generated g = generate_all(w.finish(), products);
    CppLibrary library;
    library.compile(sources_of(g));
    EXPECT_LE(difference(g, library), 1e-4) << texts(g);
    return sources_of(g).size();
  }

  PlanWriter w;
};

TEST(Fusion, ReadersOfOneValueAreOneLaunch) {
  Network n;
  PlanValueId x = n.product(n.w.input("x", {8, 16}), n.w.weight("w", {16, 16}));
  n.w.output("a", n.of(OpKind::Exp, x));
  n.w.output("b", n.of(OpKind::Tanh, x));
  n.w.output("c", n.of(OpKind::Relu, n.of(OpKind::Neg, x)));
  EXPECT_EQ(n.kernels(), 1u);
}

TEST(Fusion, OperandsOfOneStepAreOneLaunch) {
  Network n;
  PlanValueId x = n.of(OpKind::Exp, n.w.input("x", {16, 16}));
  PlanValueId y = n.of(OpKind::Tanh, n.w.input("y", {16, 16}));
  n.w.output("z", n.product(x, y));
  EXPECT_EQ(n.kernels(), 1u);
}

TEST(Fusion, LaunchesOperatorsThatWaitForAnotherSeparately) {
  Network n;
  PlanValueId x = n.product(n.w.input("x", {16, 16}), n.w.weight("w", {16, 16}));
  PlanValueId first = n.product(n.of(OpKind::Exp, x), n.w.weight("v", {16, 16}));
  n.w.output("a", n.w.run(OpKind::Mul, {}, {x, first}));
  EXPECT_EQ(n.kernels(), 2u) << "one of `exp`, one behind its product";
}

TEST(Fusion, OtherDomainsAreOtherLaunches) {
  Network n;
  PlanValueId x = n.product(n.w.input("x", {8, 16}), n.w.weight("w", {16, 16}));
  n.w.output("a", n.of(OpKind::Exp, x));
  n.w.output("b", n.w.run(OpKind::Slice, {Value::of_int(1), Value::of_int(3), Value::of_int(9)},
                          {n.of(OpKind::Tanh, x)}));
  EXPECT_EQ(n.kernels(), 2u);
}

} // namespace
} // namespace tg::test
