// SPDX-License-Identifier: BSD-3-Clause
// Each message as a struct. encode() cannot fail; decode() answers corrupt for anything but exactly one message.
#pragma once

#include <string.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/data/value.hpp"
#include "core/link/frame.hpp"
#include "core/link/rendezvous.hpp"

namespace weft::link {

struct Hello {
  std::uint16_t wire = wire_version;  ///< stays the first field in every version
  std::uint32_t layout = 0;           ///< layout of the node segment that the client knows; 0: wants none
  std::uint8_t attached = 0;          ///< it maps the segment already: no welcome is needed
  std::string nspace;
  std::uint32_t rank = 0;
  Token token;
};

/// From a process of no job, which the kernel's word about its user lets in.
struct HelloTool {
  std::uint16_t wire = wire_version;  ///< stays the first field in every version
};

struct Welcome {
  std::uint64_t segment_bytes = 0;  ///< 0: no segment, ask for everything
  std::uint64_t job = 0;            ///< offset of the JobHeader
  std::uint32_t local = 0;          ///< the client's place
  std::string server_nspace;
  std::uint32_t server_rank = 0;
};

struct Refused {
  pmix_status_t status = PMIX_ERR_UNREACH;
  std::string reason;
};

struct Get {
  pmix_proc_t proc{};
  std::string key;  ///< empty: everything known about the process
  data::Infos directives;
};

struct GotValue {
  pmix_status_t status = PMIX_ERR_NOT_FOUND;
  data::Value value;
};

struct Store {
  struct Item {
    std::uint8_t scope;
    std::string key;
    std::vector<std::byte> value;
  };
  std::vector<Item> items;
};

struct Fence {
  std::vector<pmix_proc_t> procs;
  data::Infos directives;
};

struct Withdraw {
  std::uint32_t generation = 0;
  std::uint32_t board = 0;  ///< 0: of the client's job; else core/store/board_pool.hpp
};

struct Done {
  pmix_status_t status = PMIX_SUCCESS;
};

struct BoardMoved {
  std::uint32_t generation = 0;
  std::uint32_t board = 0;  ///< as in Withdraw
};

/// A fence ended, and the set has a board: the client enters its next fences of this set there, from the time when it has no
/// fence of the set open by message, until it finds the board closed. To a client with the segment only.
struct BoardOffer {
  pmix_status_t status = PMIX_SUCCESS;  ///< of the fence
  std::uint32_t board = 0;              ///< not 0
  std::uint32_t incarnation = 0;
  std::uint32_t member = 0;  ///< the client's cell
  std::uint32_t next = 0;    ///< generation of the client's next fence
};

struct Abort {
  std::int32_t status = 0;
  std::string message;
  std::vector<pmix_proc_t> procs;
};

struct Subscribe {
  std::vector<pmix_status_t> codes;  ///< empty: all (a default handler)
};

/// notify and event.
struct EventMessage {
  pmix_status_t code = 0;
  pmix_proc_t source{};
  pmix_data_range_t range = 0;
  data::Infos infos;
};

struct Log {
  data::Infos records;
  data::Infos directives;
};

struct Cleanup {
  data::Infos infos;
};

struct Query {
  struct Item {
    std::vector<std::string> keys;
    data::Infos qualifiers;
  };
  std::vector<Item> items;
};

struct QueryAnswer {
  pmix_status_t status = PMIX_ERR_NOT_FOUND;
  data::Infos results;
};

template <class Message>
std::vector<std::byte> encode(const Message& message);
template <class Message>
Result<Message> decode(Bytes payload);

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
