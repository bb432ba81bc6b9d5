// Only for its precompiled headers.
#include "tests/integration/itest_headers.h"
