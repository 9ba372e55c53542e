// Sequences and optional values, which exist only at import time. They are built, taken apart and
// removed; a position or length that depends on data is rejected.
#include "compiler/import/onnx/read/shared/unroll.h"

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

/// Returns input i as a sequence. Fails for other values.
std::vector<FileValue> items(Call& call, size_t i) {
  const FileValue& given = call.value(i);
  if (!given.is(Kind::Sequence))
    call.fail("its input " + llvm::Twine(i + 1) + " is not a sequence");
  return given.items;
}

/// Returns the position given by input i, or `otherwise` if it is absent. `places` is the number of
/// valid positions.
size_t position(Call& call, size_t i, int64_t places, int64_t negative_base, int64_t otherwise) {
  int64_t given = call.has(i) ? call.known_whole(i) : otherwise;
  int64_t from_front = given < 0 ? given + negative_base : given;
  if (from_front >= 0 && from_front < places) return static_cast<size_t>(from_front);
  call.fail("there is no position " + llvm::Twine(given) + " in a sequence of " +
            llvm::Twine(negative_base));
  return 0;
}

// --- built and taken apart -----------------------------------------------------------------------

void write_construct(Call& call) {
  std::vector<FileValue> made;
  for (size_t i = 0; i < call.input_count(); ++i) {
    (void)call.type(i); // checks for a tensor
    made.push_back(call.value(i));
  }
  call.result(0, FileValue::sequence(std::move(made)));
}

void write_empty(Call& call) {
  ignore(call, "dtype"); // inserted elements have their own dtype
  call.result(0, FileValue::sequence({}));
}

void write_insert(Call& call) {
  std::vector<FileValue> made = items(call, 0);
  auto count = static_cast<int64_t>(made.size());
  size_t place = position(call, 2, count + 1, count, count);
  (void)call.type(1);
  if (call.failed()) return;
  made.insert(made.begin() + static_cast<std::ptrdiff_t>(place), call.value(1));
  call.result(0, FileValue::sequence(std::move(made)));
}

void write_erase(Call& call) {
  std::vector<FileValue> made = items(call, 0);
  auto count = static_cast<int64_t>(made.size());
  size_t place = position(call, 1, count, count, -1);
  if (call.failed()) return;
  made.erase(made.begin() + static_cast<std::ptrdiff_t>(place));
  call.result(0, FileValue::sequence(std::move(made)));
}

void write_at(Call& call) {
  std::vector<FileValue> given = items(call, 0);
  auto count = static_cast<int64_t>(given.size());
  size_t place = position(call, 1, count, count, -1);
  if (!call.failed()) call.result(0, given[place]);
}

void write_length(Call& call) {
  auto count = static_cast<double>(items(call, 0).size());
  call.result(call.emit().scalar(count, DType::I64));
}

/// Returns the sizes of the pieces of SplitToSequence.
Shape pieces(Call& call, int64_t size) {
  Shape made;
  if (call.has(1) && call.type(1).rank() > 0) {
    made = call.known_wholes(1);
    int64_t sum = 0;
    for (int64_t piece : made) sum += piece;
    if (sum != size || llvm::any_of(made, [](int64_t piece) { return piece < 0; }))
      call.fail("its pieces do not add up to the " + llvm::Twine(size) + " elements");
    return made;
  }
  int64_t piece = call.has(1) ? call.known_whole(1) : 1;
  if (piece < 1) call.fail("its pieces have a size of " + llvm::Twine(piece));
  if (call.failed()) return {};
  for (int64_t start = 0; start < size; start += piece)
    made.push_back(std::min(piece, size - start));
  return made;
}

void write_split(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  if (call.failed()) return;
  int64_t axis = call.axis(call.whole("axis", 0), e.rank(x));
  bool keeps = flag(call, "keepdims", true) || call.has(1);
  if (call.failed()) return;
  std::vector<FileValue> made;
  int64_t start = 0;
  for (int64_t piece : pieces(call, e.shape(x)[static_cast<size_t>(axis)])) {
    if (call.failed()) return;
    TensorType type = e.type(x);
    type.shape[static_cast<size_t>(axis)] = piece;
    NodeId part = piece > 0 ? e.slice(x, axis, start, start + piece) : NodeId();
    if (!keeps) part = e.squeeze(part, axis);
    start += piece;
    made.push_back(part.valid() ? FileValue{Kind::Tensor, part, e.type(part), {}}
                                : FileValue::empty(std::move(type)));
  }
  call.result(0, FileValue::sequence(std::move(made)));
}

/// Concatenates along an existing axis. Tensors without elements add nothing.
void join(Call& call, const std::vector<FileValue>& given, int64_t axis) {
  llvm::SmallVector<NodeId, 8> parts;
  TensorType empty;
  int64_t size = 0;
  for (const FileValue& value : given) {
    if (value.is(Kind::Tensor)) parts.push_back(value.node);
    if (!value.is(Kind::Empty)) continue;
    empty = value.type;
    size += empty[static_cast<size_t>(axis)];
  }
  if (!parts.empty()) return call.result(call.emit().concat(parts, axis));
  empty.shape[static_cast<size_t>(axis)] = size;
  call.result(0, FileValue::empty(std::move(empty)));
}

