// SPDX-License-Identifier: Apache-2.0

import StatusModel
import SystemdClient
import Testing

@testable import StatusSources

@Suite("The meaning of a unit's properties") struct UnitStatusTests {
    private func unit(
        _ active: String, _ sub: String, load: String = "loaded", result: String? = nil, status: String? = nil,
        type: String? = nil, remains: Bool = false, frozen: Bool = false
    ) -> UnitStatus {
        var properties = UnitProperties()
        properties.loadState = load
        properties.activeState = active
        properties.subState = sub
        properties.result = result
        properties.statusText = status
        properties.serviceType = type
        properties.remainsAfterExit = remains
        properties.isFrozen = frozen
        return UnitStatus(properties, of: "x.service")
    }

    @Test("a running unit is ok, with its own status text; one that starts or stops is a warning")
    func running() {
        #expect(unit("active", "running") == UnitStatus(.ok, "active (running)"))
        #expect(unit("active", "running", status: "Serving") == UnitStatus(.ok, "Serving"))
        #expect(unit("active", "active") == UnitStatus(.ok, "active"))
        #expect(unit("reloading", "reload", status: "Serving") == UnitStatus(.ok, "Serving"))
        #expect(unit("refreshing", "refresh", status: "Serving") == UnitStatus(.ok, "Serving"))
        #expect(unit("activating", "auto-restart") == UnitStatus(.warning, "activating (auto-restart)"))
        #expect(
            unit("activating", "auto-restart", result: "signal")
                == UnitStatus(.warning, "activating (auto-restart) after signal"))
        #expect(
            unit("activating", "auto-restart-queued", type: "oneshot")
                == UnitStatus(.warning, "activating (auto-restart-queued)"))
        #expect(unit("activating", "start", type: "oneshot") == UnitStatus(.ok, "activating (start)"))
        #expect(unit("activating", "start", type: "oneshot", remains: true) == UnitStatus(.ok, "activating (start)"))
        #expect(unit("activating", "start", status: "Loading") == UnitStatus(.warning, "Loading"))
        #expect(
            unit("deactivating", "stop-sigterm", status: "Serving")
                == UnitStatus(.warning, "deactivating (stop-sigterm)"))
        #expect(unit("deactivating", "stop-post", type: "oneshot") == UnitStatus(.ok, "deactivating (stop-post)"))
        #expect(
            unit("deactivating", "stop", type: "oneshot", remains: true) == UnitStatus(.warning, "deactivating (stop)"))
        #expect(unit("maintenance", "x") == UnitStatus(.warning, "maintenance (x)"))
    }

    @Test("a unit that may not run is a warning, whatever its last status text")
    func frozen() {
        #expect(
            unit("active", "running", status: "Serving", frozen: true)
                == UnitStatus(.warning, "active (running), frozen"))
        #expect(
            unit("activating", "start", type: "oneshot", frozen: true)
                == UnitStatus(.warning, "activating (start), frozen"))
        #expect(
            unit("activating", "auto-restart", result: "signal", frozen: true)
                == UnitStatus(.warning, "activating (auto-restart) after signal"))
    }

    @Test("a failed unit is critical, with its result")
    func failed() {
        #expect(unit("failed", "failed", result: "exit-code") == UnitStatus(.critical, "failed (exit-code)"))
        #expect(unit("failed", "failed") == UnitStatus(.critical, "failed"))
    }

    @Test("a unit that does not run is a warning, unless it is a oneshot")
    func inactive() {
        #expect(unit("inactive", "dead", status: "Serving") == UnitStatus(.warning, "inactive (dead)"))
        #expect(unit("inactive", "dead", type: "oneshot") == UnitStatus(.ok, "inactive (dead)"))
        #expect(unit("inactive", "dead", type: "oneshot", remains: true) == UnitStatus(.warning, "inactive (dead)"))
        #expect(unit("inactive", "dead", load: "masked") == UnitStatus(.warning, "masked"))
        #expect(
            unit("inactive", "dead", load: "bad-setting") == UnitStatus(.critical, "cannot be loaded (bad-setting)"))
    }

    @Test("a unit that does not exist is unknown, unless it still runs")
    func missing() {
        #expect(unit("inactive", "dead", load: "not-found") == UnitStatus(.unknown, "unit x.service not found"))
        #expect(unit("active", "running", load: "not-found") == UnitStatus(.ok, "active (running)"))
    }
}
