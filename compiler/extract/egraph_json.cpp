// The handler is a small state machine; its state is the place of the next value in the form.
// A handler that returns false stops the parser at once, so a file is not read beyond its
// first fault.
#include "compiler/extract/egraph_json.h"

#include "lang/core/support/data_file.h"

#include <llvm/Support/FormatVariadic.h>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <cmath>

namespace tg {

uint32_t IdTable::intern(llvm::StringRef id) {
  auto [entry, added] = numbers_.try_emplace(id, static_cast<uint32_t>(ids_.size()));
  if (added) ids_.push_back(entry->getKey());
  return entry->second;
}

uint32_t IdTable::find(llvm::StringRef id) const {
  auto entry = numbers_.find(id);
  return entry == numbers_.end() ? UINT32_MAX : entry->second;
}

namespace {

constexpr unsigned kMostDepth = 64; // of skipped values; the form itself has four levels
constexpr uint32_t kNone = UINT32_MAX;

/// A node as read, before ids are resolved. Ids are those of the tables.
struct RawNode {
  uint32_t id = kNone, cls = kNone;
  uint32_t first_child = 0, child_count = 0;
  double cost = 1;
  bool subsumed = false;
};

enum class Field : uint8_t { Op, Class, Children, Cost, Subsumed, Other };

Field field_of(llvm::StringRef key) {
  if (key == "op") return Field::Op;
  if (key == "eclass") return Field::Class;
  if (key == "children") return Field::Children;
  if (key == "cost") return Field::Cost;
  if (key == "subsumed") return Field::Subsumed;
  return Field::Other;
}

/// Converts a number in JSON's grammar to the nearest double; infinite if it is too large.
/// RapidJSON's own conversion reads out of bounds on many digits with a small exponent.
double number_of(llvm::StringRef text) {
  double number = 0;
  if (std::from_chars(text.begin(), text.end(), number).ec == std::errc()) return number;
  if (text.getAsDouble(number)) return INFINITY;
  return number; // out of range: zero or infinite
}

struct Handler {
  IdTable nodes, classes;
  std::vector<RawNode> rows; // in the order of the file
  std::vector<uint32_t> children;
  std::vector<std::string> roots;
  std::string fault;

  // --- called by the parser; false stops it
  bool Null() { return value("null"); }
  bool Bool(bool flag) {
    if (place_ != Place::InNode || field_ != Field::Subsumed) return value("a boolean");
    rows.back().subsumed = flag;
    return true;
  }
  // Numbers arrive as text (kParseNumbersAsStringsFlag), so these are never called.
  bool Int(int) { return value("a number"); }
  bool Uint(unsigned) { return value("a number"); }
  bool Int64(int64_t) { return value("a number"); }
  bool Uint64(uint64_t) { return value("a number"); }
  bool Double(double) { return value("a number"); }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    if (place_ != Place::InNode || field_ != Field::Cost) return value("a number");
    double number = number_of({text, length});
    if (!std::isfinite(number)) return fail(in_node("the cost is not a finite number"));
    rows.back().cost = number;
    return true;
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return string(llvm::StringRef(text, length));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    return key(llvm::StringRef(text, length));
  }
  bool StartObject() {
    if (skipping()) return descend();
    switch (place_) {
    case Place::Start: return go(Place::Top);
    case Place::Nodes: return go(Place::InNodes);
    case Place::Node: return go(Place::InNode);
    default: return wrong("an object");
    }
  }
  bool EndObject(rapidjson::SizeType) {
    if (skipping()) return ascend();
    switch (place_) {
    case Place::InNode: return end_node();
    case Place::InNodes: return go(Place::Top);
    case Place::Top: return go(Place::End);
    default: return true;
    }
  }
  bool StartArray() {
    if (skipping()) return descend();
    if (place_ == Place::Roots) return go(Place::InRoots);
    if (place_ == Place::InNode && field_ == Field::Children) return go(Place::InChildren);
    return wrong("an array");
  }
  bool EndArray(rapidjson::SizeType) {
    if (skipping()) return ascend();
    if (place_ == Place::InChildren) {
      RawNode& row = rows.back();
      row.child_count = static_cast<uint32_t>(children.size()) - row.first_child;
      return go(Place::InNode);
    }
    return go(Place::Top);
  }

