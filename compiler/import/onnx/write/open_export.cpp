#include "compiler/import/onnx/write/open_export.h"

#include "compiler/import/onnx/write/export_nodes.h"
#include "lang/core/sizes/fit.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <cmath>
#include <cstring>
#include <map>

namespace tg::onnx {

std::string OpenPoints::text(size_t point) const {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : ", ") + names[i] + " = " + std::to_string(points[point][i]);
  return out;
}

namespace {

bool same_operation(const Graph& a, const Graph& b, NodeId id) {
  return a.node(id).op == b.node(id).op && a.operands(id) == b.operands(id);
}

bool same_attributes(const Graph& a, const Graph& b, NodeId id) {
  size_t count = a.attrs(id).size();
  for (size_t slot = 0; slot < count; ++slot)
    if (a.attr(id, slot).text_form() != b.attr(id, slot).text_form()) return false;
  return count == b.attrs(id).size();
}

} // namespace

Result<std::vector<bool>> varying_nodes(const OpenPoints& at, llvm::ArrayRef<const Graph*> graphs) {
  const Graph& first = *graphs[0];
  std::vector<bool> varies(first.size());
  for (size_t point = 1; point < graphs.size(); ++point) {
    const Graph& other = *graphs[point];
    for (uint32_t i = 0; i < first.size(); ++i) {
      if (i >= other.size() || !same_operation(first, other, {i}))
        return error(Code::unsupported,
                     "the model is not the same at all sizes: `{0}` (node {1}) at {2} is another "
                     "operator or has other operands at {3}",
                     op_info(first.node({i}).op).name, i, at.text(0), at.text(point));
      varies[i] =
          varies[i] || first.type({i}) != other.type({i}) || !same_attributes(first, other, {i});
    }
    if (other.size() != first.size())
      return error(Code::unsupported,
                   "the model is not the same at all sizes: it has {0} nodes at {1} and {2} at {3}",
                   first.size(), at.text(0), other.size(), at.text(point));
  }
  for (uint32_t i = 0; i < first.size(); ++i)
    if (first.node({i}).weight_only)
      for (NodeId operand : first.operands({i}))
        varies[i] = varies[i] || (varies[operand.index] && first.node(operand).weight_only);
  return varies;
}

namespace {

using sizes::Algebra;
using sizes::Expr;
using Exprs = llvm::SmallVector<Expr, 6>;

/// Writes expressions as nodes of the file that compute them from the shapes of its inputs. Each
/// value is an i64[1] tensor, so that a list is a Concat.
class SizeWriter {
public:
  SizeWriter(Algebra& algebra, const OpenPoints& at, schema::Graph& graph, int opset)
      : algebra_(algebra), graph_(graph), opset_(opset), region_(algebra, at.ranges),
        sizes_(at.names.size()) {
    for (const auto& input : graph.input()) taken_.insert(input.name());
    for (const auto& tensor : graph.initializer()) taken_.insert(tensor.name());
    for (const schema::Node& node : graph.node())
      for (const std::string& output : node.output()) taken_.insert(output);
  }

  sizes::Region& region() { return region_; }
  std::vector<schema::Node> take_nodes() { return std::move(nodes_); }

  /// Finds, for each size, a dimension of an input from which it follows.
  void add_input(const std::string& name, const Exprs& dims) {
    for (size_t axis = 0; axis < dims.size(); ++axis)
      for (size_t size = 0; size < sizes_.size(); ++size) {
        std::optional<Algebra::Linear> linear = algebra_.linear_in(dims[axis], size);
        if (!linear || linear->coefficient <= 0) continue;
        Source source{name, static_cast<int64_t>(axis), linear->coefficient, linear->rest};
        bool plain = source.coefficient == 1 && algebra_.constant(source.rest) == 0;
        Source& known = sizes_[size];
        if (known.input.empty() || (plain && !known.plain)) known = source, known.plain = plain;
      }
  }

