#include "runtime/cuda/cudnn/steps.h"

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/conv_lowering.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <limits>

namespace tg::cuda {

namespace {

/// Steps that generated kernels do in one pass over memory as well.
bool has_rival(const Plan& plan, const PlanStep& step) {
  return step.op == OpKind::Conv2d ? has_few_terms(plan, step) : !is_attention(step);
}

/// One step that only moves its operand.
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

/// Where there is none the plan is as it was.
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

LaidOutPlan rewrite_for_dnn(const Plan& plan, const DnnAnswers& answers) {
  EditedPlan fused = with_attention(plan, answers);
  EditedPlan cut = cut_activations(
      fused.plan, [&](const PlanStep& step) { return answers.cuts_activation(fused.plan, step); });
  cut.origin = compose(fused.origin, cut.origin);
  LayoutPrices prices{
      [&](const PlanStep& step, bool last) { return answers.convolution(cut.plan, step, last); },
      answers.conversion,
  };
  LaidOutPlan laid = lay_out(cut.plan, choose_layouts(cut.plan, prices));
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

/// What will run: a convolution of few terms may be generated, in whichever layout.
std::optional<double> DnnSteps::price_in_layout(const Plan& plan, const PlanStep& step,
                                                bool channels_last) {
  std::optional<double> library = price(plan, step, channels_last);
  if (!has_few_terms(plan, step)) return library;
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
  // Without a measurement only layouts that the library lacks are a reason to convert.
  return it->second = time ? *time : 1e6;
}

/// The library's best for the whole, against its best without the activation and one more pass.
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

/// The fastest of several ways to ask for one thing; null where the library takes none, and then
/// `why` it does not.
const DnnChoice* DnnSteps::fastest(std::vector<DnnProblem>& ways, size_t& which, std::string& why) {
  const DnnChoice* best = nullptr;
  for (size_t i = 0; i < ways.size(); ++i) {
    const DnnChoice& choice = tuner_.best(ways[i].graph);
    if (!choice.plan && why.empty()) why = choice.why;
    if (!choice.plan || (best && best->microseconds <= choice.microseconds)) continue;
    best = &choice;
    which = i;
  }
  return best;
}

LaidOutPlan DnnSteps::prepare(const Plan& plan) {
  return rewrite_for_dnn(
      plan, {[this](const Plan& from, const PlanStep& step) {
               std::vector<DnnProblem> ways = attention_problems(from, step);
               size_t which = 0;
               std::string why;
               return fastest(ways, which, why) != nullptr;
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
  bool wins = step.op == OpKind::Conv2d ? *time < library * kClearlyFaster
                                        : *time * kClearlyFaster <= library;
  return wins ? time : std::nullopt;
}

std::vector<DnnProblem> DnnSteps::ways(const Plan& plan, const PlanStep& step,
                                       const StridesOf& strides) {
  if (is_attention(step)) return attention_problems(plan, step);
  std::vector<DnnProblem> ways;
  if (auto problem = dnn_problem(plan, step, strides)) ways.push_back(std::move(*problem));
  return ways;
}

std::optional<DnnCall> DnnSteps::call(const Plan& plan, const PlanStep& step,
                                      const StridesOf& strides, std::string& why) {
  size_t which = 0;
  if (step.op == OpKind::Softmax) { // attention that prepare() has left as it is
    std::vector<DnnProblem> attention = attention_around(plan, step);
    if (!attention.empty()) (void)fastest(attention, which, why);
    if (!why.empty()) why = "attention: " + why;
    return std::nullopt;
  }
  std::vector<DnnProblem> ways = this->ways(plan, step, strides);
  const DnnChoice* choice = fastest(ways, which, why);
  if (!choice) return std::nullopt;
  why.clear();
  if (has_rival(plan, step))
    if (auto time = rival(plan, step, strides, choice->microseconds)) {
      why = llvm::formatv("{0:f1} us, cuDNN {1:f1} us", *time, choice->microseconds);
      return std::nullopt;
    }
  return DnnCall{ways[which].graph.text(), choice->plan, std::move(ways[which].values)};
}

} // namespace tg::cuda
