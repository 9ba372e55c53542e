#include "runtime/cuda/codegen/source_pass.h"

#include <llvm/Support/FormatVariadic.h>

#include <cmath>
#include <limits>

namespace tg::cuda {

const char* scalar_name(Scalar scalar) { return scalar == Scalar::Float ? "float" : "long long"; }

std::string literal(Scalar scalar, double value) {
  if (scalar == Scalar::Integer) {
    if (value <= -9.2e18) return "(-9223372036854775807LL - 1)";
    return std::to_string(static_cast<int64_t>(value)) + "LL";
  }
  value = static_cast<float>(value);
  if (std::isnan(value)) return "TG_NAN";
  if (std::isinf(value)) return value > 0 ? "TG_INFINITY" : "(-TG_INFINITY)";
  char text[48];
  std::snprintf(text, sizeof text, "%.9g", value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  result += "f";
  return value < 0 ? "(" + result + ")" : result;
}

const char* reduce_name(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum: return "add";
  case ReduceOp::Max: return "maximum";
  case ReduceOp::Min: return "minimum";
  }
  return "";
}

std::string identity(const Stage& stage) {
  double infinity = std::numeric_limits<double>::infinity();
  if (stage.op == ReduceOp::Sum) return literal(stage.scalar, 0);
  if (stage.scalar == Scalar::Float)
    return literal(stage.scalar, stage.op == ReduceOp::Max ? -infinity : infinity);
  return stage.op == ReduceOp::Max ? literal(stage.scalar, -1e19) : "9223372036854775807LL";
}

void PassWriter::compute(llvm::ArrayRef<ExprId> roots, const std::set<ExprId>& available) {
  std::set<ExprId> needed = reachable(kernel_, roots, available);
  std::set<ExprId> loads;
  for (ExprId id : needed)
    if (!available.count(id)) loads.insert(id);
  packs_ = find_packs(kernel_, loads);
  for (ExprId id : needed) {
    if (available.count(id))
      line() << "const " << scalar_name(kernel_.exprs[id].scalar) << " t" << id << " = TG_AT(k"
             << id << ")[step];\n";
    else
      define(id);
  }
}

std::string PassWriter::value(ExprId id) {
  const Expr& expr = kernel_.exprs[id];
  switch (expr.kind) {
  case Expr::Kind::Number: return literal(expr.scalar, expr.number);
  case Expr::Kind::Stage: return llvm::formatv(stage_format_, expr.parameter);
  default: return "t" + std::to_string(id);
  }
}

std::string PassWriter::index(IndexId id) {
  const IndexForm& form = kernel_.indices.form(id);
  std::string text;
  for (const IndexTerm& term : form.terms) {
    if (!text.empty())
      text += term.factor < 0 ? " - " : " + ";
    else if (term.factor < 0)
      text += "-";
    text += atom(term.atom);
    if (std::abs(term.factor) != 1) text += " * " + std::to_string(std::abs(term.factor));
  }
  if (text.empty()) return std::to_string(form.constant);
  if (form.constant > 0) text += " + " + std::to_string(form.constant);
  if (form.constant < 0) text += " - " + std::to_string(-form.constant);
  return text;
}

void PassWriter::store(const Store& s) {
  const KernelParameter& p = kernel_.parameters[s.parameter];
  int width = pack_width(p.dtype, kernel_.tunables.vector);
  for (size_t lane = 0; lane < s.values.size();) {
    int w = width;
    while (w > 1 && !packs(kernel_, s, lane, w)) w /= 2;
    std::string to = llvm::formatv("p{0} + {1}", s.parameter, index(s.indices[lane]));
    if (w == 1) {
      line() << "tg_store(" << to << ", " << value(s.values[lane]) << ");\n";
    } else {
      std::string values;
      for (int i = 0; i < w; ++i) values += (i ? ", " : "") + value(s.values[lane + i]);
      line() << "tg_store_pack(" << to << ", " << values << ");\n";
    }
    lane += w;
  }
}

std::string PassWriter::atom(uint32_t id) {
  const IndexAtom a = kernel_.indices.atom(id);
  switch (a.kind) {
  case IndexAtom::Kind::Variable: return "v" + std::to_string(a.of);
  case IndexAtom::Kind::Loaded: return "(tg_index)" + value(a.of);
  default: break;
  }
  std::string name = "q" + std::to_string(id);
  if (!atoms_.insert(id).second) return name;
  std::string inner = index(a.of); // may write lines of its own
  line() << "const tg_index " << name << " = (" << inner << ")"
         << (a.kind == IndexAtom::Kind::Quotient ? " / " : " % ") << a.by << ";\n";
  return name;
}

std::string PassWriter::condition(ConditionId id) {
  std::string name = "c" + std::to_string(id), text;
  if (!conditions_.insert(id).second) return name;
  for (const ConditionTerm& term : kernel_.exprs.terms(id)) {
    std::string what = term.of_value ? value(term.id) : "(" + index(term.id) + ")";
    int64_t low = INT64_MIN, high = INT64_MAX;
    if (!term.of_value)
      low = kernel_.indices.form(term.id).low, high = kernel_.indices.form(term.id).high;
    auto add = [&](const char* sign, int64_t bound) {
      text += (text.empty() ? "" : " && ") + what + sign + std::to_string(bound);
    };
    if (low < term.low) add(" >= ", term.low);
    if (high > term.high) add(" <= ", term.high);
  }
  line() << "const bool " << name << " = " << text << ";\n";
  return name;
}

void PassWriter::define(ExprId id) {
  const Expr& expr = kernel_.exprs[id];
  if (expr.kind == Expr::Kind::Number || expr.kind == Expr::Kind::Stage) return;
  std::string text = right_side(id, expr);
  line() << "const " << scalar_name(expr.scalar) << " t" << id << " = " << text << ";\n";
  if (kept_.count(id)) line() << "TG_AT(k" << id << ")[step] = t" << id << ";\n";
}

std::string PassWriter::right_side(ExprId id, const Expr& expr) {
  switch (expr.kind) {
  case Expr::Kind::Index: return "(long long)(" + index(expr.index) + ")";
  case Expr::Kind::Load: return load(id, expr);
  case Expr::Kind::Apply: {
    std::string text = "tg_" + std::string(op_info(expr.op).name) + "(";
    for (size_t i = 0; i < expr.args.size(); ++i) text += (i ? ", " : "") + value(expr.args[i]);
    return text + ")";
  }
  case Expr::Kind::Choose: {
    std::string c = condition(expr.condition);
    return c + " ? " + value(expr.args[0]) + " : " + value(expr.args[1]);
  }
  case Expr::Kind::Convert:
    return "tg_cast_" + dtype_name(expr.dtype).str() + "(" + value(expr.args[0]) + ")";
  default: return "";
  }
}

std::string PassWriter::load(ExprId id, const Expr& expr) {
  auto it = packs_.find(id);
  if (it == packs_.end()) {
    std::string guard = expr.condition == kAlways ? "" : condition(expr.condition) + " ? ";
    std::string read = llvm::formatv("tg_load(p{0} + {1})", expr.parameter, index(expr.index));
    return guard + read + (guard.empty() ? "" : " : 0");
  }
  const Pack& pack = it->second;
  if (loaded_.insert(pack.leader).second) {
    const Expr& first = kernel_.exprs[pack.leader];
    std::string always = first.condition == kAlways ? "true" : condition(first.condition);
    std::string from = llvm::formatv("p{0} + {1}", first.parameter, index(first.index));
    line() << "const auto l" << pack.leader << " = tg_load_pack<" << pack.width << ">(" << from
           << ", " << always << ");\n";
  }
  return llvm::formatv("tg_lane(l{0}, {1})", pack.leader, pack.position);
}

} // namespace tg::cuda
