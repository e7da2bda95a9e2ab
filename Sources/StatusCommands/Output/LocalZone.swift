// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusModel

extension CivilZone {
    /// The time zone of this process (tzset(3)).
    static let local = CivilZone(time: localTime, seconds: localSeconds)
}

private func localTime(_ seconds: Int64) -> CivilTime {
    var (time, fields) = (time_t(seconds), tm())
    localtime_r(&time, &fields)
    return CivilTime(fields)
}

/// The first instant with this local time; if clocks skip it, the local time is moved forward by the skipped time.
private func localSeconds(_ time: CivilTime) -> Int64? {
    // Without a given tm_isdst, mktime(3) chooses one of two possible instants by its earlier calls.
    let moments = [1, 0].compactMap { seconds(time, isDaylightSaving: $0) }
    return moments.filter { localTime($0) == time }.min() ?? moments.last
}

private func seconds(_ time: CivilTime, isDaylightSaving: Int32) -> Int64? {
    var fields = tm()
    fields.tm_year = Int32(time.year - 1900)
    fields.tm_mon = Int32(time.month - 1)
    fields.tm_mday = Int32(time.day)
    fields.tm_hour = Int32(time.hour)
    fields.tm_min = Int32(time.minute)
    fields.tm_sec = Int32(time.second)
    fields.tm_isdst = isDaylightSaving
    let seconds = mktime(&fields)
    return seconds == -1 ? nil : Int64(seconds)
}

extension CivilTime {
    fileprivate init(_ fields: tm) {
        self.init(
            year: Int64(fields.tm_year) + 1900, month: Int64(fields.tm_mon) + 1, day: Int64(fields.tm_mday),
            hour: Int64(fields.tm_hour), minute: Int64(fields.tm_min), second: Int64(fields.tm_sec))
    }
}
