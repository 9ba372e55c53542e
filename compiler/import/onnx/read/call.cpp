#include "compiler/import/onnx/read/call.h"

#include "compiler/import/onnx/read/tensors.h"

#include <llvm/ADT/SmallSet.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::onnx {
namespace {

using Type = schema::Attribute;

llvm::ArrayRef<llvm::ArrayRef<Form>> families() {
  static const llvm::SmallVector<llvm::ArrayRef<Form>, 17> all = {
      pointwise_forms(),   shape_forms(),     layout_forms(),  index_forms(),     product_forms(),
      convolution_forms(), pool_forms(),      norm_forms(),    reduction_forms(), resize_forms(),
      recurrent_forms(),   attention_forms(), control_forms(), sequence_forms(),  loss_forms(),
      spectrum_forms(),    ml_forms(),
  };
  return all;
}

} // namespace

const Form* find_form(llvm::StringRef name) {
  static const llvm::StringMap<const Form*> table = [] {
    llvm::StringMap<const Form*> made;
    for (llvm::ArrayRef<Form> family : families())
      for (const Form& form : family) made[form.name] = &form;
    return made;
  }();
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

llvm::StringRef near_form(llvm::StringRef name) {
  std::vector<llvm::StringRef> names;
  for (llvm::ArrayRef<Form> family : families())
    for (const Form& form : family) names.push_back(form.name);
  return near_miss(name, names);
}

std::string name_of(const schema::Node& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return "without a name";
}

Call::Call(Emitter& emitter, Bodies& bodies, const ModelFile& file, const schema::Node& node,
           int version, llvm::ArrayRef<FileValue> inputs,
           const llvm::StringMap<const schema::Attribute*>& attributes, bool is_kept)
    : emitter_(emitter), bodies_(bodies), file_(file), node_(node), version_(version),
      is_kept_(is_kept), inputs_(inputs.begin(), inputs.end()),
      results_(static_cast<size_t>(node.output_size())) {
  for (const schema::Attribute& own : node.attribute())
    attributes_.push_back(own.ref_attr_name().empty() ? &own
                                                      : attributes.lookup(own.ref_attr_name()));
  attribute_seen_.resize(static_cast<unsigned>(attributes_.size()));
  input_seen_.resize(static_cast<unsigned>(inputs_.size()));
}

// --- attributes ----------------------------------------------------------------------------------

const schema::Attribute* Call::attribute(llvm::StringRef name) {
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (name != node_.attribute(static_cast<int>(i)).name()) continue;
    attribute_seen_.set(static_cast<unsigned>(i));
    return attributes_[i];
  }
  return nullptr;
}

int64_t Call::whole(llvm::StringRef name, int64_t otherwise) {
  const schema::Attribute* found = attribute(name);
  if (!found) return otherwise;
  if (found->type() != Type::INT) fail("its attribute `" + name + "` must be an integer");
  return found->i();
}

int64_t Call::whole(llvm::StringRef name) {
  if (!attribute(name)) fail("its attribute `" + name + "` is missing");
  return whole(name, 0);
}

double Call::real(llvm::StringRef name, double otherwise) {
  const schema::Attribute* found = attribute(name);
  if (!found) return otherwise;
  if (found->type() != Type::FLOAT) fail("its attribute `" + name + "` must be a float");
  return found->f();
}

std::string Call::text(llvm::StringRef name, llvm::StringRef otherwise) {
  const schema::Attribute* found = attribute(name);
  if (!found) return otherwise.str();
  if (found->type() != Type::STRING) fail("its attribute `" + name + "` must be a string");
  return found->s();
}