  /// Returns the name of the first size that is needed and that no input has; otherwise "".
  std::string missing() const { return missing_; }

  /// Writes the list under the name of a tensor.
  void write(const schema::Tensor& tensor, const Exprs& elements) {
    std::string value = list(elements);
    if (tensor.dims_size() == 0)
      value = node("Squeeze", {value});
    else if (tensor.dims_size() > 1)
      value = node("Reshape", {value, numbers(llvm::to_vector<6>(tensor.dims()))});
    if (tensor.data_type() != schema::Tensor::INT64)
      value = node("Cast", {value}, {Attr::whole("to", tensor.data_type())});
    renamed_[tensor.name()] = value;
  }
  /// Returns the names of values that replace tensors.
  const llvm::StringMap<std::string>& renamed() const { return renamed_; }

private:
  /// A dimension that is coefficient * size + rest.
  struct Source {
    std::string input;
    int64_t axis = 0, coefficient = 1;
    Expr rest = {};
    bool plain = false;
    std::string value = {}; // written
    bool entered = false;
  };

  std::string fresh(llvm::StringRef base) {
    std::string name = base.str();
    for (int i = 2; !taken_.insert(name).second; ++i) name = (base + "_" + llvm::Twine(i)).str();
    return name;
  }

  std::string node(const char* op, llvm::ArrayRef<std::string> inputs,
                   llvm::ArrayRef<Attr> attrs = {}, llvm::StringRef base = "") {
    std::string key = op;
    for (const std::string& input : inputs) key += "\n" + input;
    schema::Node node;
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    for (const Attr& attr : attrs) set_attr(node, attr);
    for (const auto& attr : node.attribute()) key += "\n" + attr.SerializeAsString();
    std::string& known = written_[key];
    if (!known.empty()) return known;
    known = fresh(base.empty() ? "size/" + llvm::StringRef(op).str() : base.str());
    node.set_name(known);
    node.add_output(known);
    nodes_.push_back(std::move(node));
    return known;
  }

  std::string numbers(llvm::ArrayRef<int64_t> values) {
    std::string bytes = element_bytes(values, DType::I64);
    std::string& known = numbers_[bytes];
    if (!known.empty()) return known;
    known = fresh("size/ints");
    schema::Tensor& tensor = *graph_.add_initializer();
    describe(tensor, known, {DType::I64, {static_cast<int64_t>(values.size())}});
    tensor.set_raw_data(std::move(bytes));
    return known;
  }

  /// Returns the value of a size.
  std::string size(size_t number) {
    Source& source = sizes_[number];
    if (!source.value.empty()) return source.value;
    if (source.input.empty() || source.entered) {
      missing_ = algebra_.name(number);
      return "";
    }
    source.entered = true;
    std::string dim = dimension(source.input, source.axis, algebra_.name(number));
    if (algebra_.constant(source.rest) != 0) dim = node("Sub", {dim, value(source.rest)});
    if (source.coefficient != 1) dim = node("Div", {dim, numbers(source.coefficient)});
    return sizes_[number].value = std::move(dim);
  }

  std::string dimension(const std::string& input, int64_t axis, llvm::StringRef name) {
    if (opset_ >= 15)
      return node("Shape", {input}, {Attr::whole("start", axis), Attr::whole("end", axis + 1)},
                  ("size/" + name).str());
    return node("Gather", {node("Shape", {input}), numbers(axis)}, {}, ("size/" + name).str());
  }

  std::string value(Expr e) {
    if (std::optional<int64_t> number = algebra_.constant(e)) return numbers(*number);
    std::string& known = values_[e];
    if (!known.empty()) return known;
    std::string sum, negative;
    auto join = [&](const char* op, std::string& to, const std::string& other) {
      to = to.empty() ? other : node(op, {to, other});
    };
    for (const auto& [monomial, factor] : Algebra::Polynomial(algebra_.polynomial(e))) {
      std::string product;
      for (uint32_t atom : monomial) join("Mul", product, this->atom(atom));
      int64_t scale = factor < 0 ? -factor : factor;
      if (scale != 1 || product.empty()) join("Mul", product, numbers(scale));
      join("Add", factor < 0 ? negative : sum, product);
    }
    if (sum.empty()) sum = numbers(0);
    if (!negative.empty()) sum = node("Sub", {sum, negative});
    return values_[e] = sum;
  }

