#pragma once

// The one place that includes Boost.Asio; for source files only. <utility> comes first because
// Boost 1.74's awaitable.hpp uses std::exchange without it and GCC 12 then refuses to compile it.
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace muster::collectives {

namespace asio = boost::asio;
using ErrorStatus = boost::system::error_code;
using Tcp = boost::asio::ip::tcp;

}  // namespace muster::collectives
