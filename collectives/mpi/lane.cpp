#include "collectives/mpi/lane.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "collectives/call_check.hpp"
#include "kernels/base/error.hpp"

/// How a lane agrees on a call and has MPI move bytes; lane_calls.cpp is what each call needs.
namespace muster::collectives::mpi {
namespace {

int to_int(std::int64_t count) {
  MUSTER_ASSERT(count >= 0 && count <= std::numeric_limits<int>::max());
  return static_cast<int>(count);
}

// What travels before a message.
Signature header_of(ConstTensorView data) {
  return Signature(Call{.kind = CallKind::send_receive, .in = data, .count = data.count()});
}

// True where `in` lies where the result belongs, or the result where `in` does.
bool is_in_place(const Call& call) {
  return overlap(call.in, call.out);
}

}  // namespace

void Lane::run(const Call& call, Deadline deadline) {
  waiter_.begin(call, deadline);
  if (call.kind == CallKind::send_receive) {
    send_receive(call);
  } else {
    agree(is_in_place(call));
    dispatch(call);
  }
  waiter_.end();
}

// The largest of each number, and of its complement, over the ranks: where both belong to one
// number, all ranks have it.
void Lane::agree(bool in_place) {
  const Signature& signature = waiter_.signature();
  const auto word = static_cast<std::int64_t>(signature.word);
  const std::int64_t place = in_place ? 1 : 0;
  memory_->mine = {word, ~word, signature.count, ~signature.count, place, ~place};
  do_whole({.kind = CallKind::all_reduce,
            .dtype = Dtype::i64,
            .op = ReduceOp::max,
            .in = memory_->mine.data(),
            .out = memory_->agreed.data(),
            .count = to_int(static_cast<std::int64_t>(memory_->mine.size()))});
  const auto& agreed = memory_->agreed;
  if (agreed[0] != ~agreed[1] || agreed[2] != ~agreed[3]) throw_mismatch();
  are_all_in_place_ = ~agreed[5] == 1;
}

void Lane::throw_mismatch() {
  constexpr int kWords = sizeof(Signature) / sizeof(std::int64_t);
  static_assert(kWords == 2);
  auto& signatures = memory_->signatures;
  signatures.resize(static_cast<std::size_t>(context_.size));
  signatures[static_cast<std::size_t>(context_.rank)] = waiter_.signature();
  do_whole({.kind = CallKind::all_gather,
            .dtype = Dtype::i64,
            .out = signatures.data(),
            .is_in_place = true,
            .count = kWords});
  const auto other =
      std::find_if(signatures.begin(), signatures.end(),
                   [&](const Signature& signature) { return signature != signatures.front(); });
  MUSTER_ASSERT(other != signatures.end());
  throw signature_mismatch(context_.name, number_, {0, signatures.front()},
                           {static_cast<int>(other - signatures.begin()), *other});
}

// Every rank sees all lists, so all throw the same.
void Lane::agree_on_pairs(const Call& call) {
  const auto size = static_cast<std::size_t>(context_.size);
  auto& pairs = memory_->pairs;  // [size, 2, size]: what each rank gives the others, and expects
  pairs.resize(size * 2 * size);
  const auto mine = pairs.begin() + static_cast<std::ptrdiff_t>(size) * 2 * context_.rank;
  std::copy(call.in_counts.begin(), call.in_counts.end(), mine);
  std::copy(call.out_counts.begin(), call.out_counts.end(),
            mine + static_cast<std::ptrdiff_t>(size));
  do_whole({.kind = CallKind::all_gather,
            .dtype = Dtype::i64,
            .out = pairs.data(),
            .is_in_place = true,
            .count = to_int(2 * std::int64_t{context_.size})});
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      const std::int64_t given = pairs[from * 2 * size + to];
      const std::int64_t expected = pairs[to * 2 * size + size + from];
      if (given == expected) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: rank {} sends {} elements to rank {}, which expects {}",
                              waiter_.describe_call(), from, given, to, expected));
    }
  }
}

void Lane::do_whole(const Operation& operation) {
  Request request;
  waiter_.check(context_.group.start(number_, operation, request));
  waiter_.until_done({&request, 1});
}

void Lane::do_in_pieces(Operation operation, std::int64_t count) {
  const std::size_t width = size_of(operation.dtype);
  const auto longest = static_cast<std::int64_t>(largest_bytes_ / width);
  const auto* const in = static_cast<const std::byte*>(operation.in);
  auto* const out = static_cast<std::byte*>(operation.out);
  for (std::int64_t begin = 0; begin < count; begin += longest) {
    const std::size_t offset = static_cast<std::size_t>(begin) * width;
    operation.in = in == nullptr ? nullptr : in + offset;
    operation.out = out == nullptr ? nullptr : out + offset;
    operation.count = to_int(std::min(longest, count - begin));
    do_whole(operation);
  }
}

void Lane::exchange(const Exchange& exchange) {
  start_send(exchange.to, exchange.out);
  start_receive(exchange.from, exchange.in);
  finish_messages();
}

void Lane::start_send(int to, std::span<const std::byte> data) {
  while (!data.empty()) {
    const std::size_t bytes = std::min(data.size(), largest_bytes_);
    const Message message{.peer = to, .bytes = to_int(static_cast<std::int64_t>(bytes))};
    waiter_.check(context_.group.send(number_, message, data.data(), next_request(to)));
    data = data.subspan(bytes);
  }
}

void Lane::start_receive(int from, std::span<std::byte> data) {
  while (!data.empty()) {
    const std::size_t bytes = std::min(data.size(), largest_bytes_);
    const Message message{.peer = from, .bytes = to_int(static_cast<std::int64_t>(bytes))};
    waiter_.check(context_.group.receive(number_, message, data.data(), next_request(from)));
    data = data.subspan(bytes);
  }
}

Request& Lane::next_request(int partner) {
  partners_.push_back(partner);
  return requests_.emplace_back();
}

void Lane::finish_messages() {
  waiter_.until_done(requests_, partners_);
  requests_.clear();
  partners_.clear();
}

void Lane::send_header(const Call& call) {
  memory_->sent_header = header_of(call.in);
  const Message message{.peer = call.to, .tag = Message::Tag::header, .bytes = sizeof(Signature)};
  waiter_.check(
      context_.group.send(number_, message, &memory_->sent_header, next_request(call.to)));
}

void Lane::receive_header(const Call& call) {
  const Message message{.peer = call.from, .tag = Message::Tag::header, .bytes = sizeof(Signature)};
  Request request;
  waiter_.check(context_.group.receive(number_, message, &memory_->received_header, request));
  waiter_.until_done({&request, 1}, {&call.from, 1});
  const Signature wanted = header_of(call.out);
  if (memory_->received_header == wanted) return;
  RankedSignature first{call.from, memory_->received_header};
  RankedSignature second{context_.rank, wanted};
  if (second.rank < first.rank) std::swap(first, second);
  const Error mismatch = signature_mismatch(context_.name, number_, first, second);
  context_.notes.refuse(call.from, mismatch.what());
  throw mismatch;
}

}  // namespace muster::collectives::mpi
