#include "compiler/search/explorer.h"

#include "compiler/search/node_prices.h"

#include <algorithm>

namespace tg {

namespace {

constexpr auto kNever = [] { return false; };

/// Returns the bits well mixed, as MurmurHash3 does at the end.
uint64_t mixed(uint64_t bits) {
  uint64_t h = bits * 0x9E3779B97F4A7C15ull;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ull;
  return h ^ (h >> 29);
}

} // namespace

Explorer::Explorer(EGraph& egraph, llvm::ArrayRef<Rule> rules, const ExplorerOptions& options)
    : egraph_(egraph), options_(options), book_(egraph.symbols(), rules), matcher_(egraph, book_),
      joiner_(egraph, book_), cycles_(egraph), applier_(egraph, &cycles_, options.cycle_filter),
      symbol_hash_(egraph.symbols()), by_id_(rules.size()) {
  std::vector<bool> in_use =
      rules_in_use(rules, options.numerics, [&](OpKind op) { return !egraph.with_op(op).empty(); });
  for (const CompiledRule& rule : book_.rules()) {
    by_id_[rule.id] = &rule;
    if (in_use[rule.id]) enabled_.push_back(&rule);
  }
}

void Explorer::rebuild() {
  egraph_.rebuild();
  if (options_.cycle_filter != CycleFilter::None) cycles_.break_cycles();
  order_is_old_ = false;
}

void Explorer::refresh_order() {
  if (order_is_old_) rebuild();
}

// --- finding ------------------------------------------------------------------------------------

/// Stores the new matches of a rule in rows_, or in joint_ if the rule has several left sides.
size_t Explorer::find(const CompiledRule& rule, uint32_t since) {
  rows_.clear();
  if (rule.multi()) {
    JointCursor cursor;
    joiner_.search(rule, since, kNever);
    joiner_.start(rule, cursor, kNever);
    joint_ = cursor.form();
    cursor.fill(options_.match_limit, joint_, kNever);
    return joint_.rows.size();
  }
  if (rule.native()) {
    matcher_.search_pointwise(rows_);
  } else {
    size_t start = 0;
    matcher_.search(book_.patterns()[rule.sources[0].pattern], options_.match_limit, start, rows_,
                    kNever);
  }
  return rows_.size();
}

/// Returns true if the pattern matches in the matcher's current frontier.
bool Explorer::occurs(uint32_t pattern) {
  int8_t& known = occurs_[pattern];
  if (known < 0) {
    size_t start = 0;
    rows_.clear();
    matcher_.search(book_.patterns()[pattern], 1, start, rows_, kNever);
    known = rows_.size() > 0;
  }
  return known == 1;
}

void Explorer::search_since(uint32_t since) {
  matcher_.search_since(since);
  occurs_.assign(book_.patterns().size(), -1);
}

void Explorer::find_new(uint32_t since, std::vector<Match>& out,
                        llvm::function_ref<bool(uint64_t)> wanted) {
  joiner_.clear();
  search_since(since);
  auto fresh = [&](const PatternUse& use) { return occurs(use.pattern); };
  for (const CompiledRule* rule : enabled_) {
    // A joint match is new if any of its component matches is new.
    if (rule->multi() && llvm::none_of(rule->sources, fresh)) continue;
    if (find(*rule, since) > 0) append(*rule, out, wanted);
  }
}

void Explorer::append(const CompiledRule& rule, std::vector<Match>& out,
                      llvm::function_ref<bool(uint64_t)> wanted) {
  size_t count = rule.multi() ? joint_.rows.size() : rows_.size();
  llvm::SmallVector<uint32_t, 12> wide;
  for (size_t i = 0; i < count; ++i) {
    if (!rule.multi()) widen(rule, rows_[i], wide);
    llvm::ArrayRef<uint32_t> words = rule.multi() ? joint_.row(i) : llvm::makeArrayRef(wide);
    uint64_t group = group_of(rule, words);
    if (wanted(group)) out.push_back({rule.id, group, {words.begin(), words.end()}});
  }
}

void Explorer::widen(const CompiledRule& rule, const uint32_t* row,
                     llvm::SmallVectorImpl<uint32_t>& words) const {
  if (rule.native()) {
    words.assign(1, *row);
    return;
  }
  uint32_t classes = rule.rule->class_vars;
  words.assign(1 + classes + rule.rule->value_vars, UINT32_MAX);
  words[0] = *row++;
  for (uint32_t variable : rule.sources[0].class_map) words[1 + variable] = *row++;
  for (uint32_t variable : rule.sources[0].value_map) words[1 + classes + variable] = *row++;
}

/// Combines the words by independent multiplications, which can overlap in the pipeline: a step has
/// thousands of matches. The summands are hashes already.
uint64_t Explorer::group_of(const CompiledRule& rule, llvm::ArrayRef<uint32_t> words) {
  uint64_t sum = 0, factor = 0x9E3779B97F4A7C15ull;
  auto add = [&](uint64_t word) { sum += word * factor, factor += 0xD6E8FEB86659FD92ull; };
  add(rule.id);
  size_t roots = rule.native() ? 1 : rule.sources.size();
  for (uint32_t root : words.take_front(roots))
    add(symbol_hash_(class_at(egraph_, class_of(egraph_, {root})).type));
  if (rule.native()) {
    add(static_cast<uint64_t>(egraph_.node({words.front()}).op));
    return mixed(sum);
  }
  for (uint32_t cls : words.slice(roots, rule.rule->class_vars))
    add(cls == UINT32_MAX
            ? 0
            : symbol_hash_(class_at(egraph_, {cls}).type) + class_at(egraph_, {cls}).weight_only());
  for (uint32_t value : words.take_back(rule.rule->value_vars))
    add(value == UINT32_MAX ? 0 : symbol_hash_(ValueId{value}));
  return mixed(sum);
}

std::vector<bool> Explorer::occurring() {
  search_since(0);
  std::vector<bool> out;
  for (const CompiledRule* rule : enabled_)
    out.push_back(
        llvm::all_of(rule->sources, [&](const PatternUse& use) { return occurs(use.pattern); }));
  return out;
}

// --- acting -------------------------------------------------------------------------------------

Outcome Explorer::apply_row(const CompiledRule& rule, size_t row) {
  if (rule.multi()) return applier_.apply_joint(rule, joint_, row);
  if (rule.native()) return applier_.apply_native(rule, {rows_[row][0]});
  return applier_.apply_single(rule, rows_[row]);
}

Explorer::Step Explorer::apply_everywhere(const CompiledRule& rule) {
  refresh_order();
  uint32_t mark = egraph_.change_mark(), since = egraph_.rule_seen(rule.id);
  joiner_.clear();
  if (!rule.multi()) matcher_.search_since(since);
  Step step;
  step.matches = find(rule, since);
  step.complete = step.matches < options_.match_limit;
  for (size_t row = 0; row < step.matches; ++row) {
    if (full()) {
      step.complete = false;
      break;
    }
    Outcome outcome = apply_row(rule, row);
    step.applied += outcome == Outcome::Applied;
    step.cyclic += outcome == Outcome::Cyclic;
  }
  // Matches that were skipped must be found again later.
  if (step.complete) egraph_.set_rule_seen(rule.id, mark);
  rebuild();
  return step;
}

Outcome Explorer::apply(const Match& match, SymbolMap* from) {
  const CompiledRule& rule = *by_id_[match.rule];
  refresh_order();
  llvm::ArrayRef<uint32_t> words = match.words;
  size_t roots = rule.native() ? 1 : rule.sources.size();
  for (uint32_t root : words.take_front(roots))
    if (!egraph_.node({root}).alive() || egraph_.node({root}).filtered()) return Outcome::Refused;
  if (rule.native()) return applier_.apply_native(rule, {words[0]});
  JointRows& joint = joint_;
  joint = {};
  joint.roots = static_cast<uint32_t>(roots);
  joint.classes = rule.rule->class_vars;
  joint.values = rule.rule->value_vars;
  joint.rows.width = joint.roots + joint.classes + joint.values;
  joint.rows.words.assign(words.begin(), words.end());
  if (from)
    for (uint32_t& value :
         llvm::makeMutableArrayRef(joint.rows.words.data(), words.size()).take_back(joint.values))
      if (value != UINT32_MAX) value = (*from)(ValueId{value}).index;
  return applier_.apply_joint(rule, joint, 0);
}

size_t Explorer::memory_bytes() const {
  return matcher_.memory_bytes() + joiner_.memory_bytes() + cycles_.memory_bytes() +
         applier_.memory_bytes() + rows_.memory_bytes() + joint_.rows.memory_bytes();
}

} // namespace tg
