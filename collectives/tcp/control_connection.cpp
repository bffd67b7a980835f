#include "collectives/tcp/control_connection.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {

namespace {

[[noreturn]] void throw_no_frame() {
  throw Error(ErrorCode::io, "it sent what is no frame of this protocol");
}

}  // namespace

ControlConnection::ControlConnection(Tcp::socket socket, const std::optional<ConnectionKeys>& keys,
                                     Handlers handlers)
    : socket_(std::move(socket)), handlers_(std::move(handlers)) {
  if (!keys) return;
  sealer_.emplace(keys->send);
  opener_.emplace(keys->receive);
}

void ControlConnection::start() {
  asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->read(); }, asio::detached);
}

void ControlConnection::send(const Control& control) {
  if (is_closed_) return;
  std::string frame = encode(control);
  if (sealer_) {
    std::string record(frame.size() + kSealBytes, '\0');
    sealer_->seal(std::as_bytes(std::span(frame)), {}, std::as_writable_bytes(std::span(record)));
    frame = std::move(record);
  }
  queue_.push_back(std::move(frame));
  if (queue_.size() > 1) return;
  asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->write(); },
      asio::detached);
}

void ControlConnection::close() noexcept {
  is_closed_ = true;
  ErrorStatus ignored;  // closing is all we want
  socket_.close(ignored);
}

asio::awaitable<void> ControlConnection::read() {
  std::string how = "its connection was closed";
  try {
    co_await read_all();
  } catch (const boost::system::system_error& error) {
    if (error.code() != asio::error::eof) how = error.code().message();
  } catch (const Error& error) {
    how = error.what();
  }
  if (!is_closed_) handlers_.ended(how);
}

asio::awaitable<void> ControlConnection::read_all() {
  while (true) {
    Control control;
    if (opener_) {
      control = co_await read_sealed();
    } else {
      control = co_await read_plain();
    }
    if (!is_closed_) handlers_.received(control);
  }
}

asio::awaitable<Control> ControlConnection::read_plain() {
  ControlHead head{};
  co_await asio::async_read(socket_, asio::buffer(head), asio::use_awaitable);
  std::optional<DecodedHead> decoded = decode(head);
  if (!decoded) throw_no_frame();
  decoded->control.text.resize(decoded->text_bytes);
  co_await asio::async_read(socket_, asio::buffer(decoded->control.text), asio::use_awaitable);
  co_return std::move(decoded->control);
}

asio::awaitable<Control> ControlConnection::read_sealed() {
  const auto head = std::span(record_).first<kRecordHeadBytes>();
  co_await asio::async_read(socket_, asio::buffer(head.data(), head.size()), asio::use_awaitable);
  const std::size_t bytes = text_bytes(head) + kSealBytes;
  if (bytes > record_.size()) throw_no_frame();
  const auto rest = std::span(record_).subspan(head.size(), bytes - head.size());
  co_await asio::async_read(socket_, asio::buffer(rest.data(), rest.size()), asio::use_awaitable);
  co_return open(std::span(record_).first(bytes));
}

Control ControlConnection::open(std::span<std::byte> record) {
  const auto frame = opener_->open(record);
  if (!frame) {
    throw Error(ErrorCode::io,
                "a record of its encrypted control connection did not open: it was changed, "
                "repeated, left out or put in on the way");
  }
  ControlHead head{};
  if (frame->size() < head.size()) throw_no_frame();
  std::copy_n(frame->begin(), head.size(), head.begin());
  std::optional<DecodedHead> decoded = decode(head);
  if (!decoded || decoded->text_bytes != frame->size() - head.size()) throw_no_frame();
  const auto text = frame->subspan(head.size());
  decoded->control.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return std::move(decoded->control);
}

asio::awaitable<void> ControlConnection::write() {
  while (!queue_.empty()) {
    ErrorStatus status;
    co_await asio::async_write(socket_, asio::buffer(queue_.front()),
                               asio::redirect_error(asio::use_awaitable, status));
    if (status) {
      // The reader learns the same, and says so after what the peer has sent before.
      queue_.clear();
      co_return;
    }
    queue_.pop_front();
  }
}

}  // namespace muster::collectives::tcp
