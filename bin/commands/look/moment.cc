#include "bin/commands/look/moment.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"

namespace torc::cli {

Result<WallTime> parse_moment(std::string_view flag, const std::string& text, WallTime now) {
  // "17:30" is a time of day and no duration: the last time that it was so late.
  for (const char* format : {"%H:%M:%S", "%H:%M"}) {
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    std::tm parts{};
    localtime_r(&seconds, &parts);
    const char* end = strptime(text.c_str(), format, &parts);
    if (end == nullptr || *end != '\0') continue;
    if (std::string_view(format) == "%H:%M") parts.tm_sec = 0;
    parts.tm_isdst = -1;
    WallTime at = std::chrono::seconds(std::mktime(&parts));
    if (at > now) {
      --parts.tm_mday;
      parts.tm_isdst = -1;
      at = std::chrono::seconds(std::mktime(&parts));
    }
    return at;
  }
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
               "write it like 2h, 30m, 17:30, '2026-05-01 12:00' or 2026-05-01"};
}

}  // namespace torc::cli
