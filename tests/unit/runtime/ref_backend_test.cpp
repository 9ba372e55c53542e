#include "runtime/convert.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"
#include "runtime/ref/kernels.h"
#include "tests/unit/count_allocations.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg {
namespace {

std::unique_ptr<Executable> compile(const Plan& plan, const CompileOptions& options = {}) {
  Result<std::unique_ptr<Executable>> executable = make_ref_backend()->compile(plan, options);
  EXPECT_TRUE(executable) << executable.error().message;
  return std::move(*executable);
}

Tensor vector(llvm::ArrayRef<float> values) {
  return Tensor::of_floats({static_cast<int64_t>(values.size())}, values);
}

void expect_values(const Tensor& tensor, llvm::ArrayRef<float> want) {
  ASSERT_EQ(tensor.floats().size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ(tensor.floats()[i], want[i]);
}

TEST(RefBackend, RunsLoadStepsOnceAndRunStepsEachTime) {
  PlanWriter p;
  PlanValueId x = p.input("x", {3}), w = p.weight("w", {3}, "ones"), two = p.constant({}, {2});
  PlanValueId doubled = p.load(OpKind::Add, {}, {w, two});
  PlanValueId scaled = p.load(OpKind::Mul, {}, {doubled, two});
  PlanValueId sum = p.run(OpKind::Add, {}, {x, scaled});
  p.output("neg", p.run(OpKind::Neg, {}, {sum}));
  p.in_place(sum);
  p.output("w", w);
  p.output("x", x);
  auto executable = compile(p.finish());
  std::vector<Tensor> out = *executable->run({vector({1, 2, 3})});
  expect_values(out[0], {-7, -8, -9});
  expect_values(out[1], {1, 1, 1});
  expect_values(out[2], {1, 2, 3});
  expect_values((*executable->run({vector({-6, 0, 0})}))[0], {0, -6, -6});
}

TEST(RefBackend, ReshapesAreViewsAndNeverOverwritten) {
  PlanWriter p;
  PlanValueId x = p.input("x", {4});
  PlanValueId a = p.run(OpKind::Neg, {}, {x});
  PlanValueId view = p.run(OpKind::Reshape, {Value::of_ints({2, 2})}, {a});
  PlanValueId b = p.run(OpKind::Neg, {}, {a});
  p.in_place(a); // the view still lives
  PlanValueId rows = p.run(OpKind::ReduceSum, {Value::of_ints({1}), Value::of_bool(false)}, {view});
  p.output("b", b);
  p.output("rows", rows);
  p.output("same", p.run(OpKind::Reshape, {Value::of_ints({2, 2})}, {x})); // view of an input
  auto executable = compile(p.finish());
  std::vector<Tensor> out = *executable->run({vector({1, 2, 3, 4})});
  expect_values(out[0], {1, 2, 3, 4});
  expect_values(out[1], {-3, -7});
  expect_values(out[2], {1, 2, 3, 4});
  EXPECT_EQ(executable->steps()[1].implementation, "view");
  EXPECT_EQ(executable->steps()[2].implementation, "ref");
}

TEST(RefBackend, AResidualIsAddedInTheBufferThatDies) {
  PlanWriter p;
  PlanValueId x = p.input("x", {1, 2, 4, 4}), w = p.weight("w", {2, 2, 3, 3});
  PlanValueId residual = p.run(OpKind::Neg, {}, {x});
  std::vector<Value> attrs = {Value::of_int(1), Value::of_enum("same"), Value::of_int(1),
                              Value::of_enum("relu")};
  PlanValueId y = p.run(OpKind::Conv2d, attrs, {x, w, kNoValue, residual});
  p.output("y", y);
  Plan apart = p.finish();
  p.in_place(residual);
  Plan shared = p.finish();
  std::vector<Tensor> inputs = *random_inputs(shared, 1);
  auto one = compile(shared), two = compile(apart);
  EXPECT_LT(one->memory().arena, two->memory().arena);
  EXPECT_EQ(max_rel_diff((*one->run(inputs))[0], (*two->run(inputs))[0]), 0);
}

TEST(RefBackend, TheSteadyStateDoesNotAllocate) {
  PlanWriter p;
  PlanValueId x = p.input("x", {1, 3, 8, 8}), w = p.weight("w", {4, 3, 3, 3});
  PlanValueId y =
      p.run(OpKind::Conv2d,
            {Value::of_int(2), Value::of_enum("same"), Value::of_int(1), Value::of_enum("gelu")},
            {x, w, kNoValue, kNoValue});
  y = p.run(OpKind::FusedMap, {Value::of_string("tanh(add($0, $0))")}, {y});
  y = p.run(OpKind::MaxPool2d, {Value::of_int(2), Value::of_int(1), Value::of_enum("valid")}, {y});
  y = p.run(OpKind::Softmax, {Value::of_int(1)}, {y});
  p.output("y", p.run(OpKind::ReduceMean, {Value::of_ints({2, 3}), Value::of_bool(false)}, {y}));
  auto executable = compile(p.finish());
  ASSERT_TRUE(executable->run_once().ok());
  size_t before = allocations;
  ASSERT_TRUE(executable->run_once().ok());
  EXPECT_EQ(allocations, before);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_GT(before, 0u) << "nothing is counted";
#endif
}

TEST(RefBackend, ProfilesStepsOnRequest) {
  PlanWriter p;
  PlanValueId x = p.input("x", {64, 64});
  p.output("y", p.run(OpKind::Matmul, {Value::of_enum("none")}, {x, x, kNoValue, kNoValue}));
  auto executable = compile(p.finish());
  ASSERT_TRUE(executable->run_once().ok());
  EXPECT_EQ(executable->steps()[0].measured_us, 0);
  executable->profile(true);
  ASSERT_TRUE(executable->run_once().ok());
  StepInfo step = executable->steps()[0];
  EXPECT_GT(step.measured_us, 0);
  EXPECT_EQ(step.flops, 2.0 * 64 * 64 * 64);
  EXPECT_EQ(step.name, "matmul");
}

TEST(RefBackend, WeightsComeFromTheSource) {
  PlanWriter p;
  p.output("y", p.run(OpKind::Neg, {}, {p.weight("w", {2})}));
  Plan plan = p.finish();
  CompileOptions options;
  options.weights = [](const PlanValue& value) -> Result<Tensor> {
    EXPECT_EQ(value.name, "w");
    return vector({1, 2});
  };
  expect_values((*compile(plan, options)->run({}))[0], {-1, -2});
  options.weights = [](const PlanValue&) -> Result<Tensor> { return vector({1, 2, 3}); };
  Diagnostic wrong = make_ref_backend()->compile(plan, options).error();
  EXPECT_EQ(wrong.code, Code::bad_data_file);
  EXPECT_EQ(wrong.message, "the weight `w` is f32[2] in the model and f32[3] in the file");
}

TEST(RefBackend, KeepsOnlyWeightsThatRunsRead) {
  PlanWriter p;
  PlanValueId a = p.weight("a", {64}, "ones"), b = p.weight("b", {64}, "ones");
  PlanValueId sum = p.load(OpKind::Add, {}, {a, b});
  PlanValueId square = p.run(OpKind::Reshape, {Value::of_ints({8, 8})}, {sum});
  p.output("y",
           p.run(OpKind::ReduceSum, {Value::of_ints({0, 1}), Value::of_bool(false)}, {square}));
  auto executable = compile(p.finish());
  EXPECT_EQ(executable->memory().weights, 64 * 4) << "a and b are gone, their sum is kept";
  expect_values((*executable->run({}))[0], {128});
}

TEST(RefBackend, ChecksTheMemoryLimitBeforeItAllocates) {
  PlanWriter p;
  constexpr int64_t kHuge = int64_t{1} << 23; // 256 TiB each
  PlanValueId x = p.input("x", {kHuge, kHuge});
  p.output("y", p.run(OpKind::Relu, {}, {x}));
  CompileOptions options;
  options.memory_limit_bytes = int64_t{1} << 34;
  Result<std::unique_ptr<Executable>> executable = make_ref_backend()->compile(p.finish(), options);
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().code, Code::memory_limit);
  EXPECT_EQ(executable.error().message, "`test` needs 805306368 MiB, but the limit is 16384 MiB");
}

TEST(RefBackend, StopsLoadingAndRunsOnRequest) {
  PlanWriter p;
  p.output("y", p.run(OpKind::Relu, {}, {p.weight("w", {2})}));
  p.output("z", p.run(OpKind::Relu, {}, {p.input("x", {2})}));
  Plan plan = p.finish();
  Cancellation wish;
  CompileOptions options;
  options.stop = StopToken(&wish);
  Result<std::unique_ptr<Executable>> executable = make_ref_backend()->compile(plan, options);
  ASSERT_TRUE(executable && (*executable)->run_once());
  wish.request();
  EXPECT_EQ((*executable)->run_once().error().code, Code::limit_no_answer);
  EXPECT_EQ(make_ref_backend()->compile(plan, options).error().code, Code::limit_no_answer);
  wish.forget();
  EXPECT_TRUE((*executable)->run_once());
}

TEST(RefBackend, RefusesWrongInputs) {
  PlanWriter p;
  p.output("y", p.run(OpKind::Relu, {}, {p.input("x", {2})}));
  Plan plan = p.finish();
  auto executable = compile(plan);
  EXPECT_EQ(executable->run({}).error().code, Code::bad_input_value);
  EXPECT_EQ(executable->run({vector({1, 2, 3})}).error().message,
            "the input `x` must be f32[2], got f32[3]");
  plan.values[0].type.dtype = plan.values[1].type.dtype = DType::F16;
  executable = compile(plan);
  EXPECT_EQ(executable->run({vector({1, 2})}).error().message,
            "the input `x` must be f16[2], got f32[2]");
}

TEST(RefStep, RunsAloneOnAWorkspaceOfItsOwn) {
  PlanWriter p;
  PlanValueId x = p.input("x", {2});
  p.output("y", p.run(OpKind::Softmax, {Value::of_int(0)}, {x}));
  Plan plan = p.finish();
  Tensor in = vector({1, 1}), out = vector({0, 0});
  ASSERT_TRUE(RefStep(plan, plan.steps[0]).run_alone({in.data()}, out.data()).ok());
  EXPECT_EQ(out.floats()[0], 0.5f);
}

/// Half types are widened, here to more than the address space. Nothing is read before the error.
TEST(RefStep, AWorkspaceThatThereIsNotIsAnError) {
  PlanWriter p;
  PlanValueId column = p.input("x", {1 << 24, 1}), row = p.input("y", {1 << 24});
  p.output("z", p.run(OpKind::Add, {}, {column, row}));
  Plan plan = p.finish();
  for (PlanValue& value : plan.values) value.type.dtype = DType::F16;
  Result<void> run = RefStep(plan, plan.steps[0]).run_alone({nullptr, nullptr}, nullptr);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::memory_limit);
}

