// SPDX-License-Identifier: Apache-2.0

import Glibc
import VarlinkDescription
import VarlinkGeneration

/// `varlink-generator DESCRIPTION OUTPUT [OPTIONS]`: writes the Swift code of an interface.
@main
enum VarlinkGenerator {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard (2...3).contains(arguments.count) else {
            fail("usage: varlink-generator DESCRIPTION OUTPUT [OPTIONS]", 64)
        }
        var file = arguments[0]
        do {
            let description = try InterfaceDescription(parsing: read(file))
            var options = GenerationOptions()
            if arguments.count == 3 {
                file = arguments[2]
                options = try GenerationOptions(parsing: read(file))
            }
            write(try Generator.code(for: description, options: options), to: arguments[1])
        } catch {
            fail("\(file): \(error)")
        }
    }

    private static func read(_ path: String) -> String {
        guard let file = fopen(path, "re") else { fail("\(path): \(String(cString: strerror(errno)))") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { break }
            bytes += buffer.prefix(count)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { fail("\(path): not UTF-8") }
        return text
    }

    private static func write(_ text: String, to path: String) {
        let file = fopen(path, "we")
        guard let file, fputs(text, file) >= 0, fclose(file) == 0 else {
            fail("\(path): \(String(cString: strerror(errno)))")
        }
    }

    private static func fail(_ message: String, _ status: Int32 = 1) -> Never {
        let line = Array("varlink-generator: error: \(message)\n".utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
        exit(status)
    }
}