  /// Division of integers in ONNX truncates, and Mod has the sign of the divisor.
  std::string atom(uint32_t number) {
    if (std::optional<size_t> size = algebra_.size_of_atom(number)) return this->size(*size);
    Algebra::Division division = algebra_.division(number);
    std::string of = value(division.of), by = numbers(division.by);
    if (!region_.proves({division.of, sizes::Condition::Kind::NotNegative}))
      of = node("Sub", {of, node("Mod", {of, by})});
    return node("Div", {of, by});
  }

  std::string list(const Exprs& elements) {
    std::vector<std::string> parts;
    llvm::SmallVector<int64_t, 6> known; // numbers that follow each other
    auto finish = [&] {
      if (!known.empty()) parts.push_back(numbers(known));
      known.clear();
    };
    for (Expr e : elements) {
      if (std::optional<int64_t> number = algebra_.constant(e)) {
        known.push_back(*number);
        continue;
      }
      finish();
      parts.push_back(value(e));
    }
    finish();
    return parts.size() == 1 ? parts[0] : node("Concat", parts, {Attr::whole("axis", 0)});
  }

  Algebra& algebra_;
  schema::Graph& graph_; // gets constants
  int opset_;
  sizes::Region region_;
  std::vector<Source> sizes_;
  llvm::StringSet<> taken_;
  std::vector<schema::Node> nodes_;
  llvm::StringMap<std::string> written_, numbers_, renamed_;
  std::map<Expr, std::string> values_;
  std::string missing_;
};

class OpenJoiner {
public:
  OpenJoiner(const OpenPoints& at, std::vector<Exported> files)
      : at_(at), files_(std::move(files)), algebra_(at.names) {}

  Result<Exported> run() {
    TG_CHECK(compare_nodes());
    TG_CHECK(compare_weights());
    TG_CHECK(find_varying_tensors());
    TG_CHECK(fit_types());
    write_sizes();
    if (!missing_.empty())
      return error(Code::unsupported,
                   "`{0}` is not a dimension of an input, from which the file could compute it",
                   missing_);
    share_tensors();
    join_notes();
    return std::move(files_[0]);
  }

private:
  schema::Graph& graph(size_t point = 0) { return files_[point].graph; }

  /// Returns an expression with these values, one for each point.
  std::optional<Expr> fitted(const std::vector<int64_t>& values) {
    auto [at, fresh] = fitted_.try_emplace(values);
    if (fresh) at->second = sizes::fit(algebra_, at_.points, values);
    return at->second;
  }

  Result<Expr> fitted(const std::vector<int64_t>& values, const std::string& what) {
    if (std::optional<Expr> e = fitted(values)) return *e;
    return error(Code::unsupported,
                 "{0} is not an expression of the open sizes: it is {1} at {2} and {3} at {4}",
                 what, values[0], at_.text(0), values.back(), at_.text(values.size() - 1));
  }

  Diagnostic not_same(const std::string& what, size_t point) const {
    return error(Code::unsupported,
                 "the model is not the same at all sizes: {0} differs at {1} "
                 "and {2}",
                 what, at_.text(0), at_.text(point))
        .suggest("fix a size with --set");
  }

  Result<void> compare_nodes() {
    for (size_t point = 1; point < files_.size(); ++point) {
      const schema::Graph& other = graph(point);
      int count = std::min(graph().node_size(), other.node_size());
      for (int i = 0; i < count; ++i) TG_CHECK(compare(graph().node(i), other.node(i), point));
      if (graph().node_size() != other.node_size()) return not_same("the number of nodes", point);
    }
    return {};
  }

