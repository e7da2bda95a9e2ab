// SPDX-License-Identifier: Apache-2.0

import SystemdClient
import Testing

@testable import SystemdServiceLifecycle

@Suite("Notifications of a service's life to the service manager") struct ServicePhaseTests {
    private enum Input: CaseIterable { case started, reloadBegan, reloadEnded, stopped }

    /// Makes a machine, and returns its notifications for the last of these inputs.
    private func told(_ inputs: [Input]) -> ServiceManager.Notification? {
        var phase = ServicePhase()
        var told: ServiceManager.Notification?
        for input in inputs {
            switch input {
            case .started: told = phase.started()
            case .reloadBegan: told = phase.reloadBegan()
            case .reloadEnded: told = phase.reloadEnded()
            case .stopped: told = phase.stopped()
            }
        }
        return told
    }

    @Test("are sent for each input in each state")
    func transitions() {
        let up: [Input] = [.started]
        let table: [([Input], [ServiceManager.Notification?])] = [
            ([], [.ready, nil, nil, .stopping]),
            ([.reloadBegan], [.ready, nil, nil, .stopping]),
            (up, [nil, .reloading, nil, .stopping]),
            (up + [.reloadBegan], [nil, nil, .ready, .stopping]),
            (up + [.reloadBegan, .reloadBegan], [nil, nil, nil, .stopping]),
            (up + [.reloadBegan, .reloadBegan, .reloadEnded], [nil, nil, .ready, .stopping]),
            (up + [.reloadBegan, .reloadEnded], [nil, .reloading, nil, .stopping]),
            ([.stopped], [nil, nil, nil, nil]),
            (up + [.stopped], [nil, nil, nil, nil]),
            (up + [.reloadBegan, .stopped], [nil, nil, nil, nil]),
        ]
        for (history, expected) in table {
            for (input, expected) in zip(Input.allCases, expected) {
                #expect(told(history + [input]) == expected, "\(history), \(input)")
            }
        }
    }
}
