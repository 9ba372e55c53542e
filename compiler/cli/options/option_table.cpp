#include "compiler/cli/options/option_table.h"

#include "compiler/api/public_types.h"
#include "compiler/cli/commands/help.h"
#include "compiler/cli/options/program.h"
#include "compiler/cli/session.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {
namespace {

namespace columns { // other names used in the rows

// NOLINTBEGIN(readability-identifier-naming): as the rows name them
constexpr CommandSet None;
#define TG_COMMAND(id, ...) constexpr CommandSet id{CommandId::id};
#include "compiler/cli/commands.def"
constexpr CommandSet Prompt{CommandId::Prompt};
// NOLINTEND(readability-identifier-naming)

constexpr CommandSet kSearches = Opt | Explain | Run | Prompt;
constexpr CommandSet kModels = Check | Opt | Explain | Run | Weights | Export | Verify | Tune;
constexpr CommandSet kOnnx = kModels | Import | BenchDemo | Prompt;
constexpr CommandSet kThreaded =
    Opt | Explain | Run | RulesVerify | Verify | Calibrate | Tune | BenchDemo;
constexpr CommandSet kRandom = Opt | Explain | Run | RulesVerify | Verify | BenchDemo | Weights |
                               Export | Extract | Tune | Prompt;
constexpr CommandSet kReports = Check | Opt | Explain | Run | Extract | Weights | Import | Export |
                                RulesList | RulesVerify | Verify | Calibrate | Tune | BenchDemo;
constexpr CommandSet kTables = Devices | Ops | Errors | OptionTable | Help;

constexpr size_t kMany = 1'000'000;
using namespace tangram::fields;

constexpr CommandRow kCommands[] = {
#define TG_COMMAND(id, name, run, group, operand, least, most, files, summary, help)               \
  {CommandId::id, name, run, CommandGroup::group, operand, least, most, files, summary, help},
#include "compiler/cli/commands.def"
};

constexpr OptionRow kOptions[] = {
#define TG_OPTION(member, ...) TG_OPTION_ROW(options.member, __VA_ARGS__)
#define TG_SEARCH_OPTION TG_OPTION
#define TG_ALSO TG_OPTION
#include "compiler/api/options.def"
};

} // namespace columns

std::vector<llvm::StringRef> parts_of(llvm::StringRef text, char separator) {
  llvm::SmallVector<llvm::StringRef, 12> parts;
  text.split(parts, separator, -1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

} // namespace

llvm::ArrayRef<CommandRow> tg_commands() { return columns::kCommands; }
llvm::ArrayRef<OptionRow> tg_options() { return columns::kOptions; }
llvm::ArrayRef<CommandRow> command_rows() { return program_tables().commands; }
llvm::ArrayRef<OptionRow> option_rows() { return program_tables().options; }

const CommandRow& command_row(CommandId id) {
  return *llvm::find_if(command_rows(), [&](const CommandRow& row) { return row.id == id; });
}

const CommandRow* find_command(llvm::StringRef name) {
  for (const CommandRow& row : command_rows())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<llvm::StringRef> first_words() {
  std::vector<llvm::StringRef> words;
  for (const CommandRow& row : command_rows())
    if (llvm::StringRef word = row.name.split(' ').first; !llvm::is_contained(words, word))
      words.push_back(word);
  return words;
}

std::vector<std::pair<const CommandRow*, llvm::StringRef>> commands_below(llvm::StringRef word) {
  std::vector<std::pair<const CommandRow*, llvm::StringRef>> commands;
  for (const CommandRow& row : command_rows())
    if (auto [first, second] = row.name.split(' '); first == word && !second.empty())
      commands.emplace_back(&row, second);
  return commands;
}

llvm::StringRef option_group_title(OptionGroup group) {
  switch (group) {
  case OptionGroup::Model: return "Model";
  case OptionGroup::Run: return "Run";
  case OptionGroup::Search: return "Search";
  case OptionGroup::Prices: return "Prices";
  case OptionGroup::Limits: return "Limits";
  case OptionGroup::Output: return "Output";
  }
  return "";
}

llvm::StringRef kind_name(OptionKind kind) {
  switch (kind) {
  case OptionKind::Flag: return "flag";
  case OptionKind::Text: return "text";
  case OptionKind::File: return "file";
  case OptionKind::Folder: return "folder";
  case OptionKind::Word: return "word";
  case OptionKind::Words: return "words";
  case OptionKind::Whole: return "whole number";
  case OptionKind::Seed: return "seed";
  case OptionKind::Number: return "number";
  case OptionKind::Pairs: return "pairs";
  case OptionKind::Cost: return "text";
  }
  return "";
}

std::vector<llvm::StringRef> OptionRow::words() const {
  if (kind == OptionKind::Pairs) return {};
  if (!limits.words.empty()) return parts_of(limits.words, '|');
  std::vector<llvm::StringRef> words(limits.rows.begin(), limits.rows.end());
  llvm::erase_if(words, [](llvm::StringRef word) { return word.empty(); });
  return words;
}

std::vector<llvm::StringRef> OptionRow::used_by() const { return parts_of(strategies, ' '); }

std::string OptionRow::default_text() const {
  switch (kind) {
  case OptionKind::Whole:
  case OptionKind::Number:
    if (value.number < limits.low || value.number > limits.high) return "";
    [[fallthrough]];
  case OptionKind::Seed: return number_text(value.number);
  default: return value.text.str();
  }
}

std::vector<const OptionRow*> rows_of(CommandId command) {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : option_rows())
    if (row.commands.has(command)) rows.push_back(&row);
  return rows;
}

std::vector<const OptionRow*> all_rows() {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : option_rows()) rows.push_back(&row);
  return rows;
}

void each_group(llvm::ArrayRef<const OptionRow*> rows,
                llvm::function_ref<void(OptionGroup, llvm::ArrayRef<const OptionRow*>)> visit) {
  for (uint8_t g = 0; g <= static_cast<uint8_t>(OptionGroup::Output); ++g) {
    auto group = static_cast<OptionGroup>(g);
    std::vector<const OptionRow*> of_group;
    llvm::copy_if(rows, std::back_inserter(of_group),
                  [&](const OptionRow* row) { return row->group == group; });
    if (!of_group.empty()) visit(group, of_group);
  }
}

const OptionRow* find_row(llvm::ArrayRef<const OptionRow*> rows, llvm::StringRef flag) {
  for (const OptionRow* row : rows)
    if (row->flag == flag) return row;
  return nullptr;
}

} // namespace tg::cli
