// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads what programs and the kernel say of this host.
enum ProgramOutput {
    /// What a command of the shell writes; nothing if it cannot be run.
    static func text(of command: String) -> String {
        guard let pipe = popen(command, "re") else { return "" }
        defer { pclose(pipe) }
        return contents(of: pipe)
    }

    /// What a file contains; nothing if it cannot be read.
    static func contents(of path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        return contents(of: file)
    }

    private static func contents(of file: UnsafeMutablePointer<FILE>) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
