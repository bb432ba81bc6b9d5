// A value, or an error that says what happened, where, and what to do next. Every fallible function
// of every library returns one; no exception leaves a library. An expected outcome (a conflict,
// nothing to do) is a value, not an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace torc {

// What a caller can decide by. Keep it short: a kind exists only where some caller acts on it.
enum class ErrorKind : std::uint8_t {
  invalid,      // the caller's or the user's input is wrong: exit code 2
  not_found,    // no such file, store, job
  exists,       // it is there already and must not be overwritten
  permission,   // EACCES, EPERM, wrong owner
  no_space,     // ENOSPC, EDQUOT, EROFS: nothing was changed; may pass
  corrupt,      // bytes that no correct writer wrote
  unsupported,  // another format, another host's store, a filesystem that cannot do it
  unknown,      // the outcome is unknown: it may or may not have happened
  fenced,       // the caller lost its lease; it must stop what it does in its name
  busy,         // somebody held what is needed for too long; may pass
  io            // everything else that the operating system refused
};

[[nodiscard]] std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string what;    // one sentence: the fact and the place, no trailing full stop
  std::string remedy;  // what to do next; may be empty
  int os_errno = 0;    // 0: no system call was involved

  // "what: remedy" for a person, on one or two lines.
  [[nodiscard]] std::string text() const;
};

// Somebody's input is wrong.
[[nodiscard]] Error invalid(std::string what, std::string remedy);
// `what` completed by the text of `os_errno`; the kind follows from the number (ENOENT: not_found,
// ENOSPC, EDQUOT, EROFS: no_space, EACCES, EPERM: permission, else io).
[[nodiscard]] Error os_error(int os_errno, std::string what, std::string remedy = {});

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : value_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error)
      : value_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition of value access: ok(). Precondition of error(): !ok().
  [[nodiscard]] T& operator*() & { return std::get<0>(value_); }
  [[nodiscard]] const T& operator*() const& { return std::get<0>(value_); }
  [[nodiscard]] T&& operator*() && { return std::get<0>(std::move(value_)); }
  [[nodiscard]] T* operator->() { return &std::get<0>(value_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(value_); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(value_); }
  [[nodiscard]] Error error() && { return std::get<1>(std::move(value_)); }

 private:
  std::variant<T, Error> value_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  [[nodiscard]] const Error& error() const& { return error_; }
  [[nodiscard]] Error error() && { return std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};

// Returns early with the error of `expression`. For statements.
#define TORC_TRY(expression)                              \
  do {                                                    \
    if (auto torc_try_ = (expression); !torc_try_.ok()) { \
      return std::move(torc_try_).error();                \
    }                                                     \
  } while (false)

#define TORC_CONCAT_INNER(a, b) a##b
#define TORC_CONCAT(a, b) TORC_CONCAT_INNER(a, b)
// TORC_ASSIGN(auto text, disk.read(path)); declares `text`, or returns early with the error.
#define TORC_ASSIGN(declaration, expression) \
  TORC_ASSIGN_INNER(TORC_CONCAT(torc_result_, __LINE__), declaration, expression)
#define TORC_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).error();      \
  declaration = *std::move(result)

}  // namespace torc
