// Branches and loops, which Tangram's graphs lack. A branch with a known condition is taken. If the
// condition depends on data, both branches are computed and the result is selected. A loop with a
// known number of rounds is unrolled.
#include "compiler/import/onnx/read/shared/unroll.h"

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;
using Values = std::vector<FileValue>;

/// Returns the truth value of a known condition. Fails if it is not a condition.
std::optional<bool> known_condition(Call& call, const FileValue& condition) {
  if (!condition.is(Kind::Tensor) || condition.type.elements() != 1) {
    call.fail("its condition is not one truth value");
    return std::nullopt;
  }
  std::optional<Literal> known = call.emit().known(condition.node);
  if (!known || !known->is_whole()) return std::nullopt;
  return known->ints[0] != 0;
}

// --- branches ------------------------------------------------------------------------------------

/// Rejects a condition that depends on data.
FileValue fail_by_data(Call& call, const llvm::Twine& why) {
  call.fail("its condition `" + call.input_name(0) + "` depends on data, and " + why);
  return {};
}

/// Selects one of two values by data. Fails if they have different kinds or types.
FileValue either(Call& call, NodeId condition, const FileValue& yes, const FileValue& no) {
  bool same = yes.kind == no.kind && yes.type == no.type && yes.items.size() == no.items.size();
  bool tensors = yes.is(Kind::Tensor) && no.is(Kind::Tensor);
  if (!same && tensors)
    return fail_by_data(call, "its branches give " + yes.type.text() + " and " + no.type.text());
  if (!same) return fail_by_data(call, "its branches give different kinds of values");
  if (yes.is(Kind::Padded))
    return fail_by_data(call, "its branches give rows whose number depends on data");
  if (yes.is(Kind::Tensor) && !(yes.node == no.node)) {
    NodeId made = call.emit().select(condition, yes.node, no.node);
    return made.valid() ? FileValue{Kind::Tensor, made, yes.type, {}} : FileValue{};
  }
  FileValue made = yes;
  for (size_t i = 0; i < made.items.size(); ++i)
    made.items[i] = either(call, condition, yes.items[i], no.items[i]);
  return made;
}

bool matches_results(Call& call, const Values& results) {
  if (results.size() == call.result_count()) return true;
  call.fail("it has " + llvm::Twine(call.result_count()) + " results, but its branch " +
            llvm::Twine(results.size()));
  return false;
}

void write_if(Call& call) {
  const schema::Graph* then_branch = call.graph("then_branch");
  const schema::Graph* else_branch = call.graph("else_branch");
  const FileValue& condition = call.value(0);
  std::optional<bool> known = known_condition(call, condition);
  if (call.failed()) return;
  if (known) {
    call.emit().decide("`" + call.name() + "` takes its " +
                       (*known ? "then_branch" : "else_branch"));
    std::optional<Values> taken = call.bodies().run(*known ? *then_branch : *else_branch, {});
    if (!taken) return refuse_results(call);
    if (!matches_results(call, *taken)) return;
    for (size_t i = 0; i < taken->size(); ++i) call.result(i, std::move((*taken)[i]));
    return;
  }
  std::optional<Values> yes = call.bodies().run(*then_branch, {});
  std::optional<Values> no = call.bodies().run(*else_branch, {});
  if (!yes || !no)
    return void(
        fail_by_data(call, "a node of its branches is rejected: both branches would be computed"));
  if (!matches_results(call, *yes) || !matches_results(call, *no)) return;
  NodeId flag = call.emit().reshape(condition.node, {});
  for (size_t i = 0; i < yes->size(); ++i) call.result(i, either(call, flag, (*yes)[i], (*no)[i]));
}

// --- loops ---------------------------------------------------------------------------------------

/// The rounds of a loop: values passed from one round to the next, and values stacked over all
/// rounds.
struct Rounds {
  Call& call;
  const schema::Graph& body;
  size_t first_state = 0; // index of the first passed value among the body's results
  Values states;
  std::vector<Values> stacks;