  bool has_nodes() const { return seen_nodes_; }

private:
  /// The place of the next value or key. Nodes, Node, Roots: the value of that key is next.
  enum class Place : uint8_t {
    Start,
    Top,
    Nodes,
    InNodes,
    Node,
    InNode,
    InChildren,
    Roots,
    InRoots,
    Other,
    End
  };

  bool go(Place place) { return place_ = place, true; }
  bool fail(std::string why) { return fault = std::move(why), false; }
  std::string in_node(llvm::StringRef what) const {
    return llvm::formatv("node `{0}`: {1}", nodes[rows.back().id], what);
  }

  /// Returns true inside the value of an unknown key, which is skipped whatever it contains.
  bool skipping() const {
    return place_ == Place::Other || (place_ == Place::InNode && field_ == Field::Other);
  }
  bool descend() {
    if (++depth_ > kMostDepth)
      return fail(llvm::formatv("values nest deeper than {0} levels", kMostDepth));
    return true;
  }
  bool ascend() {
    // At depth 0 a skipped field is followed by the end of the node itself.
    if (depth_ == 0 && place_ == Place::InNode) return end_node();
    if (depth_ == 0) return go(Place::End);
    --depth_;
    return true;
  }

  bool string(llvm::StringRef text) {
    if (place_ == Place::InChildren) {
      children.push_back(nodes.intern(text));
      return true;
    }
    if (place_ == Place::InRoots) return roots.push_back(text.str()), true;
    if (place_ == Place::InNode && field_ == Field::Op) return true;
    if (place_ == Place::InNode && field_ == Field::Class) {
      rows.back().cls = classes.intern(text);
      return true;
    }
    return value("a string");
  }

  /// Handles a scalar that no field of the form accepts.
  bool value(llvm::StringRef what) { return skipping() || wrong(what); }

  bool wrong(llvm::StringRef what) {
    switch (place_) {
    case Place::Start: return fail(llvm::formatv("expected an object, found {0}", what));
    case Place::Nodes: return fail(llvm::formatv("`nodes` must be an object, not {0}", what));
    case Place::Node:
      return fail(in_node(llvm::formatv("expected an object, found {0}", what).str()));
    case Place::Roots:
      return fail(llvm::formatv("`root_eclasses` must be an array, not {0}", what));
    case Place::InRoots: return fail(llvm::formatv("a root must be a string, not {0}", what));
    case Place::InChildren:
      return fail(in_node(llvm::formatv("a child must be a string, not {0}", what).str()));
    default:
      return fail(in_node(llvm::formatv("the field `{0}` must not be {1}", key_, what).str()));
    }
  }

  bool key(llvm::StringRef name) {
    if (depth_ > 0) return true;
    switch (place_) {
    case Place::InNodes: return begin_node(name);
    case Place::InNode: return begin_field(name);
    default: break;
    }
    bool* seen = name == "nodes" ? &seen_nodes_ : name == "root_eclasses" ? &seen_roots_ : nullptr;
    if (!seen) return go(Place::Other);
    if (*seen) return fail(llvm::formatv("the key `{0}` is given twice", name));
    *seen = true;
    return go(seen == &seen_nodes_ ? Place::Nodes : Place::Roots);
  }

  bool begin_node(llvm::StringRef id) {
    uint32_t number = nodes.intern(id);
    if (defined_.size() <= number)
      defined_.resize(std::max<size_t>(number + 1, 2 * defined_.size()));
    if (defined_[number]) return fail(llvm::formatv("the node `{0}` is given twice", id));
    defined_[number] = true;
    RawNode& row = rows.emplace_back();
    row.id = number;
    row.first_child = static_cast<uint32_t>(children.size());
    fields_ = 0;
    return go(Place::Node);
  }

  bool begin_field(llvm::StringRef name) {
    field_ = field_of(name);
    key_ = name.str();
    if (field_ == Field::Other) return true;
    unsigned bit = 1u << static_cast<unsigned>(field_);
    if (fields_ & bit)
      return fail(in_node(llvm::formatv("the key `{0}` is given twice", name).str()));
    fields_ |= bit;
    return true;
  }

