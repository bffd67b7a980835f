#include "kernels/cpu/gemm_library.hpp"

#include <array>
#include <initializer_list>
#include <type_traits>
#include <unordered_map>

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "kernels/base/error.hpp"

namespace muster::kernels::cpu {
namespace {

void check(dnnl_status_t status, std::string_view doing) {
  if (status == dnnl_success) return;
  const ErrorCode code =
      status == dnnl_out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device;
  throw Error(code, fmt::format("oneDNN cannot {}: status {}", doing, static_cast<int>(status)));
}

/// A oneDNN handle that is destroyed with its owner.
template <typename Handle, dnnl_status_t (*destroy)(Handle)>
struct Destroy {
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <typename Handle, dnnl_status_t (*destroy)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;

using Engine = Owned<dnnl_engine_t, dnnl_engine_destroy>;
using Stream = Owned<dnnl_stream_t, dnnl_stream_destroy>;
using Primitive = Owned<dnnl_primitive_t, dnnl_primitive_destroy>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using PostOps = Owned<dnnl_post_ops_t, dnnl_post_ops_destroy>;
using MemoryHandle = Owned<dnnl_memory_t, dnnl_memory_destroy>;

/// Gives the calling thread's OpenMP regions `threads` threads, and the former number back.
class TeamSize {
 public:
  explicit TeamSize(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;
  ~TeamSize() { omp_set_num_threads(before_); }

 private:
  int before_;
};

dnnl_data_type_t data_type(Dtype dtype) {
  MUSTER_ASSERT(dtype == Dtype::f32 || dtype == Dtype::bf16);
  return dtype == Dtype::f32 ? dnnl_f32 : dnnl_bf16;
}

/// [rows, cols] in memory as [rows, cols] with `stride`, or transposed.
dnnl_memory_desc_t describe(std::array<std::int64_t, 2> shape, Dtype dtype, std::int64_t stride,
                            bool transposed) {
  const dnnl_dims_t dims{shape[0], shape[1]};
  const dnnl_dims_t strides{transposed ? 1 : stride, transposed ? stride : 1};
  dnnl_memory_desc_t desc;
  check(dnnl_memory_desc_init_by_strides(&desc, 2, dims, data_type(dtype), strides),
        "describe a matrix");
  return desc;
}

/// Scratch memory is the caller's; accumulating is a sum after the product, in f32.
Attributes make_attributes(bool accumulate) {
  dnnl_primitive_attr_t attributes = nullptr;
  check(dnnl_primitive_attr_create(&attributes), "create attributes");
  Attributes owned(attributes);
  check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
        "set the scratchpad mode");
  if (accumulate) {
    dnnl_post_ops_t post_ops = nullptr;
    check(dnnl_post_ops_create(&post_ops), "create post-ops");
    const PostOps owned_post_ops(post_ops);
    check(dnnl_post_ops_append_sum(post_ops, 1.0F), "append a sum");
    check(dnnl_primitive_attr_set_post_ops(attributes, post_ops), "set post-ops");
  }
  return owned;
}

class DnnlGemm final : public Gemm {
 public:
  DnnlGemm(dnnl_engine_t engine, dnnl_stream_t stream, int threads, const GemmProblem& problem);

  std::size_t scratch_bytes() const noexcept override { return scratch_bytes_; }
  void run(const GemmPointers& pointers) override;

 private:
  enum Slot : std::size_t { matrix_a, matrix_b, matrix_c, bias_row, scratchpad, slot_count };

  void bind(Slot slot, int argument, const dnnl_memory_desc_t& desc, dnnl_engine_t engine);
  void point(Slot slot, const void* data);

  dnnl_stream_t stream_;  // the library's, which outlives its products
  int threads_;
  std::size_t scratch_bytes_ = 0;
  Primitive primitive_;
  std::array<MemoryHandle, slot_count> memories_;
  std::array<dnnl_exec_arg_t, slot_count> arguments_{};
  int argument_count_ = 0;
};

DnnlGemm::DnnlGemm(dnnl_engine_t engine, dnnl_stream_t stream, int threads, const GemmProblem& p)
    : stream_(stream), threads_(threads) {
  const TeamSize team(threads);  // the number of threads is fixed when a product is made
  const auto a = describe({p.m, p.k}, p.input, p.a_stride, p.transpose_a);
  const auto b = describe({p.k, p.n}, p.input, p.b_stride, p.transpose_b);
  const auto c = describe({p.m, p.n}, p.output, p.c_stride, false);
  const auto bias = describe({1, p.n}, p.input, p.n, false);
  dnnl_matmul_desc_t operation;
  check(dnnl_matmul_desc_init(&operation, &a, &b, p.has_bias ? &bias : nullptr, &c),
        "describe a product");
  const Attributes attributes = make_attributes(p.accumulate);
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_primitive_desc_create(&desc, &operation, attributes.get(), engine, nullptr),
        "plan a product");
  const PrimitiveDesc owned_desc(desc);
  dnnl_primitive_t primitive = nullptr;
  check(dnnl_primitive_create(&primitive, desc), "make a product");
  primitive_.reset(primitive);