  /// Returns false, and rejects the node, if the body has too few results.
  bool prepare();
  /// Runs the body on these inputs. Returns its results, or nullopt if the node is finished.
  std::optional<Values> run(const Values& inputs);
  /// Stacks a value over all rounds; `backward` puts the last round first.
  FileValue stacked(size_t i, int64_t axis, bool backward);
  /// Returns the stack of no rounds, in the type that the body declares.
  FileValue stack_of_none(const schema::ValueInfo& declared, int64_t axis);
};

bool Rounds::prepare() {
  size_t given = static_cast<size_t>(body.output_size()), states_end = first_state + states.size();
  if (given < states_end || given - first_state < call.result_count()) {
    call.fail("its body has " + llvm::Twine(given) + " results, which do not match its own");
    return false;
  }
  stacks.resize(given - states_end);
  return true;
}

std::optional<Values> Rounds::run(const Values& inputs) {
  std::optional<Values> results = call.bodies().run(body, inputs);
  if (!results) {
    refuse_results(call);
    return std::nullopt;
  }
  for (size_t i = 0; i < states.size(); ++i) states[i] = (*results)[first_state + i];
  for (size_t i = 0; i < stacks.size(); ++i)
    stacks[i].push_back((*results)[first_state + states.size() + i]);
  return results;
}

FileValue Rounds::stack_of_none(const schema::ValueInfo& declared, int64_t axis) {
  const schema::Type::OfTensor& tensor = declared.type().tensor_type();
  auto dtype = dtype_of(tensor.elem_type());
  TensorType type{dtype ? *dtype : DType::None, {}};
  bool known = dtype && tensor.has_shape();
  for (const schema::Shape::Dimension& dim : tensor.shape().dim()) {
    known &= dim.has_dim_value();
    type.shape.push_back(dim.dim_value());
  }
  if (!known) {
    call.fail("it has no iterations, and its body does not declare the shape of `" +
              declared.name() + "`");
    return {};
  }
  axis = call.axis(axis, type.rank() + 1);
  type.shape.insert(type.shape.begin() + axis, 0);
  return FileValue::empty(std::move(type));
}

FileValue Rounds::stacked(size_t i, int64_t axis, bool backward) {
  if (stacks[i].empty()) {
    size_t place = first_state + states.size() + i;
    return stack_of_none(body.output(static_cast<int>(place)), axis);
  }
  if (backward) std::reverse(stacks[i].begin(), stacks[i].end());
  axis = call.axis(axis, stacks[i][0].type.rank() + 1);
  return call.failed() ? FileValue{} : stack(call, stacks[i], axis);
}

void write_loop(Call& call) {
  const schema::Graph* body = call.graph("body");
  int64_t most = call.has(0) ? call.known_whole(0) : INT64_MAX;
  // Without a condition input, the body's condition is ignored.
  bool asks = call.has(1);
  FileValue condition = call.value(1);
  NodeId yes = call.emit().scalar(1, DType::Bool);
  if (!asks) condition = {Kind::Tensor, yes, call.emit().type(yes), {}};
  if (call.failed()) return;
  Rounds rounds{call, *body, 1, {}, {}};
  for (size_t i = 2; i < call.input_count(); ++i) rounds.states.push_back(call.value(i));
  if (!rounds.prepare()) return;
  for (int64_t round = 0; round < most; ++round) {
    std::optional<bool> goes_on = known_condition(call, condition);
    if (!goes_on && !call.failed())
      call.fail("its condition `" + (round ? body->output(0).name() : call.input_name(1)) +
                "` depends on data after " + llvm::Twine(round) +
                " iterations, so their number is unknown");
    if (call.failed()) return;
    if (!*goes_on) break;
    if (!check_rounds(call, most == INT64_MAX ? round + 1 : most)) return;
    NodeId count = call.emit().scalar(static_cast<double>(round), DType::I64);
    Values inputs = {FileValue{Kind::Tensor, count, call.emit().type(count), {}}, condition};
    inputs.insert(inputs.end(), rounds.states.begin(), rounds.states.end());
    std::optional<Values> results = rounds.run(inputs);
    if (!results) return;
    if (asks) condition = (*results)[0];
  }
  for (size_t i = 0; i < rounds.states.size(); ++i) call.result(i, rounds.states[i]);
  for (size_t i = 0; i < rounds.stacks.size(); ++i)
    if (call.uses_result(rounds.states.size() + i))
      call.result(rounds.states.size() + i, rounds.stacked(i, 0, false));
}