  bool end_node() {
    for (auto [field, name] : {std::pair{Field::Op, "op"}, std::pair{Field::Class, "eclass"}})
      if (!(fields_ & 1u << static_cast<unsigned>(field)))
        return fail(in_node(llvm::formatv("the field `{0}` is missing", name).str()));
    return go(Place::InNodes);
  }

  Place place_ = Place::Start;
  Field field_ = Field::Other;
  unsigned depth_ = 0;  // inside a skipped value
  unsigned fields_ = 0; // of the current node, one bit each
  std::string key_;
  std::vector<bool> defined_; // by node id
  bool seen_nodes_ = false, seen_roots_ = false;
};

/// Builds the problem from the parsed nodes. Classes are numbered by their first node.
class Resolver {
public:
  Resolver(Handler& read, llvm::StringRef name) : read_(read), name_(name) {}

  Result<SerializedEGraph> run() {
    std::vector<uint32_t> cls_of(read_.nodes.size(), kNone);
    for (const RawNode& row : read_.rows) cls_of[row.id] = row.cls;
    SerializedEGraph out;
    for (size_t c = 0; c < read_.classes.size(); ++c) out.problem.add_class();
    llvm::SmallVector<ClassIx, 8> children;
    for (const RawNode& row : read_.rows) {
      children.clear();
      for (uint32_t i = 0; i < row.child_count; ++i) {
        uint32_t child = read_.children[row.first_child + i];
        if (cls_of[child] == kNone)
          return fail(llvm::formatv("node `{0}`: its child `{1}` does not exist",
                                    read_.nodes[row.id], read_.nodes[child]));
        children.push_back({cls_of[child]});
      }
      NodeIx node = out.problem.add_node({row.cls}, row.cost, children);
      if (row.subsumed) out.problem.forbid(node);
      out.node_ids.push_back(read_.nodes[row.id]);
    }
    TG_CHECK(add_roots(out.problem));
    out.problem.seal();
    out.nodes = std::move(read_.nodes);
    out.classes = std::move(read_.classes);
    return out;
  }

private:
  Diagnostic fail(const std::string& why) {
    return error(Code::bad_egraph_file, "{0}: {1}", name_, why);
  }

  Result<void> add_roots(ExtractionProblem& problem) {
    constexpr size_t kMostNamed = 5;
    std::string unknown;
    size_t count = 0;
    for (const std::string& root : read_.roots) {
      uint32_t cls = read_.classes.find(root);
      if (cls != kNone) {
        problem.add_root({cls});
      } else if (++count <= kMostNamed) {
        unknown += (count > 1 ? ", `" : "`") + root + "`";
      }
    }
    if (count == 0) return {};
    if (count > kMostNamed) unknown += llvm::formatv(" and {0} more", count - kMostNamed).str();
    return fail(llvm::formatv("there are no nodes of the root class{0} {1}", count > 1 ? "es" : "",
                              unknown));
  }

  Handler& read_;
  llvm::StringRef name_;
};

size_t line_at(llvm::StringRef text, size_t offset) {
  return 1 + text.take_front(offset).count('\n');
}

} // namespace

Result<SerializedEGraph> parse_egraph_json(llvm::StringRef text, llvm::StringRef name) {
  Handler handler;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseValidateEncodingFlag;
  rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, handler);
  if (!parsed) {
    std::string why = handler.fault;
    if (why.empty()) {
      why = rapidjson::GetParseError_En(parsed.Code());
      why = llvm::StringRef(why).rtrim('.').str();
      why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    }
    Diagnostic d =
        error(Code::bad_egraph_file, "{0}:{1}: {2}", name, line_at(text, parsed.Offset()), why);
    if (!llvm::StringRef(text).ltrim().startswith("{"))
      d.help = "expected an e-graph in JSON (egraph-serialize); use `tg opt` to optimise a model";
    return d;
  }
  if (!handler.has_nodes())
    return error(Code::bad_egraph_file, "{0}: the key `nodes` is missing", name);
  return Resolver(handler, name).run();
}

Result<SerializedEGraph> read_egraph_json(llvm::StringRef path) {
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  llvm::StringRef text = file->getBuffer();
  text.consume_front("\xEF\xBB\xBF");
  return parse_egraph_json(text, path);
}

} // namespace tg
