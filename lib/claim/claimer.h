// All that a program needs to make a workflow and to take part in one.
#pragma once

#include "lib/claim/exchange.h"
#include "lib/claim/job_scan.h"
#include "lib/claim/membership.h"
#include "lib/claim/offer.h"
#include "lib/claim/plan_writing.h"
#include "lib/claim/queries.h"
#include "lib/claim/verify.h"
#include "lib/claim/workers.h"
