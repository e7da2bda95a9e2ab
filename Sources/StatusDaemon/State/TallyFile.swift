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

    /// Opens or creates the file; nil if the directory has no room for it.
    init?(at path: String) {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        if Self.isForeign(path) { unlink(path) }
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Writing to a page for which there is no room would end the process.
        guard posix_fallocate(descriptor, 0, EventTally.size) == 0,
            let memory = mmap(nil, EventTally.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { return nil }
        tally = EventTally(memory)
        past = tally.read()
    }

    /// Whether it is another user's file: truncating it would end this process, which has it mapped.
    private static func isForeign(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_uid != geteuid()
    }
}
