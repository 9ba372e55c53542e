// The `:commands` of the prompt. Settings are the options of `tg run` under the same names and are
// checked by the same code. A name that is a compile-time parameter of a model sets that parameter.
#include "compiler/cli/prompt/commands.h"
#include "compiler/report/pages/graph_picture.h"

#include "compiler/cli/terminal/table.h"
#include "compiler/ir/to_text.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

void print_costs(llvm::raw_ostream& out, const OperatorCosts& costs, bool color) {
  double total = 0;
  size_t count = 0;
  for (const auto& kind : costs.kinds) total += kind.microseconds, count += kind.count;
  Table table({{"operator"}, {"", Align::Right}, {"cost", Align::Right}, {"", Align::Right}});
  for (const auto& [op, times, us] : costs.kinds)
    table.add({std::string(op_info(op).name), "x" + std::to_string(times), duration_text(us),
               llvm::formatv("{0:f1}%", total > 0 ? 100 * us / total : 0).str()});
  table.add({"all", "x" + std::to_string(count), duration_text(total), costs.cost_model});
  table.print(out, color, 2);
}

} // namespace

llvm::ArrayRef<ReplCommands::Command> ReplCommands::commands() {
  static const Command table[] = {
      {"help", "[NAME]", "show this list, or explain a name, `:command` or code",
       &ReplCommands::help},
      {"type", "EXPR", "show the type of an expression, without recording it",
       &ReplCommands::show_type},
      {"shape", "EXPR", "show its shape and size", &ReplCommands::show_shape},
      {"load", "FILE", "load the declarations of a file", &ReplCommands::load_file_command},
      {"reload", "", "load that file again", &ReplCommands::reload},
      {"rules", "[on|off NAME]", "list the rules in use; switch one off or on",
       &ReplCommands::rules},
      {"opt", "[MODEL|EXPR]", "optimise; Ctrl-C stops and keeps the best result so far",
       &ReplCommands::optimise},
      {"cost", "[MODEL|EXPR|best]", "show the costs of its operators", &ReplCommands::cost},
      {"run", "[MODEL|EXPR|best]", "run it on random or given inputs", &ReplCommands::run},
      {"explain", "", "show the rewrites of the last `:opt`, step by step", &ReplCommands::explain},
      {"verify", "[A, B]", "check the last `:opt` against its source, or A against B",
       &ReplCommands::verify},
      {"show", "[MODEL|EXPR|best]", "show this session, or a graph, as .tg text",
       &ReplCommands::show},
      {"graph", "[MODEL|EXPR|best] [FILE]", "draw it here, or in a .svg, .html or .dot file",
       &ReplCommands::graph},
      {"set", "[NAME=VALUE]", "set options of `tg run` and parameters of models",
       &ReplCommands::set},
      {"save", "[best] FILE", "write the session, or the best graph, as .tg", &ReplCommands::save},
      {"undo", "", "undo the last line or command that changed the session", &ReplCommands::undo},
      {"quit", "", "leave; also `:exit`, `exit`, `quit` and Ctrl-D", &ReplCommands::quit},
      {"exit", "", "leave", &ReplCommands::quit},
  };
  return table;
}

void ReplCommands::run_line(llvm::StringRef text) {
  auto [name, argument] = text.split(' ');
  llvm::ArrayRef<Command> all = commands();
  const auto* found = llvm::find_if(all, [&, name = name](auto& c) { return c.name == name; });
  llvm::StringRef option = argument.split("--").second.split(' ').first.split('=').first;
  if (ReplSession::setting(option))
    return repl_.fail(
        error(Code::usage, "`:{0}` does not take options", name)
            .suggest(llvm::formatv("`:set {0}=…` applies to later commands", option)));
  if (found != all.end()) return (this->*found->run)(argument.trim());
  std::vector<llvm::StringRef> names;
  for (const Command& c : all) names.push_back(c.name);
  Diagnostic d = error(Code::usage, "unknown command `:{0}`", name);
  llvm::StringRef near = near_miss(name, names);
  d.help = near.empty() ? "`:help` lists the commands"
                        : llvm::formatv("did you mean `:{0}`?", near).str();
  repl_.fail(std::move(d));
}

// --- types --------------------------------------------------------------------------------------

void ReplCommands::show_type(llvm::StringRef argument) {
  Session session = repl_.begin();
  if (auto found = repl_.target(session, argument)) repl_.out() << found->value.text << "\n";
}