  bind(matrix_a, DNNL_ARG_SRC, a, engine);
  bind(matrix_b, DNNL_ARG_WEIGHTS, b, engine);
  bind(matrix_c, DNNL_ARG_DST, c, engine);
  if (p.has_bias) bind(bias_row, DNNL_ARG_BIAS, bias, engine);
  const dnnl_memory_desc_t* scratch =
      dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  scratch_bytes_ = dnnl_memory_desc_get_size(scratch);
  if (scratch_bytes_ > 0) bind(scratchpad, DNNL_ARG_SCRATCHPAD, *scratch, engine);
}

void DnnlGemm::bind(Slot slot, int argument, const dnnl_memory_desc_t& desc, dnnl_engine_t engine) {
  dnnl_memory_t memory = nullptr;
  check(dnnl_memory_create(&memory, &desc, engine, DNNL_MEMORY_NONE), "make a memory handle");
  memories_[slot].reset(memory);
  arguments_[static_cast<std::size_t>(argument_count_++)] = {argument, memory};
}

void DnnlGemm::point(Slot slot, const void* data) {
  if (!memories_[slot]) return;
  // oneDNN takes inputs and outputs as void*; it only reads the inputs.
  check(dnnl_memory_set_data_handle(memories_[slot].get(), const_cast<void*>(data)),
        "point at a matrix");
}

void DnnlGemm::run(const GemmPointers& pointers) {
  point(matrix_a, pointers.a);
  point(matrix_b, pointers.b);
  point(matrix_c, pointers.c);
  point(bias_row, pointers.bias);
  point(scratchpad, pointers.scratch);
  const TeamSize team(threads_);
  check(dnnl_primitive_execute(primitive_.get(), stream_, argument_count_, arguments_.data()),
        "run a product");
  check(dnnl_stream_wait(stream_), "wait for a product");
}

struct HashProblem {
  std::size_t operator()(const GemmProblem& p) const noexcept {
    const auto flags = static_cast<std::int64_t>(
        (static_cast<unsigned>(p.input) << 8) | (static_cast<unsigned>(p.output) << 4) |
        (p.transpose_a ? 8U : 0U) | (p.transpose_b ? 4U : 0U) | (p.accumulate ? 2U : 0U) |
        (p.has_bias ? 1U : 0U));
    std::uint64_t hash = 0;
    for (const std::int64_t x : {p.m, p.n, p.k, p.a_stride, p.b_stride, p.c_stride, flags}) {
      hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

bool has_at_least(dnnl_cpu_isa_t isa) noexcept {
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & static_cast<unsigned>(isa)) ==
         static_cast<unsigned>(isa);
}

std::string_view effective_isa_name() noexcept {
  if (has_at_least(dnnl_cpu_isa_avx512_core_amx)) return "avx512_core_amx";
  if (has_at_least(dnnl_cpu_isa_avx512_core_bf16)) return "avx512_core_bf16";
  if (has_at_least(dnnl_cpu_isa_avx512_core)) return "avx512_core";
  return "avx2";
}

}  // namespace

struct GemmLibrary::State {
  int threads = 1;
  bool has_bf16 = false;
  Engine engine;
  Stream stream;
  std::unordered_map<GemmProblem, std::unique_ptr<Gemm>, HashProblem> products;
};

GemmLibrary::GemmLibrary(Isa isa, int threads) : state_(std::make_unique<State>()) {
  // Refused once oneDNN has run in this process; what is in force is asked for below.
  if (isa == Isa::avx2) static_cast<void>(dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2));
  state_->threads = threads;
  state_->has_bf16 = isa == Isa::avx512 && has_at_least(dnnl_cpu_isa_avx512_core_bf16);
  dnnl_engine_t engine = nullptr;
  check(dnnl_engine_create(&engine, dnnl_cpu, 0), "open the CPU");
  state_->engine.reset(engine);
  dnnl_stream_t stream = nullptr;
  check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "open a stream");
  state_->stream.reset(stream);
}

GemmLibrary::~GemmLibrary() = default;

bool GemmLibrary::is_native(Dtype dtype) const noexcept {
  return dtype == Dtype::f32 || (dtype == Dtype::bf16 && state_->has_bf16);
}

Gemm& GemmLibrary::find(const GemmProblem& problem) {
  const auto known = state_->products.find(problem);
  if (known != state_->products.end()) return *known->second;
  if (state_->products.size() >= kCapacity) state_->products.clear();
  auto made = std::make_unique<DnnlGemm>(state_->engine.get(), state_->stream.get(),
                                         state_->threads, problem);
  return *(state_->products[problem] = std::move(made));
}

std::size_t GemmLibrary::size() const noexcept {
  return state_->products.size();
}

std::string GemmLibrary::description() const {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{} {}", version->major, version->minor, version->patch,
                     effective_isa_name());
}

}  // namespace muster::kernels::cpu
