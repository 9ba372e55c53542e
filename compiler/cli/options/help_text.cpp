// Formats two columns, names and descriptions, wrapped to the width of a terminal.
#include "compiler/cli/options/help_text.h"

#include "compiler/cli/options/program.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

namespace tg::cli {
namespace {

using llvm::StringRef;

constexpr size_t kWidth = 80, kColumn = 26; // of a line; start of descriptions

void print_row(llvm::raw_ostream& out, StringRef name, StringRef meaning) {
  out << "  " << name;
  size_t at = name.size() + 2;
  if (at + 2 > kColumn) {
    out << "\n";
    at = 0;
  }
  out.indent(static_cast<unsigned>(kColumn - at));
  while (meaning.size() > kWidth - kColumn) {
    size_t end = meaning.rfind(' ', kWidth - kColumn + 1);
    if (end == StringRef::npos) end = meaning.find(' ');
    if (end == StringRef::npos) break;
    out << meaning.take_front(end) << "\n";
    out.indent(kColumn);
    meaning = meaning.drop_front(end + 1);
  }
  out << meaning << "\n";
}

/// Returns true if `tg` at this place is the program, not an ending (`.tg`), a path or part of a
/// word.
bool names_program(StringRef text, size_t at) {
  char before = at > 0 ? text[at - 1] : ' ', after = at + 2 < text.size() ? text[at + 2] : ' ';
  return !llvm::isAlnum(before) && !StringRef("./-").contains(before) && !llvm::isAlnum(after) &&
         !text.substr(at + 2).startswith("-paper");
}

} // namespace

std::string as_program(std::string text) {
  StringRef name = program_tables().name, rest = text;
  if (name == "tg") return text;
  std::string out;
  for (size_t at = rest.find("tg"), from = 0;; at = rest.find("tg", from)) {
    out += rest.slice(from, at);
    if (at == StringRef::npos) return out;
    out += names_program(rest, at) ? name : "tg";
    from = at + 2;
  }
}

std::string option_usage(const OptionRow& row) {
  return row.takes_value() ? (row.flag + " " + row.value_name).str() : row.flag.str();
}

std::string command_usage(const CommandRow& command) {
  std::string usage = ("tg " + command.name).str();
  if (!rows_of(command.id).empty()) usage += " [OPTIONS]";
  if (command.operand.empty()) return usage;
  std::string operand = command.operand.str() + (command.most > 1 ? "..." : "");
  return usage + " " + (command.least > 0 ? operand : "[" + operand + "]");
}

std::string option_text(const OptionRow& row, bool detail) {
  std::string text = row.help.str(), value = row.default_text();
  if (std::vector<StringRef> words = row.words(); !words.empty() && row.kind != OptionKind::Cost)
    text += ": " + llvm::join(words, ", ");
  if (!value.empty()) text += " (default " + value + ")";
  if (!detail) return text;
  if (!row.strategies.empty()) text = llvm::join(row.used_by(), ", ") + ": " + text;
  return row.detail.empty() ? text : text + ". " + row.detail.str();
}

std::string options_help(llvm::ArrayRef<const OptionRow*> rows, bool detail) {
  std::string text;
  llvm::raw_string_ostream out(text);
  each_group(rows, [&](OptionGroup group, llvm::ArrayRef<const OptionRow*> of_group) {
    out << "\n" << option_group_title(group) << "\n";
    for (const OptionRow* row : of_group)
      print_row(out, option_usage(*row), option_text(*row, detail));
  });
  return text;
}

std::string program_help() {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "Tangram: optimises tensor graphs in .tg files by rewriting\n"
         "usage: tg COMMAND [OPTIONS] ...\n";
  for (uint8_t g = 0; g <= static_cast<uint8_t>(CommandGroup::Reference); ++g) {
    auto group = static_cast<CommandGroup>(g);
    bool joined = group == CommandGroup::Searches || group == CommandGroup::Reference;
    if (!joined) out << "\n"; // all groups fit on one screen
    for (const CommandRow& row : command_rows())
      if (row.group == group) print_row(out, row.name, row.summary);
  }
  out << "\n`tg COMMAND --help` shows its options; `tg --version` shows the version\n";
  return text;
}

std::string commands_help(StringRef word) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "usage: tg " << word << " COMMAND [OPTIONS] ...\n\nCommands:\n";
  for (auto& [row, second] : commands_below(word)) print_row(out, row->name, row->summary);
  return text;
}

std::string command_help(const CommandRow& command, bool all) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << command.name << ": " << command.summary << "\n\nusage: " << command_usage(command) << "\n";
  if (!command.operand.empty()) print_row(out, command.operand, command.operand_help);
  std::vector<const OptionRow*> rows = rows_of(command.id), shown;
  llvm::copy_if(rows, std::back_inserter(shown),
                [&](const OptionRow* row) { return all || row->basic.has(command.id); });
  out << options_help(shown, all);
  if (shown.size() < rows.size())
    out << "\n`tg " << command.name << " --help-all` shows all options\n";
  return text;
}

} // namespace tg::cli
