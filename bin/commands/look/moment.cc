#include "bin/commands/look/moment.h"

#include <fmt/format.h>

#include <ctime>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"

namespace torc::cli {

Result<WallTime> parse_moment(std::string_view flag, const std::string& text, WallTime now) {
  if (const auto duration = parse_duration(text); duration && text.find('-') == std::string::npos)
    return now - *duration;
  for (const char* format :
       {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    parts.tm_isdst = -1;
    const char* end = strptime(text.c_str(), format, &parts);
    if (end == nullptr || *end != '\0') continue;
    return WallTime(std::chrono::seconds(std::mktime(&parts)));
  }
  return Error{ErrorKind::invalid,
               fmt::format("{} '{}' is neither a duration nor a time", flag, printable(text)),
               "write it like 2h, 30m, '2026-05-01 12:00' or 2026-05-01"};
}

}  // namespace torc::cli