// --- scans ---------------------------------------------------------------------------------------

/// Reads an attribute with one number for each of `count` values; zeros by default.
Shape each(Call& call, llvm::StringRef name, size_t count) {
  std::optional<Shape> given = call.wholes(name);
  if (given && given->size() != count)
    call.fail("its attribute `" + name + "` has " + llvm::Twine(given->size()) + " numbers for " +
              llvm::Twine(count) + " values");
  return given ? *given : Shape(count, 0);
}

/// A tensor of which each round takes a slice.
struct Scanned {
  FileValue value;
  int64_t axis = 0;
  bool backward = false;

  int64_t size() const { return value.type.shape[static_cast<size_t>(axis)]; }
  FileValue at_round(Emitter& e, int64_t round) const {
    NodeId made = at(e, value.node, axis, backward ? size() - 1 - round : round);
    return made.valid() ? FileValue{Kind::Tensor, made, e.type(made), {}} : FileValue{};
  }
};

/// Reads the last `count` inputs.
std::vector<Scanned> scanned_inputs(Call& call, size_t count) {
  Shape axes = each(call, "scan_input_axes", count);
  Shape directions = each(call, "scan_input_directions", count);
  if (call.failed()) return {};
  std::vector<Scanned> made;
  for (size_t i = 0; i < count; ++i) {
    size_t place = call.input_count() - count + i;
    TensorType type = call.type(place);
    int64_t axis = call.axis(axes[i], type.rank());
    made.push_back({call.value(place), axis, directions[i] != 0});
    if (call.failed()) return {};
    if (made[i].size() != made[0].size())
      call.fail("its inputs have different lengths: " + llvm::Twine(made[0].size()) + " and " +
                llvm::Twine(made[i].size()));
    if (made[i].value.is(Kind::Empty) && made[i].size() != 0)
      call.fail("its input " + llvm::Twine(place + 1) + " has no elements: " + type.text());
  }
  return made;
}

void write_scan(Call& call) {
  const schema::Graph* body = call.graph("body");
  int64_t count = call.whole("num_scan_inputs");
  if (call.version() < 9)
    call.fail("Scan is supported from operator set 9 on, but this file has set " +
              llvm::Twine(call.version()));
  if (count < 1 || static_cast<size_t>(count) > call.input_count())
    call.fail("its attribute `num_scan_inputs` does not match its inputs");
  if (call.failed()) return;
  std::vector<Scanned> scanned = scanned_inputs(call, static_cast<size_t>(count));
  if (call.failed()) return;
  Rounds rounds{call, *body, 0, {}, {}};
  for (size_t i = 0; i < call.input_count() - scanned.size(); ++i)
    rounds.states.push_back(call.value(i));
  if (!rounds.prepare() || !check_rounds(call, scanned[0].size())) return;
  Shape axes = each(call, "scan_output_axes", rounds.stacks.size());
  Shape directions = each(call, "scan_output_directions", rounds.stacks.size());
  for (int64_t round = 0; round < scanned[0].size() && !call.failed(); ++round) {
    Values inputs = rounds.states;
    for (const Scanned& one : scanned) inputs.push_back(one.at_round(call.emit(), round));
    if (call.failed() || !rounds.run(inputs)) return;
  }
  for (size_t i = 0; i < rounds.states.size(); ++i) call.result(i, rounds.states[i]);
  for (size_t i = 0; i < rounds.stacks.size() && !call.failed(); ++i)
    if (call.uses_result(rounds.states.size() + i))
      call.result(rounds.states.size() + i, rounds.stacked(i, axes[i], directions[i] != 0));
}

} // namespace

llvm::ArrayRef<Form> control_forms() {
  static constexpr Form kForms[] = {
      {"If", write_if},
      {"Loop", write_loop},
      {"Scan", write_scan},
  };
  return kForms;
}

} // namespace tg::onnx
