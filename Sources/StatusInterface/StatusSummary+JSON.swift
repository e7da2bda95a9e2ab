// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

extension LevelTimes: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        var times = self
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "ok": times.ok = try reader.amount()
            case "warning": times.warning = try reader.amount()
            case "critical": times.critical = try reader.amount()
            case "unknown": times.unknown = try reader.amount()
            case "none": times.none = try reader.amount()
            default: try reader.skip()
            }
        }
        self = times
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("ok", ok)
            writer.member("warning", warning)
            writer.member("critical", critical)
            writer.member("unknown", unknown)
            writer.member("none", none)
        }
    }
}

extension SummaryBucket: JSONReadable, JSONWritable {
    public init(from reader: inout JSONReader) throws(JSONError) {
        var start: Timestamp?
        var worst: Level?
        var times = LevelTimes()
        var changes = 0
        var value: Double?
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "start": start = try Timestamp(from: &reader)
            case "worst": worst = try Level?(from: &reader)
            case "times": times = try LevelTimes(from: &reader)
            case "changes": changes = try reader.amount()
            case "value": value = try Double?(from: &reader)
            default: try reader.skip()
            }
        }
        guard let start else { throw .missingMember("start") }
        self.init(start: start)
        (self.worst, self.times, self.changes, self.value) = (worst, times, changes, value)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("start", start)
            writer.member("worst", worst)
            writer.member("times", times)
            writer.member("changes", changes)
            writer.member("value", value)
        }
    }
}
