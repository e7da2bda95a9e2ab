// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusConfiguration
import StatusSources

/// A configuration as read from the files, with the accounts that it names.
struct ReadConfiguration: Sendable {
    let configuration: Configuration
    let accounts: Accounts
    let files: UsableFiles
    /// The first errors, then an entry with the number of the rest.
    ///
    /// Logging and replying more would only keep the loop busy.
    let errors: [Problem]
    /// The first warnings, limited in the same way; they include names that could not be looked up.
    let warnings: [Problem]
    let errorCount: Int
    /// A file that cannot be used and may configure more servers; nil if all files can be used.
    let failedFile: String?

    private static let listed = 100

    init(_ loaded: LoadedConfiguration, _ accounts: Accounts, warnings: [Problem] = []) {
        configuration = loaded.configuration
        self.accounts = accounts
        files = loaded.usable
        failedFile = loaded.failedFiles.min()
        let unknown = accounts.failures.map { Problem(.warning, at: Origin(file: "accounts"), reason: $0) }
        let problems = loaded.problems + unknown + warnings
        let errors = problems.filter { $0.severity == .error }
        errorCount = errors.count
        self.errors = Self.first(of: errors)
        self.warnings = Self.first(of: problems.filter { $0.severity == .warning })
    }

    private static func first(of problems: [Problem]) -> [Problem] {
        guard problems.count > listed, let next = problems.dropFirst(listed).first else { return problems }
        let kind = "\(next.severity.rawValue)s"
        let reason =
            "\(problems.count - listed) more \(kind) in this file and the files after it; run “statusctl verify”"
        let rest = Problem(next.severity, at: Origin(file: next.origin.file), reason: reason)
        return problems.prefix(listed) + [rest]
    }
}
