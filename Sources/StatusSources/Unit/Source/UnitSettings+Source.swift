// SPDX-License-Identifier: Apache-2.0

public import SourceKinds
public import SystemdClient

extension UnitSettings: SourceMaking {
    public func makeSource(_ order: SourceOrder) throws(SourceProblem) -> (any Source)? {
        let settings = UnitSource.Settings(unit: unit, runtime: order.runtime, schedule: order.schedule)
        return UnitSource(
            server: order.server, settings: settings, predecessor: order.predecessor as? UnitSource,
            shown: order.shown, bus: order.environment.shared(UnitBus.self), monitor: order.environment.monitor)
    }
}

extension UnitBus: SharedResource {
    public convenience init(in environment: SourceEnvironment) { self.init(logger: environment.logger) }
}