void ReplCommands::show_shape(llvm::StringRef argument) {
  Session session = repl_.begin();
  auto found = repl_.target(session, argument);
  if (!found) return;
  for (const GraphOutput& output : found->graph.outputs()) {
    const TensorType& type = found->graph.type(output.node);
    if (found->graph.outputs().size() > 1) repl_.out() << output.name << ": ";
    repl_.out() << "[";
    for (int axis = 0; axis < type.rank(); ++axis)
      repl_.out() << (axis > 0 ? ", " : "") << type[static_cast<size_t>(axis)];
    repl_.out() << "], " << count_text(static_cast<uint64_t>(type.elements())) << " elements, "
                << bytes_text(static_cast<double>(type.bytes())) << "\n";
  }
}

// --- files --------------------------------------------------------------------------------------

void ReplCommands::load(llvm::StringRef path) {
  Session session = repl_.begin();
  Result<FileId> file = tg::load_file(session.sources, path);
  if (!file) return repl_.fail(std::move(file.error()));
  Notebook next = repl_.state().notebook;
  next.load(path.str(), session.sources.file(*file).text().str());
  session.sources = {};
  Program program = repl_.read(session, next);
  if (!session.sink.failed() && check(program, session.sink))
    repl_.declared_rules(session, program);
  // Places beyond the end of the old file would be mistaken for entered ones.
  std::swap(repl_.state().notebook, next);
  if (session.sink.failed()) {
    repl_.fail(session);
    std::swap(repl_.state().notebook, next);
    return;
  }
  std::vector<std::string> names;
  const Ast& tree = program.modules.front().ast;
  for (ast::DeclId id : tree.decls())
    if (const ast::Decl& decl = tree[id];
        decl.name.present() && decl.span.end <= repl_.state().notebook.typed_begin())
      names.push_back((decl.kind == ast::DeclKind::Model  ? "model "
                       : decl.kind == ast::DeclKind::Rule ? "rule "
                       : decl.kind == ast::DeclKind::Op   ? "op "
                       : decl.kind == ast::DeclKind::Fn   ? "fn "
                                                          : "ruleset ") +
                      decl.name.text.str());
  repl_.out() << path << ": " << llvm::join(names, ", ") << "\n";
}

void ReplCommands::load_file_command(llvm::StringRef argument) {
  if (argument.empty()) return repl_.fail(error(Code::usage, "`:load` requires a file"));
  load(argument);
}

void ReplCommands::reload(llvm::StringRef) {
  if (repl_.state().notebook.path().empty())
    return repl_.fail(
        error(Code::usage, "no file has been loaded").suggest("load one with `:load FILE`"));
  load(std::string(repl_.state().notebook.path()));
}

void ReplCommands::save(llvm::StringRef argument) {
  bool best = argument.consume_front("best ");
  argument = argument.trim();
  if (argument.empty())
    return repl_.fail(error(Code::usage, "`:save` requires the name of a file to write"));
  if (best && !repl_.state().best)
    return repl_.fail(
        error(Code::usage, "no model has been optimised yet").suggest("run `:opt` first"));
  Session session = repl_.begin();
  std::string text =
      best ? to_text(repl_.state().best->found.graph) : repl_.state().notebook.text();
  if (llvm::StringRef(text).trim().empty())
    return repl_.fail(error(Code::usage, "there is nothing to save yet"));
  if (!best) {
    FileId file = session.sources.add(repl_.state().notebook.name(), text);
    if (auto formatted = format_file(session.sources, file, session.sink)) text = *formatted;
  }
  if (auto written = write_text_file(session, argument, text); !written)
    return repl_.fail(std::move(written.error()));
  if (argument != "-") repl_.out() << "wrote " << argument << "\n";
}

void ReplCommands::show_session() {
  std::string text = repl_.state().notebook.text();
  llvm::StringRef loaded = llvm::StringRef(text).take_front(repl_.state().notebook.typed_begin());
  size_t line = loaded.count('\n') + 1;
  if (!loaded.empty())
    repl_.out() << "# " << repl_.state().notebook.path() << ", " << line - 1 << " lines\n";
  llvm::StringRef rest = llvm::StringRef(text).drop_front(loaded.size());
  llvm::SmallVector<llvm::StringRef, 0> rows;
  rest.rtrim().split(rows, '\n');
  if (rest.trim().empty()) rows.clear();
  for (llvm::StringRef row : rows)
    repl_.out() << llvm::format_decimal(static_cast<int64_t>(line++), 4) << " | " << row << "\n";
  if (rows.empty() && loaded.empty()) repl_.out() << "# nothing yet\n";
}

void ReplCommands::show(llvm::StringRef argument) {
  if (argument.empty()) return show_session();
  Session session = repl_.begin();
  if (auto found = repl_.target(session, argument)) repl_.out() << to_text(found->graph);
}