  Result<void> compare(const schema::Node& a, const schema::Node& b, size_t point) const {
    std::string name = a.op_type() + " `" + a.name() + "`";
    auto same = [](const auto& x, const auto& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end());
    };
    if (a.op_type() != b.op_type() || !same(a.input(), b.input()) ||
        !same(a.output(), b.output()) || a.attribute_size() != b.attribute_size())
      return not_same(name, point);
    for (int i = 0; i < a.attribute_size(); ++i) {
      const schema::Attribute &x = a.attribute(i), &y = b.attribute(i);
      if (x.SerializeAsString() == y.SerializeAsString()) continue;
      return error(
          Code::unsupported,
          "{0} cannot be written for all sizes: its attribute `{1}` differs at {2} and {3}", name,
          x.name(), at_.text(0), at_.text(point));
    }
    return {};
  }

  Result<void> compare_weights() {
    std::vector<ExportedWeight>& weights = files_[0].weights;
    for (size_t point = 1; point < files_.size(); ++point) {
      llvm::ArrayRef<ExportedWeight> other = files_[point].weights;
      if (other.size() != weights.size()) return not_same("the number of weights", point);
      for (size_t i = 0; i < weights.size(); ++i) {
        if (weights[i].tensor.SerializeAsString() != other[i].tensor.SerializeAsString())
          return not_same("the weight `" + weights[i].tensor.name() + "`", point);
        int64_t& below = weights[i].indices_below;
        below = std::min(below, other[i].indices_below);
      }
    }
    return {};
  }

  Result<void> find_varying_tensors() {
    for (int i = 0; i < graph().initializer_size(); ++i) {
      const schema::Tensor& first = graph().initializer(i);
      bool varies = false;
      for (size_t point = 1; point < files_.size(); ++point) {
        if (graph(point).initializer_size() != graph().initializer_size())
          return not_same("the number of constants", point);
        const schema::Tensor& other = graph(point).initializer(i);
        if (other.name() != first.name() || other.data_type() != first.data_type())
          return not_same("the constant `" + first.name() + "`", point);
        bool same_dims = std::equal(first.dims().begin(), first.dims().end(), other.dims().begin(),
                                    other.dims().end());
        if (!same_dims)
          return error(Code::unsupported,
                       "the constant `{0}` cannot be written for all sizes: its shape differs at "
                       "{1} and {2}",
                       first.name(), at_.text(0), at_.text(point));
        varies |= other.raw_data() != first.raw_data();
      }
      if (varies) TG_CHECK(fit_tensor(i));
    }
    return {};
  }

  Result<void> fit_tensor(int index) {
    std::vector<std::vector<int64_t>> values; // by point
    const schema::Tensor& first = graph().initializer(index);
    for (size_t point = 0; point < files_.size(); ++point) {
      std::optional<std::vector<int64_t>> whole = integers(graph(point).initializer(index));
      if (!whole)
        return error(Code::unsupported,
                     "the constant `{0}` cannot be written for all sizes: it differs at {1} and "
                     "{2}, and not all its elements are integers",
                     first.name(), at_.text(0), at_.text(files_.size() - 1));
      values.push_back(std::move(*whole));
    }
    Exprs elements;
    for (size_t e = 0; e < values[0].size(); ++e) {
      std::vector<int64_t> one;
      for (const auto& all : values) one.push_back(all[e]);
      TG_TRY(Expr expr, fitted(one, llvm::formatv("element {0} of `{1}`", e, first.name())));
      elements.push_back(expr);
    }
    varying_[first.name()] = std::move(elements);
    return {};
  }

