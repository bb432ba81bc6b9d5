#include <fmt/format.h>

#include "bin/app.h"

namespace torc::cli {

Exit report(const App& app, const Error& error) {
  std::fflush(app.out);
  fmt::print(app.err, "torc: error: {}\n", error.text());
  switch (error.kind) {
    case ErrorKind::invalid:
      return Exit::usage;
    default:
      return Exit::store;
  }
}

}  // namespace torc::cli
