// Tests every pointwise operator in the table, including those with only a formula,
// on `cpu` against `ref`, in each dtype that the operator supports, from tiny to huge numbers.
// The test lists no names, so that new operators are covered.
#include "runtime/cpu/backend.h"
#include "tests/property/backends/every_pointwise.h"

namespace tg::test {
namespace {

TEST(EveryPointwise, CpuAgreesWithRef) {
  std::unique_ptr<Backend> ref = make_ref_backend(), cpu = make_cpu_backend();
  size_t tried = 0;
  for (const PointwiseCase& one : every_pointwise()) {
    Plan plan = plan_from_graph(one.graph);
    std::vector<Tensor> want = outputs_of(*ref, plan, {}), got = outputs_of(*cpu, plan, {});
    EXPECT_EQ(disagreement(got[0], want[0], one), "") << one.name;
    ++tried;
  }
  EXPECT_GE(tried, 100u);
}

/// Returns an expression that maps a positive number into the operator's domain,
/// away from its poles.
std::string domain_of(llvm::StringRef op, const std::string& positive) {
  if (op == "acosh") return "exp(" + positive + ")";
  if (op == "asin" || op == "acos" || op == "atanh" || op == "tan")
    return "sigmoid(neg(" + positive + "))";
  return positive;
}

/// In a longer body, registers are shared and freed.
TEST(EveryPointwise, CpuAgreesWithRefInsideOfAFusedMap) {
  std::unique_ptr<Backend> ref = make_ref_backend(), cpu = make_cpu_backend();
  for (const OpInfo& info : all_ops()) {
    if (!info.has(Trait::Pointwise) || info.operand_count != 1) continue;
    if (!dtype_fits(info, DType::F32)) continue;
    auto call = [&](const std::string& positive) {
      return std::string(info.name) + "(" + domain_of(info.name, positive) + ")";
    };
    std::string body = "add(mul(" + call("add(abs($0), abs($1))") + ", $0), mul(" +
                       call("abs(mul($0, $1))") + ", " + call("abs($1)") + "))";
    Builder b;
    b.output(b.op(OpKind::FusedMap, {b.input("x", {3, 700}), b.input("y", {3, 1})},
                  {Value::of_string(body)}));
    Plan plan = plan_from_graph(b.graph);
    std::vector<Tensor> want = outputs_of(*ref, plan, {}), got = outputs_of(*cpu, plan, {});
    EXPECT_LE(max_rel_diff(got[0], want[0]), 1e-5) << body;
  }
}

} // namespace
} // namespace tg::test
