#include "compiler/egraph/multi_match.h"

#include <bit>

namespace tg {

namespace {

constexpr uint32_t kUnbound = UINT32_MAX;

JointRows layout(const CompiledRule& rule) {
  JointRows out;
  out.roots = static_cast<uint32_t>(rule.sources.size());
  out.classes = rule.rule->class_vars;
  out.values = rule.rule->value_vars;
  out.rows.width = out.roots + out.classes + out.values;
  return out;
}

/// Writes a source's row into a joint row.
void place(const PatternUse& use, const uint32_t* from, const JointRows& form, size_t source,
           uint32_t* to) {
  to[source] = *from++;
  for (uint32_t variable : use.class_map) to[form.roots + variable] = *from++;
  for (uint32_t variable : use.value_map) to[form.roots + form.classes + variable] = *from++;
}

} // namespace

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

bool Joiner::join(const CompiledRule& rule, size_t limit, JointRows& out, StopCheck stop) {
  JointRows from = layout(rule);
  seed(rule, from);
  for (size_t source = 1; source < rule.sources.size(); ++source) {
    JointRows to = layout(rule);
    bool last = source + 1 == rule.sources.size();
    if (!extend(rule, source, from, to, last ? limit : SIZE_MAX, stop)) return false;
    std::swap(from, to);
  }
  out = std::move(from);
  return true;
}

void Joiner::seed(const CompiledRule& rule, JointRows& out) const {
  const Rows& rows = *found_[rule.sources[0].pattern];
  out.rows.words.assign(rows.size() * out.rows.width, kUnbound);
  out.rows.fresh = rows.fresh;
  for (size_t i = 0; i < rows.size(); ++i)
    place(rule.sources[0], rows[i], out, 0, out.rows.words.data() + i * out.rows.width);
}

/// Positions of the variables that this source shares with earlier ones, in its rows and in joint
/// rows.
Joiner::Step Joiner::plan(const CompiledRule& rule, size_t source, const JointRows& form) const {
  const PatternUse& use = rule.sources[source];
  Step step;
  step.rows = &*found_[use.pattern];
  step.use = &use;
  auto bound_before = [&](uint32_t variable, bool classes) {
    for (size_t s = 0; s < source; ++s) {
      const auto& map = classes ? rule.sources[s].class_map : rule.sources[s].value_map;
      if (llvm::is_contained(map, variable)) return true;
    }
    return false;
  };
  uint32_t word = 1;
  for (uint32_t variable : use.class_map) {
    if (bound_before(variable, true))
      step.key_source.push_back(word), step.key_target.push_back(form.roots + variable);
    ++word;
  }
  for (uint32_t variable : use.value_map) {
    if (bound_before(variable, false))
      step.key_source.push_back(word),
          step.key_target.push_back(form.roots + form.classes + variable);
    ++word;
  }
  return step;
}

uint32_t Joiner::hash(const uint32_t* row, llvm::ArrayRef<uint32_t> key) {
  WordHash h(key.size());
  for (uint32_t position : key) h.add(row[position]);
  return h.finish();
}

void Joiner::build(const Step& step, Index& index) {
  uint32_t count = static_cast<uint32_t>(step.rows->size());
  uint32_t capacity = std::bit_ceil(count + count / 2 + 1);
  index.mask = capacity - 1;
  index.heads.assign(capacity, 0);
  index.next.assign(count, 0);
  for (uint32_t row = count; row-- > 0;) { // chains in the order of rows
    uint32_t& head = index.heads[hash((*step.rows)[row], step.key_source) & index.mask];
    index.next[row] = head;
    head = row + 1;
  }
}

bool Joiner::fits(const JointRows& from, size_t row, const Step& step, uint32_t other,
                  size_t source, bool symmetric) const {
  if (symmetric && other <= row) return false;
  const uint32_t *left = from.rows[row], *right = (*step.rows)[other];
  for (size_t i = 0; i < step.key_source.size(); ++i)
    if (left[step.key_target[i]] != right[step.key_source[i]]) return false;
  ClassId home = egraph_.class_of({right[0]});
  for (size_t s = 0; s < source; ++s)
    if (egraph_.class_of({left[s]}) == home) return false;
  return true;
}

bool Joiner::extend(const CompiledRule& rule, size_t source, JointRows& from, JointRows& to,
                    size_t limit, StopCheck stop) const {
  Step step = plan(rule, source, from);
  Index index;
  build(step, index);
  bool last = source + 1 == rule.sources.size();
  size_t work = 0;
  for (size_t row = 0; row < from.rows.size(); ++row) {
    bool fresh = from.rows.fresh[row];
    uint32_t head = index.heads[hash(from.rows[row], step.key_target) & index.mask];
    for (uint32_t link = head; link != 0; link = index.next[link - 1]) {
      uint32_t other = link - 1;
      if ((++work & 1023) == 0 && stop()) return false;
      bool any_fresh = fresh || step.rows->fresh[other];
      if (last && !any_fresh) continue;
      if (!fits(from, row, step, other, source, rule.symmetric)) continue;
      if (to.rows.size() >= limit) return true;
      const uint32_t* left = from.rows[row];
      to.rows.words.insert(to.rows.words.end(), left, left + from.rows.width);
      place(*step.use, (*step.rows)[other], to, source,
            to.rows.words.data() + to.rows.words.size() - to.rows.width);
      to.rows.fresh.push_back(any_fresh);
    }
  }
  return true;
}

void Joiner::clear() {
  for (auto& rows : found_) rows.reset();
}

size_t Joiner::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& rows : found_)
    if (rows) bytes += rows->memory_bytes();
  return bytes;
}

} // namespace tg
