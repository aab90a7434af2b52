// SPDX-License-Identifier: BSD-3-Clause
// The rooms of a server that is alone, without a process: the test turns the loop and is the other end of
// each connection.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/events/registry.hpp"
#include "core/server/rooms.hpp"
#include "tests/unit/core/server/connections/lines.hpp"

namespace weft::server {

class OneNode : public ::testing::Test {
 protected:
  /// Stands in for the server's dispatch, for what a client sends on its way in and out.
  struct Dispatch final : ClientConnection::Owner {
    explicit Dispatch(OneNode& of) : node(of) {}
    void on_frame(const std::shared_ptr<ClientConnection>& from, link::Frame frame) override {
      if (!from->is_known) return node.rooms->clients.handshake(from, frame);
      node.frames.push_back(std::move(frame));
    }
    void on_closed(const std::shared_ptr<ClientConnection>& connection) override {
      node.rooms->connection_closed(connection, node.ends_are_expected);
    }
    OneNode& node;
  };

  void SetUp() override {
    auto made = shm::Segment::create(std::uint64_t{1} << 30);
    ASSERT_TRUE(made);
    segment = std::move(*made);
    ASSERT_TRUE(store::format_segment(*segment));
    Rooms::Settings settings;
    settings.host_name = "node";
    rooms = std::make_unique<Rooms>(loop, self, module(), *segment, tokens, handlers, cluster, settings);
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{3}));
    auto& job = rooms->jobs.announce("job");
    for (std::uint32_t rank = 0; rank < 3; ++rank) job.clients[rank] = {::getuid(), ::getgid(), nullptr};
    ASSERT_EQ(rooms->register_nspace("job", 3, infos), PMIX_SUCCESS);
  }
  void TearDown() override {
    ends_are_expected = true;
    lines.clear();
    io.restart();
    io.poll();
  }

  /// The module of the host.
  virtual const pmix_server_module_t* module() { return nullptr; }
  static pmix_proc_t proc(std::uint32_t rank) { return link::make_proc("job", rank); }
  Job& job() { return *rooms->jobs.find("job"); }
  store::Local::State state(std::uint32_t rank) {
    return static_cast<store::Local::State>(job().view().local(job().view().local_index(rank)).state.load());
  }
  link::Hello hello_of(std::uint32_t rank) {
    link::Hello hello;
    hello.nspace = "job";
    hello.rank = rank;
    hello.token = tokens.token_of(proc(rank));
    return hello;
  }
  /// A client sends a request.
  template <class Message>
  void request(const Requester& from, const Message& message) {
    rooms->requests.dispatch(from.connection, {Message::type, from.tag, link::encode(message)});
  }
  /// A process says hello.
  Line& arrive(const link::Hello& hello) {
    auto& line = *lines.emplace_back(std::make_unique<Line>(io, dispatch));
    line.connection->start();
    line.write(link::MessageType::hello, 0, link::encode(hello));
    return line;
  }
  /// The same of a rank that is welcome.
  Line& enter(std::uint32_t rank) {
    auto& line = arrive(hello_of(rank));
    const auto reply = line.read();
    EXPECT_TRUE(reply && reply->type == link::MessageType::welcome);
    return line;
  }
  static link::Refused refusal_on(const Line& line) {
    const auto reply = line.read();
    if (!reply || reply->type != link::MessageType::refused) return {PMIX_SUCCESS, "not refused"};
    auto refused = link::decode<link::Refused>(reply->payload);
    return refused ? std::move(*refused) : link::Refused{PMIX_SUCCESS, "malformed"};
  }

  asio::io_context io;
  Loop loop{io};
  const pmix_proc_t self = link::make_proc("server", 0);
  Tokens tokens;
  events::Registry handlers{events::Identity{self, {}}};
  std::optional<shm::Segment> segment;
  Cluster cluster{loop, "node"};
  std::unique_ptr<Rooms> rooms;
  Dispatch dispatch{*this};
  std::vector<std::unique_ptr<Line>> lines;
  std::vector<link::Frame> frames;  ///< of clients that were admitted
  bool ends_are_expected = false;
};

}  // namespace weft::server
