// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Systemd
import Testing

@testable import StatusSources

@Suite("What a unit's properties mean") struct UnitStatusTests {
    private func unit(
        _ active: String, _ sub: String, load: String = "loaded", result: String? = nil, status: String? = nil,
        type: String? = nil, remains: Bool = false
    ) -> UnitStatus {
        var properties = UnitProperties()
        properties.loadState = load
        properties.activeState = active
        properties.subState = sub
        properties.result = result
        properties.statusText = status
        properties.serviceType = type
        properties.remainsAfterExit = remains
        return UnitStatus(properties)
    }

    @Test("what runs is ok, with what it says of itself; while it starts or ends it is a warning")
    func running() {
        #expect(unit("active", "running") == .status(.ok, "active (running)"))
        #expect(unit("active", "running", status: "Serving") == .status(.ok, "Serving"))
        #expect(unit("active", "active") == .status(.ok, "active"))
        #expect(unit("reloading", "reload", status: "Serving") == .status(.ok, "Serving"))
        #expect(unit("activating", "auto-restart") == .status(.warning, "activating (auto-restart)"))
        #expect(unit("activating", "start", status: "Loading") == .status(.warning, "Loading"))
        #expect(
            unit("deactivating", "stop-sigterm", status: "Serving") == .status(.warning, "deactivating (stop-sigterm)"))
        #expect(unit("maintenance", "x") == .status(.warning, "maintenance (x)"))
    }

    @Test("what failed is critical, with how it ended")
    func failed() {
        #expect(unit("failed", "failed", result: "exit-code") == .status(.critical, "failed (exit-code)"))
        #expect(unit("failed", "failed") == .status(.critical, "failed"))
    }

    @Test("what does not run is a warning, unless it is one that runs to its end")
    func inactive() {
        #expect(unit("inactive", "dead", status: "Serving") == .status(.warning, "inactive (dead)"))
        #expect(unit("inactive", "dead", type: "oneshot") == .status(.ok, "inactive (dead)"))
        #expect(unit("inactive", "dead", type: "oneshot", remains: true) == .status(.warning, "inactive (dead)"))
        #expect(unit("inactive", "dead", load: "masked") == .status(.warning, "masked"))
        #expect(unit("inactive", "dead", load: "bad-setting") == .status(.critical, "cannot be loaded (bad-setting)"))
    }

    @Test("what there is not is missing, unless it still runs")
    func missing() {
        #expect(unit("inactive", "dead", load: "not-found") == .missing)
        #expect(unit("active", "running", load: "not-found") == .status(.ok, "active (running)"))
    }
}
