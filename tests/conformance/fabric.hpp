// SPDX-License-Identifier: BSD-3-Clause
// What the conformance tests run on: every transport and provider that works on this machine.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "weft/transport.hpp"

namespace weft::conformance {

/// A transport and all that it needs to live.
class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual Transport& transport() = 0;
  virtual std::string options() const { return {}; }
};

struct Choice {
  std::string name;  ///< letters, digits and underscores
  std::function<std::unique_ptr<Fabric>()> make;
  bool crosses_processes = false;   ///< an address means the same in another process of this host
  bool checks_keys = true;          ///< false: its library reads on where a region is gone
  std::size_t bytes_a_peer = 1024;  ///< that may be kept of each that has gone
};

/// A failure names the choice by this text.
void PrintTo(const Choice& choice, std::ostream* to);

/// All that this program was built with, whether it works here or not.
std::vector<Choice> candidates();
/// The transports that open here, tried once; WEFT_TEST_TRANSPORT names the only one to try. A transport that
/// does not open is left out, with a line on stderr that says why.
const std::vector<Choice>& choices();

/// Counts what completed; keeps its completions in place.
struct Operations {
  struct One : Completion {
    Operations* owner = nullptr;
  };
  std::deque<One> all;
  std::size_t ended = 0;
  std::vector<Errc> errors;  ///< of those that failed, in the order of their ends

  Completion& next();
  std::size_t open() const { return all.size() - ended; }
};

struct Received {
  std::uint16_t id;
  std::vector<std::byte> header, payload;
};

/// An endpoint that keeps every message.
struct Station {
  explicit Station(std::unique_ptr<Endpoint> opened);
  std::unique_ptr<Endpoint> endpoint;
  std::vector<Received> received;
  std::size_t received_count = 0;
  bool keeps = true;  ///< else it only counts

  const Capabilities& can() const { return endpoint->capabilities(); }
};

/// With the key that all endpoints of the suite have.
Result<std::unique_ptr<Endpoint>> open_endpoint(Fabric& fabric);

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed);

class Conformance : public ::testing::TestWithParam<Choice> {
 protected:
  void SetUp() override;
  /// Fails the test where it cannot be opened.
  std::unique_ptr<Station> open();
  std::unique_ptr<Peer> reach(Station& from, const Station& to);
  /// Outlive all that the test makes, also when an ASSERT ends it: what is open then ends in destructors.
  Operations& new_operations() { return operations_.emplace_back(); }

  /// Lets all stations progress until `done`; false after the watchdog's time.
  bool until(std::initializer_list<Station*> stations, const std::function<bool()>& done);
  /// send() with the retries that `again` asks for.
  Result<void> send(Station& from, Peer& to, std::uint16_t id, const Message& message, Completion& completion,
                    std::initializer_list<Station*> stations);
  Result<void> get(Station& reader, const RemoteSlice& from, const LocalSlice& into, Completion& completion,
                   std::initializer_list<Station*> stations);

  std::unique_ptr<Fabric> fabric_;

 private:
  std::deque<Operations> operations_;
};

#define WEFT_NEEDS(capability, station) \
  if (!(station).can().capability) GTEST_SKIP() << GetParam().name << " lacks the capability " #capability

}  // namespace weft::conformance
