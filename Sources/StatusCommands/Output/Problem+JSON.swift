// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusModel
public import Varlink

extension Problem: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("severity", severity.rawValue)
            writer.member("file", origin.file)
            writer.member("line", origin.line)
            writer.member("server", server?.rawValue)
            writer.member("reason", reason)
        }
    }
}