void write_concat(Call& call) {
  std::vector<FileValue> given = items(call, 0);
  bool new_axis = flag(call, "new_axis", false);
  int64_t axis = call.whole("axis");
  if (call.failed()) return;
  if (given.empty()) return void(call.fail("its sequence is empty"));
  for (const FileValue& value : given)
    if (value.type.rank() != given[0].type.rank())
      return void(call.fail("its tensors have different ranks: " + given[0].type.text() + " and " +
                            value.type.text()));
  axis = call.axis(axis, given[0].type.rank() + (new_axis ? 1 : 0));
  if (call.failed()) return;
  if (new_axis)
    call.result(0, stack(call, given, axis));
  else
    join(call, given, axis);
}

/// Runs the body once for each item; inputs that are not sequences are the same for all.
void write_map(Call& call) {
  const schema::Graph* body = call.graph("body");
  std::vector<FileValue> first = items(call, 0);
  for (size_t i = 1; i < call.input_count(); ++i)
    if (call.value(i).is(Kind::Sequence) && call.value(i).items.size() != first.size())
      call.fail("its sequences have different lengths: " + llvm::Twine(first.size()) + " and " +
                llvm::Twine(call.value(i).items.size()));
  if (call.failed() || !check_rounds(call, static_cast<int64_t>(first.size()))) return;
  std::vector<std::vector<FileValue>> made(call.result_count());
  for (size_t round = 0; round < first.size(); ++round) {
    std::vector<FileValue> inputs;
    for (size_t i = 0; i < call.input_count(); ++i) {
      const FileValue& given = call.value(i);
      inputs.push_back(given.is(Kind::Sequence) ? given.items[round] : given);
    }
    std::optional<std::vector<FileValue>> results = call.bodies().run(*body, inputs);
    if (!results) return refuse_results(call);
    if (results->size() < made.size())
      return void(call.fail("its body has fewer results than the node"));
    for (size_t i = 0; i < made.size(); ++i) made[i].push_back(std::move((*results)[i]));
  }
  for (size_t i = 0; i < made.size(); ++i) call.result(i, FileValue::sequence(std::move(made[i])));
}

// --- optional values -----------------------------------------------------------------------------

/// An optional with a value is represented by the value.
void write_optional(Call& call) {
  ignore(call, "type");
  call.result(0, call.has(0) ? call.value(0) : FileValue::of(Kind::Nothing));
}

bool holds(const FileValue& value) { return !value.is(Kind::Absent) && !value.is(Kind::Nothing); }

void write_has_element(Call& call) {
  call.result(call.emit().scalar(holds(call.value(0)) ? 1 : 0, DType::Bool));
}

void write_get_element(Call& call) {
  if (!holds(call.value(0))) return void(call.fail("its optional input is empty"));
  call.result(0, call.value(0));
}

// --- sequences along an axis of a tensor ---------------------------------------------------------

/// Returns the source of each element as the number of a row [time, batch] or [batch, time].
NodeId reversed_rows(Emitter& e, NodeId lengths, int64_t time, int64_t batch, bool time_first) {
  TensorType rows{DType::I64, time_first ? Shape{time, batch} : Shape{batch, time}};
  NodeId t = e.iota(rows, time_first ? 0 : 1), b = e.iota(rows, time_first ? 1 : 0);
  NodeId length = e.reshape(lengths, time_first ? Shape{1, batch} : Shape{batch, 1});
  NodeId from = e.select(e.less(t, length), e.sub(e.sub(length, t), 1), t);
  return time_first ? e.add(e.mul(from, static_cast<double>(batch)), b)
                    : e.add(e.mul(b, static_cast<double>(time)), from);
}

void write_reverse(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), lengths = call.input(1);
  int64_t batch_axis = call.whole("batch_axis", 1), time_axis = call.whole("time_axis", 0);
  if (call.failed()) return;
  if (batch_axis + time_axis != 1 || batch_axis * time_axis != 0 || e.rank(x) < 2)
    return void(call.fail("its axes of time and batch must be the first two, but are " +
                          llvm::Twine(time_axis) + " and " + llvm::Twine(batch_axis)));
  Ints shape = e.shape(x);
  int64_t time = shape[static_cast<size_t>(time_axis)],
          batch = shape[static_cast<size_t>(batch_axis)];
  if (e.shape(lengths) != Ints({batch}))
    return void(call.fail("it has " + llvm::Twine(batch) + " sequences, but lengths " +
                          e.type(lengths).text()));
  NodeId rows = reversed_rows(e, e.cast(lengths, DType::I64), time, batch, time_axis == 0);
  Shape flat = {time * batch};
  flat.append(shape.begin() + 2, shape.end());
  call.result(e.gather(e.reshape(x, flat), rows, 0));
}

} // namespace

llvm::ArrayRef<Form> sequence_forms() {
  static constexpr Form kForms[] = {
      {"ConcatFromSequence", write_concat},
      {"Optional", write_optional},
      {"OptionalGetElement", write_get_element},
      {"OptionalHasElement", write_has_element},
      {"ReverseSequence", write_reverse},
      {"SequenceAt", write_at},
      {"SequenceConstruct", write_construct},
      {"SequenceEmpty", write_empty},
      {"SequenceErase", write_erase},
      {"SequenceInsert", write_insert},
      {"SequenceLength", write_length},
      {"SequenceMap", write_map},
      {"SplitToSequence", write_split},
  };
  return kForms;
}

} // namespace tg::onnx
