#include "runtime/cuda/cudnn/steps.h"

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/conv_lowering.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <limits>

namespace tg::cuda {

namespace {

bool is_f32(const Plan& plan, const PlanStep& step) {
  return plan.values[step.result].type.dtype == DType::F32;
}

/// A plan of one step that only moves its operand.
Plan copy_plan(const TensorType& type) {
  Plan plan;
  plan.values.resize(2);
  for (PlanValue& value : plan.values) value.type = type;
  plan.values[0].kind = PlanValue::Kind::Input;
  plan.values[1].kind = PlanValue::Kind::Temporary;
  plan.values[1].defined_by = 0;
  plan.values[0].last_use = 0;
  plan.values[1].is_output = plan.values[1].pinned = true;
  PlanStep step;
  step.op = OpKind::Identity;
  step.operands = {0};
  step.result = 1;
  plan.steps = {step};
  plan.inputs = {0};
  plan.outputs = {{"y", 1}};
  return plan;
}

/// Returns the plan unchanged if it has no attention.
EditedPlan with_attention(const Plan& plan, const DnnAnswers& answers) {
  EditedPlan open = expand_maps_before_softmax(plan);
  bool any = false;
  EditedPlan fused = fuse_attention(open.plan, [&](const Plan& from, const PlanStep& step) {
    any = true;
    return answers.takes_attention(from, step);
  });
  fused.origin = compose(open.origin, fused.origin);
  return any ? std::move(fused) : expand_maps(plan, [](const PlanStep&) { return false; });
}

} // namespace

StridesOf all_images(const Plan& plan, bool channels_last) {
  return [&plan, channels_last](PlanValueId id) {
    const Shape& shape = plan.values[id].type.shape;
    return channels_last && shape.size() == 4 ? channels_last_strides(shape)
                                              : contiguous_strides(shape);
  };
}

PlanWithLayouts rewrite_for_dnn(const Plan& plan, const DnnAnswers& answers) {
  EditedPlan fused = with_attention(plan, answers);
  EditedPlan cut = cut_activations(
      fused.plan, [&](const PlanStep& step) { return answers.cuts_activation(fused.plan, step); });
  cut.origin = compose(fused.origin, cut.origin);
  LayoutPrices prices{
      [&](const PlanStep& step, bool last) { return answers.convolution(cut.plan, step, last); },
      answers.conversion,
  };
  PlanWithLayouts laid = assign_layouts(cut.plan, choose_layouts(cut.plan, prices));
  laid.edited.origin = compose(cut.origin, laid.edited.origin);
  return laid;
}

std::optional<double> DnnSteps::price(const Plan& plan, const PlanStep& step, bool channels_last) {
  auto problem = dnn_problem(plan, step, all_images(plan, channels_last));
  if (!problem) return std::nullopt;
  const DnnChoice& choice = tuner_.best(problem->graph);
  if (!choice.plan) return std::nullopt;
  return choice.microseconds;
}

std::optional<double> DnnSteps::generated(const Plan& plan, const PlanStep& step,
                                          const StridesOf& strides) {
  auto s = static_cast<PlanStepId>(&step - plan.steps.data());
  auto time = generated_(plan, Group{{s}, {step.result}}, strides);
  return time ? std::optional(*time) : std::nullopt;
}

/// Convolutions with few terms are one pass over memory for generated kernels as well.
/// In strict f32 the library does not divide long sums among blocks,
/// so for a small image most of the GPU is idle. In that case it proposes channels first,
/// and only that layout is compared.
bool DnnSteps::has_rival(const Plan& plan, const PlanStep& step, bool channels_last) const {
  if (step.op != OpKind::Conv2d) return false;
  bool strict = is_f32(plan, step) && !tuner_.allows_tf32();
  return has_few_terms(plan, step) || (strict && !channels_last);
}

/// Returns the price of the faster implementation.
std::optional<double> DnnSteps::price_in_layout(const Plan& plan, const PlanStep& step,
                                                bool channels_last) {
  std::optional<double> library = price(plan, step, channels_last);
  if (!has_rival(plan, step, channels_last)) return library;
  std::optional<double> own = generated(plan, step, all_images(plan, channels_last));
  return own && library ? std::min(*own, *library) : own ? own : library;
}

double DnnSteps::conversion(const TensorType& type) {
  auto [it, fresh] = conversions_.try_emplace(type.text());
  if (!fresh) return it->second;
  Plan plan = copy_plan(type);
  Group group{{0}, {1}};
  auto time = generated_(plan, group, [&](PlanValueId id) {
    return id == 1 ? channels_last_strides(type.shape) : contiguous_strides(type.shape);
  });
  // Without a measurement, only a layout that the library does not support is a reason to convert.
  return it->second = time ? *time : 1e6;
}

/// Compares the library's best plan for the whole with its best plan without the activation
/// and one more pass.
bool DnnSteps::worth_cutting(const Plan& plan, const PlanStep& step) {
  Act act = parse_act(step.attrs[3].text).value_or(Act::None);
  if (act == Act::None || act == Act::Relu) return false;
  PlanStep bare = step;
  bare.attrs[3] = Value::of_enum("none");
  double whole = std::numeric_limits<double>::infinity(), cut = whole;
  for (bool last : {false, true}) {
    whole = std::min(whole, price(plan, step, last).value_or(whole));
    cut = std::min(cut, price(plan, bare, last).value_or(cut));
  }
  if (cut == std::numeric_limits<double>::infinity()) return false;
  return cut + conversion(plan.values[step.result].type) < whole;
}

PlanWithLayouts DnnSteps::prepare(const Plan& plan) {
  return rewrite_for_dnn(
      plan, {[this](const Plan& from, const PlanStep& step) {
               return tuner_.best(attention_problem(from, step).graph).plan != nullptr;
             },
             [this](const Plan& of, const PlanStep& step) { return worth_cutting(of, step); },
             [this](const Plan& of, const PlanStep& step, bool last) {
               return price_in_layout(of, step, last);
             },
             [this](const TensorType& type) { return conversion(type); }});
}

std::optional<double> DnnSteps::rival(const Plan& plan, const PlanStep& step,
                                      const StridesOf& strides, double library) {
  std::optional<double> time = generated(plan, step, strides);
  if (!time) return std::nullopt;
  return *time < library * kClearlyFaster ? time : std::nullopt;
}

std::optional<DnnCall> DnnSteps::call(const Plan& plan, const PlanStep& step,
                                      const StridesOf& strides, std::string& why) {
  if (step.op == OpKind::Softmax) { // attention that prepare() left unchanged
    if (auto attention = attention_around(plan, step))
      why = "attention: " + tuner_.best(attention->graph).why;
    return std::nullopt;
  }
  std::optional<DnnProblem> problem =
      is_attention(step) ? attention_problem(plan, step) : dnn_problem(plan, step, strides);
  if (!problem) return std::nullopt;
  const DnnChoice& choice = tuner_.best(problem->graph);
  why = choice.why;
  if (!choice.plan) return std::nullopt;
  why.clear();
  bool last = !is_row_major(plan.values[step.result].type.shape, strides(step.result));
  if (has_rival(plan, step, last))
    if (auto time = rival(plan, step, strides, choice.microseconds)) {
      why = llvm::formatv("{0:f1} us, cuDNN {1:f1} us", *time, choice.microseconds);
      return std::nullopt;
    }
  return DnnCall{problem->graph.text(), choice.plan, std::move(problem->values)};
}

} // namespace tg::cuda