std::optional<Shape> Call::wholes(llvm::StringRef name) {
  const schema::Attribute* found = attribute(name);
  if (!found) return std::nullopt;
  if (found->type() != Type::INTS) fail("its attribute `" + name + "` must be a list of integers");
  return Shape(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<double>> Call::reals(llvm::StringRef name) {
  const schema::Attribute* found = attribute(name);
  if (!found) return std::nullopt;
  if (found->type() != Type::FLOATS) fail("its attribute `" + name + "` must be a list of floats");
  return std::vector<double>(found->floats().begin(), found->floats().end());
}

DType Call::dtype(llvm::StringRef name, DType otherwise) {
  if (!attribute(name)) return otherwise;
  auto dtype = dtype_of(static_cast<int32_t>(whole(name)));
  if (dtype) return *dtype;
  fail("its attribute `" + name + "`: " + dtype.error().message);
  return otherwise;
}

const schema::Graph* Call::graph(llvm::StringRef name) {
  const schema::Attribute* found = attribute(name);
  if (!found || found->type() != Type::GRAPH) {
    fail("its attribute `" + name + "` must be a graph");
    return nullptr;
  }
  return &found->g();
}

FileValue Call::tensor(const schema::Tensor& attribute) {
  std::string name = node_.output_size() > 0 ? node_.output(0) : node_.name();
  auto value = value_of_tensor(emitter_, file_, attribute, name, TensorRole::Literal);
  if (value) return std::move(*value);
  fail(value.error().message);
  return {};
}

// --- inputs --------------------------------------------------------------------------------------

const FileValue& Call::value(size_t i) {
  static const FileValue absent;
  if (i >= inputs_.size()) return absent;
  input_seen_.set(static_cast<unsigned>(i));
  return inputs_[i];
}

NodeId Call::input(size_t i) {
  const FileValue& given = value(i);
  std::string which = "its input " + std::to_string(i + 1);
  switch (given.kind) {
  case FileValue::Kind::Tensor: return given.node;
  case FileValue::Kind::Absent: return fail(which + " is missing");
  case FileValue::Kind::Empty: return fail(which + " has no elements: " + given.type.text());
  case FileValue::Kind::Sequence: return fail(which + " is a sequence");
  case FileValue::Kind::Narrow:
    return fail(which + " has elements of ONNX's type " + element_type_name(given.element) +
                ", for which the operator is not supported; insert a Cast to int32 or int64 before "
                "it");
  case FileValue::Kind::Padded:
    return fail(
        which +
        " has a number of rows that depends on data, which this operator does not support; use a "
        "mask over all rows (Where) instead");
  case FileValue::Kind::Nothing: return fail(which + " is an empty optional value");
  case FileValue::Kind::Refused: return fail(which + " was rejected");
  }
  return {};
}

TensorType Call::type(size_t i) {
  const FileValue& given = value(i);
  if (given.is(FileValue::Kind::Empty)) return given.type;
  NodeId node = input(i);
  return node.valid() ? emitter_.type(node) : TensorType{};
}

std::optional<Literal> Call::known(size_t i) {
  const FileValue& given = value(i);
  if (given.is(FileValue::Kind::Empty)) return Literal{given.type, {}, {}};
  NodeId node = input(i);
  std::optional<Literal> literal = emitter_.known(node);
  if (!literal && node.valid())
    fail("its input " + llvm::Twine(i + 1) +
         " must be known when the file is read, but it depends on data");
  return literal;
}

Shape Call::known_wholes(size_t i) {
  std::optional<Literal> literal = known(i);
  if (!literal) return {};
  if (!literal->is_whole()) fail("its input " + llvm::Twine(i + 1) + " must be a list of integers");
  return Shape(literal->ints.begin(), literal->ints.end());
}

std::vector<double> Call::known_reals(size_t i) {
  std::optional<Literal> literal = known(i);
  if (!literal) return {};
  if (!literal->is_whole()) return literal->reals;
  return std::vector<double>(literal->ints.begin(), literal->ints.end());
}

int64_t Call::known_whole(size_t i) {
  Shape all = known_wholes(i);
  if (all.size() != 1) fail("its input " + llvm::Twine(i + 1) + " is not one integer");
  return all.empty() ? 0 : all[0];
}

double Call::known_real(size_t i) {
  std::vector<double> all = known_reals(i);
  if (all.size() != 1) fail("its input " + llvm::Twine(i + 1) + " is not one number");
  return all.empty() ? 0 : all[0];
}

// --- results -------------------------------------------------------------------------------------

void Call::result(size_t i, NodeId node) {
  if (!node.valid()) return;
  result(i, FileValue{FileValue::Kind::Tensor, node, emitter_.type(node), {}});
}

void Call::result(size_t i, FileValue value) {
  if (i < results_.size()) results_[i] = std::move(value);
}

int64_t Call::axis(int64_t given, int64_t rank) {
  int64_t from_front = given < 0 ? given + rank : given;
  if (from_front >= 0 && from_front < rank) return from_front;
  fail("there is no axis " + llvm::Twine(given) + " of " + llvm::Twine(rank));
  return 0;
}

Shape Call::axes(Ints given, int64_t rank) {
  Shape made;
  for (int64_t one : given) made.push_back(axis(one, rank));
  return made;
}

/// Returns true for attributes of opsets before 7 that do not affect values: memory hints, whether
/// the model is trained.
static bool is_legacy(const schema::Attribute& given, llvm::StringRef op, int version) {
  if (version >= 7) return false;
  llvm::StringRef name = given.name();
  return name == "consumed_inputs" || name == "is_test" ||
         (name == "broadcast" && (given.i() == 0 || op == "Gemm" || op == "PRelu"));
}

std::string Call::unused_parts() const {
  llvm::SmallSet<llvm::StringRef, 8> names;
  for (const schema::Attribute& own : node_.attribute())
    if (!names.insert(own.name()).second)
      return "its attribute `" + own.name() + "` is given twice";
  for (unsigned i = 0; i < attribute_seen_.size(); ++i)
    if (!attribute_seen_[i] && attributes_[i] && !is_legacy(*attributes_[i], op(), version_))
      return "its attribute `" + node_.attribute(static_cast<int>(i)).name() + "` is unknown";
  for (unsigned i = 0; i < input_seen_.size(); ++i)
    if (!input_seen_[i] && !inputs_[i].is(FileValue::Kind::Absent))
      return "its input " + std::to_string(i + 1) + " is not supported";
  for (size_t i = 0; i < results_.size(); ++i)
    if (uses_result(i) && results_[i].is(FileValue::Kind::Absent))
      return "its result " + std::to_string(i + 1) + " is not supported";
  return "";
}

// --- of several forms ----------------------------------------------------------------------------

bool flag(Call& call, llvm::StringRef name, bool otherwise) {
  int64_t found = call.whole(name, otherwise ? 1 : 0);
  if (found != 0 && found != 1)
    call.fail("its attribute `" + name + "` is " + llvm::Twine(found) + ", but must be 0 or 1");
  return found != 0;
}

NodeId carried(Call& call, size_t i) {
  const FileValue& given = call.value(i);
  return given.is(FileValue::Kind::Narrow) ? given.node : call.input(i);
}

int32_t narrow_element(Call& call, size_t i) { return call.value(i).element; }

void padded_result(Call& call, size_t i, NodeId rows, NodeId count, int64_t axis) {
  if (!rows.valid() || !count.valid()) return;
  FileValue made{FileValue::Kind::Padded, rows, call.emit().type(rows), {}};
  made.count = count, made.axis = axis;
  call.result(i, std::move(made));
}

NodeId indices_of(Call& call, size_t i) {
  NodeId node = call.input(i);
  TensorType type = call.emit().type(node);
  if (node.valid() && !is_integer(type.dtype))
    return call.fail("its indices are " + type.text() + ", but must be integers");
  return node;
}

} // namespace tg::onnx
