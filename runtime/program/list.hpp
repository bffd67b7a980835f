#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/dtype.hpp"

namespace muster::runtime {

class OpKind;

/// A value's number in its list; kNone where an operand is optional and absent.
using ValueId = std::int32_t;
inline constexpr ValueId kNone = -1;

/// Where a value's bytes come from.
enum class Origin : std::uint8_t {
  computed,   // written by an op; lives in the arena
  frame,      // what the loader brings: Value::index is a FrameField
  parameter,  // compute copy of a parameter: index is a slot of the block, after unroll a parameter
  gradient,   // its f32 gradient
  master,     // its f32 master weights
  moment1,    // its first moment of the optimiser
  moment2,    // its second moment
  unit,       // the f32 gradients of a whole unit as one flat range: index is a unit
  constant,   // made once by the family: index into Model::constants
  state,      // a small accumulator that outlives the micro-batch: index is a StateField
};

/// Everything that changes from micro-batch to micro-batch, read as values.
enum class FrameField : std::int32_t { tokens, targets, positions, bounds, loss_seed };
inline constexpr int kFrameFields = 5;

/// Accumulators of a step: the summed loss, and per parameter {sum of squares, found-inf} of this
/// rank's own gradients and of the reduced ones.
enum class StateField : std::int32_t { loss, own_norms, norms };
inline constexpr int kStateFields = 3;

/// One tensor on this rank: a matrix [rows, cols], rows in tokens of the micro-batch where it is an
/// activation. A view names its base and where it begins in it; it shares the base's bytes.
struct Value {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Dtype dtype = Dtype::f32;
  Origin origin = Origin::computed;
  std::int32_t index = -1;
  ValueId base = kNone;
  std::int64_t row_begin = 0;
  std::int64_t col_begin = 0;
  bool keeps_dtype = false;  // statistics, losses, indices: no pass may lower their precision

  std::int64_t count() const noexcept { return rows * cols; }
  std::int64_t bytes() const noexcept {
    return count() * static_cast<std::int64_t>(size_of(dtype));
  }
};

/// Numbers that a kind needs beside its operands, by name ("eps", "heads").
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string_view, double>> items)
      : items_(items.begin(), items.end()) {}

  /// The value of `name`; 0 if it was never set.
  double operator[](std::string_view name) const noexcept;
  std::int64_t whole(std::string_view name) const noexcept {
    return static_cast<std::int64_t>((*this)[name]);
  }
  bool is_set(std::string_view name) const noexcept { return (*this)[name] != 0.0; }
  void set(std::string_view name, double value);
  const std::vector<std::pair<std::string_view, double>>& items() const noexcept { return items_; }

 private:
  std::vector<std::pair<std::string_view, double>> items_;  // names are literals
};

/// One operation on values. Inputs are read, outputs written; an op in place names a value in both.
struct Op {
  const OpKind* kind = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
};

/// Ordered ops with their values: pure data, bound to no device.
struct List {
  std::vector<Value> values;
  std::vector<Op> ops;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }

  ValueId add_value(Value value);
  /// A fresh computed value.
  ValueId computed(std::string name, std::int64_t rows, std::int64_t cols, Dtype dtype);
  /// As computed(), of a dtype no pass may change.
  ValueId exact(std::string name, std::int64_t rows, std::int64_t cols, Dtype dtype);
  /// `cols` columns of `base` from `begin`.
  ValueId column_view(ValueId base, std::string name, std::int64_t begin, std::int64_t cols);
  /// `rows` rows of `base` from `begin`.
  ValueId row_view(ValueId base, std::string name, std::int64_t begin, std::int64_t rows);
  /// The value that owns the bytes of `id`: itself, or its base's base.
  ValueId root(ValueId id) const;
};

}  // namespace muster::runtime
