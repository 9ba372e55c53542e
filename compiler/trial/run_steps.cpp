#include "compiler/trial/run_steps.h"

#include "lang/core/support/random.h"
#include "lang/core/support/stop.h"
#include "runtime/convert.h"
#include "runtime/execute.h"
#include "runtime/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <cstring>
#include <numeric>

namespace tg {

Result<std::vector<std::optional<size_t>>> carried_inputs(const Plan& plan) {
  std::vector<std::optional<size_t>> carried(plan.inputs.size());
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanValue& input = plan.values[plan.inputs[i]];
    auto output =
        llvm::find_if(plan.outputs, [&](const PlanOutput& o) { return o.name == input.name; });
    if (output == plan.outputs.end()) continue;
    const TensorType& type = plan.values[output->value].type;
    if (!(type == input.type))
      return error(
          Code::bad_input_value,
          "`{0}` is an input of type {1} and an output of type {2}: the next step cannot use it",
          input.name, input.type.text(), type.text());
    carried[i] = static_cast<size_t>(output - plan.outputs.begin());
  }
  if (llvm::none_of(carried, [](const auto& output) { return output.has_value(); }))
    return error(Code::usage,
                 "the steps of `{0}` would all be the same: it does not update a weight",
                 plan.model)
        .suggest("set a weight for the next step with update(w, …), or give an output the name and "
                 "type of an input");
  return carried;
}

ConstNumber first_element(const Tensor& tensor) {
  DType dtype = tensor.type().dtype;
  if (is_float(dtype)) return ConstNumber::of_float(tensor.doubles()[0]);
  Integer whole;
  widen(dtype, tensor.data(), &whole, 1);
  return ConstNumber::of_int(whole.value);
}

Result<Tensor> beginning_of(const PlanValue& weight, const PrepareOptions& options) {
  if (options.weights) return options.weights(weight);
  return random_weight(weight.name, weight.type, weight.init, options.seed);
}

Result<void> give_updated_weights(const Plan& plan, const PrepareOptions& options,
                                  std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PlanValue& value = plan.values[plan.inputs[i]];
    if (value.init.empty()) continue;
    TG_TRY(inputs[i], beginning_of(value, options));
  }
  return {};
}

// --- batches -------------------------------------------------------------------------------------

Result<Batches> Batches::make(const Plan& plan, std::vector<NamedTensor> data, uint64_t seed) {
  Batches made;
  made.seed_ = seed;
  for (NamedTensor& array : data) {
    std::vector<llvm::StringRef> names;
    for (PlanValueId id : plan.inputs) names.push_back(plan.values[id].name);
    auto named = llvm::find(names, array.name);
    if (named == names.end())
      return error(Code::bad_input_value, "`{0}` has no input `{1}`", plan.model, array.name)
          .suggest("its inputs are: " + llvm::join(names, ", "));
    auto input = static_cast<size_t>(named - names.begin());
    const TensorType& wanted = plan.values[plan.inputs[input]].type;
    const TensorType& got = array.tensor.type();
    bool fits = wanted.rank() > 0 && wanted.rank() == got.rank() && wanted.dtype == got.dtype &&
                llvm::equal(llvm::makeArrayRef(wanted.shape).drop_front(),
                            llvm::makeArrayRef(got.shape).drop_front());
    if (!fits)
      return error(
          Code::bad_input_value,
          "the examples of `{0}` have the type {1}, which differs from {2} beyond the first "
          "axis",
          array.name, got.text(), wanted.text());
    auto examples = static_cast<size_t>(got[0]), batch = static_cast<size_t>(wanted[0]);
    if (examples < batch)
      return error(Code::bad_input_value, "`{0}` has {1} examples, but a step takes {2}",
                   array.name, examples, batch);
    bool first = made.streams_.empty();
    if (!first && (examples != made.order_.size() || batch != made.batch_))
      return error(
          Code::bad_input_value,
          "`{0}` has {1} examples in steps of {2}, but other inputs have {3} in steps of {4}",
          array.name, examples, batch, made.order_.size(), made.batch_);
    made.batch_ = batch;
    made.order_.resize(examples);
    made.streams_.push_back({input, std::move(array.tensor)});
  }
  made.shuffle();
  return made;
}

/// Fisher-Yates shuffle.
void Batches::shuffle() {
  std::iota(order_.begin(), order_.end(), size_t{0});
  RandomStream stream(seed_, "round " + std::to_string(round_++));
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[stream.bits(i) % i]);
  at_ = 0;
}

void Batches::next(std::vector<Tensor>& inputs) {
  if (at_ + batch_ > order_.size()) shuffle();
  for (Stream& stream : streams_) {
    Tensor& input = inputs[stream.input];
    size_t bytes = static_cast<size_t>(input.bytes()) / batch_;
    for (size_t i = 0; i < batch_; ++i)
      std::memcpy(input.data() + i * bytes,
                  std::as_const(stream.examples).data() + order_[at_ + i] * bytes, bytes);
  }
  at_ += batch_;
}

// --- steps ---------------------------------------------------------------------------------------

namespace {

Result<void> check_finite(const Plan& plan, llvm::ArrayRef<Tensor> outputs, size_t step) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].type().elements() == 1 && !summarise(outputs[i]).finite)
      return error(Code::not_finite, "the output `{0}` is not finite after step {1}",
                   plan.outputs[i].name, step)
          .suggest(
              "use smaller steps, or limit the length of gradients with `limit` of std.optimizer");
  return {};
}

} // namespace

Result<RunReport> run_steps(LoadedProgram& program, std::vector<Tensor> inputs,
                            const StepsOptions& options) {
  constexpr size_t kReports = 10;
  Prepared& prepared = program.prepared;
  Executable& executable = *prepared.executable;
  TG_TRY(std::vector<std::optional<size_t>> carried, carried_inputs(prepared.plan));
  std::vector<std::optional<size_t>> none(carried.size());
  size_t every = (options.steps + kReports - 1) / kReports;
  std::vector<Tensor> outputs;
  Stopwatch watch;
  for (size_t step = 1; step <= options.steps; ++step) {
    if (options.batches) options.batches->next(inputs);
    std::vector<TensorView> views = views_of(inputs);
    TG_CHECK(executable.bind_next(views, step == 1 ? none : carried));
    for (size_t i = 0; step == 1 && i < inputs.size(); ++i)
      if (carried[i]) inputs[i] = {}; // the program owns it from here on
    TG_CHECK(executable.run_once());
    outputs.clear(); // free before a run that does not use them: they are as large as the weights
    bool last = step == options.steps;
    if (step != 1 && step % every != 0 && !last) continue;
    TG_TRY(outputs, executable.outputs());
    TG_CHECK(check_finite(prepared.plan, outputs, step));
    if (options.progress) options.progress(step, outputs);
  }
  RunTimes times;
  times.timing.runs = options.steps;
  times.timing.median_us = watch.seconds() * 1e6 / static_cast<double>(options.steps);
  return report_of_runs(program, std::move(times), std::move(outputs));
}

} // namespace tg
