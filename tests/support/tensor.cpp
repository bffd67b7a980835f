#include "tests/support/tensor.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/devices.hpp"

namespace muster::test {
namespace {

constexpr std::byte kPattern{0xA5};

template <typename T>
double read(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <typename T>
void write(std::byte* p, double value) {
  T element;
  if constexpr (sizeof(T) == 2) {
    element = T(static_cast<float>(value));
  } else {
    element = static_cast<T>(value);
  }
  std::memcpy(p, &element, sizeof(T));
}

double read_as(Dtype dtype, const std::byte* p) {
  switch (dtype) {
    case Dtype::f64: return read<double>(p);
    case Dtype::f32: return read<float>(p);
    case Dtype::f16: return read<Half>(p);
    case Dtype::bf16: return read<Bfloat16>(p);
    case Dtype::i64: return read<std::int64_t>(p);
    case Dtype::i32: return read<std::int32_t>(p);
    case Dtype::i8: return read<std::int8_t>(p);
    case Dtype::u8: return read<std::uint8_t>(p);
  }
  return 0.0;
}

void write_as(Dtype dtype, std::byte* p, double value) {
  switch (dtype) {
    case Dtype::f64: return write<double>(p, value);
    case Dtype::f32: return write<float>(p, value);
    case Dtype::f16: return write<Half>(p, value);
    case Dtype::bf16: return write<Bfloat16>(p, value);
    case Dtype::i64: return write<std::int64_t>(p, value);
    case Dtype::i32: return write<std::int32_t>(p, value);
    case Dtype::i8: return write<std::int8_t>(p, value);
    case Dtype::u8: return write<std::uint8_t>(p, value);
  }
}

std::size_t offset(const ConstTensorView& view, std::int64_t row, std::int64_t col) {
  return static_cast<std::size_t>(row * view.stride + col) * size_of(view.dtype);
}

}  // namespace

Tensor::Tensor(Dtype dtype, std::int64_t rows, std::int64_t cols, std::int64_t gap)
    : dtype_(dtype),
      rows_(rows),
      cols_(cols),
      stride_(cols + gap),
      bytes_(2 * kMargin + static_cast<std::size_t>(rows * stride_) * size_of(dtype), kPattern) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) set(r, c, 0.0);
  }
}

double Tensor::at(std::int64_t row, std::int64_t col) const {
  return read_as(dtype_, begin() + offset(view(), row, col));
}

void Tensor::set(std::int64_t row, std::int64_t col, double value) {
  write_as(dtype_, begin() + offset(view(), row, col), value);
}

Tensor& Tensor::fill_normal(std::uint64_t key) {
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t c = 0; c < cols_; ++c) {
      set(r, c, static_cast<double>(normal(key, static_cast<std::uint64_t>(r * cols_ + c))));
    }
  }
  return *this;
}

Tensor& Tensor::fill_integers(std::uint64_t key, std::int64_t limit) {
  const std::int64_t low = dtype_ == Dtype::u8 ? 0 : -limit;
  const auto choices = static_cast<std::uint64_t>(limit - low + 1);
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t c = 0; c < cols_; ++c) {
      const std::uint64_t word = mix(key, static_cast<std::uint64_t>(r * cols_ + c));
      set(r, c, static_cast<double>(low + static_cast<std::int64_t>(word % choices)));
    }
  }
  return *this;
}

bool Tensor::margins_are_untouched() const {
  const auto is_pattern = [](std::byte b) { return b == kPattern; };
  const auto row_bytes =
      static_cast<std::ptrdiff_t>(static_cast<std::size_t>(cols_) * size_of(dtype_));
  const auto stride_bytes =
      static_cast<std::ptrdiff_t>(static_cast<std::size_t>(stride_) * size_of(dtype_));
  auto at_margin = bytes_.begin() + static_cast<std::ptrdiff_t>(kMargin);
  bool untouched =
      std::all_of(bytes_.begin(), at_margin, is_pattern) &&
      std::all_of(bytes_.end() - static_cast<std::ptrdiff_t>(kMargin), bytes_.end(), is_pattern);
  for (std::int64_t r = 0; r < rows_; ++r, at_margin += stride_bytes) {
    untouched =
        untouched && std::all_of(at_margin + row_bytes, at_margin + stride_bytes, is_pattern);
  }
  return untouched;
}

double rounded(double value, Dtype dtype) {
  std::byte bytes[8];
  write_as(dtype, bytes, value);
  return read_as(dtype, bytes);
}

double epsilon(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return 0x1.0p-23;
    case Dtype::f16: return 0x1.0p-10;
    case Dtype::bf16: return 0x1.0p-7;
    default: MUSTER_ASSERT(dtype == Dtype::f64); return 0x1.0p-52;
  }
}

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const auto isa : {kernels::cpu::Isa::avx2, kernels::cpu::Isa::avx512}) {
    if (kernels::cpu::is_supported(isa)) names.emplace_back(kernels::cpu::to_string(isa));
  }
  return names;
}

int team_size(int wanted) {
#ifdef __SANITIZE_THREAD__
  return std::min(wanted, 1);
#else
  return wanted;
#endif
}

std::unique_ptr<kernels::Device> open_cpu(std::string_view isa, int threads) {
  return kernels::open_device("cpu", {.threads = team_size(threads), .isa = std::string(isa)});
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols() || a.dtype() != b.dtype()) return false;
  const std::size_t row_bytes = static_cast<std::size_t>(a.cols()) * size_of(a.dtype());
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    const std::byte* const left = a.view().data + offset(a.view(), r, 0);
    const std::byte* const right = b.view().data + offset(b.view(), r, 0);
    if (std::memcmp(left, right, row_bytes) != 0) return false;
  }
  return true;
}

}  // namespace muster::test
