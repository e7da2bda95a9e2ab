// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads the output of systemctl and the kernel's files about this host.
enum ProgramOutput {
    /// What systemctl writes for arguments that the shell reads; nothing if it cannot be run or takes too long.
    ///
    /// The path is absolute, because root may run this.
    static func systemctl(_ arguments: String) -> String {
        let command = "/usr/bin/timeout 5 /usr/bin/systemctl \(arguments) 2>/dev/null"
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
