// A look at one state of the store, and a change to it, by the names that they have here. Each
// function that takes a Transaction runs the pure rules inside one that the caller owns, so that
// one commit can carry several of them. They have no clock: time comes as an argument and is only
// recorded. They touch what concerns the jobs named and nothing else: no cost grows with the number
// of jobs in the workflow beyond a logarithm.
#pragma once

#include "lib/store/engine/transaction.h"

namespace torc::claim {

using store::Reader;
using store::Transaction;

}  // namespace torc::claim
