#include "runtime/random.h"

#include "lang/core/support/random.h"
#include "runtime/convert.h"

#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Parses "name(1, 2)". Returns the numbers, or nullopt if the text has another form.
std::optional<std::vector<double>> arguments(llvm::StringRef text, llvm::StringRef name) {
  if (!text.consume_front(name) || !text.consume_front("(") || !text.consume_back(")"))
    return std::nullopt;
  std::vector<double> numbers;
  llvm::SmallVector<llvm::StringRef, 2> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    double x = 0;
    if (part.trim().getAsDouble(x) || !std::isfinite(x)) return std::nullopt;
    numbers.push_back(x);
  }
  return numbers;
}

/// Converts the f32 tensor to the requested dtype.
Result<Tensor> as_dtype(Tensor tensor, DType dtype) {
  if (dtype == DType::F32) return tensor;
  TG_TRY(Tensor other, Tensor::zeros({dtype, tensor.type().shape}));
  convert(DType::F32, tensor.data(), dtype, other.data(), tensor.type().elements());
  return other;
}

} // namespace

Result<WeightInit> parse_init(llvm::StringRef text) {
  using Kind = WeightInit::Kind;
  text = text.trim();
  if (text.empty() || text == "fan_in") return WeightInit{};
  if (text == "zeros") return WeightInit{Kind::Zeros};
  if (text == "ones") return WeightInit{Kind::Ones};
  if (auto numbers = arguments(text, "normal"); numbers && numbers->size() == 1)
    if ((*numbers)[0] >= 0) return WeightInit{Kind::Normal, (*numbers)[0]};
  if (auto numbers = arguments(text, "uniform"); numbers && numbers->size() == 2)
    if ((*numbers)[0] <= (*numbers)[1])
      return WeightInit{Kind::Uniform, (*numbers)[0], (*numbers)[1]};
  if (auto numbers = arguments(text, "orthogonal"); numbers && numbers->size() == 1)
    return WeightInit{Kind::Orthogonal, (*numbers)[0]};
  return error(
      Code::bad_attribute,
      "`init` must be normal(s), uniform(a, b), orthogonal(gain), zeros or ones, got \"{0}\"",
      text);
}

int64_t fan_in(llvm::ArrayRef<int64_t> shape) {
  switch (shape.size()) {
  case 0: return 1;
  case 1: return shape[0];
  case 4: return shape[1] * shape[2] * shape[3];
  default: return shape[shape.size() - 2];
  }
}

namespace {

/// Returns the rows and columns of a weight with an orthogonal `init`:
/// results x elements per result, as in fan_in. A kernel [O, I, kh, kw] is O x (I * kh * kw);
/// otherwise the columns are the last axis.
std::pair<int64_t, int64_t> as_matrix(const TensorType& type) {
  int64_t columns = type.shape.size() == 4 ? type.elements() / type.shape[0] : type.shape.back();
  return {type.elements() / columns, columns};
}

} // namespace

Result<Tensor> random_weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init,
                             uint64_t seed, int threads, Tensor spare) {
  TG_TRY(WeightInit how, parse_init(init));
  if (!is_float(type.dtype) && how.kind != WeightInit::Kind::Ones)
    return Tensor::zeros(type); // indices and masks: any other number might be out of range
  if (how.kind == WeightInit::Kind::Orthogonal && type.shape.size() < 2)
    return error(Code::bad_attribute,
                 "`orthogonal` requires a weight with two or more axes, got {0} {1}", path,
                 type.text());
  TG_TRY(Tensor tensor, Tensor::in_place_of(std::move(spare), f32(type.shape)));
  RandomStream stream(seed, ("weight " + path).str());
  llvm::MutableArrayRef<float> out = tensor.floats();
  if (how.kind == WeightInit::Kind::FanIn)
    how = {WeightInit::Kind::Normal, 1 / std::sqrt(static_cast<double>(fan_in(type.shape))), 0};
  switch (how.kind) {
  case WeightInit::Kind::Zeros: std::fill(out.begin(), out.end(), 0.0f); break;
  case WeightInit::Kind::Ones: std::fill(out.begin(), out.end(), 1.0f); break;
  case WeightInit::Kind::Uniform:
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(how.a + (how.b - how.a) * stream.uniform(i));
    break;
  case WeightInit::Kind::FanIn:
  case WeightInit::Kind::Normal: fill_normal(stream, how.a, out, threads); break;
  case WeightInit::Kind::Orthogonal: {
    auto [rows, columns] = as_matrix(type);
    fill_orthogonal(stream, how.a, static_cast<size_t>(rows), static_cast<size_t>(columns), out,
                    threads);
    break;
  }
  }
  return as_dtype(std::move(tensor), type.dtype);
}

Result<Tensor> random_input(llvm::StringRef name, const TensorType& type, uint64_t seed,
                            int64_t below) {
  RandomStream stream(seed, ("input " + name).str());
  if (is_float(type.dtype)) {
    TG_TRY(Tensor tensor, Tensor::zeros(f32(type.shape)));
    fill_normal(stream, 1, tensor.floats());
    return as_dtype(std::move(tensor), type.dtype);
  }
  if (type.dtype == DType::Bool) below = 2;
  TG_TRY(Tensor tensor, Tensor::zeros(type));
  std::vector<Integer> values(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = Integer(static_cast<int64_t>(stream.uniform(i) * static_cast<double>(below)));
  narrow(type.dtype, values.data(), tensor.data(), type.elements());
  return tensor;
}

namespace {

/// Returns the number of rows of the smallest table that the input indexes,
/// directly or after reshapes and slices; 2 if there is none.
int64_t index_range(const Plan& plan, PlanValueId input) {
  std::vector<bool> derived(plan.values.size());
  derived[input] = true;
  int64_t range = INT64_MAX;
  for (const PlanStep& step : plan.steps) {
    bool reads =
        !step.operands.empty() && step.operands[0] != kNoValue && derived[step.operands[0]];
    bool moves = op_info(step.op).has(Trait::Layout) || step.op == OpKind::Cast;
    if (reads && moves) derived[step.result] = true;
    int indices = op_info(step.op).index_operand();
    if (indices < 0 || !derived[step.operands[static_cast<size_t>(indices)]]) continue;
    auto axis = static_cast<size_t>(step.attrs[0].number);
    range = std::min(range, plan.values[step.operands[0]].type.shape[axis]);
  }
  return range == INT64_MAX ? 2 : range;
}

} // namespace

Result<std::vector<Tensor>> random_inputs(const Plan& plan, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (PlanValueId id : plan.inputs) {
    const PlanValue& value = plan.values[id];
    if (!value.init.empty()) { // a weight that runs update
      TG_TRY(Tensor weight, random_weight(value.name, value.type, value.init, seed));
      inputs.push_back(std::move(weight));
      continue;
    }
    int64_t below = is_integer(value.type.dtype) ? index_range(plan, id) : 2;
    TG_TRY(Tensor tensor, random_input(value.name, value.type, seed, below));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

} // namespace tg
