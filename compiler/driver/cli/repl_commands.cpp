// The `:commands` of the prompt. Settings are the options of `tg run`, under their names there, and
// are checked by the same code; a name that is a compile-time parameter of a model sets that.
#include "compiler/driver/cli/graph_picture.h"
#include "compiler/driver/cli/repl.h"

#include "compiler/driver/cli/table.h"
#include "compiler/driver/cost_model.h"
#include "compiler/driver/public_types.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/retyped_cost.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

/// What the operators of one kind cost together.
struct Share {
  std::string_view op;
  size_t count = 0;
  double us = 0;
};

/// Dearest first.
std::vector<Share> shares_of(const Graph& graph, CostModel& model) {
  PriceCache prices(graph.symbols(), model);
  std::vector<bool> needed = graph.reachable();
  std::vector<Share> shares(kOpCount);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (!needed[i] || node.weight_only || op_info(node.op).has(Trait::Leaf)) continue;
    OpInstance instance{node.op, node.attrs, {}, node.type, 0};
    llvm::SmallVector<TypeId, 5> types;
    for (NodeId operand : graph.operands({i})) {
      if (graph.node(operand).weight_only && types.size() < 32)
        instance.weight_operands |= uint32_t{1} << types.size();
      types.push_back(graph.node(operand).type);
    }
    instance.operands = types;
    Share& share = shares[static_cast<size_t>(node.op)];
    share.op = op_info(node.op).name;
    ++share.count;
    share.us += prices.price(instance);
  }
  llvm::erase_if(shares, [](const Share& share) { return share.count == 0; });
  llvm::stable_sort(shares, [](const Share& a, const Share& b) { return a.us > b.us; });
  return shares;
}

void print_shares(llvm::raw_ostream& out, llvm::ArrayRef<Share> shares, llvm::StringRef model,
                  bool color) {
  double total = 0;
  size_t count = 0;
  for (const Share& share : shares) total += share.us, count += share.count;
  Table table({{"operator"}, {"", Align::Right}, {"cost", Align::Right}, {"", Align::Right}});
  for (const Share& share : shares)
    table.add({std::string(share.op), "x" + std::to_string(share.count), duration_text(share.us),
               llvm::formatv("{0:f1}%", total > 0 ? 100 * share.us / total : 0).str()});
  table.add({"all", "x" + std::to_string(count), duration_text(total), model.str()});
  table.print(out, color, 2);
}

} // namespace

llvm::ArrayRef<Repl::Command> Repl::commands() {
  static const Command table[] = {
      {"help", "[NAME]", "this list; what a name, `:command` or error code means", &Repl::help},
      {"type", "EXPR", "the type of an expression, which leaves no trace", &Repl::show_type},
      {"shape", "EXPR", "its shape and size", &Repl::show_shape},
      {"load", "FILE", "use the declarations of a file", &Repl::load_file_command},
      {"reload", "", "read that file again", &Repl::reload},
      {"rules", "[on|off NAME]", "the rules in use; switch one off or on", &Repl::rules},
      {"opt", "[MODEL|EXPR]", "optimise; Ctrl-C stops and keeps the best so far", &Repl::optimise},
      {"cost", "[MODEL|EXPR|best]", "what its operators cost", &Repl::cost},
      {"run", "[MODEL|EXPR|best]", "run it on random or given inputs", &Repl::run},
      {"explain", "", "how the last `:opt` got there, step by step", &Repl::explain},
      {"verify", "[A, B]", "check the last `:opt` against its source, or A against B exactly",
       &Repl::verify},
      {"show", "[MODEL|EXPR|best]", "this session as a file; a graph as one", &Repl::show},
      {"graph", "[MODEL|EXPR|best] [FILE]",
       "a picture of it: here, or in a .svg, .html or .dot file", &Repl::graph},
      {"set", "[NAME=VALUE]", "options of `tg run`, parameters of models", &Repl::set},
      {"save", "[best] FILE", "write the session, or the best graph, as .tg", &Repl::save},
      {"undo", "", "take back the last line or command that changed the session", &Repl::undo},
      {"quit", "", "leave; so do `:exit`, `exit`, `quit` and Ctrl-D", &Repl::quit},
      {"exit", "", "leave", &Repl::quit},
  };
  return table;
}

const OptionRow* Repl::setting(llvm::StringRef name) {
  return name.empty() ? nullptr : find_row(rows_of(CommandId::Prompt), ("--" + name).str());
}

// --- types --------------------------------------------------------------------------------------

void Repl::show_type(llvm::StringRef argument) {
  Session session = begin();
  if (auto found = target(session, argument)) out_ << found->value.text << "\n";
}

