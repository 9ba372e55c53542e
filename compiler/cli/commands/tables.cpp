// `tg ops` and `tg errors`: print the table of operators and the table of diagnostics, as
// Markdown (the text of lang/OPERATORS.md and lang/DIAGNOSTICS.md, which a test keeps up to
// date) or as JSON.
#include "compiler/cli/session.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/op.h"

#include <llvm/ADT/StringExtras.h>

namespace tg::cli {
namespace {

struct DiagnosticRow {
  llvm::StringRef name;
  Code code;
  llvm::StringRef summary;
};

constexpr DiagnosticRow kDiagnostics[] = {
#define TG_DIAGNOSTIC(name, number, summary) {#name, Code::name, summary},
#include "lang/core/diagnostics.def"
};

/// Returns `x`, `bias?`, `xs...`.
std::string operand_text(const OperandInfo& operand) {
  return std::string(operand.name) + (operand.optional ? "?" : operand.variadic ? "..." : "");
}

llvm::StringRef kind_text(AttrKind kind) {
  switch (kind) {
  case AttrKind::integer: return "int";
  case AttrKind::boolean: return "bool";
  case AttrKind::real: return "float";
  case AttrKind::ints: return "list of int";
  case AttrKind::floats: return "list of float";
  case AttrKind::string: return "text";
  case AttrKind::type: return "type";
  case AttrKind::act: return "Act";
  case AttrKind::pad: return "Pad";
  case AttrKind::pair: return "int or [int, int]";
  case AttrKind::axis: return "axis";
  case AttrKind::axes: return "list of axes";
  case AttrKind::dtype: return "dtype";
  }
  return "";
}

std::string attr_text(const AttrInfo& attr) {
  std::string text = std::string(attr.name) + ": " + kind_text(attr.kind).str();
  return attr.required ? text : text + " = " + std::string(attr.default_text);
}

/// Escapes a cell of a Markdown table.
std::string cell(llvm::StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void print_operators(llvm::raw_ostream& out) {
  out << "# Operators\n\nMade by `tg ops` from `lang/core/ops.def`; do not edit.\n\n"
         "`?` marks an optional operand, `...` one or more operands. Attributes without `=` "
         "must "
         "be given.\n\n| operator | operands | attributes | meaning |\n|---|---|---|---|\n";
  for (const OpInfo& op : all_ops()) {
    std::vector<std::string> operands, attrs;
    for (const OperandInfo& operand : op.operands()) operands.push_back(operand_text(operand));
    for (const AttrInfo& attr : op.attrs()) attrs.push_back("`" + attr_text(attr) + "`");
    out << "| `" << op.name << "` | " << llvm::join(operands, ", ") << " | "
        << cell(llvm::join(attrs, ", ")) << " | " << cell(op.doc) << " |\n";
  }
}

/// Prints a section of DIAGNOSTICS.md.
void print_explanation(llvm::raw_ostream& out, const Explanation& e) {
  out << "\n## " << code_text(e.code) << ": " << code_summary(e.code) << "\n\n" << e.why << '\n';
  auto block = [&](const char* title, llvm::StringRef text) {
    if (text.empty()) return;
    out << '\n'
        << title << "\n\n```" << (e.is_file ? "tg" : "") << '\n'
        << text.rtrim() << "\n```\n";
  };
  block("Wrong:", e.wrong);
  block(e.is_file ? "Right:" : "Instead:", e.right);
}

void print_operators_json(llvm::raw_ostream& out) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("operators", [&] {
      for (const OpInfo& op : all_ops())
        json.object([&] {
          json.attribute("name", llvm::StringRef(op.name));
          json.attributeArray("operands", [&] {
            for (const OperandInfo& operand : op.operands()) json.value(operand_text(operand));
          });
          json.attributeArray("attributes", [&] {
            for (const AttrInfo& attr : op.attrs()) json.value(attr_text(attr));
          });
          json.attribute("doc", llvm::StringRef(op.doc));
        });
    });
  });
  out << "\n";
}

} // namespace

int run_ops(Session& session) {
  if (session.options.json)
    print_operators_json(session.out);
  else
    print_operators(session.out);
  return 0;
}

int run_errors(Session& session) {
  llvm::raw_ostream& out = session.out;
  if (session.options.json) {
    llvm::json::OStream json(out, 2);
    json.object([&] {
      json.attributeArray("diagnostics", [&] {
        for (const DiagnosticRow& row : kDiagnostics)
          json.object([&] {
            json.attribute("code", code_text(row.code));
            json.attribute("name", row.name);
            json.attribute("summary", row.summary);
            json.attribute("exit_code", exit_code(row.code));
          });
      });
    });
    out << "\n";
    return 0;
  }
  out << "# Diagnostics\n\nMade by `tg errors` from `lang/core/diagnostics.def`; do not edit. "
         "A number is never reused.\n\n| code | means | exit code |\n|---|---|---|\n";
  for (const DiagnosticRow& row : kDiagnostics)
    out << "| " << code_text(row.code) << " | " << cell(row.summary.str()) << " | "
        << exit_code(row.code) << " |\n";
  for (const Explanation& e : explanations()) print_explanation(out, e);
  return 0;
}

} // namespace tg::cli
