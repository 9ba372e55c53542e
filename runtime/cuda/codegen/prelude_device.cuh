// The macros around the bodies of kernels, and conversions of half types, for a device. Without
// headers, since NVRTC has none.
#define TG_FUNCTION static __device__ __forceinline__
#define TG_BLOCK ((int)blockIdx.x)
#define TG_BLOCKS ((int)gridDim.x)
#define TG_THREAD ((int)threadIdx.x)
#define TG_THREADS_BEGIN {
#define TG_THREADS_END }
#define TG_VARIABLE(type, name) type name
#define TG_ARRAY(type, name, count) type name[count]
#define TG_AT(name) name
#define TG_SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define TG_BARRIER __syncthreads()
#if __CUDA_ARCH__ >= 900
#define TG_CLUSTERS 1
#define TG_CLUSTER(count) __cluster_dims__(count, 1, 1)
#define TG_RANKS(count) count
#define TG_CLUSTER_BARRIER \
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory")
#else
#define TG_CLUSTERS 0
#define TG_CLUSTER(count)
#define TG_RANKS(count) 1
#endif
#define TG_UNROLL _Pragma("unroll")
#define TG_INFINITY __int_as_float(0x7f800000)
#define TG_NAN __int_as_float(0x7fffffff)
#define TG_REDUCE(op, name, width) name = tg_row<tg_row_##op, width>(name)
#define TG_REDUCE_APART(op, name, apart, count) name = tg_column<tg_row_##op, apart, count>(name)

TG_FUNCTION unsigned tg_bits(float x) { return __float_as_uint(x); }
TG_FUNCTION float tg_float(unsigned x) { return __uint_as_float(x); }
TG_FUNCTION float tg_half_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
TG_FUNCTION unsigned short tg_half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
TG_FUNCTION float tg_rsqrt(float x) { return rsqrtf(x); } // 2 ulp
#if TG_CLUSTERS
// The same place in the shared memory of another block of the cluster.
TG_FUNCTION float tg_of_rank(const float* at, int rank) {
  unsigned own = (unsigned)__cvta_generic_to_shared(at), other;
  float x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(own), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(other) : "memory");
  return x;
}
#endif
