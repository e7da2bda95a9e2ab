// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusAlerts
import StatusInterface
import StatusModel
import Varlink

/// What a receiver's program gets: JSON on standard input, and the first entry in its environment.
struct AlertMessage {
    struct Entry {
        let alert: Alert
        let description: String?
        let text: String
    }

    let receiver: String
    let entries: [Entry]
    /// Whether it is only sent by `statusctl alerts --test`.
    var isTest = false

    var json: String {
        var writer = JSONWriter()
        writer.value(self)
        return String(decoding: writer.bytes, as: UTF8.self) + "\n"
    }

    var environment: [String: String] {
        guard let entry = entries.first else { return [:] }
        return [
            "STATUSD_SERVER": entry.alert.server.rawValue, "STATUSD_LEVEL": entry.alert.level.rawValue,
            "STATUSD_OLD_LEVEL": entry.alert.oldLevel.rawValue, "STATUSD_TEXT": entry.text,
            "STATUSD_SINCE": entry.alert.since.description, "STATUSD_ID": entry.alert.id, "STATUSD_HOST": Self.host,
        ]
    }

    static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        return gethostname(&name, name.count - 1) == 0
            ? String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : "localhost"
    }
}

extension AlertMessage: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("host", Self.host)
            writer.member("receiver", receiver)
            writer.member("test", isTest)
            writer.member("alerts", entries)
        }
    }
}

extension AlertMessage.Entry: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("kind", alert.kind.rawValue)
            writer.member("server", alert.server.rawValue)
            writer.member("description", description)
            writer.member("level", alert.level.rawValue)
            writer.member("oldLevel", alert.oldLevel.rawValue)
            writer.member("text", text)
            writer.member("since", alert.since.description)
            writer.member("id", alert.id)
        }
    }
}
