// Completes at the prompt: names of the session and the language, commands, settings, files, and
// inside a call the names of its arguments and the words that they accept.
#include "compiler/cli/prompt/commands.h"
#include "compiler/cli/prompt/editor.h"
#include "compiler/ir/text/words.h"
#include "lang/syntax/parse.h"
#include "lang/syntax/token_classes.h"
#include "lang/syntax/tokens.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

using T = Grammar::token;

/// Returns the files that complete a partial path.
std::vector<std::string> matching_files(llvm::StringRef typed) {
  namespace fs = llvm::sys::fs;
  llvm::StringRef folder = typed.take_front(typed.rfind('/') + 1);
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, code), end; at != end && !code;
       at.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(at->path());
    bool is_folder = at->type() == fs::file_type::directory_file;
    if (name.startswith(".") || (!is_folder && !name.endswith(".tg"))) continue;
    found.push_back((folder + name + (is_folder ? "/" : "")).str());
  }
  return found;
}

/// The call around the end of a text.
struct OpenCall {
  llvm::StringRef callee;
  size_t position = 0;                // unnamed arguments before this one
  std::vector<llvm::StringRef> given; // names of the named arguments
  llvm::StringRef value_of;           // the end is the value of this argument
  bool begins = false;                // the end is the start of an argument
};

std::optional<OpenCall> open_call(llvm::StringRef text) {
  SyntaxErrors ignored(FileId{0});
  std::vector<Token> tokens = scan(text, ignored).tokens;
  tokens.pop_back(); // END
  auto name = [&](const Token& token) { return text.slice(token.begin, token.end); };
  llvm::SmallVector<std::pair<int, OpenCall>, 4> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    int kind = tokens[i].kind, before = i > 0 ? tokens[i - 1].kind : 0;
    if (kind == T::LPAREN || kind == T::LBRACKET || kind == T::LBRACE) {
      open.push_back({kind, {}});
      if (kind == T::LPAREN && before == T::NAME) open.back().second.callee = name(tokens[i - 1]);
      open.back().second.begins = true;
      continue;
    }
    if (open.empty()) continue;
    OpenCall& call = open.back().second;
    call.begins = kind == T::COMMA;
    if (kind == T::RPAREN || kind == T::RBRACKET || kind == T::RBRACE) {
      open.pop_back();
    } else if (kind == T::COMMA) {
      if (call.value_of.empty()) ++call.position;
      call.value_of = "";
    } else if (kind == T::ASSIGN && before == T::NAME) {
      call.value_of = name(tokens[i - 1]);
      call.given.push_back(call.value_of);
    }
  }
  if (open.empty() || open.back().second.callee.empty()) return std::nullopt;
  return open.back().second;
}

ParamKind::Base base_of(AttrKind kind) {
  switch (kind) {
  case AttrKind::act: return ParamKind::Base::Act;
  case AttrKind::pad: return ParamKind::Base::Pad;
  case AttrKind::boolean: return ParamKind::Base::Bool;
  case AttrKind::dtype: return ParamKind::Base::DType;
  default: return ParamKind::Base::Unknown;
  }
}

/// Returns the words that an argument of a kind accepts.
std::vector<std::string> words_of(ParamKind::Base kind) {
  if (kind == ParamKind::Base::Bool) return {"true", "false"};
  std::vector<std::string> words;
  for (AttrKind known : {AttrKind::act, AttrKind::pad, AttrKind::dtype})
    if (base_of(known) == kind)
      for (llvm::StringRef word : enum_members(known)) words.push_back(word.str());
  return words;
}

