#include "runtime/cpu/handles.h"

#include <omp.h>

#include <dnnl_debug.h>

namespace tg::cpu {

bool may_use(dnnl_cpu_isa_t isa) {
  auto wanted = static_cast<unsigned>(isa); // a set of bits, like all of these
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & wanted) == wanted;
}

bool may_use_own(llvm::StringRef isa) {
  return isa == "avx512_bf16" ? may_use(dnnl_cpu_isa_avx512_core_bf16)
         : isa == "avx512"    ? may_use(dnnl_cpu_isa_avx512_core)
         : isa == "avx2"      ? may_use(dnnl_cpu_isa_avx2)
                              : true;
}

Diagnostic device_error(dnnl_status_t status, llvm::StringRef what) {
  return error(Code::device, "oneDNN: {0}: {1}", what, dnnl_status2str(status));
}

OneLibraryThread::OneLibraryThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneLibraryThread::~OneLibraryThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

Result<EngineHandle> make_engine() {
  dnnl_engine_t engine = nullptr;
  if (dnnl_status_t s = dnnl_engine_create(&engine, dnnl_cpu, 0); s != dnnl_success)
    return device_error(s, "creating the cpu engine");
  return EngineHandle(engine);
}

Result<StreamHandle> make_stream(dnnl_engine_t engine) {
  dnnl_stream_t stream = nullptr;
  if (dnnl_status_t s = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
      s != dnnl_success)
    return device_error(s, "creating a stream");
  return StreamHandle(stream);
}

namespace {

dnnl_alg_kind_t algorithm(Act act) {
  switch (act) {
  case Act::None: break;
  case Act::Relu: return dnnl_eltwise_relu;
  case Act::Tanh: return dnnl_eltwise_tanh;
  case Act::Sigmoid: return dnnl_eltwise_logistic;
  case Act::Gelu: return dnnl_eltwise_gelu_erf;
  case Act::Relu6: return dnnl_eltwise_clip;
  }
  return dnnl_alg_kind_undef;
}

} // namespace

Result<AttrHandle> make_attr(const Attr& wanted) {
  dnnl_primitive_attr_t attr = nullptr;
  if (dnnl_status_t s = dnnl_primitive_attr_create(&attr); s != dnnl_success)
    return device_error(s, "creating attributes");
  AttrHandle handle(attr);
  dnnl_post_ops_t ops = nullptr;
  dnnl_status_t s = dnnl_post_ops_create(&ops);
  if (s != dnnl_success) return device_error(s, "creating post-ops");
  PostOpsHandle post_ops(ops);
  if (wanted.sum) s = dnnl_post_ops_append_sum(ops, 1.0f);
  if (s == dnnl_success && wanted.act != Act::None)
    s = dnnl_post_ops_append_eltwise(ops, 1.0f, algorithm(wanted.act), 0.0f,
                                     wanted.act == Act::Relu6 ? 6.0f : 0.0f);
  if (s == dnnl_success) s = dnnl_primitive_attr_set_post_ops(attr, ops);
  if (s == dnnl_success)
    s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  if (s != dnnl_success) return device_error(s, "setting attributes");
  return handle;
}

Result<PrimitiveDescHandle> make_primitive_desc(const void* operation, const AttrHandle& attr,
                                                dnnl_engine_t engine, llvm::StringRef what,
                                                llvm::ArrayRef<llvm::StringRef> avoid,
                                                llvm::StringRef only) {
  dnnl_primitive_desc_iterator_t all = nullptr;
  dnnl_status_t s =
      dnnl_primitive_desc_iterator_create(&all, operation, attr.get(), engine, nullptr);
  for (; s == dnnl_success; s = dnnl_primitive_desc_iterator_next(all)) {
    PrimitiveDescHandle pd(dnnl_primitive_desc_iterator_fetch(all));
    std::string name = implementation(pd);
    if (llvm::any_of(avoid, [&](auto prefix) { return llvm::StringRef(name).startswith(prefix); }))
      continue;
    if (!only.empty() && name != only) continue;
    dnnl_primitive_desc_iterator_destroy(all);
    return pd;
  }
  if (all) dnnl_primitive_desc_iterator_destroy(all);
  return device_error(s, what);
}

namespace {

/// Returns the primitive's descriptor, with the layouts that it chose in place of `any`.
template <class Desc>
Desc chosen_desc(const PrimitiveDescHandle& pd, dnnl_query_t query, bool has_bias(const Desc&)) {
  const Desc* asked = nullptr;
  dnnl_primitive_desc_query(pd.get(), query, 0, static_cast<void*>(&asked));
  Desc desc = *asked;
  desc.src_desc = wanted(pd, dnnl_query_src_md);
  desc.weights_desc = wanted(pd, dnnl_query_weights_md);
  desc.dst_desc = wanted(pd, dnnl_query_dst_md);
  if (has_bias(desc)) desc.bias_desc = wanted(pd, dnnl_query_weights_md, 1);
  return desc;
}

template <class Desc> bool has_bias(const Desc& desc) { return desc.bias_desc.ndims != 0; }

} // namespace

