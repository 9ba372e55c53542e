// Tests the steps to which CUDA lowers resize against the operator by `ref`.
#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"
#include "tests/unit/random_draws.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

std::vector<Tensor> outputs_of(const Plan& plan) {
  auto executable = make_ref_backend()->compile(plan, {});
  EXPECT_TRUE(executable.ok());
  auto inputs = random_inputs(plan, 7);
  EXPECT_TRUE(inputs.ok() && (*executable)->bind_inputs(*inputs).ok());
  EXPECT_TRUE((*executable)->run_once().ok());
  auto outputs = (*executable)->outputs();
  EXPECT_TRUE(outputs.ok());
  return std::move(*outputs);
}

Plan random_resize(RandomDraws& r) {
  PlanWriter w;
  Shape shape = {r.in(1, 3), r.in(1, 6), r.in(1, 9), r.in(1, 9)}, sizes;
  for (int64_t count = r.in(1, 4); count > 0; --count) sizes.push_back(r.in(1, 12));
  const char* mode = r.of({"nearest", "linear", "cubic"});
  bool antialias = mode != std::string("nearest") && r.coin();
  PlanValueId y =
      w.run(OpKind::Resize,
            {Value::of_ints(sizes), Value::of_string(mode),
             Value::of_string(r.of({"half_pixel", "align_corners", "asymmetric"})),
             Value::of_floats({}), Value::of_string("round_prefer_floor"), Value::of_float(-0.75),
             Value::of_bool(antialias), Value::of_bool(false), Value::of_floats({})},
            {w.input("x", shape)});
  w.output("y", y);
  return w.finish();
}

TEST(CudaResize, IsGathersSumsAndProducts) {
  RandomDraws r(53);
  bool gathered = false, summed = false, multiplied = false;
  for (int round = 0; round < 100; ++round) {
    Plan plan = random_resize(r), pieces = cuda::expand_operators(plan).plan;
    ASSERT_EQ(verify(pieces), "");
    for (const PlanStep& step : pieces.steps) {
      ASSERT_NE(step.op, OpKind::Resize);
      gathered |= step.op == OpKind::Gather;
      summed |= step.op == OpKind::Add;
      multiplied |= step.op == OpKind::Matmul;
    }
    ASSERT_LE(max_rel_diff(outputs_of(pieces)[0], outputs_of(plan)[0]), 1e-5) << dump(plan);
  }
  EXPECT_TRUE(gathered && summed && multiplied);
}

} // namespace
} // namespace tg::test