TEST(RefBackend, RunsEveryDtype) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64, DType::F64}) {
    PlanWriter p;
    PlanValueId x = p.input("x", {2});
    p.output("y", p.run(OpKind::Mul, {}, {x, x}));
    Plan plan = p.finish();
    for (PlanValue& value : plan.values) value.type.dtype = dtype;
    Tensor input = *Tensor::zeros({dtype, {2}});
    double values[] = {-3, 7};
    narrow(dtype, values, input.data(), 2);
    Tensor y = (*compile(plan)->run({input}))[0];
    EXPECT_EQ(y.type(), input.type());
    EXPECT_EQ(y.doubles()[0], 9);
    EXPECT_EQ(y.doubles()[1], 49);
  }
}

/// Returns the result of an operator on doubles.
std::vector<double> of_doubles(OpKind op, std::vector<Value> attrs, Shape shape,
                               std::vector<std::vector<double>> operands) {
  PlanWriter p;
  std::vector<PlanValueId> ids;
  std::vector<Tensor> inputs;
  for (const std::vector<double>& values : operands) {
    Shape of = ids.empty() ? shape : Shape{static_cast<int64_t>(values.size())};
    ids.push_back(p.input(("x" + std::to_string(ids.size())).c_str(), of));
    inputs.push_back(*Tensor::zeros({DType::F64, of}));
    narrow(DType::F64, values.data(), inputs.back().data(), inputs.back().type().elements());
  }
  p.output("y", p.run(op, std::move(attrs), ids));
  Plan plan = p.finish();
  for (PlanValue& value : plan.values) value.type.dtype = DType::F64;
  return (*compile(plan)->run(inputs))[0].doubles();
}

