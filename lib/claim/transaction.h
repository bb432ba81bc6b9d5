// A look at one state of the store, and a change to it, by the names that they have here. A
// transaction is its caller's: one commit can carry several of the changes that this library makes.
#pragma once

#include "lib/store/transaction.h"

namespace torc::claim {

using store::Reader;
using store::Transaction;

}  // namespace torc::claim
