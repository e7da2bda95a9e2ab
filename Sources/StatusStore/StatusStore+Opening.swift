// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Opening the file, and setting aside a file that cannot be used.
extension StatusStore {
    /// Opens the file, or creates it.
    ///
    /// - Throws: `SQLiteError`, or ``StoreProblem``.
    static func open(_ path: String, boot: String) throws -> (file: StoreFile, contents: StoreContents) {
        create(path)
        let file = try StoreFile(at: path)
        try file.check()
        return (file, try file.load(boot: boot))
    }

    /// Creates the file if it is missing, so that only its owner can read it.
    ///
    /// SQLite gives its other files the same mode.
    private static func create(_ path: String) {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        // An existing file is not opened: closing it would release the locks of SQLite's connections.
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// The word for the new name of an unusable file; nil if the error may pass, or is not caused by the file.
    static func fault(_ error: any Error) -> String? {
        switch error {
        case StoreProblem.newer: "newer"
        case StoreProblem.foreign: "foreign"
        case StoreProblem.unread: "unread"
        case let error as SQLiteError where error.code == .damaged || error.code == .unfit: "damaged"
        default: nil
        }
    }

    /// A name for a file that is set aside.
    ///
    /// The first two files of a kind are kept, because they may contain the data that is missing. Later files replace
    /// the third, so that they do not fill the disk.
    private static func unusedName(_ name: String) -> String {
        let names = [name, name + ".2", name + ".3"]
        return names.first { size(of: $0) == nil } ?? names[names.count - 1]
    }

    /// Renames a file that cannot be used, with its log.
    ///
    /// - Returns: the reason and the new name, as one phrase.
    /// - Throws: ``StoreFailure`` if it cannot be renamed.
    static func setAside(_ path: String, _ word: String, because reason: String) throws(StoreFailure) -> String {
        let target = unusedName("\(path).\(word)")
        unlink(path + "-shm")
        unlink(target + "-wal")
        guard rename(path, target) == 0 else {
            throw StoreFailure("\(reason); it cannot be renamed: \(String(cString: strerror(errno)))")
        }
        guard rename(path + "-wal", target + "-wal") == 0 || errno == ENOENT else {
            let problem = String(cString: strerror(errno))
            return "\(reason); it is now \(target), without its log, which cannot be renamed: \(problem)"
        }
        return "\(reason); it is now \(target)"
    }

    /// The size of a file in bytes; nil if it does not exist.
    static func size(of path: String) -> Int? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_size : nil
    }
}
