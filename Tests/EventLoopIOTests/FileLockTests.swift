// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import EventLoopIO

@Suite("File locks", .timeLimit(.minutes(5))) final class FileLockTests {
    private let path = "/tmp/statusd-test-\(UUID().uuidString.prefix(8))"

    deinit { for suffix in ["", ".next", ".precious"] { unlink(path + suffix) } }

    @Test("a held lock is refused at once, and is free again once it is released")
    func exclusive() throws {
        var first: FileLock? = try FileLock(at: path)
        let refusal = #expect(throws: IOError.self) { try FileLock(at: path) }
        #expect(refusal?.code == .addressInUse)
        #expect(first != nil)
        first = nil
        _ = try FileLock(at: path)
    }

    @Test("a lock is free if its holder has ended, even if one of the holder's threads cannot be killed")
    func holderThatHasEnded() throws {
        let lock = try FileLock(at: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "\(getpid())\n")
        // A process that has ended and has not been reaped.
        var child: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
        defer { free(arguments[0]) }
        try #require(posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil) == 0)
        var information = siginfo_t()
        try #require(waitid(P_PID, id_t(child), &information, Int32(WEXITED) | Int32(WNOWAIT)) == 0)
        try "\(child)\n".write(toFile: path, atomically: false, encoding: .utf8)
        _ = try FileLock(at: path)
        waitpid(child, nil, 0)
        withExtendedLifetime(lock) {}
    }

    @Test("a file that other users may open, and have locked, is replaced", arguments: [0o644, 0o666])
    func lockedByOthers(mode: UInt32) throws {
        let foreign = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(foreign) }
        fchmod(foreign, mode)
        flock(foreign, LOCK_EX)
        let lock = try FileLock(at: path)
        var status = stat()
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        withExtendedLifetime(lock) {}
    }

    @Test("a file with other contents is refused and left unchanged", arguments: ["precious\n", "1", "1\n2\n"])
    func otherContent(text: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: IOError.self) { try FileLock(at: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test("a lock file that a disk has filled with zeros, after a power failure, is free")
    func lostContent() throws {
        try "\0\0\0\0".write(toFile: path, atomically: true, encoding: .utf8)
        _ = try FileLock(at: path)
    }

    @Test("a link or a pipe at the path is replaced, and the link's target is left unchanged")
    func otherFiles() throws {
        let precious = path + ".precious"
        try "precious".write(toFile: precious, atomically: true, encoding: .utf8)
        symlink(precious, path)
        _ = try FileLock(at: path)
        #expect(try String(contentsOfFile: precious, encoding: .utf8) == "precious")
        unlink(path)
        mkfifo(path, 0o666)
        _ = try FileLock(at: path)
    }
}
