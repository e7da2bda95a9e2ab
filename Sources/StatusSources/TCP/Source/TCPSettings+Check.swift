// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

extension TCPSettings: CheckMaking {
    public func makeCheck(_ order: SourceOrder) -> any Check {
        TCPCheck(host: host, port: port, timeout: order.schedule.timeout)
    }
}