// --- rules --------------------------------------------------------------------------------------

void ReplCommands::rules(llvm::StringRef argument) {
  auto [word, name] = argument.split(' ');
  if (word == "on" || word == "off") return switch_rule(name.trim(), word == "on");
  Session session = repl_.begin();
  const ReplState before = repl_.state();
  if (!argument.empty()) {
    bool applied = repl_.apply_settings({{"rules", argument.str()}});
    if (!applied) return;
  }
  Program program = repl_.read(session, repl_.state().notebook);
  std::vector<Rule> declared = repl_.declared_rules(session, program);
  auto selected = load_rules(session.sources, library(), repl_.state().options.rules, session.sink);
  if (!selected || session.sink.failed()) {
    repl_.state() = before;
    return repl_.fail(session);
  }
  llvm::append_range(*selected, declared);
  print_rules(session, *selected);
}

/// Switches a rule. Rules of the library use the option --rules; those of the session are
/// kept in a list.
void ReplCommands::switch_rule(llvm::StringRef name, bool on) {
  Session session = repl_.begin();
  Program program = repl_.read(session, repl_.state().notebook);
  llvm::erase_if(repl_.state().rules_off, [&](const std::string& off) { return off == name; });
  std::vector<Rule> declared = repl_.declared_rules(session, program);
  bool ours = llvm::any_of(
      declared, [&](const Rule& rule) { return rule.name == name || rule.declared == name; });
  if (ours) {
    if (!on) repl_.state().rules_off.push_back(name.str());
    return;
  }
  std::vector<std::string> entries = repl_.state().options.rules;
  std::string off = ("-" + name).str();
  llvm::erase_if(entries, [&](const std::string& entry) { return entry == off; });
  if (!on) entries.push_back(off);
  if (!load_rules(session.sources, library(), on ? std::vector{name.str()} : entries, session.sink))
    return repl_.fail(session);
  if (on && !entries.empty() && llvm::any_of(entries, [](auto& e) { return e[0] != '-'; }))
    entries.push_back(name.str());
  repl_.apply_settings({{"rules", llvm::join(entries, ",")}});
}

// --- optimising and running ---------------------------------------------------------------------

void ReplCommands::optimise(llvm::StringRef argument) {
  Session session = repl_.begin();
  auto found = repl_.target(session, argument);
  if (!found) return;
  std::optional<OptimizedModel> best =
      optimize_model(session, found->graph, {.declared = found->rules, .chain = true});
  if (!best) return repl_.fail(session);
  session.print_warnings();
  print_report(repl_.out(), best->result.report, repl_.color(), repl_.state().options.verbose);
  repl_.state().best = std::make_shared<ReplState::Best>(
      ReplState::Best{std::move(found->graph), std::move(best->result), std::move(best->rules)});
}

void ReplCommands::cost(llvm::StringRef argument) {
  Session session = repl_.begin();
  auto found = repl_.target(session, argument);
  if (!found) return;
  Result<OperatorCosts> costs = operator_costs(found->graph, session.options, session.stop,
                                               progress_line(session, "timing operators"));
  if (!costs) return repl_.fail(std::move(costs.error()));
  print_costs(repl_.out(), *costs, repl_.color());
}

void ReplCommands::run(llvm::StringRef argument) {
  Session session = repl_.begin();
  auto found = repl_.target(session, argument);
  if (!found) return;
  const Graph& source = argument == "best" ? repl_.state().best->source : found->graph;
  if (!run_graph(session, source, found->graph, {})) return repl_.fail(session);
  session.print_warnings();
}

void ReplCommands::explain(llvm::StringRef) {
  if (!repl_.state().best)
    return repl_.fail(
        error(Code::usage, "no model has been optimised yet").suggest("run `:opt` first"));
  Session session = repl_.begin();
  const ReplState::Best& best = *repl_.state().best;
  auto steps = confirmed_steps(best.found, best.rules, best.source, session.stop);
  if (!steps) return repl_.fail(std::move(steps.error()));
  if (steps->empty()) repl_.out() << "no rule was applied\n";
  print_chain(repl_.out(), *steps);
}

// --- equality, pictures -------------------------------------------------------------------------

namespace {

/// Splits `A, B` at the comma outside of brackets, or else two words.
std::pair<llvm::StringRef, llvm::StringRef> two_parts(llvm::StringRef text) {
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    open += llvm::StringRef("([{").contains(text[i]);
    open -= llvm::StringRef(")]}").contains(text[i]);
    if (text[i] == ',' && open == 0)
      return {text.take_front(i).trim(), text.drop_front(i + 1).trim()};
  }
  auto [a, b] = text.split(' ');
  return {a.trim(), b.trim()};
}

} // namespace

