// Operators of networks, as lists of texts, as in the paper (ETO, Table 2).
#pragma once

#include "runtime/tune/operator.h"

#include <vector>

namespace tg::tune {

struct Workload {
  const char* name;
  std::vector<Operator> operators;
  std::vector<int64_t> occurrences;
};

Workload resnet50(int64_t batch = 1);
Workload mobilenet_convolutions();
Workload mobilenet_depthwise();
Workload resnest50_grouped();
Workload resnest50_narrow();
Workload bert_base();
Workload r2plus1d_18();
Workload bert_large_set();
Workload dcgan();
Workload capsules();
Workload norms();

std::vector<Workload> all_workloads();

} // namespace tg::tune
