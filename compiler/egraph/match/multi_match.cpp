#include "compiler/egraph/match/multi_match.h"

#include <bit>

namespace tg {

namespace {

constexpr uint32_t kUnbound = UINT32_MAX;

/// Writes a source's row into a joint row.
void place(const PatternUse& use, const uint32_t* from, const JointRows& form, size_t source,
           uint32_t* to) {
  to[source] = *from++;
  for (uint32_t variable : use.class_map) to[form.roots + variable] = *from++;
  for (uint32_t variable : use.value_map) to[form.roots + form.classes + variable] = *from++;
}

uint32_t hash_of(const uint32_t* row, llvm::ArrayRef<uint32_t> key) {
  WordHash h(key.size());
  for (uint32_t position : key) h.add(row[position]);
  return h.finish();
}

bool is_bound_before(const CompiledRule& rule, size_t source, uint32_t variable, bool is_class) {
  for (size_t s = 0; s < source; ++s)
    if (llvm::is_contained(is_class ? rule.sources[s].class_map : rule.sources[s].value_map,
                           variable))
      return true;
  return false;
}

} // namespace

// --- the cursor ------------------------------------------------------------------------------

JointRows JointCursor::form() const {
  JointRows out;
  out.roots = static_cast<uint32_t>(rule_->sources.size());
  out.classes = rule_->rule->class_vars;
  out.values = rule_->rule->value_vars;
  out.rows.width = out.roots + out.classes + out.values;
  return out;
}

/// Returns the rows that can be joined with the left row.
const RowIndex::Chains& JointCursor::chains() const {
  return only_fresh_ && !left_fresh_ ? index_->fresh : index_->all;
}

void JointCursor::load_left() {
  left_fresh_ = first_ ? first_->fresh[row_] : left_.rows.fresh[row_];
  loaded_ = true;
  link_ = 0;
  if (chains().heads.empty()) return;
  if (first_) {
    current_.assign(left_.rows.width, kUnbound);
    place(rule_->sources[0], (*first_)[row_], left_, 0, current_.data());
  } else {
    llvm::ArrayRef<uint32_t> row = left_.row(row_);
    current_.assign(row.begin(), row.end());
  }
  link_ = chains().heads[hash_of(current_.data(), left_key_) & index_->mask];
}

bool JointCursor::fill(size_t count, JointRows& out, StopCheck stop) {
  size_t rows = first_ ? first_->size() : left_.rows.size(), work = 0;
  while (row_ < rows && out.rows.size() < count) {
    if (!loaded_) load_left();
    const std::vector<uint32_t>& next = chains().next;
    while (link_ != 0 && out.rows.size() < count) {
      uint32_t other = link_ - 1;
      link_ = next[other];
      if ((++work & 1023) == 0 && stop()) return false;
      if (fits(other)) emit(other, out);
    }
    if (link_ != 0) break;
    ++row_;
    loaded_ = false;
  }
  return true;
}

bool JointCursor::fits(uint32_t other) const {
  if (rule_->symmetric && other <= row_) return false;
  const uint32_t* right = (*right_)[other];
  for (size_t i = 0; i < left_key_.size(); ++i)
    if (current_[left_key_[i]] != right[index_->key[i]]) return false;
  ClassId home = class_of(*egraph_, {right[0]});
  for (size_t s = 0; s < source_; ++s)
    if (class_of(*egraph_, {current_[s]}) == home) return false;
  return true;
}

void JointCursor::emit(uint32_t other, JointRows& out) const {
  out.rows.words.insert(out.rows.words.end(), current_.begin(), current_.end());
  place(rule_->sources[source_], (*right_)[other], out, source_,
        out.rows.words.data() + out.rows.words.size() - out.rows.width);
  out.rows.fresh.push_back(left_fresh_ || right_->fresh[other]);
}

// --- the joiner ------------------------------------------------------------------------------

bool Joiner::search(const CompiledRule& rule, uint32_t since, StopCheck stop) {
  for (const PatternUse& use : rule.sources) {
    std::optional<Rows>& rows = found_[use.pattern];
    if (rows) continue;
    const Pattern& pattern = book_.patterns()[use.pattern];
    rows.emplace();
    rows->width = pattern.width();
    size_t seen = 0;
    for (ENodeId root : egraph_.with_op(pattern.steps[0].op)) {
      machine_.match_all(pattern, root, since, *rows);
      if ((++seen & 255) == 0 && stop()) return false;
    }
  }
  return true;
}

bool Joiner::start(const CompiledRule& rule, JointCursor& out, StopCheck stop) {
  JointCursor next = cursor(rule, 1);
  next.first_ = &*found_[rule.sources[0].pattern];
  for (size_t source = 2; source < rule.sources.size(); ++source) {
    JointRows joined = next.form();
    next.only_fresh_ = false;
    if (!next.fill(SIZE_MAX, joined, stop)) return false;
    next = cursor(rule, source);
    next.left_ = std::move(joined);
  }
  out = std::move(next);
  return true;
}

/// Returns a cursor that joins this source to the earlier ones on their common variables.
JointCursor Joiner::cursor(const CompiledRule& rule, size_t source) {
  JointCursor out;
  out.egraph_ = &egraph_;
  out.rule_ = &rule;
  out.source_ = source;
  out.left_ = out.form();
  const PatternUse& use = rule.sources[source];
  out.right_ = &*found_[use.pattern];
  llvm::SmallVector<uint32_t, 8> key;
  uint32_t word = 1;
  auto share = [&](uint32_t variable, bool is_class, uint32_t first) {
    if (is_bound_before(rule, source, variable, is_class)) {
      key.push_back(word);
      out.left_key_.push_back(first + variable);
    }
    ++word;
  };
  for (uint32_t variable : use.class_map) share(variable, true, out.left_.roots);
  for (uint32_t variable : use.value_map)
    share(variable, false, out.left_.roots + out.left_.classes);
  out.index_ = &index(use.pattern, key);
  return out;
}

namespace {

/// Chains rows in order.
RowIndex::Chains chain(const Rows& rows, const RowIndex& index, bool fresh_only) {
  RowIndex::Chains out;
  uint32_t count = static_cast<uint32_t>(rows.size());
  for (uint32_t row = count; row-- > 0;) {
    if (fresh_only && !rows.fresh[row]) continue;
    if (out.heads.empty()) out.heads.assign(index.mask + 1, 0), out.next.assign(count, 0);
    uint32_t& head = out.heads[hash_of(rows[row], index.key) & index.mask];
    out.next[row] = head;
    head = row + 1;
  }
  return out;
}

size_t bytes_of(const RowIndex::Chains& chains) {
  return (chains.heads.capacity() + chains.next.capacity()) * sizeof(uint32_t);
}

} // namespace

const RowIndex& Joiner::index(uint32_t pattern, llvm::ArrayRef<uint32_t> key) {
  for (const RowIndex& known : indexes_)
    if (known.pattern == pattern && llvm::makeArrayRef(known.key) == key) return known;
  RowIndex& index = indexes_.emplace_back();
  const Rows& rows = *found_[pattern];
  uint32_t count = static_cast<uint32_t>(rows.size());
  index.pattern = pattern;
  index.key.assign(key.begin(), key.end());
  index.mask = std::bit_ceil(count + count / 2 + 1) - 1;
  index.all = chain(rows, index, false);
  index.fresh = chain(rows, index, true);
  return index;
}

void Joiner::clear() {
  for (auto& rows : found_) rows.reset();
  indexes_.clear();
}

size_t Joiner::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& rows : found_)
    if (rows) bytes += rows->memory_bytes();
  for (const RowIndex& index : indexes_) bytes += bytes_of(index.all) + bytes_of(index.fresh);
  return bytes;
}

} // namespace tg
