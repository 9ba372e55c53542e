#include "compiler/ir/text/block.h"

#include <llvm/ADT/StringExtras.h>

#include <map>
#include <set>

namespace tg::text {

CopyNumbers::CopyNumbers(const Repeat& repeat) {
  std::map<int64_t, size_t> firsts; // for numbers that count up by one
  for (const RepeatedWeight& weight : repeat.weights)
    for (const RepeatedWeight::Part& part : weight.path) {
      if (part.numbers.empty()) continue;
      needed_ = true;
      if (step(part.numbers) == 1) ++firsts[part.numbers[0]];
    }
  size_t most = 0;
  for (auto [first, count] : firsts)
    if (count > most) most = count, first_ = first;
}

std::string CopyNumbers::text(llvm::ArrayRef<RepeatedWeight::Part> path) const {
  std::string text = path[0].numbers.empty() ? "" : "\"\"";
  for (const RepeatedWeight::Part& part : path) {
    if (!text.empty()) text += " + ";
    text += part.numbers.empty() ? Value::of_string(part.text).text_form() : number(part.numbers);
  }
  return text;
}

int64_t CopyNumbers::step(llvm::ArrayRef<int64_t> numbers) {
  int64_t by = numbers[1] - numbers[0];
  for (size_t k = 1; k < numbers.size(); ++k)
    if (numbers[k] - numbers[k - 1] != by) return 0;
  return by;
}

std::string CopyNumbers::number(llvm::ArrayRef<int64_t> numbers) const {
  int64_t by = step(numbers);
  if (by == 0) {
    std::string at = first_ == 0 ? "i" : "i - " + std::to_string(first_);
    return Value::of_ints(numbers).text_form() + "[" + at + "]";
  }
  int64_t rest = numbers[0] - by * first_;
  std::string text = by == 1 ? "i" : std::to_string(by) + " * i";
  if (rest > 0) text += " + " + std::to_string(rest);
  if (rest < 0) text += " - " + std::to_string(-rest);
  return text == "i" ? text : "(" + text + ")";
}

std::string Block::write() {
  for (const auto& function : file_.functions) taken_.insert(function.getKey());
  find_scope();
  llvm::StringSet<> inside = taken_;
  for (const auto& name : file_.taken) taken_.insert(name.getKey());
  name_ = fresh(own_name());
  taken_ = std::move(inside);
  taken_.insert(name_);
  file_.functions.insert(name_);
  take_sizes();
  std::string head = "fn " + name_ + "(", end = ")";
  llvm::StringSet<> bound;
  for (const RepeatedArgument& argument : repeat_.arguments) {
    NodeId id = argument.of[repeat_.body];
    std::string& name = names_[id.index];
    name = fresh(argument_name(argument));
    head += name + ": " + integers_.type(id) + ", ";
    for (const std::string& size : integers_.sizes(id)) bound.insert(size);
  }
  if (numbers_of_.needed()) {
    taken_.insert("i");
    head += "i: int, ";
  }
  if (repeat_.results.size() == 1) end += " -> " + integers_.type(result(0));
  end += " {\n";
  statements();
  std::string values;
  for (size_t i = 0; i < repeat_.results.size(); ++i)
    values += (i ? ", " : "") + operand_text(result(i));
  text_ += (repeat_.results.size() == 1 ? "  " + values : "  (" + values + ")") + "\n}\n\n";
  find_sizes(head + end + text_, bound);
  for (const std::string& size : sizes_) head += size + ": int, ";
  return head + end + text_;
}

void Block::find_sizes(llvm::StringRef text, const llvm::StringSet<>& bound) {
  if (!options_.open) return;
  auto is_letter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  llvm::StringSet<> words;
  while (!(text = text.drop_until(is_letter)).empty()) {
    words.insert(text.take_while(is_letter));
    text = text.drop_while(is_letter);
  }
  for (const OpenText::Parameter& size : options_.open->parameters)
    if (words.contains(size.name) && !bound.contains(size.name)) sizes_.push_back(size.name);
}

void Block::statements() {
  std::set<uint32_t> nodes;
  for (NodeId id : repeat_.copies[repeat_.body]) {
    nodes.insert(id.index);
    count_uses(id);
    for (NodeId operand : operands_of(id))
      if (graph_.node(operand).op == OpKind::Constant) nodes.insert(operand.index);
  }
  for (size_t i = 0; i < repeat_.results.size(); ++i)
    if (repeat_.results.size() > 1) uses_[result(i).index] += 2; // forces a `let`
  for (uint32_t i : nodes) node({i});
}

std::string Block::path_text(NodeId weight, llvm::StringRef path) const {
  for (const RepeatedWeight& known : repeat_.weights)
    if (known.of[repeat_.body] == weight) return numbers_of_.text(known.path);
  return Body::path_text(weight, path);
}

void Block::find_scope() {
  if (!options_.names) return;
  std::map<llvm::StringRef, size_t> begins;
  size_t named = 0;
  auto take = [&](NodeId id) {
    auto found = options_.names->find(id.index);
    if (found == options_.names->end()) return;
    llvm::StringRef name = found->second;
    ++named;
    for (size_t at = name.find('_', 1); at != llvm::StringRef::npos; at = name.find('_', at + 1))
      ++begins[name.take_front(at + 1)];
  };
  for (NodeId id : repeat_.copies[repeat_.body]) take(id);
  for (const RepeatedWeight& weight : repeat_.weights) take(weight.of[repeat_.body]);
  for (bool numbered : {true, false}) { // prefer `layers_0_` to `layers_0_attention_`
    for (auto [begin, count] : begins)
      if (4 * count > 3 * named && begin.size() > scope_.size() &&
          (!numbered || llvm::isDigit(begin[begin.size() - 2])))
        scope_ = begin.str();
    if (!scope_.empty()) return;
  }
}

std::string Block::own_name() const {
  llvm::StringRef scope = llvm::StringRef(scope_).rtrim('_').rtrim("0123456789").rtrim('_');
  llvm::SmallVector<llvm::StringRef, 8> words;
  scope.split(words, '_', -1, /*KeepEmpty=*/false);
  std::string name;
  while (!words.empty() && (name.empty() || name.size() + words.back().size() < kLongestOwn)) {
    name = words.back().str() + (name.empty() ? "" : "_" + name);
    words.pop_back();
  }
  return name.empty() || llvm::isDigit(name[0]) ? "block" : identifier(name, "block");
}

std::string Block::argument_name(const RepeatedArgument& argument) const {
  bool handed_on = argument.carried >= 0;
  if (handed_on) return "x";
  NodeId id = argument.of[repeat_.body];
  OpKind op = graph_.node(id).op;
  std::string name = given_name(id);
  if (op == OpKind::Input) name = identifier(graph_.attr(id, 0).text, "x");
  if (op == OpKind::Weight && name.empty()) name = identifier(graph_.attr(id, 0).text, "w");
  if (name.empty()) name = op_info(op).name;
  if (argument.same) return name;
  std::string plain;
  for (char c : name) // of several: drops the distinguishing numbers
    if (!llvm::isDigit(c) && !(c == '_' && llvm::StringRef(plain).endswith("_"))) plain += c;
  return identifier(llvm::StringRef(plain).rtrim('_'), "x");
}

} // namespace tg::text
