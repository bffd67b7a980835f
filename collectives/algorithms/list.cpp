#include "collectives/algorithms/list.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "collectives/algorithms/algorithms.hpp"

namespace muster::collectives::algorithms {
namespace {

// The formulas of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH" (2005), with n ranks and S bytes.

double steps_of(double n) {
  return std::ceil(std::log2(n));
}
// The part of the vector that is not a rank's own.
double others(double n) {
  return (n - 1.0) / n;
}

double step(const LinkProfile& link, double bytes) {
  return link.alpha_s + bytes * link.beta_s_per_byte;
}

double dissemination(const LinkProfile& link, double /*bytes*/, double n) {
  return steps_of(n) * link.alpha_s;
}
double tree_down(const LinkProfile& link, double bytes, double n) {
  return steps_of(n) * step(link, bytes);
}
double tree_up(const LinkProfile& link, double bytes, double n) {
  return steps_of(n) * (step(link, bytes) + bytes * link.gamma_s_per_byte);
}
double chain(const LinkProfile& link, double bytes, double n) {
  const double pieces = std::max(1.0, std::ceil(bytes / static_cast<double>(Lane::kPieceBytes)));
  return (n - 2.0 + pieces) * step(link, bytes / pieces);
}
double scatter_and_gather(const LinkProfile& link, double bytes, double n) {
  return (steps_of(n) + n - 1.0) * link.alpha_s + 2.0 * others(n) * bytes * link.beta_s_per_byte;
}
double in_n_steps(const LinkProfile& link, double bytes, double n) {
  return (n - 1.0) * link.alpha_s + others(n) * bytes * link.beta_s_per_byte;
}
double in_log_steps(const LinkProfile& link, double bytes, double n) {
  return steps_of(n) * link.alpha_s + others(n) * bytes * link.beta_s_per_byte;
}
// Blocks come together in another order than that of the result and are copied into it.
double in_log_steps_and_copy(const LinkProfile& link, double bytes, double n) {
  return in_log_steps(link, bytes, n) + bytes * link.gamma_s_per_byte;
}
double reduce_in_n_steps(const LinkProfile& link, double bytes, double n) {
  return in_n_steps(link, bytes, n) + others(n) * bytes * link.gamma_s_per_byte;
}
double reduce_twice_n_steps(const LinkProfile& link, double bytes, double n) {
  return reduce_in_n_steps(link, bytes, n) + in_n_steps(link, bytes, n);
}
double reduce_whole(const LinkProfile& link, double bytes, double n) {
  return (n - 1.0) * (step(link, bytes) + bytes * link.gamma_s_per_byte);
}
double reduce_blocks(const LinkProfile& link, double bytes, double n) {
  return steps_of(n) * link.alpha_s +
         (n - 1.0) * bytes * (link.beta_s_per_byte + link.gamma_s_per_byte);
}
// What it takes that a rank speaks for another where n is no power of two.
double folding(const LinkProfile& link, double bytes, double n) {
  const bool is_power = std::exp2(steps_of(n)) == n;
  return is_power ? 0.0 : 2.0 * step(link, bytes) + bytes * link.gamma_s_per_byte;
}
double doubling(const LinkProfile& link, double bytes, double n) {
  return folding(link, bytes, n) + tree_up(link, bytes, std::exp2(std::floor(std::log2(n))));
}
double halving(const LinkProfile& link, double bytes, double n) {
  const double core = std::exp2(std::floor(std::log2(n)));
  return folding(link, bytes, n) + 2.0 * in_log_steps(link, bytes, core) +
         others(core) * bytes * link.gamma_s_per_byte;
}
double tree_up_and_down(const LinkProfile& link, double bytes, double n) {
  return tree_up(link, bytes, n) + tree_down(link, bytes, n);
}
// Half of the blocks move on in each step, copied out of their places and back.
double carry_blocks(const LinkProfile& link, double bytes, double n) {
  return steps_of(n) * (step(link, bytes / 2.0) + bytes * link.gamma_s_per_byte);
}
double one_message(const LinkProfile& link, double bytes, double /*n*/) {
  return step(link, bytes);
}

using enum CallKind;

constexpr std::array kAlgorithms = {
    Algorithm{barrier, "dissemination", algorithms::barrier, dissemination},
    Algorithm{all_reduce, "direct", all_reduce_direct, reduce_whole},
    Algorithm{all_reduce, "bruck", all_reduce_bruck, reduce_blocks},
    Algorithm{all_reduce, "pairwise", all_reduce_pairwise, reduce_twice_n_steps},
    Algorithm{all_reduce, "recursive_doubling", all_reduce_doubling, doubling, false},
    Algorithm{all_reduce, "halving_doubling", all_reduce_halving, halving, false},
    Algorithm{all_reduce, "ring", all_reduce_ring, reduce_twice_n_steps, false},
    Algorithm{all_reduce, "tree", all_reduce_tree, tree_up_and_down, false},
    Algorithm{reduce_scatter, "pairwise", reduce_scatter_pairwise, reduce_in_n_steps},
    Algorithm{reduce_scatter, "ring", reduce_scatter_ring, reduce_in_n_steps, false},
    Algorithm{reduce_scatter_v, "pairwise", reduce_scatter_pairwise, reduce_in_n_steps},
    Algorithm{reduce_scatter_v, "ring", reduce_scatter_ring, reduce_in_n_steps, false},
    Algorithm{reduce, "direct", reduce_direct, reduce_whole},
    Algorithm{reduce, "pairwise", reduce_pairwise, reduce_twice_n_steps},
    Algorithm{reduce, "tree", reduce_tree, tree_up, false},
    Algorithm{broadcast, "binomial", broadcast_binomial, tree_down},
    Algorithm{broadcast, "chain", broadcast_chain, chain},
    Algorithm{broadcast, "scatter_all_gather", broadcast_scatter, scatter_and_gather},
    Algorithm{all_gather, "bruck", all_gather_bruck, in_log_steps_and_copy},
    Algorithm{all_gather, "pairwise", all_gather_pairwise, in_n_steps},
    Algorithm{all_gather, "ring", all_gather_ring, in_n_steps},
    Algorithm{all_gather_v, "pairwise", all_gather_pairwise, in_n_steps},
    Algorithm{all_gather_v, "ring", all_gather_ring, in_n_steps},
    Algorithm{gather, "binomial", gather_binomial, in_log_steps_and_copy},
    Algorithm{gather, "direct", gather_direct, in_n_steps},
    Algorithm{scatter, "binomial", scatter_binomial, in_log_steps_and_copy},
    Algorithm{scatter, "direct", scatter_direct, in_n_steps},
    Algorithm{all_to_all, "bruck", all_to_all_bruck, carry_blocks},
    Algorithm{all_to_all, "pairwise", all_to_all_pairwise, in_n_steps},
    Algorithm{all_to_all_v, "pairwise", all_to_all_v_pairwise, in_n_steps},
    Algorithm{CallKind::send_receive, "direct", algorithms::send_receive, one_message},
};

}  // namespace

std::span<const Algorithm> all_algorithms() noexcept {
  return kAlgorithms;
}

void perform(const Algorithm& algorithm, Lane& lane, const Call& call) {
  if (lane.size() == 1) return copy(lane.device, call.out, call.in);
  algorithm.run(lane, call);
}

}  // namespace muster::collectives::algorithms
