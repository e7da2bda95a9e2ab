// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
import StatusWorkers

extension CertificateSettings: CheckMaking {
    /// Makes a check whose worker makes the handshake of an HTTP request, and no request.
    public func makeCheck(_ order: SourceOrder) -> any Check {
        HTTPCheck(
            request: HTTPRequest(self, timeout: order.schedule.timeout), server: order.server,
            pool: order.environment.shared(WorkerPool<HTTPRequest>.self))
    }
}