Result<PrimitiveDescHandle> without_activation(const PrimitiveDescHandle& pd, bool sum,
                                               dnnl_engine_t engine) {
  TG_TRY(AttrHandle attr, make_attr({sum, Act::None}));
  // Implementations that were avoided before are avoided here too.
  llvm::SmallVector<llvm::StringRef, 2> avoid = {kBrgemm, kDepthwiseSse41};
  std::string name = implementation(pd);
  llvm::erase_if(avoid, [&](auto prefix) { return llvm::StringRef(name).startswith(prefix); });
  dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
  dnnl_primitive_desc_query(pd.get(), dnnl_query_primitive_kind, 0, &kind);
  if (kind == dnnl_convolution) {
    auto desc = chosen_desc<dnnl_convolution_desc_t>(pd, dnnl_query_convolution_d, has_bias);
    return make_primitive_desc(&desc, attr, engine, "conv2d", avoid);
  }
  auto desc = chosen_desc<dnnl_matmul_desc_t>(pd, dnnl_query_matmul_d, has_bias);
  return make_primitive_desc(&desc, attr, engine, "matmul", avoid);
}

bool is_reference(const PrimitiveDescHandle& pd) {
  return llvm::StringRef(implementation(pd)).startswith("ref");
}

std::string implementation(const PrimitiveDescHandle& pd) {
  const char* text = "";
  dnnl_primitive_desc_query(pd.get(), dnnl_query_impl_info_str, 0, &text);
  return text;
}

dnnl_memory_desc_t wanted(const PrimitiveDescHandle& pd, dnnl_query_t what, int index) {
  return *dnnl_primitive_desc_query_md(pd.get(), what, index);
}

namespace {

class PrimitiveKernel final : public Kernel {
public:
  PrimitiveHandle primitive;
  std::vector<PrimitiveArg> args;
  std::vector<MemoryHandle> memories; // of args; then the scratch memory, if needed
  std::vector<dnnl_exec_arg_t> exec_args;

  Result<void> bind(const Addresses& addresses) override {
    for (size_t i = 0; i < memories.size(); ++i) {
      void* data = i < args.size() ? static_cast<void*>(addresses.bytes(args[i].place))
                                   : static_cast<void*>(addresses.scratch);
      if (dnnl_status_t s = dnnl_memory_set_data_handle(memories[i].get(), data); s != dnnl_success)
        return device_error(s, "binding memory");
    }
    return {};
  }

  dnnl_status_t run(dnnl_stream_t stream) override {
    return dnnl_primitive_execute(primitive.get(), stream, static_cast<int>(exec_args.size()),
                                  exec_args.data());
  }

  Result<void> add_memory(int name, const dnnl_memory_desc_t& layout, dnnl_engine_t engine) {
    dnnl_memory_t memory = nullptr;
    if (dnnl_status_t s = dnnl_memory_create(&memory, &layout, engine, DNNL_MEMORY_NONE);
        s != dnnl_success)
      return device_error(s, "creating memory");
    memories.emplace_back(memory);
    exec_args.push_back({name, memory});
    return {};
  }
};

} // namespace

Result<std::unique_ptr<Kernel>> make_primitive_kernel(const PrimitiveDescHandle& pd,
                                                      dnnl_engine_t engine,
                                                      llvm::ArrayRef<PrimitiveArg> args,
                                                      int64_t& scratch_bytes) {
  auto kernel = std::make_unique<PrimitiveKernel>();
  dnnl_primitive_t primitive = nullptr;
  if (dnnl_status_t s = dnnl_primitive_create(&primitive, pd.get()); s != dnnl_success)
    return device_error(s, "creating a primitive");
  kernel->primitive.reset(primitive);
  kernel->args.assign(args.begin(), args.end());
  for (const PrimitiveArg& arg : args) {
    if (arg.layout.data_type != dnnl_dtype(arg.place.dtype))
      return error(Code::internal, "{0} requires {1} of another dtype", implementation(pd),
                   dtype_name(arg.place.dtype));
    TG_CHECK(kernel->add_memory(arg.name, arg.layout, engine));
  }
  dnnl_memory_desc_t scratch = wanted(pd, dnnl_query_scratchpad_md);
  scratch_bytes = static_cast<int64_t>(dnnl_memory_desc_get_size(&scratch));
  if (scratch_bytes > 0) TG_CHECK(kernel->add_memory(DNNL_ARG_SCRATCHPAD, scratch, engine));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace tg::cpu
