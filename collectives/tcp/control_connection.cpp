#include "collectives/tcp/control_connection.hpp"

#include <utility>

#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {

void ControlConnection::start() {
  asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->read(); }, asio::detached);
}

void ControlConnection::send(const Control& control) {
  if (is_closed_) return;
  queue_.push_back(encode(control));
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
    ControlHead head{};
    co_await asio::async_read(socket_, asio::buffer(head), asio::use_awaitable);
    std::optional<DecodedHead> decoded = decode(head);
    if (!decoded) throw Error(ErrorCode::io, "it sent what is no frame of this protocol");
    decoded->control.text.resize(decoded->text_bytes);
    co_await asio::async_read(socket_, asio::buffer(decoded->control.text), asio::use_awaitable);
    if (!is_closed_) handlers_.received(decoded->control);
  }
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
