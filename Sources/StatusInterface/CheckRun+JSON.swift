// SPDX-License-Identifier: Apache-2.0

public import StatusModel
public import Varlink

extension CheckRun: JSONWritable {
    /// Reads a run of a peer, whose texts are made visible again.
    static func read(from reader: inout JSONReader) throws(JSONError) -> CheckRun {
        var command: [String]?
        var (startedAt, next) = (Timestamp?.none, Timestamp?.none)
        var (exitStatus, signal) = (Int?.none, Int?.none)
        var (output, errors, unit) = (String?.none, String?.none, String?.none)
        var milliseconds: Int?
        try reader.object { member, reader throws(JSONError) in
            switch member {
            case "command": command = try [String]?(from: &reader)?.map { VisibleText.escape($0) }
            case "startedAt": startedAt = try Timestamp?(from: &reader)
            case "milliseconds": milliseconds = try Int?(from: &reader)
            case "next": next = try Timestamp?(from: &reader)
            case "exitStatus": exitStatus = try Int?(from: &reader)
            case "signal": signal = try Int?(from: &reader)
            case "output": output = try String?(from: &reader)
            case "errors": errors = try String?(from: &reader)
            case "unit": unit = try String?(from: &reader).map { VisibleText.escape($0) }
            default: try reader.skip()
            }
        }
        let plugin = output.map {
            PluginOutput(output: $0, errors: errors ?? "", exitStatus: exitStatus, signal: signal)
        }
        return CheckRun(
            command: command, startedAt: startedAt, milliseconds: milliseconds, next: next, output: plugin,
            unit: unit)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("command", command)
            writer.member("startedAt", startedAt)
            writer.member("milliseconds", milliseconds)
            writer.member("next", next)
            writer.member("exitStatus", output?.exitStatus)
            writer.member("signal", output?.signal)
            writer.member("output", output?.output)
            writer.member("errors", output?.errors)
            writer.member("unit", unit)
        }
    }
}
