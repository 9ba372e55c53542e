// Generates completion scripts that are self-contained, so `tg` does not run while the user types.
// They complete commands, options, the words of an option, and files.
#include "compiler/cli/options/help_text.h"

#include "compiler/cli/options/option_table.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>

namespace tg::cli {
namespace {

using llvm::StringRef;

std::string replaced(StringRef text, llvm::ArrayRef<std::pair<char, StringRef>> replacements) {
  std::string out;
  for (char c : text) {
    const auto* found = llvm::find_if(replacements, [&](const auto& r) { return r.first == c; });
    if (found == replacements.end())
      out += c;
    else
      out += found->second;
  }
  return out;
}

/// Returns the first words of two-word commands: "rules", "bench".
std::vector<StringRef> command_families() {
  std::vector<StringRef> families = first_words();
  llvm::erase_if(families, [](StringRef word) { return commands_below(word).empty(); });
  return families;
}

bool names_files(const OptionRow& row) {
  return row.kind == OptionKind::File || row.kind == OptionKind::Folder ||
         (row.kind == OptionKind::Words && row.words().empty());
}

// --- bash ---------------------------------------------------------------------------------------

constexpr StringRef kBash = R"(
_tg() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i command words options files
  # `--search=mc` is three words to bash.
  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  local -a given=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || given+=("${COMP_WORDS[i]}")
  done
  COMPREPLY=()
  _tg_command "${given[0]}" "${given[1]}"
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  _tg_value "$command" "$before"
  case $? in
    0) local last=${word##*,} # of a list
       mapfile -t COMPREPLY < <(compgen -P "${word%"$last"}" -W "$words" -- "$last") ;;
    1) compopt -o filenames 2>/dev/null
       mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    2) ;; # a value that nobody can guess
    *) if [[ $word == -* ]]; then
         mapfile -t COMPREPLY < <(compgen -W "$options --help --help-all" -- "$word")
       elif [[ -n $files ]]; then
         compopt -o filenames 2>/dev/null
         mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X "!*$files" -- "$word")
       fi ;;
  esac
}
complete -F _tg tg
)";

/// Writes the kind of value after an option, by command: returns 0 with `words`, 1 for files, 2 if
/// there is no suggestion.
void bash_values(llvm::raw_ostream& out) {
  out << "\n_tg_value() {\n  case \"$1 $2\" in\n";
  for (const CommandRow& command : command_rows())
    for (const OptionRow* row : rows_of(command.id)) {
      if (!row->takes_value()) continue;
      out << "    '" << command.name << " " << row->flag << "') ";
      if (std::vector<StringRef> words = row->words(); !words.empty())
        out << "words='" << llvm::join(words, " ") << "'; return 0 ;;\n";
      else
        out << "return " << (names_files(*row) ? 1 : 2) << " ;;\n";
    }
  out << "  esac\n  return 3\n}\n";
}

std::string bash_script() {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "# bash completion for tg; made by `tg help --completion bash`\n"
         "\n_tg_command() {\n  words= options= files= command=\"$1\"\n  case \"$1 $2\" in\n";
  for (const CommandRow& command : command_rows()) {
    bool two = command.name.contains(' ');
    out << "    '" << command.name << (two ? "')" : " '*)") << (two ? " command='" : " : '")
        << command.name << "'; options='";
    for (const OptionRow* row : rows_of(command.id)) out << row->flag << " ";
    out << "'; files='" << command.files << "' ;;\n";
  }
  for (StringRef family : command_families()) {
    out << "    '" << family << " '*) words='";
    for (auto& [command, second] : commands_below(family)) out << second << " ";
    out << "--help' ;;\n";
  }
  out << "    *) words='" << llvm::join(first_words(), " ") << " --help --version' ;;\n  esac\n}\n";
  bash_values(out);
  out << kBash;
  return text;
}

// --- zsh ----------------------------------------------------------------------------------------

/// Escapes text inside the single quotes of a specification.
std::string zsh_quoted(StringRef text) {
  return replaced(text, {{'\'', "'\\''"}, {'[', "\\["}, {']', "\\]"}});
}

std::string zsh_action(const OptionRow& row) {
  if (std::vector<StringRef> words = row.words(); !words.empty())
    return row.repeats() ? "_values -s , " + row.name().str() + " " + llvm::join(words, " ")
                         : "(" + llvm::join(words, " ") + ")";
  if (row.kind == OptionKind::Folder) return "_files -/";
  return names_files(row) ? "_files" : " ";
}

