// SPDX-License-Identifier: BSD-3-Clause
// All rooms of a server, and another server that has the key and says what it likes: contacts, requests of
// every type, where its cards lie. Over the transport shm, in one process.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/data/types/fields.hpp"
#include "core/link/messages.hpp"
#include "core/server/cards/card_message.hpp"
#include "core/server/cards/card_regions.hpp"
#include "core/server/cards/far_keys.hpp"
#include "core/server/events/event_wire.hpp"
#include "core/server/rooms.hpp"
#include "tests/fuzz/decoders.hpp"

namespace weft::fuzz {
namespace {

using namespace server;

std::string host_of(NodeNumber node) {
  return "host" + std::to_string(node);
}

std::unique_ptr<Cluster> open_cluster(Loop& loop, NodeNumber self, NodeNumber count) {
  ClusterSpec spec;
  spec.self = self;
  spec.nodes = count;
  spec.key = *mesh::JobKey::from(Encoded(mesh::JobKey::bytes, std::byte{7}));
  spec.transport = "shm";
  auto made = std::make_unique<Cluster>(loop, host_of(self));
  require(made->open(spec).is_open);
  return made;
}

/// Node 0 with all its rooms and two ranks of a job of four; node 1 is only its cluster.
class Servers {
 public:
  static constexpr unsigned uses = 100;  ///< then new ones: what a server keeps for its peers grows

  static Servers& here() {
    static std::unique_ptr<Servers> one;
    static unsigned used = 0;
    if (!one || ++used % uses == 0) one.reset();
    if (!one) one.reset(new Servers);
    return *one;
  }

  /// u8 type of a request, its body.
  bool asked(Bytes bytes) {
    if (bytes.empty()) return false;
    constexpr auto types = static_cast<unsigned>(RequestType::view_result) + 1;
    const auto type = static_cast<RequestType>(std::to_integer<unsigned>(bytes[0]) % types);
    auto is_answered = std::make_shared<std::optional<pmix_status_t>>();
    there_->send(0, type, {bytes.begin() + 1, bytes.end()},
                 [is_answered](pmix_status_t status, Bytes) { *is_answered = status; });
    turns([&] { return is_answered->has_value(); });
    return *is_answered == PMIX_SUCCESS;
  }
  /// Where node 1 says that its cards lie, and what lies there: u16 length of the place, the place, memory.
  bool told_place(Bytes bytes) {
    base::Reader in(bytes);
    const Bytes told = in.raw(std::min<std::size_t>(in.u16(), in.left()));
    Encoded place(told.begin(), told.end());
    // With the right key: else nothing is read.
    if (auto regions = base::decode<CardRegions>(place)) {
      const auto key = offered_->packed_key();
      if (!regions->pages.empty()) regions->pages.assign(key.begin(), key.end());
      if (!regions->rests.empty()) regions->rests.assign(key.begin(), key.end());
      place = base::encode(*regions);
    }
    std::fill(memory_.begin(), memory_.end(), std::byte{});
    const Bytes found = in.rest();
    std::copy_n(found.begin(), std::min(found.size(), memory_.size()), memory_.begin());
    auto& modex = *rooms_->cards.modex();
    modex.withdraw("job");
    const bool is_place = place.empty() || modex.take_place(1, "job", place).has_value();
    bool has_ended = false;
    modex.fetch(1, link::make_proc("job", 2), Until::now, [&has_ended](const Fetched&) { has_ended = true; });
    turns([&] { return has_ended; });
    require(has_ended);  // node 1 does not know the request, and replies
    return is_place;
  }

  ~Servers() {
    rooms_->leave_cluster();
    there_->stop([this] { offered_.reset(); });
    rooms_.reset();
  }

