// SPDX-License-Identifier: Apache-2.0

import LogLimiting
public import Logging
public import StatusWorkers

/// Makes HTTP requests, each in a process apart, which loads libcurl: what a server does to it concerns no other request.
public typealias HTTPPool = WorkerPool<HTTPRequest, HTTPOutcome>

extension HTTPPool {
    /// A pool of workers that make HTTP requests.
    ///
    /// - Parameters:
    ///   - place: where they come from.
    ///   - logger: is told if one ends by itself.
    public convenience init(_ place: WorkerPlace, logger: Logger) {
        self.init(
            WorkerStarter(place: place, role: .httpWorker, purpose: "make HTTP requests"), keepsTime: true,
            endsAtOnce: true,
            losses: LogLimiter(logger, .warning))
    }
}