/// Returns the kind of the argument of this name.
ParamKind::Base kind_of_argument(const Program& program, const Callee& callee,
                                 llvm::StringRef name) {
  if (callee.kind == Callee::Kind::Op)
    for (const AttrInfo& attr : op_info(callee.op).attrs())
      if (name == llvm::StringRef(attr.name.data(), attr.name.size())) return base_of(attr.kind);
  if (callee.kind == Callee::Kind::Builtin && name == "dtype") return ParamKind::Base::DType;
  if (callee.kind != Callee::Kind::Fn) return ParamKind::Base::Unknown;
  const Ast& tree = program.module(callee.fn).ast;
  for (const ast::Param& param : tree[program.decl(callee.fn).params])
    if (param.name.text == name && param.type) return param_kind(tree, tree[param.type]).base;
  return ParamKind::Base::Unknown;
}

/// Returns the completions inside a call at the end of `text`: names of missing arguments (`kernel
/// =`), or the words that an argument's value accepts.
std::vector<std::string> argument_words(const ReplSession& repl, llvm::StringRef text) {
  std::optional<OpenCall> call = open_call(text);
  if (!call) return {};
  Session session = repl.begin();
  Program program = repl.read(session, repl.state().notebook);
  Callee callee = resolve_callee(program.modules.front(), call->callee);
  if (!call->value_of.empty()) return words_of(kind_of_argument(program, callee, call->value_of));
  std::vector<std::string> names;
  if (!call->begins) return names;
  Signature wanted = signature(program, callee);
  for (size_t i = wanted.variadic ? 0 : call->position; i < wanted.slots.size(); ++i)
    if (!(wanted.variadic && wanted.slots[i].operand) &&
        !llvm::is_contained(call->given, wanted.slots[i].name))
      names.push_back(wanted.slots[i].name.str() + " =");
  return names;
}

/// Returns the completions after `:set`: names, or the words that a setting accepts.
std::vector<std::string> setting_words(llvm::StringRef text) {
  std::vector<std::string> all;
  if (size_t at = text.find_first_of("= "); at == llvm::StringRef::npos)
    for (const OptionRow* row : rows_of(CommandId::Prompt)) all.push_back(row->name().str());
  else if (const OptionRow* row = ReplSession::setting(text.take_front(at)))
    for (llvm::StringRef word : row->words()) all.push_back(word.str());
  return all;
}

} // namespace

std::vector<std::string> ReplSession::words() const {
  std::vector<std::string> all;
  for (llvm::StringRef word : text::keywords()) all.push_back(word.str());
  Session session = begin();
  Program program = read(session, state_.notebook);
  for (llvm::StringRef name : callable_names(program.modules.front())) all.push_back(name.str());
  const Ast& tree = program.modules.front().ast;
  for (ast::DeclId id : tree.decls())
    if (tree[id].name.present()) all.push_back(tree[id].name.text.str());
  for (const std::string& name : state_.notebook.bound_names()) all.push_back(name);
  for (const std::string& file : library().list("stdlib"))
    all.push_back("std." + llvm::sys::path::stem(file).str());
  return all;
}

std::vector<std::string> complete(const ReplSession& repl, llvm::StringRef text) {
  llvm::StringRef word = text.drop_front(word_begin(text));
  llvm::StringRef command = text.ltrim().split(' ').first;
  std::vector<std::string> all;
  if (text.ltrim() == command && command.startswith(":")) {
    for (const ReplCommands::Command& c : ReplCommands::commands())
      all.push_back((":" + c.name).str());
  } else if (command == ":load" || command == ":save") {
    all = matching_files(word);
  } else if (command == ":set") {
    all = setting_words(text.ltrim().drop_front(command.size()).ltrim());
  } else {
    all = argument_words(repl, text.drop_back(word.size()));
    // Argument names and values come first, then all other words.
    bool enough = llvm::any_of(all, [&](const std::string& way) {
      return llvm::StringRef(way).startswith(word) && (word.empty() || !way.ends_with('='));
    });
    if (!enough) llvm::append_range(all, repl.words());
  }
  llvm::erase_if(all,
                 [&](const std::string& way) { return !llvm::StringRef(way).startswith(word); });
  llvm::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

} // namespace tg::cli
