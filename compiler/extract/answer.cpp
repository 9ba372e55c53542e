#include "compiler/extract/answer.h"

namespace tg {

bool StopPoll::operator()(double dag_cost, double lower_bound) {
  constexpr double kEvery = 0.02; // seconds; memory grows by some ten MB in that time
  double now = watch_.seconds();
  if (stopped_ || !options_.stop || now < next_) return stopped_;
  next_ = now + kEvery;
  return stopped_ = options_.stop({now, dag_cost, lower_bound});
}

Diagnostic no_solution(const ExtractionProblem& problem, const GreedyResult& greedy) {
  for (ClassIx root : problem.roots())
    if (!greedy.choice[root].valid())
      return error(Code::no_solution,
                   "the root class {0} has no node of finite cost with extractable operands",
                   root.index);
  return error(Code::no_solution, "no graph has weights of at most {0} bytes",
               problem.byte_limit());
}

Diagnostic stopped_early() {
  return error(Code::limit_no_answer, "extraction was stopped before it had a result");
}

double sum_of_rewards(const ExtractionProblem& problem) {
  double sum = 0;
  if (problem.has_rewards())
    for (uint32_t n = 0; n < problem.node_count(); ++n)
      if (problem.usable({n})) sum += std::min(0.0, problem.cost({n}));
  return sum;
}

Extraction checked_answer(const ExtractionProblem& problem, Choice choice, std::string algorithm) {
  Extraction out;
  CheckedChoice figures = check_choice(problem, choice);
  assert(figures.ok() && "extractors return valid choices");
  trim(problem, choice);
  out.choice = std::move(choice);
  out.dag_cost = figures.dag_cost;
  out.tree_cost = figures.tree_cost;
  out.reported_cost = figures.dag_cost;
  out.lower_bound = std::min(sum_of_rewards(problem), figures.dag_cost);
  out.algorithm = std::move(algorithm);
  return out;
}

} // namespace tg
