#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016  # the ranks' shells expand the variables
# Each virtual node has a folder of its own for Open MPI's shared memory, and it is gone after the run however
#   that ends: shared_files.sh WEFTRUN
set -eu
weftrun=$1
unset OMPI_MCA_btl_vader_backing_directory OMPI_MCA_osc_sm_backing_directory OMPI_MCA_osc_rdma_backing_directory
failed() { echo "shared_files.sh: $1"; exit 1; }
# A file that no process removes: as a killed rank leaves it.
program='for folder in "$OMPI_MCA_btl_vader_backing_directory" "$OMPI_MCA_osc_sm_backing_directory" \
           "$OMPI_MCA_osc_rdma_backing_directory"; do
  [ "$(stat -c %a "$folder")" = 700 ] && : >"$folder/left.$PMIX_RANK" && echo "$folder"
done'

# Waits until none of the folders is there: the guard of a killed daemon may end after weftrun.
must_vanish() {
  i=0
  for folder in $1; do
    while [ -e "$folder" ]; do
      i=$((i + 1))
      [ "$i" -lt 600 ] || failed "$folder is left"
      sleep 0.1
    done
  done
}

folders=$("$weftrun" --virtual-nodes 2 -n 4 sh -c "$program")
[ "$(echo "$folders" | wc -l)" -eq 12 ] || failed "each of 4 ranks must be told of 3 folders that exist: $folders"
folders=$(echo "$folders" | sort -u)
[ "$(echo "$folders" | wc -l)" -eq 2 ] || failed "2 nodes must have 2 folders: $folders"
for folder in $folders; do
  [ ! -e "$folder" ] || failed "$folder is left"
done

# What the ranks have written to weftrun may be lost with the daemon: they tell a file of the folders.
told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT
export told
status=0
"$weftrun" --virtual-nodes 2 -n 2 sh -c "($program"') >"$told/part.$PMIX_RANK"
  mv "$told/part.$PMIX_RANK" "$told/$PMIX_RANK"
  until [ -e "$told/0" ] && [ -e "$told/1" ]; do sleep 0.1; done
  [ "$PMIX_RANK" = 1 ] && kill -9 $PPID; exec sleep 60' 2>"$told/errors" || status=$?
[ "$status" -eq 125 ] || failed "the status must be 125 when a daemon is killed, not $status: $(cat "$told/errors")"
folders=$(sort -u "$told/0" "$told/1")
[ "$(echo "$folders" | wc -l)" -eq 2 ] || failed "the ranks must have told of their folders: $folders"
must_vanish "$folders"

show='echo "${OMPI_MCA_osc_sm_backing_directory-none}"'
[ "$(OMPI_MCA_osc_sm_backing_directory=/own "$weftrun" --virtual-nodes 1 -n 1 sh -c "$show")" = /own ] ||
  failed "the user's own choice must stay"
[ "$("$weftrun" -n 1 sh -c "$show")" = none ] || failed "this machine itself is no virtual node"
