// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/credentials/munge.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <memory>

namespace weft::server {
namespace {

// Of munge.h (munge.h of libmunge 0.5, whose numbers are its ABI).
constexpr int option_socket = 8;
enum class MungeStatus {
  success = 0,
  no_memory = 5,
  no_socket = 6,
  expired = 15,
  rewound = 16,
  replayed = 17
};
bool is(int status, MungeStatus one) noexcept {
  return status == static_cast<int>(one);
}

/// Where a daemon of a distribution's package listens.
constexpr const char* usual_sockets[] = {"/run/munge/munge.socket.2", "/var/run/munge/munge.socket.2"};

struct Freed {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

template <class Function>
void find(void* library, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

class Munge::Context {
 public:
  explicit Context(const Munge& of) : destroy_(of.functions_.destroy), raw_(of.functions_.create()) {
    if (raw_ != nullptr && !of.socket_.empty())
      is_set_ = is(of.functions_.set(raw_, option_socket, of.socket_.c_str()), MungeStatus::success);
  }
  ~Context() {
    if (raw_ != nullptr) destroy_(raw_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  bool is_ready() const noexcept { return raw_ != nullptr && is_set_; }
  void* raw() const noexcept { return raw_; }

 private:
  void (*destroy_)(void*);
  void* const raw_;
  bool is_set_ = true;
};

bool Munge::load() {
  if (std::exchange(has_looked_, true)) return functions_.are_there();
  void* const library = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  find(library, "munge_ctx_create", functions_.create);
  find(library, "munge_ctx_destroy", functions_.destroy);
  find(library, "munge_ctx_set", functions_.set);
  find(library, "munge_encode", functions_.encode);
  find(library, "munge_decode", functions_.decode);
  return functions_.are_there();
}

/// libmunge tries for seconds to reach a daemon whose socket is not there.
bool Munge::has_daemon() const noexcept {
  if (!socket_.empty()) return ::access(socket_.c_str(), F_OK) == 0;
  for (const auto* usual : usual_sockets)
    if (::access(usual, F_OK) == 0) return true;
  return false;
}

Result<std::string> Munge::encode(const std::string& payload) {
  if (!load() || !has_daemon()) return fail(Errc::not_supported, "no munge");
  const Context context(*this);
  if (!context.is_ready()) return fail(Errc::no_memory);
  char* made = nullptr;
  const auto status =
      functions_.encode(&made, context.raw(), payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, Freed> owned(made);
  if (is(status, MungeStatus::success) && made != nullptr) return std::string(made);
  if (is(status, MungeStatus::no_memory)) return fail(Errc::no_memory);
  return fail(is(status, MungeStatus::no_socket) ? Errc::not_supported : Errc::os,
              "munge makes no credential");
}

Result<Munge::Decoded> Munge::decode(const std::string& credential) {
  if (!load() || !has_daemon()) return fail(Errc::not_supported, "no munge");
  const Context context(*this);
  if (!context.is_ready()) return fail(Errc::no_memory);
  Decoded out;
  void* payload = nullptr;
  int bytes = 0;
  const auto status =
      functions_.decode(credential.c_str(), context.raw(), &payload, &bytes, &out.uid, &out.gid);
  const std::unique_ptr<void, Freed> owned(payload);
  if (payload != nullptr && bytes > 0)
    out.payload.assign(static_cast<const char*>(payload), static_cast<std::size_t>(bytes));
  if (is(status, MungeStatus::success) || is(status, MungeStatus::replayed)) return out;
  if (is(status, MungeStatus::no_memory)) return fail(Errc::no_memory);
  if (is(status, MungeStatus::no_socket)) return fail(Errc::not_supported, "no daemon of munge");
  return fail(
      is(status, MungeStatus::expired) || is(status, MungeStatus::rewound) ? Errc::timeout : Errc::denied,
      "no good credential");
}

}  // namespace weft::server