void Repl::show_shape(llvm::StringRef argument) {
  Session session = begin();
  auto found = target(session, argument);
  if (!found) return;
  for (const GraphOutput& output : found->graph.outputs()) {
    const TensorType& type = found->graph.type(output.node);
    if (found->graph.outputs().size() > 1) out_ << output.name << ": ";
    out_ << "[";
    for (int axis = 0; axis < type.rank(); ++axis)
      out_ << (axis > 0 ? ", " : "") << type[static_cast<size_t>(axis)];
    out_ << "], " << count_text(static_cast<uint64_t>(type.elements())) << " elements, "
         << bytes_text(static_cast<double>(type.bytes())) << "\n";
  }
}

// --- files --------------------------------------------------------------------------------------

void Repl::load(llvm::StringRef path) {
  Session session = begin();
  Result<FileId> file = tg::load_file(session.sources, path);
  if (!file) return fail(std::move(file.error()));
  Notebook next = notebook_;
  next.load(path.str(), session.sources.file(*file).text().str());
  session.sources = {};
  Program program = read(session, next);
  if (!session.sink.failed() && check(program, session.sink)) declared_rules(session, program);
  // Places beyond the end of the old file would be taken for typed ones.
  std::swap(notebook_, next);
  if (session.sink.failed()) {
    fail(session);
    std::swap(notebook_, next);
    return;
  }
  std::vector<std::string> names;
  const Ast& tree = program.modules.front().ast;
  for (ast::DeclId id : tree.decls())
    if (const ast::Decl& decl = tree[id];
        decl.name.present() && decl.span.end <= notebook_.typed_begin())
      names.push_back((decl.kind == ast::DeclKind::Model  ? "model "
                       : decl.kind == ast::DeclKind::Rule ? "rule "
                       : decl.kind == ast::DeclKind::Op   ? "op "
                       : decl.kind == ast::DeclKind::Fn   ? "fn "
                                                          : "ruleset ") +
                      decl.name.text.str());
  out_ << path << ": " << llvm::join(names, ", ") << "\n";
}

void Repl::load_file_command(llvm::StringRef argument) {
  if (argument.empty()) return fail(error(Code::usage, "`:load` takes a file"));
  load(argument);
}

void Repl::reload(llvm::StringRef) {
  if (notebook_.path().empty())
    return fail(error(Code::usage, "no file has been loaded").suggest("`:load FILE` does"));
  load(std::string(notebook_.path()));
}

void Repl::save(llvm::StringRef argument) {
  bool best = argument.consume_front("best ");
  argument = argument.trim();
  if (argument.empty()) return fail(error(Code::usage, "`:save` takes a file to write"));
  if (best && !best_)
    return fail(error(Code::usage, "nothing has been optimised yet").suggest("`:opt` does"));
  Session session = begin();
  std::string text = best ? to_text(best_->found.graph) : notebook_.text();
  if (llvm::StringRef(text).trim().empty())
    return fail(error(Code::usage, "there is nothing to save yet"));
  if (!best) {
    FileId file = session.sources.add(notebook_.name(), text);
    if (auto formatted = format_file(session.sources, file, session.sink)) text = *formatted;
  }
  if (auto written = write_text_file(session, argument, text); !written)
    return fail(std::move(written.error()));
  if (argument != "-") out_ << "wrote " << argument << "\n";
}

void Repl::show_session() {
  std::string text = notebook_.text();
  llvm::StringRef loaded = llvm::StringRef(text).take_front(notebook_.typed_begin());
  size_t line = loaded.count('\n') + 1;
  if (!loaded.empty()) out_ << "# " << notebook_.path() << ", " << line - 1 << " lines\n";
  llvm::StringRef rest = llvm::StringRef(text).drop_front(loaded.size());
  llvm::SmallVector<llvm::StringRef, 0> rows;
  rest.rtrim().split(rows, '\n');
  if (rest.trim().empty()) rows.clear();
  for (llvm::StringRef row : rows)
    out_ << llvm::format_decimal(static_cast<int64_t>(line++), 4) << " | " << row << "\n";
  if (rows.empty() && loaded.empty()) out_ << "# nothing yet\n";
}

void Repl::show(llvm::StringRef argument) {
  if (argument.empty()) return show_session();
  Session session = begin();
  if (auto found = target(session, argument)) out_ << to_text(found->graph);
}

// --- rules --------------------------------------------------------------------------------------

