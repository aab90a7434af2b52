// SPDX-License-Identifier: BSD-3-Clause
// What this process is: a client, a server, both, a tool or neither. The only process-wide object of the library.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "core/client/client.hpp"
#include "core/client/tool.hpp"
#include "core/server/server.hpp"

namespace weft::abi {

class Role {
 public:
  /// Loads only: valid until the last PMIx_Finalize / PMIx_server_finalize, which the caller must not race with.
  client::Client* client() const noexcept { return client_now_.load(std::memory_order_acquire); }
  server::Server* server() const noexcept { return server_now_.load(std::memory_order_acquire); }
  client::Tool* tool() const noexcept { return tool_now_.load(std::memory_order_acquire); }

  std::mutex mutex;  ///< init and finalize, one at a time
  unsigned client_count = 0;
  unsigned server_count = 0;
  unsigned tool_count = 0;
  void set_client(std::unique_ptr<client::Client> client);
  void set_server(std::unique_ptr<server::Server> server);
  void set_tool(std::unique_ptr<client::Tool> tool);

 private:
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<client::Tool> tool_;
  std::atomic<client::Client*> client_now_{nullptr};
  std::atomic<server::Server*> server_now_{nullptr};
  std::atomic<client::Tool*> tool_now_{nullptr};
};

/// Never destroyed: threads of the application may still call while the process exits.
Role& role() noexcept;

/// On the library's thread of whichever role there is. Without a role the task is dropped: nobody could ask for it.
void run_later(std::function<void()> task);

/// The text of a fixed-size or NUL-terminated C name, never longer than `most`.
std::string_view text_of(const char* text, std::size_t most) noexcept;

}  // namespace weft::abi
