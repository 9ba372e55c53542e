// Parses the command line: finds the command, parses its options by the table, and reports errors.
#include "compiler/cli/options/options.h"

#include "compiler/cli/options/arguments.h"
#include "compiler/cli/options/help_text.h"
#include "compiler/cli/options/options_check.h"
#include "compiler/cli/options/program.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/version.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {
namespace {

using llvm::formatv;
using llvm::StringRef;

Parsed failed(const Misuse& misuse) {
  Diagnostic d = error(Code::usage, "{0}", misuse.message);
  d.help = misuse.help;
  Parsed parsed;
  parsed.done = true;
  parsed.exit_code = 2;
  llvm::raw_string_ostream out(parsed.err);
  render(d, SourceManager(), out);
  out.flush();
  parsed.err = as_program(std::move(parsed.err));
  return parsed;
}

Parsed printed(std::string text) {
  Parsed parsed;
  parsed.done = true;
  parsed.out = as_program(std::move(text));
  return parsed;
}

bool is_help(StringRef word) { return word == "--help" || word == "-h" || word == "--help-all"; }

Misuse no_command(StringRef word) {
  StringRef near = near_miss(word, first_words()), idiom = idiom_of_command(word);
  std::string help = "`tg --help` lists the commands";
  if (!near.empty()) help = formatv("did you mean `{0}`?", near);
  if (!idiom.empty()) help = idiom.str();
  if (word.endswith(".tg") || word.endswith(".onnx"))
    help = formatv("put a command first: `tg check {0}`, `tg run {0}`", word);
  return {formatv("unknown command `{0}`", word), help};
}

/// Returns the error for `tg rules` or `tg rules lst`: a family of commands without a valid
/// second word.
Misuse no_command_below(StringRef word, llvm::ArrayRef<StringRef> words) {
  std::string help;
  for (auto& [command, second] : commands_below(word))
    help += (help.empty() ? "one of: " : ", ") + second.str();
  if (words.empty()) return {formatv("`tg {0}` requires a command", word), help};
  if (words.front().startswith("-"))
    return {formatv("`tg {0}` does not take `{1}`", word, words.front()),
            formatv("`tg {0} --help` lists its commands", word)};
  std::string name = (word + " " + words.front()).str();
  StringRef idiom = idiom_of_command(name);
  return {formatv("unknown command `tg {0}`", name), idiom.empty() ? help : idiom.str()};
}

/// Checks the number of operands of a command.
std::optional<Misuse> check_operands(const CommandRow& command, const Options& o) {
  size_t count = o.files.size();
  size_t most = command.id == CommandId::Fmt && !o.out_file.empty() ? 1 : command.most;
  if (count < command.least)
    return Misuse{
        formatv("`tg {0}` requires {1}: {2}", command.name, command.operand, command.operand_help)};
  if (count <= most) return std::nullopt;
  if (most == 0) return Misuse{formatv("`tg {0}` does not take `{1}`", command.name, o.files[0])};
  if (most == 1)
    return Misuse{formatv("`tg {0}` takes one {1}, not {2}", command.name, command.operand, count)};
  return Misuse{
      formatv("`tg {0}` takes {1}, not {2} files", command.name, command.operand_help, count)};
}

Parsed parse_command(const CommandRow& command, llvm::ArrayRef<StringRef> words) {
  Parsed parsed;
  Options& o = parsed.options;
  std::vector<const OptionRow*> rows = rows_of(command.id);
  set_defaults(rows, &o);
  o.command = command.id;
  o.explain = command.id == CommandId::Explain;
  std::string name = ("tg " + command.name).str();
  Arguments arguments;
  std::optional<Misuse> misuse = read_arguments(rows, words, name, &o, arguments);
  o.files = std::move(arguments.operands);
  if (!misuse && arguments.help) return printed(command_help(command, arguments.help_all));
  if (!misuse) misuse = check_operands(command, o);
  if (!misuse) misuse = check_options(o, arguments.given);
  if (!misuse) return parsed;
  if (misuse->help.empty()) misuse->help = formatv("`{0} --help` lists its options", name);
  return failed(*misuse);
}

} // namespace

llvm::StringRef search_word(const Options& options) {
  return options.strategy.empty() ? StringRef(tangram::word(options.search)) : options.strategy;
}

Parsed parse_command_line(int argc, const char* const* argv) {
  std::vector<StringRef> all(argv + 1, argv + std::max(argc, 1));
  llvm::ArrayRef<StringRef> words = all;
  if (words.empty()) return failed({"no command given", "`tg --help` lists the commands"});
  StringRef first = words.front();
  words = words.drop_front();
  if (is_help(first)) return printed(program_help());
  if (first == "--version") return printed(formatv("tg {0}\n", kProgramVersion));
  if (first.startswith("-"))
    return failed({formatv("`tg` does not take `{0}`", first), "`tg --help` lists its options"});
  if (const CommandRow* command = find_command(first)) return parse_command(*command, words);
  if (!llvm::is_contained(first_words(), first)) return failed(no_command(first));
  if (!words.empty() && is_help(words.front())) return printed(commands_help(first));
  if (!words.empty())
    if (const CommandRow* command = find_command((first + " " + words.front()).str()))
      return parse_command(*command, words.drop_front());
  return failed(no_command_below(first, words));
}

} // namespace tg::cli