void Repl::rules(llvm::StringRef argument) {
  auto [word, name] = argument.split(' ');
  if (word == "on" || word == "off") return switch_rule(name.trim(), word == "on");
  Session session = begin();
  if (!argument.empty()) {
    bool applied = apply_settings({{"rules", argument.str()}});
    if (!applied) return;
  }
  Program program = read(session, notebook_);
  std::vector<Rule> declared = declared_rules(session, program);
  auto selected = load_rules(session.sources, library(), options_.rules, session.sink);
  if (!selected || session.sink.failed()) return fail(session);
  llvm::append_range(*selected, declared);
  print_rules(session, *selected);
}

/// A rule of the library goes through the option --rules, one of the session is kept in a list.
void Repl::switch_rule(llvm::StringRef name, bool on) {
  Session session = begin();
  Program program = read(session, notebook_);
  llvm::erase_if(rules_off_, [&](const std::string& off) { return off == name; });
  std::vector<Rule> declared = declared_rules(session, program);
  bool ours = llvm::any_of(
      declared, [&](const Rule& rule) { return rule.name == name || rule.declared == name; });
  if (ours) {
    if (!on) rules_off_.push_back(name.str());
    return;
  }
  std::vector<std::string> entries = options_.rules;
  std::string off = ("-" + name).str();
  llvm::erase_if(entries, [&](const std::string& entry) { return entry == off; });
  if (!on) entries.push_back(off);
  if (!load_rules(session.sources, library(), on ? std::vector{name.str()} : entries, session.sink))
    return fail(session);
  if (on && !entries.empty() && llvm::any_of(entries, [](auto& e) { return e[0] != '-'; }))
    entries.push_back(name.str());
  apply_settings({{"rules", llvm::join(entries, ",")}});
}

// --- optimising and running ---------------------------------------------------------------------

void Repl::optimise(llvm::StringRef argument) {
  Session session = begin();
  auto found = target(session, argument);
  if (!found) return;
  std::optional<OptimizedModel> best =
      optimize_model(session, found->graph, {.declared = found->rules, .chain = true});
  if (!best) return fail(session);
  session.print_warnings();
  print_report(out_, best->result.report, color_, options_.verbose);
  best_ = std::make_shared<Best>(
      Best{std::move(found->graph), std::move(best->result), std::move(best->rules)});
}

void Repl::cost(llvm::StringRef argument) {
  Session session = begin();
  auto found = target(session, argument);
  if (!found) return;
  Result<std::unique_ptr<CostModel>> model = cost_model(session, found->graph);
  if (!model) return fail(std::move(model.error()));
  std::optional<RetypedCost> narrow;
  CostModel& costs = in_dtype(part_of(options_.dtype), **model, narrow);
  print_shares(out_, shares_of(found->graph, costs), costs.name(), color_);
}

void Repl::run(llvm::StringRef argument) {
  Session session = begin();
  auto found = target(session, argument);
  if (!found) return;
  const Graph& source = argument == "best" ? best_->source : found->graph;
  if (!run_graph(session, source, found->graph)) return fail(session);
  session.print_warnings();
}

void Repl::explain(llvm::StringRef) {
  if (!best_)
    return fail(error(Code::usage, "nothing has been optimised yet").suggest("`:opt` does"));
  Session session = begin();
  if (auto confirmed = confirm_chain(best_->found, best_->rules, best_->source, session.stop);
      !confirmed)
    return fail(std::move(confirmed.error()));
  if (best_->found.chain->steps.empty()) out_ << "no rule was applied\n";
  print_chain(out_, steps_of(*best_->found.chain, best_->rules));
}

// --- equality, pictures -------------------------------------------------------------------------