TEST(RefBackend, ComputesInDouble) {
  double x = 1 + 0x1p-40;
  EXPECT_EQ(of_doubles(OpKind::Add, {}, {1}, {{1}, {0x1p-40}})[0], x);
  EXPECT_EQ(of_doubles(OpKind::Sub, {}, {1}, {{x}, {1}})[0], 0x1p-40);
  EXPECT_EQ(of_doubles(OpKind::Mul, {}, {1}, {{x}, {x}})[0], x * x);
  EXPECT_EQ(of_doubles(OpKind::Clip, {Value::of_float(0.1), Value::of_float(1)}, {1}, {{0}})[0],
            0.1);
  EXPECT_EQ(of_doubles(OpKind::Elu, {Value::of_float(0.1)}, {1}, {{-1}})[0], 0.1 * std::expm1(-1));
  EXPECT_EQ(of_doubles(OpKind::ReduceSum, {Value::of_ints({0}), Value::of_bool(false)}, {3},
                       {{1, 0x1p-40, -1}})[0],
            0x1p-40);
  EXPECT_EQ(of_doubles(OpKind::Cumsum, {Value::of_int(0)}, {2}, {{1, 0x1p-40}})[1], x);
}

/// Expects values by mpmath to 1e-14.
TEST(RefBackend, FunctionsOfDoublesHaveTheirDigits) {
  struct Known {
    OpKind op;
    double x, y;
  };
  for (Known known : {Known{OpKind::Erf, 0.5, 0.5204998778130465376827},
                      {OpKind::Exp, 1.5, 4.481689070338064822602},
                      {OpKind::Log, 3, 1.098612288668109691395},
                      {OpKind::Tanh, 0.3, 0.2913126124515908896},
                      {OpKind::Sigmoid, -2, 0.1192029220221175559402},
                      {OpKind::Gelu, 1, 0.8413447460685429485852},
                      {OpKind::Sqrt, 2, 1.414213562373095048802}}) {
    double y = of_doubles(known.op, {}, {1}, {{known.x}})[0];
    EXPECT_NEAR(y, known.y, 1e-14 * known.y) << op_info(known.op).name;
  }
}

/// An eps that float cannot represent, and a variance that float would lose.
TEST(RefBackend, NormsOfDoublesKeepTheirEps) {
  double y = of_doubles(OpKind::LayerNorm, {Value::of_float(1e-13)}, {1, 2},
                        {{1, 1 + 2e-6}, {1, 1}, {0, 0}})[1];
  EXPECT_NEAR(y, 1e-6 / std::sqrt(1e-12 + 1e-13), 1e-9);
}

} // namespace
} // namespace tg
