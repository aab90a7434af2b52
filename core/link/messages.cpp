// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/messages.hpp"

#include <cstring>

namespace weft::link {
namespace {

using data::Reader;
using data::Writer;

// Every message lists its fields once, for both directions: `walk` is called with a writer or with a reader.
// A length that a reader meets is checked by the Reader; a count is bounded by what is left of the message.

struct Out {
  Writer w;
  void field(std::uint8_t v) { w.u8(v); }
  void field(std::uint16_t v) { w.u16(v); }
  void field(std::uint32_t v) { w.u32(v); }
  void field(std::uint64_t v) { w.u64(v); }
  void field(std::int32_t v) { w.i32(v); }
  void field(const std::string& v) { w.text(v); }
  void field(const std::vector<std::byte>& v) { w.bytes(v); }
  void field(const Token& v) { w.raw({reinterpret_cast<const std::byte*>(v.bytes.data()), v.bytes.size()}); }
  void field(const pmix_proc_t& v) {
    w.text(nspace_of(v));
    w.u32(v.rank);
  }
  void field(const data::Infos& v) { (void)data::encode_infos(w, v.data(), v.size()); }
  void field(const data::Value& v) { (void)data::encode_value(w, v.get()); }
  void field(const Store::Item& v) {
    field(v.scope);
    field(v.key);
    field(v.value);
  }
  void field(const Query::Item& v) {
    field(v.keys);
    field(v.qualifiers);
  }
  template <class T>
  void field(const std::vector<T>& list) {
    w.u32(static_cast<std::uint32_t>(list.size()));
    for (const auto& item : list) field(item);
  }
};

struct In {
  Reader r;
  void field(std::uint8_t& v) { v = r.u8(); }
  void field(std::uint16_t& v) { v = r.u16(); }
  void field(std::uint32_t& v) { v = r.u32(); }
  void field(std::uint64_t& v) { v = r.u64(); }
  void field(std::int32_t& v) { v = r.i32(); }
  void field(std::string& v) { v = r.text(); }
  void field(std::vector<std::byte>& v) {
    const auto bytes = r.bytes();
    v.assign(bytes.begin(), bytes.end());
  }
  void field(Token& v) {
    const auto raw = r.raw(v.bytes.size());
    if (raw.size() == v.bytes.size()) std::memcpy(v.bytes.data(), raw.data(), raw.size());
  }
  void field(pmix_proc_t& v) {
    const auto nspace = r.text();
    v = make_proc(nspace, r.u32());
  }
  void field(data::Infos& v) {
    auto infos = data::Infos::decode(r);
    if (infos)
      v = std::move(*infos);
    else
      r.spoil();
  }
  void field(data::Value& v) {
    auto value = data::Value::decode(r);
    if (value)
      v = std::move(*value);
    else
      r.spoil();
  }
  void field(Store::Item& v) {
    field(v.scope);
    field(v.key);
    field(v.value);
  }
  void field(Query::Item& v) {
    field(v.keys);
    field(v.qualifiers);
  }
  template <class T>
  void field(std::vector<T>& list) {
    const auto count = r.u32();
    if (count > r.left()) return r.spoil();
    for (std::uint32_t i = 0; i < count && r.ok(); ++i) field(list.emplace_back());
  }
};

template <class Visitor, class M>
void walk(Visitor& v, M& m) {
  using T = std::remove_const_t<M>;
  if constexpr (std::is_same_v<T, Hello>) {
    v.field(m.wire), v.field(m.layout), v.field(m.attached), v.field(m.nspace), v.field(m.rank),
        v.field(m.token);
  } else if constexpr (std::is_same_v<T, HelloTool>) {
    v.field(m.wire);
  } else if constexpr (std::is_same_v<T, Welcome>) {
    v.field(m.segment_bytes), v.field(m.job), v.field(m.local), v.field(m.server_nspace),
        v.field(m.server_rank);
  } else if constexpr (std::is_same_v<T, Refused>) {
    v.field(m.status), v.field(m.reason);
  } else if constexpr (std::is_same_v<T, Get>) {
    v.field(m.proc), v.field(m.key), v.field(m.directives);
  } else if constexpr (std::is_same_v<T, GotValue>) {
    v.field(m.status), v.field(m.value);
  } else if constexpr (std::is_same_v<T, Store>) {
    v.field(m.items);
  } else if constexpr (std::is_same_v<T, Fence>) {
    v.field(m.procs), v.field(m.directives);
  } else if constexpr (std::is_same_v<T, Withdraw> || std::is_same_v<T, BoardMoved>) {
    v.field(m.generation), v.field(m.board);
  } else if constexpr (std::is_same_v<T, BoardOffer>) {
    v.field(m.status), v.field(m.board), v.field(m.incarnation), v.field(m.member), v.field(m.next);
  } else if constexpr (std::is_same_v<T, Done>) {
    v.field(m.status);
  } else if constexpr (std::is_same_v<T, Abort>) {
    v.field(m.status), v.field(m.message), v.field(m.procs);
  } else if constexpr (std::is_same_v<T, Subscribe>) {
    v.field(m.codes);
  } else if constexpr (std::is_same_v<T, EventMessage>) {
    v.field(m.code), v.field(m.source), v.field(m.range), v.field(m.infos);
  } else if constexpr (std::is_same_v<T, Log>) {
    v.field(m.records), v.field(m.directives);
  } else if constexpr (std::is_same_v<T, Query>) {
    v.field(m.items);
  } else if constexpr (std::is_same_v<T, QueryAnswer>) {
    v.field(m.status), v.field(m.results);
  } else {
    static_assert(std::is_same_v<T, Cleanup>);
    v.field(m.infos);
  }
}

}  // namespace

template <class Message>
std::vector<std::byte> encode(const Message& message) {
  Out out;
  walk(out, message);
  return std::move(out.w).take();
}

template <class Message>
Result<Message> decode(Bytes payload) {
  In in{Reader(payload)};
  Message message;
  walk(in, message);
  if (!in.r.done()) return fail(Errc::corrupt, "malformed message");
  return message;
}

template std::vector<std::byte> encode(const Hello&);
template std::vector<std::byte> encode(const Welcome&);
template std::vector<std::byte> encode(const Refused&);
template std::vector<std::byte> encode(const Get&);
template std::vector<std::byte> encode(const GotValue&);
template std::vector<std::byte> encode(const Store&);
template std::vector<std::byte> encode(const Fence&);
template std::vector<std::byte> encode(const Withdraw&);
template std::vector<std::byte> encode(const Done&);
template std::vector<std::byte> encode(const BoardMoved&);
template std::vector<std::byte> encode(const BoardOffer&);
template std::vector<std::byte> encode(const Abort&);
template std::vector<std::byte> encode(const Subscribe&);
template std::vector<std::byte> encode(const EventMessage&);
template std::vector<std::byte> encode(const Log&);
template std::vector<std::byte> encode(const Cleanup&);
template std::vector<std::byte> encode(const HelloTool&);
template std::vector<std::byte> encode(const Query&);
template std::vector<std::byte> encode(const QueryAnswer&);
template Result<Hello> decode(Bytes);
template Result<Welcome> decode(Bytes);
template Result<Refused> decode(Bytes);
template Result<Get> decode(Bytes);
template Result<GotValue> decode(Bytes);
template Result<Store> decode(Bytes);
template Result<Fence> decode(Bytes);
template Result<Withdraw> decode(Bytes);
template Result<Done> decode(Bytes);
template Result<BoardMoved> decode(Bytes);
template Result<BoardOffer> decode(Bytes);
template Result<Abort> decode(Bytes);
template Result<Subscribe> decode(Bytes);
template Result<EventMessage> decode(Bytes);
template Result<Log> decode(Bytes);
template Result<Cleanup> decode(Bytes);
template Result<HelloTool> decode(Bytes);
template Result<Query> decode(Bytes);
template Result<QueryAnswer> decode(Bytes);

pmix_proc_t make_proc(std::string_view nspace, std::uint32_t rank) noexcept {
  pmix_proc_t proc{};
  nspace.copy(proc.nspace, PMIX_MAX_NSLEN);  // the rest is zero already
  proc.rank = rank;
  return proc;
}

}  // namespace weft::link