 private:
  Servers() {
    segment_ = std::move(*shm::Segment::create(std::uint64_t{256} << 20));
    require(store::format_segment(*segment_).has_value());
    here_ = open_cluster(loop_, 0, 2);
    there_ = open_cluster(loop_, 1, 2);
    require(here_->contacts().add(there_->contacts().own()).empty() &&
            there_->contacts().add(here_->contacts().own()).empty());
    offered_ = std::move(*there_->fabric().endpoint().expose(memory_));
    Rooms::Settings settings;
    settings.host_name = host_of(0);
    rooms_ = std::make_unique<Rooms>(loop_, link::make_proc("server", 0), nullptr, *segment_, tokens_,
                                     handlers_, *here_, settings);
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{4}));
    infos.add(PMIX_NUM_NODES, data::Value::of(std::uint32_t{2}));
    infos.add(PMIX_NODEID, data::Value::of(std::uint32_t{0}));
    infos.add(PMIX_NODE_MAP, data::Value::of("host0,host1"));
    infos.add(PMIX_PROC_MAP, data::Value::of("0,1;2,3"));
    auto& job = rooms_->jobs.announce("job");
    for (std::uint32_t rank = 0; rank < 2; ++rank) job.clients[rank] = {::getuid(), ::getgid(), nullptr};
    require(rooms_->register_nspace("job", 2, infos) == PMIX_SUCCESS);
  }
  template <class Done>
  void turns(Done&& done) {
    for (int i = 0; i < 200 && !done(); ++i) {
      here_->turn();
      rooms_->cards.progress();
      (void)here_->take_lost();
      there_->turn();
      io_.restart();
      io_.poll();
    }
  }

  asio::io_context io_;
  Loop loop_{io_};
  std::optional<shm::Segment> segment_;
  Tokens tokens_;
  events::Registry handlers_{events::Identity{link::make_proc("server", 0), {}}};
  std::unique_ptr<Cluster> here_, there_;
  Encoded memory_ = Encoded(4 * card_page_bytes);
  std::unique_ptr<MemoryRegion> offered_;
  std::unique_ptr<Rooms> rooms_;
};

Encoded a_place() {
  const CardRegions regions{.first = card_first,
                            .capacity = card_capacity,
                            .page_bytes = card_page_bytes,
                            .rest_bytes = card_page_bytes,
                            .pages = Encoded(8, std::byte{1}),
                            .rests = {},
                            .ranks = {2, 3}};
  const auto place = base::encode(regions);
  base::Writer out;
  out.u16(static_cast<std::uint16_t>(place.size()));
  out.raw(place);
  out.raw(Bytes(a_card_page()).first(200));
  return std::move(out).take();
}

bool asked(Bytes bytes) {
  return Servers::here().asked(bytes);
}
bool told_place(Bytes bytes) {
  return Servers::here().told_place(bytes);
}

/// A contact that the host brings: of another node, of this one, of none.
bool entered(Bytes bytes) {
  asio::io_context io;
  Loop loop(io);
  const auto cluster = open_cluster(loop, 0, 3);
  const bool is_taken = cluster->contacts().add(bytes).empty();
  for (int i = 0; i < 3; ++i) cluster->turn();
  require(cluster->take_lost().size() <= 1 && cluster->servers().others().size() <= 1);
  cluster->stop(nullptr);
  return is_taken;
}
Encoded contact_of(NodeNumber node) {
  asio::io_context io;
  Loop loop(io);
  const auto cluster = open_cluster(loop, node, 3);
  auto out = cluster->contacts().own();
  cluster->stop(nullptr);
  return out;
}

template <class Message>
Encoded request(RequestType type, const Message& body) {
  base::Writer out;
  out.u8(static_cast<std::uint8_t>(type));
  out.raw(base::encode(body));
  return std::move(out).take();
}

}  // namespace