  /// Returns the elements if they are integers.
  static std::optional<std::vector<int64_t>> integers(const schema::Tensor& tensor) {
    size_t width = 0;
    switch (tensor.data_type()) {
    case schema::Tensor::INT64:
    case schema::Tensor::DOUBLE: width = 8; break;
    case schema::Tensor::INT32:
    case schema::Tensor::FLOAT: width = 4; break;
    default: return std::nullopt;
    }
    std::vector<int64_t> out;
    for (size_t at = 0; at + width <= tensor.raw_data().size(); at += width) {
      uint64_t bits = read_little_endian(tensor.raw_data(), at, width);
      double real = 0;
      if (tensor.data_type() == schema::Tensor::INT64) {
        out.push_back(static_cast<int64_t>(bits));
        continue;
      }
      if (tensor.data_type() == schema::Tensor::INT32) {
        out.push_back(static_cast<int32_t>(bits));
        continue;
      }
      if (width == 8) {
        std::memcpy(&real, &bits, 8);
      } else {
        auto half = static_cast<uint32_t>(bits);
        float single = 0;
        std::memcpy(&single, &half, 4);
        real = static_cast<double>(single);
      }
      if (real != std::floor(real) || std::fabs(real) > 0x1p53) return std::nullopt;
      out.push_back(static_cast<int64_t>(real));
    }
    return out;
  }

  static schema::Type::OfTensor& tensor_type(schema::ValueInfo& info) {
    return *info.mutable_type()->mutable_tensor_type();
  }

  Result<void> fit_types() {
    for (int i = 0; i < graph().input_size(); ++i)
      TG_CHECK(fit_type([&](size_t p) { return graph(p).mutable_input(i); }));
    for (int i = 0; i < graph().output_size(); ++i)
      TG_CHECK(fit_type([&](size_t p) { return graph(p).mutable_output(i); }));
    for (int i = 0; i < graph().value_info_size(); ++i)
      TG_CHECK(fit_type([&](size_t p) { return graph(p).mutable_value_info(i); }));
    return {};
  }

