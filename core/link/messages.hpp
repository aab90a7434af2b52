// SPDX-License-Identifier: BSD-3-Clause
// Each message as a struct with its fields() beside it (base/wire.hpp). encode() cannot fail; decode()
// answers corrupt for anything but exactly one message. A new message is a struct, its fields(), and its type
// in frame.hpp.
#pragma once

#include <string.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/data/types/fields.hpp"
#include "core/data/types/value.hpp"
#include "core/link/frame.hpp"
#include "core/link/rendezvous.hpp"

namespace weft::link {

using base::decode;
using base::encode;

struct Hello {
  std::uint16_t wire = wire_version;  ///< stays the first field in every version
  std::uint32_t layout = 0;           ///< layout of the node segment that the client knows; 0: wants none
  std::uint8_t attached = 0;          ///< it maps the segment already: the welcome brings no descriptors
  std::string nspace;
  std::uint32_t rank = 0;
  Token token;
};
template <class Archive>
void fields(Archive& archive, Hello& m) {
  archive(m.wire, m.layout, m.attached, m.nspace, m.rank, m.token);
}

/// From a tool. The server admits it by the user that the kernel reports for the socket, and by what its host
/// says.
struct HelloTool {
  std::uint16_t wire = wire_version;  ///< stays the first field in every version
  std::uint8_t only_looks =
      0;               ///< it asks for this server's name: the host hears nothing, and the server hangs up
  std::string nspace;  ///< the name that the tool has; empty: it wants one
  std::uint32_t rank = 0;
  std::string version;  ///< of its library
};
template <class Archive>
void fields(Archive& archive, HelloTool& m) {
  archive(m.wire, m.only_looks, m.nspace, m.rank, m.version);
}

struct Welcome {
  std::uint64_t segment_bytes = 0;  ///< 0: no segment, ask for everything
  std::uint64_t job = 0;            ///< offset of the JobHeader
  std::uint32_t local = 0;          ///< the client's place
  std::string server_nspace;
  std::uint32_t server_rank = 0;
  std::uint8_t is_system = 0;  ///< the server is its node's system server
  pmix_proc_t tool{};          ///< a tool's name from here on
};
template <class Archive>
void fields(Archive& archive, Welcome& m) {
  archive(m.segment_bytes, m.job, m.local, m.server_nspace, m.server_rank, m.is_system, m.tool);
}

struct Refused {
  pmix_status_t status = PMIX_ERR_UNREACH;
  std::string reason;
};
template <class Archive>
void fields(Archive& archive, Refused& m) {
  archive(m.status, m.reason);
}

struct Get {
  pmix_proc_t proc{};
  std::string key;  ///< empty: everything known about the process
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Get& m) {
  archive(m.proc, m.key, m.directives);
}

struct GotValue {
  pmix_status_t status = PMIX_ERR_NOT_FOUND;
  data::Value value;
};
template <class Archive>
void fields(Archive& archive, GotValue& m) {
  archive(m.status, m.value);
}

/// GotValue with a value that is encoded already; none: that of a failed Get.
inline std::vector<std::byte> encode_got(pmix_status_t status, Bytes value) {
  if (value.empty()) return encode(GotValue{status, {}});
  base::Writer out;
  out(status);
  out.raw(value);
  return std::move(out).take();
}

struct Store {
  struct Item {
    std::uint8_t scope;
    std::string key;
    std::vector<std::byte> value;
  };
  std::vector<Item> items;
};
template <class Archive>
void fields(Archive& archive, Store::Item& m) {
  archive(m.scope, m.key, m.value);
}
template <class Archive>
void fields(Archive& archive, Store& m) {
  archive(m.items);
}

struct Fence {
  std::vector<pmix_proc_t> procs;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Fence& m) {
  archive(m.procs, m.directives);
}

struct Withdraw {
  std::uint32_t generation = 0;
  std::uint32_t board = 0;  ///< 0: of the client's job; else core/store/segment/board_pool.hpp
};
template <class Archive>
void fields(Archive& archive, Withdraw& m) {
  archive(m.generation, m.board);
}

/// Directives of a fence that the client enters at a board, where the server's host carries it.
struct FenceDirectives {
  std::uint32_t generation = 0;
  std::uint32_t board = 0;  ///< as in Withdraw
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, FenceDirectives& m) {
  archive(m.generation, m.board, m.directives);
}

struct TurnedAway {
  std::uint32_t generation = 0;
  std::uint32_t board = 0;  ///< as in Withdraw
};
template <class Archive>
void fields(Archive& archive, TurnedAway& m) {
  archive(m.generation, m.board);
}

struct Done {
  pmix_status_t status = PMIX_SUCCESS;
};
template <class Archive>
void fields(Archive& archive, Done& m) {
  archive(m.status);
}

struct BoardMoved {
  std::uint32_t generation = 0;
  std::uint32_t board = 0;  ///< as in Withdraw
};

/// A fence ended, and the set has a board: the client enters its next fences of this set there, from the time
/// when it has no fence of the set open by message, until it finds the board closed. To a client with the
/// segment only.
struct BoardOffer {
  pmix_status_t status = PMIX_SUCCESS;  ///< of the fence
  std::uint32_t board = 0;              ///< not 0
  std::uint32_t incarnation = 0;
  std::uint32_t member = 0;  ///< the client's cell
  std::uint32_t next = 0;    ///< generation of the client's next fence
};
template <class Archive>
void fields(Archive& archive, BoardOffer& m) {
  archive(m.status, m.board, m.incarnation, m.member, m.next);
}
template <class Archive>
void fields(Archive& archive, BoardMoved& m) {
  archive(m.generation, m.board);
}

struct Abort {
  std::int32_t status = 0;
  std::string message;
  std::vector<pmix_proc_t> procs;
};
template <class Archive>
void fields(Archive& archive, Abort& m) {
  archive(m.status, m.message, m.procs);
}

struct Subscribe {
  std::vector<pmix_status_t> codes;  ///< empty: all (a default handler)
};
template <class Archive>
void fields(Archive& archive, Subscribe& m) {
  archive(m.codes);
}

struct Unsubscribe {
  std::vector<pmix_status_t> codes;  ///< empty: its last default handler has gone
};
template <class Archive>
void fields(Archive& archive, Unsubscribe& m) {
  archive(m.codes);
}

/// notify and event.
struct EventMessage {
  pmix_status_t code = 0;
  pmix_proc_t source{};
  pmix_data_range_t range = 0;
  data::Infos infos;
};
template <class Archive>
void fields(Archive& archive, EventMessage& m) {
  archive(m.code, m.source, m.range, m.infos);
}

struct Log {
  data::Infos records;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Log& m) {
  archive(m.records, m.directives);
}

struct Query {
  struct Item {
    std::vector<std::string> keys;
    data::Infos qualifiers;
  };
  std::vector<Item> items;
};
template <class Archive>
void fields(Archive& archive, Query::Item& m) {
  archive(m.keys, m.qualifiers);
}
template <class Archive>
void fields(Archive& archive, Query& m) {
  archive(m.items);
}

struct QueryAnswer {
  pmix_status_t status = PMIX_ERR_NOT_FOUND;
  data::Infos results;
};
template <class Archive>
void fields(Archive& archive, QueryAnswer& m) {
  archive(m.status, m.results);
}

/// A pmix_proc_t of this name; a name that is too long is cut, which no comparison will match.
pmix_proc_t make_proc(std::string_view nspace, std::uint32_t rank) noexcept;
/// Cheaper than comparing with nspace_of(): every Get asks it.
inline bool is_of(const pmix_proc_t& proc, std::string_view nspace) noexcept {
  return nspace.size() <= PMIX_MAX_NSLEN && std::memcmp(proc.nspace, nspace.data(), nspace.size()) == 0 &&
         proc.nspace[nspace.size()] == '\0';
}
inline std::string_view nspace_of(const pmix_proc_t& proc) noexcept {
  return {proc.nspace, ::strnlen(proc.nspace, PMIX_MAX_NSLEN)};
}

}  // namespace weft::link
