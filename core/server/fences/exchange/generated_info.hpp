// SPDX-License-Identifier: BSD-3-Clause
// What only the server of a node knows of a job, as PMIX_COLLECT_GENERATED_JOB_INFO brings it to the other
// nodes: the keys that the host registered there for the ranks of that node and for the node itself, and
// those of the whole job, of an application or of a session that it added after the registration. The loop's
// thread only.
//
//   body of the blob = records
//   record           = text nspace (empty: as the record before), u8 realm, u32 index, text key, bytes value
//
// All of it travels each time, not what is new: a fence that ended well elsewhere may have failed here, and a
// gap would not show.
#pragma once

#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class GeneratedInfo {
 public:
  explicit GeneratedInfo(Jobs& jobs) : jobs_(jobs) {}

  /// The keys of the namespaces of these processes, as a blob. Never empty: that there is a blob says that
  /// this node wants the keys of the others.
  Blob collect(const Procs& procs) const;
  /// Adds the keys of other nodes to the segment, where every reader of this node finds them. Keys that
  /// the host registered here about this node and its ranks, and about the whole job, are not changed. Trusts
  /// no byte.
  /// PMIX_ERR_UNPACK_FAILURE, _OUT_OF_RESOURCE.
  pmix_status_t take(Bytes blobs);

  struct Record {
    std::string_view nspace;
    store::KeyOwner owner;
    std::string_view key;
    Bytes value;  ///< encoded
  };
  /// Calls see() with each record of all blobs of this kind. Errors: corrupt; see() may have been called for
  /// those before.
  static Result<void> read(Bytes blobs, const std::function<void(const Record&)>& see);

 private:
  pmix_status_t take(const Record& record);

  Jobs& jobs_;
};

}  // namespace weft::server