  Result<void> fit_type(llvm::function_ref<schema::ValueInfo*(size_t)> at) {
    schema::ValueInfo& info = *at(0);
    auto& shape = *tensor_type(info).mutable_shape();
    Exprs dims;
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      std::vector<int64_t> values;
      for (size_t point = 0; point < files_.size(); ++point)
        values.push_back(tensor_type(*at(point)).shape().dim(axis).dim_value());
      TG_TRY(Expr e, fitted(values, llvm::formatv("dimension {0} of `{1}`", axis, info.name())));
      dims.push_back(e);
    }
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      if (algebra_.constant(dims[static_cast<size_t>(axis)])) continue;
      auto& dim = *shape.mutable_dim(axis);
      dim.Clear();
      for (size_t size = 0; size < at_.names.size(); ++size)
        if (dims[static_cast<size_t>(axis)] == algebra_.size(size))
          dim.set_dim_param(at_.names[size]);
    }
    types_[info.name()] = std::move(dims);
    return {};
  }

  /// Writes the shape of a Reshape with 0 for copied dimensions and one -1 if then no element
  /// varies. Returns false if a -1 would be ambiguous, or too little is known.
  bool simplify_reshape(const schema::Node& node, Exprs& shape, sizes::Region& region) {
    if (node.op_type() != "Reshape") return false;
    auto found = types_.find(node.input(0));
    if (found == types_.end()) return false;
    const Exprs& from = found->second;
    auto positive = [&](Expr dim) {
      return region.proves(
          {algebra_.subtract(dim, algebra_.number(1)), sizes::Condition::Kind::NotNegative});
    };
    Exprs simple = shape;
    size_t open = 0;
    for (size_t i = 0; i < simple.size(); ++i) {
      if (algebra_.constant(simple[i])) continue;
      if (i < from.size() && from[i] == simple[i]) {
        simple[i] = algebra_.number(0);
        continue;
      }
      ++open;
      simple[i] = algebra_.number(-1);
    }
    if (open > 1 || (open == 1 && !llvm::all_of(shape, positive))) return false;
    shape = std::move(simple);
    return true;
  }

  void write_sizes() {
    SizeWriter writer(algebra_, at_, graph(), opset());
    for (const schema::ValueInfo& input : graph().input())
      writer.add_input(input.name(), types_[input.name()]);
    llvm::StringSet<> constant; // varying tensors of which all readers take numbers
    for (const schema::Node& node : graph().node())
      for (const std::string& input : node.input())
        if (auto tensor = varying_.find(input); tensor != varying_.end())
          if (simplify_reshape(node, tensor->second, writer.region())) constant.insert(input);
    google::protobuf::RepeatedPtrField<schema::Tensor> before;
    before.Swap(graph().mutable_initializer());
    for (schema::Tensor& tensor : before) {
      auto varying = varying_.find(tensor.name());
      if (varying != varying_.end() && !constant.contains(tensor.name())) continue;
      if (varying != varying_.end()) {
        llvm::SmallVector<int64_t, 6> numbers;
        for (Expr e : varying->second) numbers.push_back(*algebra_.constant(e));
        tensor.set_raw_data(element_bytes(numbers, DType::I64));
      }
      *graph().add_initializer() = tensor;
    }
    for (const schema::Tensor& tensor : before)
      if (auto varying = varying_.find(tensor.name());
          varying != varying_.end() && !constant.contains(tensor.name()))
        writer.write(tensor, varying->second);
    missing_ = writer.missing();
    insert(writer.take_nodes(), writer.renamed());
  }

  /// Puts the nodes in front of the others, which read the new names.
  void insert(std::vector<schema::Node> nodes, const llvm::StringMap<std::string>& renamed) {
    google::protobuf::RepeatedPtrField<schema::Node> before;
    before.Swap(graph().mutable_node());
    for (schema::Node& node : nodes) *graph().add_node() = std::move(node);
    for (schema::Node& node : before) {
      rename_inputs(node, renamed);
      *graph().add_node() = std::move(node);
    }
  }

  static void rename_inputs(schema::Node& node, const llvm::StringMap<std::string>& renamed) {
    for (std::string& input : *node.mutable_input())
      if (auto found = renamed.find(input); found != renamed.end()) input = found->second;
  }

  /// Keeps one of equal small constants, which the files have apart.
  void share_tensors() {
    constexpr size_t kSmall = 256;
    llvm::StringMap<std::string> known, renamed;
    google::protobuf::RepeatedPtrField<schema::Tensor> before;
    before.Swap(graph().mutable_initializer());
    for (schema::Tensor& tensor : before) {
      std::string name = tensor.name();
      if (tensor.raw_data().size() <= kSmall) {
        tensor.clear_name();
        std::string& first = known[tensor.SerializeAsString()];
        tensor.set_name(name);
        if (!first.empty()) {
          renamed[name] = first;
          continue;
        }
        first = name;
      }
      *graph().add_initializer() = std::move(tensor);
    }
    for (schema::Node& node : *graph().mutable_node()) rename_inputs(node, renamed);
  }

  /// A note that differs is true for the first point.
  void join_notes() {
    for (size_t i = 0; i < files_[0].notes.size(); ++i) {
      bool differs = llvm::any_of(files_, [&](const Exported& file) {
        return i < file.notes.size() && file.notes[i] != files_[0].notes[i];
      });
      if (differs) files_[0].notes[i] = "at " + at_.text(0) + ": " + files_[0].notes[i];
    }
  }

  int opset() const { return static_cast<int>(files_[0].model.opset_import(0).version()); }

  const OpenPoints& at_;
  std::vector<Exported> files_; // the first one becomes the result
  Algebra algebra_;
  std::map<std::vector<int64_t>, std::optional<Expr>> fitted_;
  std::map<std::string, Exprs> varying_; // tensors
  std::map<std::string, Exprs> types_;   // dimensions of values
  std::string missing_;
};

} // namespace

Result<Exported> join_open(const OpenPoints& at, std::vector<Exported> files) {
  return OpenJoiner(at, std::move(files)).run();
}

} // namespace tg::onnx
