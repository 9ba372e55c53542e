#include "compiler/import/onnx/read/shared/activations.h"

namespace tg::onnx {
namespace {

struct Row {
  const char* name; // in lower case; files use either case
  int parameters;   // 0, 1 (alpha), or 2 (alpha and beta)
  double alpha, beta;
  NodeId (*write)(Emitter& e, NodeId x, double alpha, double beta);
};

const Row kRows[] = {
    {"relu", 0, 0, 0,
     [](Emitter& e, NodeId x, double, double) { return e.unary(OpKind::Relu, x); }},
    {"tanh", 0, 0, 0,
     [](Emitter& e, NodeId x, double, double) { return e.unary(OpKind::Tanh, x); }},
    {"sigmoid", 0, 0, 0,
     [](Emitter& e, NodeId x, double, double) { return e.unary(OpKind::Sigmoid, x); }},
    {"softplus", 0, 0, 0,
     [](Emitter& e, NodeId x, double, double) { return e.unary(OpKind::Softplus, x); }},
    {"softsign", 0, 0, 0,
     [](Emitter& e, NodeId x, double, double) {
       return e.div(x, e.add(e.unary(OpKind::Abs, x), 1));
     }},
    {"elu", 1, 1, 0,
     [](Emitter& e, NodeId x, double alpha, double) {
       return e.op(OpKind::Elu, {x}, {{"alpha", Value::of_float(alpha)}});
     }},
    {"leakyrelu", 1, 0.01, 0,
     [](Emitter& e, NodeId x, double alpha, double) {
       return e.select(e.less(x, e.like(x, 0)), e.mul(x, alpha), x);
     }},
    {"thresholdedrelu", 1, 1, 0,
     [](Emitter& e, NodeId x, double alpha, double) {
       return e.select(e.op(OpKind::GreaterEqual, {x, e.like(x, alpha)}), x, e.like(x, 0));
     }},
    {"affine", 2, 1, 0,
     [](Emitter& e, NodeId x, double alpha, double beta) { return e.add(e.mul(x, alpha), beta); }},
    {"scaledtanh", 2, 1, 1,
     [](Emitter& e, NodeId x, double alpha, double beta) {
       return e.mul(e.unary(OpKind::Tanh, e.mul(x, beta)), alpha);
     }},
    {"hardsigmoid", 2, 0.2, 0.5,
     [](Emitter& e, NodeId x, double alpha, double beta) {
       return e.clip(e.add(e.mul(x, alpha), beta), 0, 1);
     }},
};

const Row* find_row(llvm::StringRef name) {
  for (const Row& row : kRows)
    if (name.equals_insensitive(row.name)) return &row;
  return nullptr;
}

/// Distributes a list of parameters over the functions: either the functions that take one consume
/// it in order, or each function has an entry. Empty if the file gives none.
std::vector<std::optional<double>> parameters(Call& call, llvm::StringRef name,
                                              llvm::ArrayRef<const Row*> rows, int least) {
  std::optional<std::vector<double>> given = call.reals(name);
  std::vector<std::optional<double>> made(rows.size());
  if (!given || given->empty()) return made;
  auto takes = [&](const Row* row) { return row->parameters >= least; };
  auto takers = static_cast<size_t>(llvm::count_if(rows, takes));
  bool for_each = given->size() == rows.size();
  if (given->size() != takers && !for_each)
    call.fail("its attribute `" + name + "` has " + llvm::Twine(given->size()) + " numbers for " +
              llvm::Twine(takers) + " functions with a parameter");
  if (call.failed()) return made;
  for (size_t i = 0, next = 0; i < rows.size(); ++i)
    if (for_each)
      made[i] = (*given)[i];
    else if (takes(rows[i]))
      made[i] = (*given)[next++];
  return made;
}

std::optional<std::vector<std::string>> given_names(Call& call) {
  const schema::Attribute* found = call.attribute("activations");
  if (!found) return std::nullopt;
  if (found->type() != schema::Attribute::STRINGS)
    call.fail("its attribute `activations` must be a list of strings");
  return std::vector<std::string>(found->strings().begin(), found->strings().end());
}

} // namespace

std::vector<Activation> read_activations(Call& call, const std::vector<std::string>& defaults,
                                         size_t directions) {
  std::optional<std::vector<std::string>> names = given_names(call);
  if (!names) {
    names.emplace();
    for (size_t i = 0; i < directions; ++i)
      names->insert(names->end(), defaults.begin(), defaults.end());
  }
  if (names->size() != defaults.size() * directions)
    call.fail("its attribute `activations` has " + llvm::Twine(names->size()) +
              " names, but it takes " + llvm::Twine(defaults.size() * directions));
  llvm::SmallVector<const Row*, 6> rows;
  for (const std::string& name : *names) {
    rows.push_back(find_row(name));
    if (!rows.back()) call.fail("the activation `" + name + "` is unknown");
  }
  if (call.failed()) return {};
  std::vector<std::optional<double>> alphas = parameters(call, "activation_alpha", rows, 1);
  std::vector<std::optional<double>> betas = parameters(call, "activation_beta", rows, 2);
  std::vector<Activation> made(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    made[i].write_ = rows[i]->write;
    made[i].alpha_ = alphas[i].value_or(rows[i]->alpha);
    made[i].beta_ = betas[i].value_or(rows[i]->beta);
  }
  return made;
}

} // namespace tg::onnx