namespace {

/// `A, B` where the comma stands outside of brackets, else two words.
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

void Repl::verify(llvm::StringRef argument) {
  Session session = begin();
  std::optional<Target> sides[2];
  if (argument.empty() && !best_)
    return fail(error(Code::usage, "nothing has been optimised yet")
                    .suggest("`:opt` does; `:verify A, B` compares two models or expressions"));
  if (!argument.empty()) {
    auto [a, b] = two_parts(argument);
    if (b.empty())
      return fail(error(Code::usage, "`:verify` compares two models or expressions, not one")
                      .suggest("`:verify A, B`; alone it takes the last `:opt`"));
    for (llvm::StringRef part : {a, b}) {
      std::optional<Target>& side = sides[sides[0].has_value()];
      if (!(side = target(session, part))) return;
      session.sources = {};
    }
  }
  Result<Equivalence> result = argument.empty()
                                   ? compare(session, best_->source, best_->found.graph)
                                   : compare(session, sides[0]->graph, sides[1]->graph);
  if (!result) return fail(std::move(result.error()));
  print_equivalence(out_, *result);
}

/// The last word is a file if it ends as one (values have no members); without a file the picture
/// is drawn here.
void Repl::graph(llvm::StringRef argument) {
  Session session = begin();
  llvm::StringRef ending = llvm::sys::path::extension(argument), file;
  bool to_file = ending.size() > 1 && llvm::all_of(ending.drop_front(), llvm::isAlpha);
  if (to_file) {
    file = argument.substr(argument.rfind(' ') + 1);
    argument = argument.drop_back(file.size()).trim();
  }
  auto found = target(session, argument);
  if (!found) return;
  Picture picture = picture_of(found->graph);
  if (!to_file) return draw_rails(out_, picture, color_);
  Result<std::string> text = picture_file(picture, file);
  if (!text) return fail(std::move(text.error()));
  if (auto written = write_text_file(session, file, *text); !written)
    return fail(std::move(written.error()));
  out_ << "wrote " << file << "\n";
}

void Repl::undo(llvm::StringRef) {
  if (undo_.empty()) return fail(error(Code::usage, "there is nothing to undo"));
  Before before = std::move(undo_.back());
  undo_.pop_back();
  notebook_ = std::move(before.notebook);
  settings_ = std::move(before.settings);
  options_ = std::move(before.options);
  rules_off_ = std::move(before.rules_off);
  best_ = std::move(before.best);
  out_ << "took back: " << before.line << "\n";
}

// --- settings -----------------------------------------------------------------------------------

bool Repl::is_parameter(const Program& program, llvm::StringRef model, llvm::StringRef name) {
  const Ast& tree = program.modules.front().ast;
  for (FnRef fn : program.models()) {
    const ast::Decl& decl = program.decl(fn);
    if (!model.empty() && decl.name.text != model) continue;
    for (const ast::Param& param : tree[decl.params])
      if (param.name.text == name && param.type && !param_kind(tree, tree[param.type]).run_time())
        return true;
    for (const BoundName& bound : bound_names(tree, decl))
      if (bound.name.text == name) return true;
  }
  return false;
}

bool Repl::is_parameter(llvm::StringRef name) const {
  Session session = begin();
  return is_parameter(read(session, notebook_), "", name);
}

/// The settings with these put in their places, through the option parser. An empty value takes one
/// back. False, with the reason printed, if it refuses.
bool Repl::apply_settings(std::vector<std::pair<std::string, std::string>> changes) {
  std::vector<std::pair<std::string, std::string>> next = settings_;
  for (auto& [name, value] : changes) {
    llvm::erase_if(next, [&, n = llvm::StringRef(name)](auto& old) { return old.first == n; });
    if (!value.empty()) next.emplace_back(name, value);
  }
  std::vector<std::string> words = {"tg", "run"};
  for (const auto& [name, value] : next) {
    const OptionRow* row = setting(name);
    if (!row && is_parameter(name))
      words.push_back("--set=" + name + "=" + value);
    else if (row && !row->takes_value())
      words.push_back("--" + name);
    else
      words.push_back("--" + name + "=" + value);
  }
  words.push_back("<prompt>");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Parsed parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
  if (parsed.done) {
    ++failures_;
    err_ << parsed.err << parsed.out;
    return false;
  }
  settings_ = std::move(next);
  options_ = std::move(parsed.options);
  return true;
}

void Repl::set(llvm::StringRef argument) {
  if (argument.empty()) return show_settings();
  size_t at = argument.find_first_of("= ");
  llvm::StringRef name = argument.take_front(at).trim();
  llvm::StringRef value = at == llvm::StringRef::npos ? "" : argument.drop_front(at + 1).trim();
  name.consume_front("--");
  const OptionRow* row = setting(name);
  bool flag = row && !row->takes_value();
  if (flag && (value.empty() || value == "true")) value = "on";
  if (flag && (value == "off" || value == "false")) value = "";
  if (!row && !is_parameter(name)) {
    std::vector<llvm::StringRef> names;
    for (const OptionRow* known : rows_of(CommandId::Prompt)) names.push_back(known->name());
    Diagnostic d = error(Code::usage, "there is no setting `{0}`", name);
    llvm::StringRef near = near_miss(name, names);
    d.help = near.empty() ? "`tg run --help` lists them, without the dashes here"
                          : llvm::formatv("did you mean `{0}`?", near).str();
    return fail(std::move(d));
  }
  apply_settings({{name.str(), value.str()}});
}

void Repl::show_settings() {
  for (const auto& [name, value] : settings_) out_ << name << " = " << value << "\n";
  if (settings_.empty()) out_ << "# all options have their defaults (`tg run --help`)\n";
}

} // namespace tg::cli