void ReplCommands::verify(llvm::StringRef argument) {
  Session session = repl_.begin();
  std::optional<ReplSession::Target> sides[2];
  std::string names[2];
  if (argument.empty() && !repl_.state().best)
    return repl_.fail(
        error(Code::usage, "no model has been optimised yet")
            .suggest("run `:opt` first, or compare two models or expressions with `:verify A, B`"));
  if (!argument.empty()) {
    auto [a, b] = two_parts(argument);
    if (b.empty())
      return repl_.fail(
          error(Code::usage, "`:verify` requires two models or expressions, not one")
              .suggest("use `:verify A, B`; without operands it checks the last `:opt`"));
    for (llvm::StringRef part : {a, b}) {
      names[sides[0].has_value()] = part.str();
      std::optional<ReplSession::Target>& side = sides[sides[0].has_value()];
      if (!(side = repl_.target(session, part))) return;
      session.sources = {};
    }
  }
  Result<ModelsVerified> verified =
      argument.empty()
          ? compare(session, {repl_.state().best->source}, {repl_.state().best->found.graph})
          : compare(session, {std::move(sides[0]->graph), names[0]},
                    {std::move(sides[1]->graph), names[1]});
  if (verified) verified->result.help.clear(); // it is about files of weights: none here
  if (!verified) return repl_.fail(std::move(verified.error()));
  print_equivalence(repl_.out(), verified->result);
}

/// Treats the last word as a file if it has a file ending (values have no members). Without a file
/// the picture is printed here.
void ReplCommands::graph(llvm::StringRef argument) {
  Session session = repl_.begin();
  llvm::StringRef ending = llvm::sys::path::extension(argument), file;
  bool to_file = ending.size() > 1 && llvm::all_of(ending.drop_front(), llvm::isAlpha);
  if (to_file) {
    file = argument.substr(argument.rfind(' ') + 1);
    argument = argument.drop_back(file.size()).trim();
  }
  auto found = repl_.target(session, argument);
  if (!found) return;
  Picture picture = picture_of(found->graph);
  if (!to_file) return pages::draw_rails(repl_.out(), picture, repl_.color());
  Result<std::string> text = pages::picture_file(picture, file);
  if (!text) return repl_.fail(std::move(text.error()));
  if (auto written = write_text_file(session, file, *text); !written)
    return repl_.fail(std::move(written.error()));
  repl_.out() << "wrote " << file << "\n";
}

void ReplCommands::undo(llvm::StringRef) {
  std::optional<std::string> line = repl_.undo();
  if (!line) return repl_.fail(error(Code::usage, "there is nothing to undo"));
  repl_.out() << "undone: " << *line << "\n";
}

// --- settings -----------------------------------------------------------------------------------

void ReplCommands::set(llvm::StringRef argument) {
  if (argument.empty()) return show_settings();
  size_t at = argument.find_first_of("= ");
  llvm::StringRef name = argument.take_front(at).trim();
  llvm::StringRef value = at == llvm::StringRef::npos ? "" : argument.drop_front(at + 1).trim();
  name.consume_front("--");
  const OptionRow* row = ReplSession::setting(name);
  bool flag = row && !row->takes_value();
  if (flag && (value.empty() || value == "true")) value = "on";
  if (flag && (value == "off" || value == "false")) value = "";
  if (!row && !repl_.is_parameter(name)) {
    std::vector<llvm::StringRef> names;
    for (const OptionRow* known : rows_of(CommandId::Prompt)) names.push_back(known->name());
    Diagnostic d = error(Code::usage, "unknown setting `{0}`", name);
    llvm::StringRef near = near_miss(name, names);
    d.help = near.empty() ? "`tg run --help` lists the settings; omit the dashes here"
                          : llvm::formatv("did you mean `{0}`?", near).str();
    return repl_.fail(std::move(d));
  }
  if (flag && !value.empty() && value != "on")
    return repl_.fail(error(Code::usage, "`{0}` must be on or off, not `{1}`", name, value));
  repl_.apply_settings({{name.str(), value.str()}});
}

void ReplCommands::show_settings() {
  for (const auto& [name, value] : repl_.state().settings)
    repl_.out() << name << " = " << value << "\n";
  if (repl_.state().settings.empty())
    repl_.out() << "# all options have their defaults (`tg run --help`)\n";
}

} // namespace tg::cli
