#include "runtime/random.h"

#include "lang/core/random.h"

#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// "name(1, 2)": the numbers, or nullopt if the text has another form.
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

void fill_normal(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out) {
  for (size_t i = 0; i < out.size(); i += 2) {
    auto [even, odd] = stream.normal_pair(i / 2);
    out[i] = static_cast<float>(scale * even);
    if (i + 1 < out.size()) out[i + 1] = static_cast<float>(scale * odd);
  }
}

Result<Tensor> zeros_f32(llvm::StringRef name, const TensorType& type) {
  if (type.dtype != DType::F32)
    return error(Code::no_kernel, "`{0}` is {1}; only f32 can be filled at random", name,
                 type.text());
  return Tensor::zeros(type);
}

} // namespace

Result<WeightInit> parse_init(llvm::StringRef text) {
  using Kind = WeightInit::Kind;
  text = text.trim();
  if (text.empty()) return WeightInit{};
  if (text == "zeros") return WeightInit{Kind::Zeros};
  if (text == "ones") return WeightInit{Kind::Ones};
  if (auto numbers = arguments(text, "normal"); numbers && numbers->size() == 1)
    if ((*numbers)[0] >= 0) return WeightInit{Kind::Normal, (*numbers)[0]};
  if (auto numbers = arguments(text, "uniform"); numbers && numbers->size() == 2)
    if ((*numbers)[0] <= (*numbers)[1])
      return WeightInit{Kind::Uniform, (*numbers)[0], (*numbers)[1]};
  return error(Code::bad_attribute,
               "`init` must be normal(s), uniform(a, b), zeros or ones, got \"{0}\"", text);
}

int64_t fan_in(llvm::ArrayRef<int64_t> shape) {
  switch (shape.size()) {
  case 0: return 1;
  case 1: return shape[0];
  case 4: return shape[1] * shape[2] * shape[3];
  default: return shape[shape.size() - 2];
  }
}

Result<Tensor> random_weight(llvm::StringRef path, const TensorType& type, llvm::StringRef init,
                             uint64_t seed) {
  TG_TRY(WeightInit how, parse_init(init));
  TG_TRY(Tensor tensor, zeros_f32(path, type));
  RandomStream stream(seed, ("weight " + path).str());
  llvm::MutableArrayRef<float> out = tensor.floats();
  if (how.kind == WeightInit::Kind::FanIn)
    how = {WeightInit::Kind::Normal, 1 / std::sqrt(static_cast<double>(fan_in(type.shape))), 0};
  switch (how.kind) {
  case WeightInit::Kind::Zeros: break;
  case WeightInit::Kind::Ones: std::fill(out.begin(), out.end(), 1.0f); break;
  case WeightInit::Kind::Uniform:
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(how.a + (how.b - how.a) * stream.uniform(i));
    break;
  case WeightInit::Kind::FanIn:
  case WeightInit::Kind::Normal: fill_normal(stream, how.a, out); break;
  }
  return tensor;
}

Result<Tensor> random_input(llvm::StringRef name, const TensorType& type, uint64_t seed) {
  TG_TRY(Tensor tensor, zeros_f32(name, type));
  fill_normal(RandomStream(seed, ("input " + name).str()), 1, tensor.floats());
  return tensor;
}

Result<std::vector<Tensor>> random_inputs(const Plan& plan, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (PlanValueId id : plan.inputs) {
    TG_TRY(Tensor tensor, random_input(plan.values[id].name, plan.values[id].type, seed));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

} // namespace tg
