// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import SourceKinds

@Suite("What the services do not see") struct ServiceSandboxTests {
    /// The values of each setting of a unit file, each without its options after a colon.
    private static func settings(of service: String) throws -> [String: [String]] {
        let project = URL(filePath: #filePath).pathComponents.dropLast(4).joined(separator: "/")
        let text = try String(contentsOfFile: "\(project)/packaging/systemd/\(service)", encoding: .utf8)
        var settings: [String: [String]] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let values = line[line.index(after: equals)...].split(separator: " ")
            settings[String(line[...equals]), default: []] += values.map {
                String($0.trimmingPrefix("-").split(separator: ":")[0])
            }
        }
        return settings
    }

    @Test(
        "each setting that hides a folder is in the unit file",
        arguments: [ServiceSandbox.daemon, .executor, .alerts])
    func settings(_ sandbox: ServiceSandbox) throws {
        let settings = try Self.settings(of: sandbox.service)
        for obstacle in sandbox.obstacles {
            // “A= or B=” needs both.
            for setting in obstacle.setting.split(separator: " ").filter({ $0.hasSuffix("=") }) {
                let values = try #require(settings[String(setting)], "\(setting)")
                #expect(values.contains(obstacle.folder) || !Set(["yes", "pid", "invisible"]).isDisjoint(with: values))
            }
        }
    }

    @Test(
        "each folder that a unit file hides is known, with what is visible in it",
        arguments: [ServiceSandbox.executor, .alerts])
    func folders(_ sandbox: ServiceSandbox) throws {
        let settings = try Self.settings(of: sandbox.service)
        let folders = (settings["TemporaryFileSystem="] ?? []) + (settings["InaccessiblePaths="] ?? [])
        for folder in folders { #expect(sandbox.obstacles.contains { $0.folder == folder }, "\(folder)") }
        guard sandbox.service == ServiceSandbox.executor.service else { return }
        let run = try #require(ServiceSandbox.executor.obstacles.first { $0.folder == "/run" })
        #expect(run.visible == settings["BindReadOnlyPaths="])
    }
}
