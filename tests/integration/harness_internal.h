// Shared by the parts of the harness alone.
#pragma once

#include <sys/types.h>

#include <string>

namespace torc::itest {

// A test that cannot be set up ends there; GoogleTest reports what was thrown, with the text of
// errno.
[[noreturn]] void give_up(const std::string& what);

// Appends what can be read now; false at the end of the stream.
bool read_available(int fd, std::string& text);

// From now on this process may execute `program`, by this very pointer, and then make, change,
// remove and execute nothing more. false: see errno.
bool let_only_look(const char* program);

}  // namespace torc::itest
