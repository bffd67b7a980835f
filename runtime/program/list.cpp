#include "runtime/program/list.hpp"

#include <utility>

#include "kernels/base/error.hpp"

namespace muster::runtime {

double Attributes::operator[](std::string_view name) const noexcept {
  for (const auto& [known, value] : items_) {
    if (known == name) return value;
  }
  return 0.0;
}

void Attributes::set(std::string_view name, double value) {
  for (auto& [known, old] : items_) {
    if (known == name) {
      old = value;
      return;
    }
  }
  items_.emplace_back(name, value);
}

ValueId List::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId List::computed(std::string name, std::int64_t rows, std::int64_t cols, Dtype dtype) {
  return add_value({.name = std::move(name), .rows = rows, .cols = cols, .dtype = dtype});
}

ValueId List::exact(std::string name, std::int64_t rows, std::int64_t cols, Dtype dtype) {
  const ValueId id = computed(std::move(name), rows, cols, dtype);
  value(id).keeps_dtype = true;
  return id;
}

ValueId List::column_view(ValueId base, std::string name, std::int64_t begin, std::int64_t cols) {
  MUSTER_ASSERT(begin >= 0 && begin + cols <= value(base).cols);
  Value view = value(base);
  view.name = std::move(name);
  view.base = base;
  view.row_begin = 0;
  view.col_begin = begin;
  view.cols = cols;
  return add_value(std::move(view));
}

ValueId List::row_view(ValueId base, std::string name, std::int64_t begin, std::int64_t rows) {
  MUSTER_ASSERT(begin >= 0 && begin + rows <= value(base).rows);
  Value view = value(base);
  view.name = std::move(name);
  view.base = base;
  view.row_begin = begin;
  view.col_begin = 0;
  view.rows = rows;
  return add_value(std::move(view));
}

ValueId List::root(ValueId id) const {
  while (value(id).base != kNone) id = value(id).base;
  return id;
}

}  // namespace muster::runtime
