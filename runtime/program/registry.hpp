#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// How a parameter begins when nothing is loaded.
enum class Init : std::uint8_t { normal, ones, zeros };

/// One tensor of the checkpoint, under Hugging Face's name and shape: the elements
/// [begin, begin + count()) of the parameter it is stored in.
struct LogicalTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;

  std::int64_t count() const noexcept;
};

/// What is stored and updated as one matrix: one logical tensor, or several stacked so that one
/// matmul uses them all (q, k and v; gate and up).
struct Parameter {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Init init = Init::normal;
  float init_std = 0.02F;
  bool is_trainable = true;
  bool decays = true;
  std::vector<LogicalTensor> tensors = {};
  int unit = -1;
  std::int64_t begin = 0;  // first element in the unit

  std::int64_t count() const noexcept { return rows * cols; }
};

/// What is gathered and reduced at once: the parameters of one block (or stem, or head) as one flat
/// range. Each begins at a multiple of kUnitAlignment elements; the padding between belongs to none
/// and stays zero. A parameter used by two segments (a tied weight) is a unit of its own.
struct Unit {
  std::string name;
  std::int64_t elements = 0;
  std::vector<int> parameters;
};

inline constexpr std::int64_t kUnitAlignment = 256;

/// Every parameter of the model: the only thing that optimiser, gradient norm, checkpoint, import
/// and export read.
class Registry {
 public:
  /// Begins a unit; parameters added afterwards lie in it.
  void begin_unit(std::string name);
  /// Returns the parameter's number.
  int add(Parameter parameter);
  /// The number of the parameter called `name`; -1 if there is none.
  int find(std::string_view name) const;
  /// The number of the parameter that holds the logical tensor `name`; -1 if none does.
  int find_tensor(std::string_view name) const;

  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const std::vector<Unit>& units() const noexcept { return units_; }
  const Parameter& parameter(int index) const {
    return parameters_[static_cast<std::size_t>(index)];
  }
  /// Elements of all parameters, padding not counted.
  std::int64_t elements() const noexcept;
  /// Elements of all units, padding counted.
  std::int64_t padded_elements() const noexcept;

 private:
  std::vector<Parameter> parameters_;
  std::vector<Unit> units_;
};

}  // namespace muster::runtime
