// SPDX-License-Identifier: Apache-2.0

public import SourceKinds

extension PushSettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? { nil }
}
