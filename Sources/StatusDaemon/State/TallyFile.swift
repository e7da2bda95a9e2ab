// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import StatusMonitor

/// The file with the tally of events, in the runtime directory: it survives this process, but not the machine's next boot.
struct TallyFile {
    /// The mapped file; it stays mapped until the process ends.
    let tally: EventTally
    /// What the run before has noted; nil if it has left nothing.
    let past: PastEvents?

    /// Continues the file, in a new one; nil if the directory has no room for it.
    ///
    /// Whoever has the former one open could truncate it, and so end this process, which has it mapped.
    init?(at path: String) {
        let former = Self.contents(of: path)
        let new = path + ".new"
        unlink(new)
        guard let memory = Self.map(new) else {
            // A run that notes nothing must not leave the former tally to the next one.
            for path in [new, path] { unlink(path) }
            return nil
        }
        memory.copyMemory(from: former, byteCount: former.count)
        // If that fails, because of a directory in its place, the next run begins without it.
        rename(new, path)
        tally = EventTally(memory)
        past = tally.read()
    }

    /// Makes a file and maps it.
    private static func map(_ path: String) -> UnsafeMutableRawPointer? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Writing to a page for which there is no room would end the process.
        guard posix_fallocate(descriptor, 0, EventTally.size) == 0,
            let memory = mmap(nil, EventTally.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { return nil }
        return memory
    }

    /// What the run before has left; nothing if it is another user's, or no file.
    private static func contents(of path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid() else { return [] }
        var bytes = [UInt8](repeating: 0, count: EventTally.size)
        let count = read(descriptor, &bytes, bytes.count)
        return count == bytes.count ? bytes : []
    }
}