void zsh_command(llvm::raw_ostream& out, const CommandRow& command) {
  out << "    '" << command.name << "')\n      _arguments -s \\\n";
  for (const OptionRow* row : rows_of(command.id)) {
    bool is_long = row->flag.startswith("--");
    out << "        '" << (row->repeats() ? "*" : "") << row->flag
        << (!row->takes_value() ? ""
            : is_long           ? "="
                                : "+")
        << "[" << zsh_quoted(row->help) << "]";
    if (row->takes_value()) out << ":" << zsh_quoted(row->value_name) << ":" << zsh_action(*row);
    out << "' \\\n";
  }
  out << "        '(- *)'{-h,--help}'[show the most used options]' '(- *)--help-all[show all "
         "options]'";
  if (!command.files.empty())
    out << " \\\n        '" << (command.most > 1 ? "*" : "1") << ":" << command.operand
        << ":_files -g \"*" << command.files << "\"'";
  out << " ;;\n";
}

std::string zsh_script() {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "#compdef tg\n# zsh completion for tg; made by `tg help --completion zsh`\n\n_tg() {\n"
         "  local curcontext=$curcontext command\n  local -a commands\n"
         "  if (( CURRENT == 2 )); then\n    commands=(\n";
  for (const CommandRow& command : command_rows())
    if (!command.name.contains(' '))
      out << "      '" << command.name << ":" << zsh_quoted(command.summary) << "'\n";
  for (StringRef family : command_families()) out << "      '" << family << "'\n";
  out << "    )\n    _describe command commands\n    return\n  fi\n  command=$words[2]\n"
         "  shift words; (( CURRENT-- ))\n  case $command in\n";
  for (StringRef family : command_families()) {
    out << "    " << family << ")\n      if (( CURRENT == 2 )); then\n        commands=(\n";
    for (auto& [command, second] : commands_below(family))
      out << "          '" << second << ":" << zsh_quoted(command->summary) << "'\n";
    out << "        )\n        _describe command commands\n        return\n      fi\n"
           "      command=\"$command $words[2]\"\n      shift words; (( CURRENT-- )) ;;\n";
  }
  out << "  esac\n  case $command in\n";
  for (const CommandRow& command : command_rows()) zsh_command(out, command);
  out << "  esac\n}\n\n_tg \"$@\"\n";
  return text;
}

// --- fish ---------------------------------------------------------------------------------------

std::string fish_quoted(StringRef text) {
  return "'" + replaced(text, {{'\'', "\\'"}, {'\\', "\\\\"}}) + "'";
}

constexpr StringRef kFish = R"(
# Whether the words before the cursor begin with this command.
function __tg_is
  set -l given
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set -a given $word
  end
  set -l wanted (string split ' ' -- $argv[1])
  test "$given[1..$(count $wanted)]" = "$argv[1]"
end

# Whether nothing of a command stands there yet; or, of `rules`, its first word alone.
function __tg_wants
  set -l given
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set -a given $word
  end
  test "$given" = "$argv[1]"
end

complete -c tg -f
)";

void fish_option(llvm::raw_ostream& out, const CommandRow& command, const OptionRow& row) {
  out << "complete -c tg -n " << fish_quoted(("__tg_is '" + command.name + "'").str())
      << (row.flag.startswith("--") ? " -l " : " -s ") << row.name();
  if (std::vector<StringRef> words = row.words(); !words.empty())
    out << " -x -a " << fish_quoted(llvm::join(words, " "));
  else if (names_files(row))
    out << " -r -F";
  else if (row.takes_value())
    out << " -x";
  out << " -d " << fish_quoted(row.help) << "\n";
}

std::string fish_script() {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "# fish completion for tg; made by `tg help --completion fish`\n" << kFish;
  for (StringRef family : command_families())
    out << "complete -c tg -n '__tg_wants \"\"' -a " << family << "\n";
  for (const CommandRow& command : command_rows()) {
    auto [first, second] = command.name.split(' ');
    StringRef before = second.empty() ? "" : first;
    out << "\ncomplete -c tg -n " << fish_quoted(("__tg_wants \"" + before + "\"").str()) << " -a "
        << (second.empty() ? first : second) << " -d " << fish_quoted(command.summary) << "\n";
    if (!command.files.empty())
      out << "complete -c tg -n " << fish_quoted(("__tg_is '" + command.name + "'").str())
          << " -k -a " << fish_quoted(("(__fish_complete_suffix " + command.files + ")").str())
          << "\n";
    for (const OptionRow* row : rows_of(command.id)) fish_option(out, command, *row);
  }
  return text;
}

} // namespace

std::string completion_script(StringRef shell) {
  return shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script();
}

} // namespace tg::cli
