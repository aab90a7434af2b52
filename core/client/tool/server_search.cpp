// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool/server_search.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <thread>

#include "base/fd.hpp"
#include "core/link/rendezvous.hpp"

namespace weft::client {
namespace {

FoundServer not_found(pmix_status_t status) {
  FoundServer out;
  out.greeting.status = status;
  return out;
}

std::vector<link::ServerSocket> sockets_here() {
  auto sockets = link::servers_here();
  return sockets ? std::move(*sockets) : std::vector<link::ServerSocket>();
}

class Search {
 public:
  Search(const ServerWish& wish, const Caller& caller) : wish_(wish), caller_(caller) {}

  /// By the first way that is given.
  FoundServer run() const {
    if (!wish_.file.empty()) return retried([this] { return by_file(); });
    if (!wish_.uri.empty()) return retried([this] { return by_uri(wish_.uri); });
    if (wish_.pid) return retried([this] { return by_pid(*wish_.pid); });
    if (!wish_.nspace.empty()) return retried([this] { return by_nspace(); });
    if (wish_.only_system) return retried([this] { return system(); });
    if (wish_.system_first)
      if (auto found = system(); found.greeting.status == PMIX_SUCCESS) return found;
    return any();
  }

 private:
  using Wanted = std::function<bool(const Greeting& look)>;

  FoundServer retried(const std::function<FoundServer()>& attempt) const {
    for (std::uint32_t left = wish_.retries;; --left) {
      auto found = attempt();
      const auto status = found.greeting.status;
      const bool may_come = status == PMIX_ERR_UNREACH || status == PMIX_ERR_NOT_FOUND;
      if (!may_come || left == 0) return found;
      std::this_thread::sleep_for(wish_.pause);
    }
  }

  FoundServer by_file() const {
    const base::Fd fd(::open(wish_.file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return not_found(errno == EACCES ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_NOT_FOUND);
    std::array<char, 1024> text;
    const auto length = ::read(fd.get(), text.data(), text.size());
    if (length < 0) return not_found(PMIX_ERR_NOT_SUPPORTED);
    const std::string_view read(text.data(), static_cast<std::size_t>(length));
    return by_uri(read.substr(0, read.find('\n')));
  }

  FoundServer by_uri(std::string_view uri) const {
    const auto socket = link::socket_in(uri);
    return socket ? go_to(*socket, Chosen::by_name) : not_found(PMIX_ERR_NOT_SUPPORTED);
  }

  FoundServer by_pid(pid_t pid) const {
    auto sockets = sockets_here();
    std::erase_if(sockets, [&](const link::ServerSocket& socket) { return socket.pid != pid; });
    return first_of(sockets, Chosen::by_name, nullptr);
  }

  /// A server that is known has that name, too.
  FoundServer by_nspace() const {
    for (const auto& known : caller_.known)
      if (link::nspace_of(known.name) == wish_.nspace) return as_known(known);
    return first_of(sockets_here(), Chosen::by_search,
                    [this](const Greeting& look) { return link::nspace_of(look.server) == wish_.nspace; });
  }

  FoundServer system() const {
    return first_of(unknown_sockets(), Chosen::by_search,
                    [](const Greeting& look) { return look.is_system; });
  }

  /// A process that a server has started has that one; others the first that lets them in.
  FoundServer any() const {
    const char* const own = std::getenv(link::env_server);
    if (own != nullptr && *own != '\0' && !is_known(own)) return go_to({0, own}, Chosen::by_name);
    return first_of(unknown_sockets(), Chosen::by_search, nullptr);
  }

  /// Without one: why the last that is there and wanted does not let the tool in.
  FoundServer first_of(const std::vector<link::ServerSocket>& sockets, Chosen chosen,
                       const Wanted& wanted) const {
    auto why_not = not_found(PMIX_ERR_UNREACH);
    for (const auto& socket : sockets) {
      auto found = go_to(socket, chosen, wanted);
      if (found.greeting.status == PMIX_SUCCESS) return found;
      if (found.greeting.status != PMIX_ERR_UNREACH) why_not = std::move(found);
    }
    return why_not;
  }

  /// A look first: a server that is stopped shows soon, one whose host is slow to decide is waited for.
  FoundServer go_to(const link::ServerSocket& socket, Chosen chosen, const Wanted& wanted = nullptr) const {
    for (const auto& known : caller_.known)
      if (known.socket == socket.name) return as_known(known);
    FoundServer out;
    out.socket = socket.name;
    out.greeting = look_at(socket.name, chosen);
    const bool is_open = out.greeting.status == PMIX_SUCCESS;
    // A server that does not say its name is not known to be the wanted one.
    if (wanted && !(is_open && wanted(out.greeting))) return not_found(PMIX_ERR_UNREACH);
    if (!is_open) return out;
    out.greeting =
        enter(socket.name, chosen, caller_.self, caller_.version, wish_.timeout.value_or(entry_limit));
    return out;
  }

  static FoundServer as_known(const KnownServer& known) {
    FoundServer out;
    out.greeting.status = PMIX_SUCCESS;
    out.greeting.server = known.name;
    out.socket = known.socket;
    out.is_known = true;
    return out;
  }

  bool is_known(std::string_view socket) const {
    return std::any_of(caller_.known.begin(), caller_.known.end(),
                       [&](const KnownServer& known) { return known.socket == socket; });
  }
  std::vector<link::ServerSocket> unknown_sockets() const {
    auto sockets = sockets_here();
    std::erase_if(sockets, [this](const link::ServerSocket& socket) { return is_known(socket.name); });
    return sockets;
  }

  const ServerWish& wish_;
  const Caller& caller_;
};

}  // namespace

std::vector<VisibleServer> visible_servers(pmix_status_t& why_not) {
  std::vector<VisibleServer> out;
  why_not = PMIX_ERR_UNREACH;
  for (const auto& socket : sockets_here()) {
    auto greeting = look_at(socket.name, Chosen::by_search);
    if (greeting.status == PMIX_SUCCESS)
      out.push_back({socket, std::move(greeting)});
    else if (greeting.status != PMIX_ERR_UNREACH)  // it ended just now
      why_not = greeting.status;
  }
  return out;
}

FoundServer find_server(const ServerWish& wish, const Caller& caller) {
  return Search(wish, caller).run();
}

}  // namespace weft::client
