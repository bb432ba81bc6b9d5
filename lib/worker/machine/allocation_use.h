// Whether the allocation that a worker is in is used, as the store says it. Values.
#pragma once

namespace torc::worker {

// What one look at the leases of its live workers showed.
struct AllocationUse {
  bool is_busy = false;     // one of them holds a job, ends one, runs an action, is part of a gang
  bool is_kept = false;     // the node of one is kept for a job of several nodes that waits
  bool was_active = false;  // since the look before, one has come, or has said something
  // Workers of other allocations hold something. Should all of these be dead, somebody has to be
  // there to see their leases run out.
  bool others_hold = false;
  bool others_live = false;  // one of these has shown so since the look before
};

}  // namespace torc::worker
