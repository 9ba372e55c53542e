// A fake of cuDNN's backend, after its documentation, over host memory and f32.
// Descriptors keep the attributes that are set. A finished graph is interpreted operation
// by operation through the tensors' strides. There are four engines: 0 uses tensor cores,
// 1 refuses to run, 2 works, 3 requires compilation.
#pragma once

#include "tests/unit/cuda/fake_cudnn_ops.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <sstream>

namespace tg::test {

class FakeCudnn : FakeDnnOps {
public:
  using FakeDnnOps::Descriptor;

  static inline int live = 0;           // descriptors that were not destroyed
  static inline int plans = 0;          // from engines, not from text
  static inline bool refuses = false;   // refuses every graph
  static inline int broken = -1;        // another engine that refuses to run
  static inline bool only_last = false; // accepts only channels-last images
  static inline bool strict = false;    // refuses attention in f32
  /// Copies of finished graphs, since a plan outlives the graph's descriptors.
  static inline std::deque<Descriptor> pool;
  static inline std::vector<const Descriptor*> graphs;

  static void reset() {
    live = plans = 0;
    refuses = only_last = strict = false;
    broken = -1;
    graphs.clear();
    pool.clear();
  }
  static cuda::DnnApi api() {
    return {version,  create, destroy, set_stream, descriptor_create, descriptor_destroy,
            finalize, set,    get,     execute,    error_text,        nullptr};
  }

  /// Prints the tree of descriptors, one attribute per line, with tensors by number.
  static std::string text(const Descriptor& d, int depth = 0) {
    std::ostringstream out;
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    out << indent << cuda::dnn_name(d.kind).str() << "\n";
    for (const auto& [attr, bytes] : d.attrs) {
      out << indent << "  " << cuda::dnn_name(attr).str();
      if (cuda::dnn_type(attr) == Type::Descriptor && d.ref(attr)->kind != Kind::Tensor) {
        out << "\n";
        for (const Descriptor* inner : d.all<const Descriptor*>(attr))
          out << text(*inner, depth + 2);
        continue;
      }
      out << values(d, attr) << "\n";
    }
    return out.str();
  }
  /// Prints the tensors of a graph, one per line.
  static std::string tensor_text(const Descriptor& graph) {
    std::string all;
    for (const auto& [id, tensor] : tensors(graph)) {
      all += "t" + std::to_string(id) + " type" + values(*tensor, Attr::TensorDataType) + " dims" +
             values(*tensor, Attr::TensorDims) + " strides" + values(*tensor, Attr::TensorStrides) +
             (tensor->one<char>(Attr::TensorVirtual) ? " virtual" : "") +
             (tensor->one<char>(Attr::TensorByValue) ? " by value" : "") + "\n";
    }
    return all;
  }

private:
  static Descriptor* of(void* raw) { return static_cast<Descriptor*>(raw); }
  static size_t version() { return 91300; }
  static int create(void** handle) { return *handle = new int(7), 0; }
  static int destroy(void* handle) { return delete static_cast<int*>(handle), 0; }
  static int set_stream(void*, void*) { return 0; }
  static const char* error_text(int) { return "not supported"; }
  static int descriptor_create(int kind, void** raw) {
    ++live;
    auto* made = new Descriptor;
    made->kind = static_cast<Kind>(kind);
    return *raw = made, 0;
  }
  static int descriptor_destroy(void* raw) { return --live, delete of(raw), 0; }

  static std::string values(const Descriptor& d, Attr attr) {
    std::ostringstream out;
    switch (cuda::dnn_type(attr)) {
    case Type::Descriptor:
      for (const Descriptor* inner : d.all<const Descriptor*>(attr))
        out << " t" << inner->one<int64_t>(Attr::TensorId);
      break;
    case Type::Handle: out << " given"; break;
    case Type::Int64:
      for (int64_t value : d.all<int64_t>(attr)) out << " " << value;
      break;
    case Type::Float: out << " " << d.one<float>(attr); break;
    case Type::Double: out << " " << d.one<double>(attr); break;
    case Type::Boolean: out << " " << int{d.one<char>(attr)}; break;
    default: out << " " << d.one<int>(attr); break;
    }
    return out.str();
  }

  static size_t size_of(Type type) {
    switch (type) {
    case Type::Descriptor:
    case Type::Handle:
    case Type::Int64:
    case Type::Double:
    case Type::Pointer: return 8;
    case Type::Boolean:
    case Type::Char: return 1;
    default: return 4;
    }
  }

  static int set(void* raw, int attr, int type, int64_t count, const void* values) {
    Descriptor& d = *of(raw);
    EXPECT_FALSE(d.finished) << "a finished descriptor is changed";
    auto name = static_cast<Attr>(attr);
    EXPECT_EQ(type, static_cast<int>(cuda::dnn_type(name)));
    const char* bytes = static_cast<const char*>(values);
    d.attrs[name].assign(bytes,
                         bytes + size_of(static_cast<Type>(type)) * static_cast<size_t>(count));
    if (static_cast<Type>(type) == Type::Descriptor) {
      for (const Descriptor* inner : d.all<const Descriptor*>(name))
        EXPECT_TRUE(inner->finished) << "an unfinished descriptor is used";
    }
    return 0;
  }

