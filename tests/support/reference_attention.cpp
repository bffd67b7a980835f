#include "tests/support/reference_attention.hpp"

#include <algorithm>
#include <cmath>

namespace muster::test::reference {
namespace {

double& element(Expected& matrix, std::int64_t row, std::int64_t col) {
  return matrix.values[static_cast<std::size_t>(row * matrix.cols + col)];
}

Expected zeros(std::int64_t rows, std::int64_t cols) {
  return {rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols))};
}

/// One query of one head: where its rows and columns lie.
struct Query {
  const Attention& in;
  std::int64_t head;
  std::int64_t token;

  std::int64_t begin() const { return in.bounds[static_cast<std::size_t>(token)]; }
  std::int64_t q_col(std::int64_t i) const { return head * in.head_dim() + i; }
  std::int64_t kv_col(std::int64_t i) const {
    return head / (in.heads / in.kv_heads) * in.head_dim() + i;
  }
  double score(std::int64_t key) const {
    double dot = 0.0;
    for (std::int64_t i = 0; i < in.head_dim(); ++i) {
      dot += in.q.at(token, q_col(i)) * in.k.at(key, kv_col(i));
    }
    return in.scale * dot;
  }
};

template <typename Function>
void for_each_query(const Attention& in, const Function& fn) {
  for (std::int64_t head = 0; head < in.heads; ++head) {
    for (std::int64_t token = 0; token < in.q.rows; ++token) fn(Query{in, head, token});
  }
}

void attend(const Query& query, AttentionResult& result) {
  std::vector<double> scores;
  for (std::int64_t j = query.begin(); j <= query.token; ++j) scores.push_back(query.score(j));
  const double top = *std::max_element(scores.begin(), scores.end());
  double weight = 0.0;
  for (const double score : scores) weight += std::exp(score - top);
  const double lse = top + std::log(weight);
  element(result.lse, query.head, query.token) = lse;
  for (std::int64_t j = query.begin(); j <= query.token; ++j) {
    const double p = std::exp(scores[static_cast<std::size_t>(j - query.begin())] - lse);
    for (std::int64_t i = 0; i < query.in.head_dim(); ++i) {
      element(result.out, query.token, query.q_col(i)) += p * query.in.v.at(j, query.kv_col(i));
    }
  }
}

void differentiate(const Query& query, const AttentionResult& forward, const Expected& dout,
                   AttentionGradients& gradients) {
  const Attention& in = query.in;
  const std::int64_t t = query.token;
  double delta = 0.0;
  for (std::int64_t i = 0; i < in.head_dim(); ++i) {
    delta += dout.at(t, query.q_col(i)) * forward.out.at(t, query.q_col(i));
  }
  for (std::int64_t j = query.begin(); j <= t; ++j) {
    const double p = std::exp(query.score(j) - forward.lse.at(query.head, t));
    double dp = 0.0;
    for (std::int64_t i = 0; i < in.head_dim(); ++i) {
      dp += dout.at(t, query.q_col(i)) * in.v.at(j, query.kv_col(i));
    }
    const double ds = p * (dp - delta);
    for (std::int64_t i = 0; i < in.head_dim(); ++i) {
      const std::int64_t q_col = query.q_col(i);
      const std::int64_t kv_col = query.kv_col(i);
      element(gradients.dq, t, q_col) += in.scale * ds * in.k.at(j, kv_col);
      element(gradients.dk, j, kv_col) += in.scale * ds * in.q.at(t, q_col);
      element(gradients.dv, j, kv_col) += p * dout.at(t, q_col);
    }
  }
}

}  // namespace

AttentionResult attention(const Attention& in) {
  AttentionResult result{zeros(in.q.rows, in.q.cols), zeros(in.heads, in.q.rows)};
  for_each_query(in, [&](const Query& query) { attend(query, result); });
  return result;
}

AttentionGradients attention_backward(const Attention& in, const AttentionResult& forward,
                                      const Expected& dout) {
  AttentionGradients gradients{zeros(in.q.rows, in.q.cols), zeros(in.k.rows, in.k.cols),
                               zeros(in.v.rows, in.v.cols)};
  for_each_query(in, [&](const Query& query) { differentiate(query, forward, dout, gradients); });
  return gradients;
}

}  // namespace muster::test::reference