void add_servers(Decoders& to) {
  ::setenv("WEFT_LOG", "off", 1);  // a line for each refusal says nothing here
  const FenceName fence{{{"job", PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}}, 1};
  const FenceName set{{{"job", 1, 2}}, 1};
  const FenceName construct{{{"job", 1, 2}}, 1, {OperationName::Kind::construct, "ours"}, true};
  const Rival rival{{7, 8}, 1, {7, 9}, 2};
  ReportRequest everything, part;
  part.everything = 0;
  part.fences = {set};
  to.push_back({"request",
                {request(RequestType::fence_part, fence), request(RequestType::fence_part, set),
                 request(RequestType::group_part, construct), request(RequestType::rival, rival),
                 request(RequestType::report, everything), request(RequestType::report, part),
                 request(RequestType::card_place, link::make_proc("job", 0)),
                 request(RequestType::view_wanted, Views::Request{}),
                 request(RequestType::view_report, Views::Request{1, {{}, {{{7, 8}, 1}}}}),
                 request(RequestType::view_install, Views::Installation{1, {{{{7, 8}, 1}, 0}}, {}})},
                &asked,
                true});
  const auto proc = link::make_proc("job", 1);
  const link::RankRuns runs{{"job", 1, 2}};
  to.push_back(
      {"group_request",
       {request(RequestType::group_invitation, InvitationMessage{{1, 3}, "g", proc, runs, runs, {}}),
        request(RequestType::group_facts, construct), request(RequestType::group_aborted, construct),
        request(RequestType::group_unknown, construct),
        request(RequestType::group_over, InvitationEnd{{1, 3}, proc, PMIX_ERR_TIMEOUT}),
        request(RequestType::group_changed, ChangedGroup{{"g", {runs, 0, {}, 0, 2}, {}}, runs}),
        request(RequestType::group_notice, link::EventMessage{PMIX_GROUP_LEFT, proc, PMIX_RANGE_CUSTOM, {}})},
       &asked,
       true});
  const Publication by{.nspace = "job", .rank = 3, .origin = 1, .number = 4};
  const Looker looker{link::make_proc("job", 3), 1, 0, 0, PMIX_RANGE_SESSION, {}};
  to.push_back({"name_request",
                {request(RequestType::name_publish, PublishNames{by, {{"key", {}}}}),
                 request(RequestType::name_look_up, LookUpNames{0, looker, {"key"}, false}),
                 request(RequestType::name_forget, ForgetNames{{{"key", 4}}}),
                 request(RequestType::name_wait_over, EndWait{1, "key"}),
                 request(RequestType::name_taken, NameTaken{link::make_proc("job", 1), {"key", 4}}),
                 request(RequestType::name_copies, CopyRequest{1})},
                &asked,
                true});
  // Requests that end with another status, or have no reply.
  const link::EventMessage event{PMIX_ERR_PROC_ABORTED, link::make_proc("job", 3), PMIX_RANGE_NAMESPACE, {}};
  to.push_back({"request_without_success",
                {request(RequestType::event, event),
                 request(RequestType::relay, TreeMessage{1, 1, 1, link::encode(event)}),
                 request(RequestType::process_gone, event),
                 request(RequestType::process_gone, ProcessEnd{1, link::make_proc("job", 3), false, {}}),
                 request(RequestType::card, CardMessage{"job", 0, 0, 0, true}),
                 request(RequestType::card, CardMessage{"job", 0, 0, 0, false}),
                 request(RequestType::far_key, FarKeyMessage{"job", 0, PMIX_LOCALITY_STRING, false}),
                 request(RequestType::view_wanted, Views::Request{0, {{0}}}),
                 request(RequestType::view_result, rival),
                 request(RequestType::far_key, FarKeyMessage{"job", 0, "pmix.none", true}),
                 request(RequestType::group_bootstrap, BootstrapCall{"g", proc, PMIX_SUCCESS, 0, {}}),
                 {}},
                [](Bytes bytes) { return asked(bytes), true; },
                true});
  to.push_back({"place", {a_place(), {}}, &told_place, true});
  to.push_back({"entry", {contact_of(1), contact_of(2)}, &entered, true});
}

}  // namespace weft::fuzz