  static const Descriptor* copy(const Descriptor& d,
                                std::map<const Descriptor*, const Descriptor*>& done) {
    if (auto it = done.find(&d); it != done.end()) return it->second;
    Descriptor made = d;
    for (auto& [attr, bytes] : made.attrs) {
      if (cuda::dnn_type(attr) != Type::Descriptor) continue;
      auto inner = d.all<const Descriptor*>(attr);
      for (const Descriptor*& each : inner) each = copy(*each, done);
      std::memcpy(bytes.data(), inner.data(), bytes.size());
    }
    pool.push_back(std::move(made));
    return done[&d] = &pool.back();
  }

  static bool is_attention_in_f32(const Descriptor& graph) {
    bool multiplies = false;
    for (const Descriptor* op : graph.all<const Descriptor*>(Attr::GraphOps))
      multiplies |= op->kind == Kind::OpAttention;
    constexpr int kF32 = 0;
    return multiplies && tensors(graph).begin()->second->one<int>(Attr::TensorDataType) == kF32;
  }

  static bool all_last(const Descriptor& graph) {
    for (const auto& [id, tensor] : tensors(graph)) {
      auto dims = tensor->all<int64_t>(Attr::TensorDims);
      if (dims[2] * dims[3] > 1 && tensor->all<int64_t>(Attr::TensorStrides)[1] != 1) return false;
    }
    return true;
  }

  static int finalize(void* raw) {
    Descriptor& d = *of(raw);
    d.finished = true;
    if (d.kind == Kind::Heuristics) {
      if (strict && is_attention_in_f32(*d.ref(Attr::HeuristicsGraph))) return 3000;
      if (refuses || (only_last && !all_last(*d.ref(Attr::HeuristicsGraph)))) return 3000;
      std::map<const Descriptor*, const Descriptor*> done;
      d.graph = graphs.size();
      graphs.push_back(copy(*d.ref(Attr::HeuristicsGraph), done));
    }
    if (d.kind != Kind::Plan) return 0;
    if (const Descriptor* config = d.ref(Attr::PlanEngineConfig)) {
      ++plans;
      d.graph = config->graph;
      d.engine = config->engine;
      return 0;
    }
    std::istringstream text(std::string(d.attrs[Attr::PlanText].data()));
    std::string word;
    if (!(text >> word >> d.engine >> d.graph) || word != "engine" || d.graph >= graphs.size())
      return 2000;
    return 0;
  }

  static int get(void* raw, int attr, int, int64_t wanted, int64_t* count, void* values) {
    Descriptor& d = *of(raw);
    auto put = [&](auto value) {
      *count = 1;
      if (wanted > 0) std::memcpy(values, &value, sizeof value);
      return 0;
    };
    switch (static_cast<Attr>(attr)) {
    case Attr::HeuristicsResults:
      *count = d.one<int>(Attr::HeuristicsMode) == cuda::kDnnHeuristicsA ? 4 : 0;
      for (int64_t i = 0; i < std::min(wanted, *count); ++i) {
        Descriptor* config = static_cast<Descriptor**>(values)[i];
        config->engine = i;
        config->graph = d.graph;
        config->finished = true;
      }
      return 0;
    case Attr::EngineConfigEngine:
      (*static_cast<Descriptor**>(values))->engine = d.engine;
      return *count = 1, 0;
    case Attr::EngineIndex: return put(d.engine);
    case Attr::EngineNumericalNotes: return d.engine == 0 ? put(0) : (*count = 0, 0);
    case Attr::EngineBehaviourNotes: return d.engine == 3 ? put(0) : (*count = 0, 0);
    case Attr::PlanWorkspace: return put(int64_t{1024} * d.engine);
    case Attr::PlanText: {
      std::string text = "engine " + std::to_string(d.engine) + " " + std::to_string(d.graph);
      *count = static_cast<int64_t>(text.size() + 1);
      if (wanted > 0) std::memcpy(values, text.c_str(), text.size() + 1);
      return 0;
    }
    default: return 3000;
    }
  }

  static int execute(void*, void* raw, void* raw_pack) {
    const Descriptor &plan = *of(raw), &pack = *of(raw_pack);
    if (plan.engine == 1 || plan.engine == broken) return 5000;
    auto ids = pack.all<int64_t>(Attr::PackIds);
    auto pointers = pack.all<float*>(Attr::PackPointers);
    EXPECT_EQ(ids.size(), pointers.size());
    if (plan.engine > 0) // a step may overwrite its workspace
      std::memset(pack.one<void*>(Attr::PackWorkspace), 0xff,
                  static_cast<size_t>(1024 * plan.engine));
    Memory memory;
    for (size_t i = 0; i < ids.size(); ++i) memory.given[ids[i]] = pointers[i];
    for (const Descriptor* op : graphs[plan.graph]->all<const Descriptor*>(Attr::GraphOps)) {
      switch (op->kind) {
      case Kind::OpConvolution: convolution(*op, memory); break;
      case Kind::OpPointwise: pointwise(*op, memory); break;
      case Kind::OpAttention: attention(*op, memory); break;
      default: return 3000;
      }
    }
    return 0;
  }
};

} // namespace tg::test
