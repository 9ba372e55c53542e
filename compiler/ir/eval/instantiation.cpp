#include "compiler/ir/eval/instantiation.h"

#include "compiler/ir/updated.h"
#include "lang/check/size_range.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>

namespace tg::eval {

using Base = ParamKind::Base;

bool Instantiation::apply_settings(Frame& frame, const ModelSettings& settings) {
  std::vector<llvm::StringRef> names;
  llvm::StringMap<const ast::Param*> params;
  for (const ast::Param& param : frame.ast[frame.decl.params])
    if (!is_tensor(frame.ast, param)) {
      names.push_back(param.name.text);
      params[param.name.text] = &param;
    }
  llvm::StringMap<BoundName::Kind> free;
  for (const BoundName& bound : bound_names(frame.ast, frame.decl)) {
    names.push_back(bound.name.text);
    free[bound.name.text] = bound.kind;
  }
  for (const auto& [name, value] : settings) {
    auto known = llvm::find(names, llvm::StringRef(name));
    if (known == names.end()) {
      llvm::StringRef near = near_miss(name, names);
      Diagnostic d = error(Code::unknown_argument, "the model `{0}` has no parameter `{1}`",
                           frame.decl.name.text, name);
      d.help = !near.empty()   ? llvm::formatv("did you mean `{0}`?", near).str()
               : names.empty() ? "it has no parameters"
                               : "its parameters are: " + llvm::join(names, ", ");
      return report_.fail(frame, std::move(d)), false;
    }
    Val val = Val::of(value);
    auto param = params.find(name);
    ParamKind kind;
    kind.base = free.lookup(name) == BoundName::Kind::DType ? Base::DType : Base::Int;
    kind.lists = free.lookup(name) == BoundName::Kind::Shape;
    if (param != params.end()) kind = param_kind(frame.ast, frame.ast[param->second->type]);
    if (!convert(val, kind)) {
      report_.fail(frame,
                   error(Code::wrong_kind, "the parameter `{0}` must be of kind {1}, got {2}", name,
                         kind_name(kind), report_.describe(val)));
      return false;
    }
    if (nodes_.run())
      if (std::optional<Size> size = nodes_.run()->find(name)) val = Val::of(*size);
    frame.bind(*known, std::move(val), Bound::Parameter, frame.decl.name.span);
  }
  return true;
}

bool Instantiation::names_bound(Frame& frame) {
  for (const BoundName& bound : bound_names(frame.ast, frame.decl)) {
    llvm::StringRef name = bound.name.text;
    if (frame.find(name)) continue;
    bool dtype = bound.kind == BoundName::Kind::DType;
    bool shape = bound.kind == BoundName::Kind::Shape;
    Diagnostic d = error(Code::missing_argument, bound.name.span, "the {0} `{1}` has no value",
                         dtype   ? "dtype"
                         : shape ? "shape"
                                 : "dimension",
                         name);
    d.help = llvm::formatv("set it with --set {0}={1}, or give it a default: {0}: {2}", name,
                           dtype   ? "f32"
                           : shape ? "[1]"
                                   : "1",
                           dtype   ? "DType = f32"
                           : shape ? "list[int] = [1]"
                                   : "int = 1");
    report_.fail(frame, std::move(d));
    return false;
  }
  return true;
}

/// Makes the inputs of a parameter. A tuple becomes one input for each part, numbered.
Val Instantiation::input(Frame& frame, ast::TypeRef ref, const std::string& name) {
  const ast::Type& written = frame.ast[ref];
  if (written.kind == ast::TypeKind::Tuple) {
    std::vector<Val> items;
    for (ast::TypeRef part : frame.ast[written.parts]) { // as deep as brackets nest
      items.push_back(input(frame, part, name + "_" + std::to_string(items.size())));
      if (items.back().poison()) return {};
    }
    return Val::list(std::move(items), Val::Kind::Tuple);
  }
  OpenType type;
  if (!evaluator_.calls().types().tensor_type(frame, ref, type)) return {};
  return Val::of(nodes_.leaf(type, [&](const TensorType& t) { return graph_.input(name, t); }));
}

/// Makes the inputs. Every dimension must have a value by now, unless all parameters with that
/// dimension are omitted.
bool Instantiation::inputs(Frame& frame) {
  auto left_out = [&](const ast::Param& param) {
    const Binding* bound = frame.find(param.name.text);
    return bound && bound->val.absent();
  };
  llvm::ArrayRef<ast::Param> params = frame.ast[frame.decl.params];
  if (llvm::none_of(params, left_out) && !names_bound(frame)) return false;
  for (const ast::Param& param : params) {
    if (!is_tensor(frame.ast, param) || left_out(param)) continue;
    Val val = input(frame, param.type, param.name.text.str());
    if (val.poison()) return false;
    frame.bind(param.name.text, std::move(val), Bound::Parameter, param.name.span);
  }
  return true;
}

void Instantiation::outputs(Frame& frame, const Val& val) {
  llvm::ArrayRef<ast::ResultType> results = frame.ast[frame.decl.results];
  bool several = val.is(Val::Kind::Tuple) || val.is(Val::Kind::List);
  if (several && val.items.empty()) {
    report_.fail(frame, error(Code::result_mismatch, value_span(frame),
                              "the model `{0}` has no results", frame.decl.name.text));
    return;
  }
  llvm::ArrayRef<Val> all = several ? llvm::ArrayRef<Val>(val.items) : llvm::ArrayRef<Val>(val);
  for (size_t i = 0; i < all.size(); ++i) {
    std::string name = several ? "output" + std::to_string(i) : "output";
    if (i < results.size() && results[i].name.present()) name = results[i].name.text.str();
    if (!output(frame, all[i], name)) return;
  }
}

/// Makes the outputs for a value. As with inputs, a tuple becomes one for each part, numbered.
bool Instantiation::output(Frame& frame, const Val& val, const std::string& name) {
  if (!val.is(Val::Kind::Tuple)) {
    NodeId node;
    if (!nodes_.tensor(frame, val, value_span(frame), node)) return false;
    graph_.add_output(name, node);
    return true;
  }
  for (size_t i = 0; i < val.items.size(); ++i) // no deeper than kMaxListDepth
    if (!output(frame, val.items[i], name + "_" + std::to_string(i))) return false;
  return true;
}

/// Adds the next values of weights as outputs under their paths. From here on these weights are no
/// longer known at load.
void Instantiation::updates(Frame& frame) {
  if (nodes_.updates().empty()) return;
  llvm::StringSet<> taken;
  for (const GraphOutput& output : graph_.outputs()) taken.insert(output.name);
  for (NodeId input : graph_.inputs()) taken.insert(graph_.attr(input, 0).text);
  std::vector<NodeId> weights;
  for (const Nodes::Update& update : nodes_.updates()) {
    const std::string& path = graph_.attr(update.weight, 0).text;
    if (taken.contains(path)) {
      report_.fail(
          frame, error(Code::duplicate_weight, frame.decl.name.span,
                       "`{0}` names both an input or result of `{1}` and a weight that it updates",
                       path, frame.decl.name.text));
      return;
    }
    graph_.add_output(path, update.value);
    weights.push_back(update.weight);
  }
  graph_ = with_updated(graph_, weights);
}

bool Instantiation::parameters_bound(Frame& frame) {
  for (const ast::Param& param : frame.ast[frame.decl.params]) {
    if (is_tensor(frame.ast, param) || param.default_value || frame.find(param.name.text)) continue;
    report_.fail(frame, error(Code::missing_argument, param.span,
                              "the parameter `{0}` of the model has no value", param.name.text)
                            .suggest(llvm::formatv("set it with --set {0}=…", param.name.text)));
    return false;
  }
  return true;
}

/// Checks sizes that --set gives, and defaults that depend on other parameters.
bool Instantiation::ranges(Frame& frame) {
  bool good = true;
  for (const ast::Param& param : frame.ast[frame.decl.params]) {
    std::optional<SizeRange> range = size_range(frame.ast, param);
    const Binding* bound = range ? frame.find(param.name.text) : nullptr;
    if (!bound || range->contains(bound->val.value.number)) continue;
    report_.fail(frame, outside_range(param, *range, bound->val.value.number));
    good = false;
  }
  return good;
}

bool Instantiation::model(FnRef fn, const ModelSettings& settings, ModelValue* value) {
  size_t errors = report_.errors();
  Frame frame(program_, fn);
  Calls& calls = evaluator_.calls();
  if (!apply_settings(frame, settings) || !parameters_bound(frame) ||
      !calls.arguments().defaults(frame) || !ranges(frame) || !inputs(frame) ||
      !calls.arguments().check_where(frame, frame.decl.name.span))
    return false;
  Val val = calls.types().result(frame, calls.statements().block(frame, frame.decl.body));
  if (value) *value = {report_.describe(val), val.is(Val::Kind::Const)};
  outputs(frame, val);
  updates(frame);
  return report_.errors() == errors && !graph_.outputs().empty();
}

} // namespace tg::eval
