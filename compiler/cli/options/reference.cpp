// `tg options`: prints the reference of all options, as Markdown (the text of
// compiler/api/OPTIONS.md, which a test keeps up to date) or as JSON; and the man page.
#include "compiler/api/public_types.h"
#include "compiler/cli/options/help_text.h"
#include "compiler/cli/options/program.h"
#include "compiler/cli/session.h"
#include "lang/core/version.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::cli {
namespace {

using llvm::StringRef;

std::vector<StringRef> commands_of(CommandSet set) {
  std::vector<StringRef> names;
  for (const CommandRow& row : command_rows())
    if (set.has(row.id)) names.push_back(row.name);
  return names;
}

/// Returns "1 to 64", "a, b, c", or "".
std::string range_text(const OptionRow& row) {
  if (std::vector<StringRef> words = row.words(); !words.empty()) return llvm::join(words, ", ");
  if (row.kind != OptionKind::Whole && row.kind != OptionKind::Number) return "";
  return number_text(row.limits.low) + " to " + number_text(row.limits.high);
}

/// Returns help and detail as sentences.
std::string meaning(const OptionRow& row) {
  std::string text = row.help.str();
  if (!row.detail.empty()) text += ". " + row.detail.str();
  if (!row.strategies.empty()) text += " (" + llvm::join(row.used_by(), ", ") + ")";
  return text;
}

// --- Markdown -----------------------------------------------------------------------------------

std::string cell(StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void print_markdown(llvm::raw_ostream& out) {
  out << "# Commands and options\n\nMade by `tg options` from `compiler/api/options.def` and "
         "`compiler/cli/commands.def`; do not edit.\n\n| command | does | operands "
         "|\n|---|---|---|\n";
  for (const CommandRow& row : command_rows())
    out << "| `" << command_usage(row) << "` | " << cell(row.summary) << " | "
        << cell(row.operand_help) << " |\n";
  out << "\nNames in parentheses are the strategies of `--search` that accept an option; others "
         "reject it.\n";
  each_group(all_rows(), [&](OptionGroup group, llvm::ArrayRef<const OptionRow*> rows) {
    out << "\n## " << option_group_title(group)
        << "\n\n| option | takes | default | meaning | commands |\n|---|---|---|---|---|\n";
    for (const OptionRow* row : rows)
      out << "| `" << cell(option_usage(*row)) << "` | " << cell(range_text(*row)) << " | "
          << row->default_text() << " | " << cell(meaning(*row)) << " | "
          << llvm::join(commands_of(row->commands), ", ") << " |\n";
  });
}

// --- JSON ---------------------------------------------------------------------------------------

void write_names(llvm::json::OStream& json, StringRef name, llvm::ArrayRef<StringRef> texts) {
  json.attributeArray(name, [&] {
    for (StringRef text : texts) json.value(text);
  });
}

void write_option(llvm::json::OStream& json, const OptionRow& row) {
  json.object([&] {
    json.attribute("name", row.flag);
    json.attribute("value", row.value_name);
    json.attribute("kind", kind_name(row.kind));
    json.attribute("default", row.default_text());
    if (row.kind == OptionKind::Whole || row.kind == OptionKind::Number) {
      json.attribute("low", row.limits.low);
      json.attribute("high", row.limits.high);
    }
    write_names(json, "words", row.words());
    json.attribute("group", option_group_title(row.group));
    write_names(json, "commands", commands_of(row.commands));
    write_names(json, "basic", commands_of(row.basic));
    json.attribute("prompt", row.commands.has(CommandId::Prompt));
    write_names(json, "strategies", row.used_by());
    json.attribute("help", row.help);
    json.attribute("detail", row.detail);
  });
}

void print_json(llvm::raw_ostream& out) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("commands", [&] {
      for (const CommandRow& row : command_rows())
        json.object([&] {
          json.attribute("name", row.name);
          json.attribute("summary", row.summary);
          json.attribute("operand", row.operand);
          json.attribute("least", static_cast<int64_t>(row.least));
          json.attribute("most", static_cast<int64_t>(row.most));
        });
    });
    json.attributeArray("options", [&] {
      for (const OptionRow& row : option_rows()) write_option(json, row);
    });
  });
  out << "\n";
}

// --- the man page -------------------------------------------------------------------------------

/// Escapes text for troff.
std::string roff(StringRef text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '`') // other formats put names in backquotes
      out += "\\(aq";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void man_row(llvm::raw_ostream& out, StringRef name, llvm::ArrayRef<std::string> lines) {
  out << ".TP\n.B " << roff(name) << "\n";
  for (const std::string& line : lines)
    if (!line.empty()) out << (&line == lines.begin() ? "" : ".br\n") << roff(line) << "\n";
}

constexpr StringRef kManBegin = R"(.SH NAME
tg \- optimise tensor graphs by rewriting
.SH SYNOPSIS
.B tg
.I COMMAND
.RI [ OPTIONS ]
.RI [ FILE \|.\|.\|.]
.SH DESCRIPTION
Tangram reads models and rewrite rules in its own language
.RI ( .tg ),
searches for a cheaper graph that computes the same function, checks it, and runs it.
.SH COMMANDS
)";

constexpr StringRef kManEnd = R"(.SH EXIT STATUS
.TP
.B 0
success
.TP
.B 1
an error in the input; diagnostics are on standard error
.TP
.B 2
an error in the command line
.TP
.B 3
a limit was reached before there was an answer
.TP
.B 4
undecided
.TP
.B 70
an internal error
.SH ENVIRONMENT
.TP
.B TANGRAM_LIBRARY
a folder whose
.I stdlib
and
.I rules
replace built\-in files of the same names
.TP
.B XDG_CACHE_HOME
the folder of caches, such as measured costs and verified rules; default
.I ~/.cache
.TP
.B NO_COLOR
no colours on a terminal
)";

} // namespace

std::string manual_page() {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << ".\\\" Made by `tg help --man`.\n.TH " << program_tables().name.upper()
      << " 1 \"\" \"Tangram " << kProgramVersion << "\" \"User Commands\"\n"
      << kManBegin;
  for (const CommandRow& row : command_rows())
    man_row(out, command_usage(row), {row.summary.str(), row.operand_help.str()});
  out << ".SH OPTIONS\n";
  man_row(out, "--help, --help-all", {"show the most used options of a command, or all of them"});
  man_row(out, "--version", {"show the version of this program"});
  each_group(all_rows(), [&](OptionGroup group, llvm::ArrayRef<const OptionRow*> rows) {
    out << ".SS " << option_group_title(group) << "\n";
    for (const OptionRow* row : rows) {
      std::string range = range_text(*row), value = row->default_text();
      man_row(out, option_usage(*row),
              {meaning(*row), range.empty() ? "" : "Takes: " + range,
               value.empty() ? "" : "Default: " + value,
               "Commands: " + llvm::join(commands_of(row->commands), ", ")});
    }
  });
  out << kManEnd;
  return text;
}

int run_options(Session& session) {
  if (session.options.json)
    print_json(session.out);
  else
    print_markdown(session.out);
  return 0;
}

} // namespace tg::cli
