// SPDX-License-Identifier: Apache-2.0

import CSystemd
import EventLoopIO
import Glibc
import SourceKinds
import StatusConfiguration
import StatusModel

/// What this program needs to know: the section `mqtt`, who this host is, and the credentials.
struct BridgeSettings: Sendable {
    /// Why the program cannot run, as a sentence.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// Whether the configuration is wrong, which a restart does not change.
        var isConfiguration = true

        var exitStatus: Int32 { isConfiguration ? 78 : 1 }
    }

    let mqtt: MQTTSettings
    /// The name of this host in topics.
    let host: String
    /// Identifies the machine.
    let machine: String
    let login: MQTTLogin

    init(_ mqtt: MQTTSettings) throws(Failure) {
        self.mqtt = mqtt
        guard let host = mqtt.hostName else {
            throw Failure(
                description: "the name of this host \(MQTTSettings.hostRule); write another one as “host” below “mqtt”")
        }
        self.host = host.rawValue
        machine = try Self.machineID()
        do throws(MQTTLogin.Invalid) {
            login = try MQTTLogin.read(
                user: mqtt.user, directory: ProcessEnvironment.current["CREDENTIALS_DIRECTORY"])
        } catch { throw Failure(description: error.description) }
    }

    /// The settings of a connection for a purpose, which is a part of the client ID.
    func connection(_ purpose: String) -> MQTTConnection.Settings {
        MQTTConnection.Settings(
            brokers: mqtt.brokers, login: login, client: "statusd-\(host)-\(machine.prefix(8))-\(purpose)")
    }

    /// Reads the section from a file or a directory.
    static func read(configuration path: String) throws(Failure) -> MQTTSettings {
        let loaded: LoadedConfiguration
        do throws(Problem) {
            loaded = try ConfigurationLoader(location: ConfigurationLocation(path: path)).load()
        } catch { throw Failure(description: "\(error)") }
        guard let mqtt = loaded.configuration.mqtt else {
            throw Failure(description: "\(VisibleText.escape(path)) has no section “mqtt”; see statusd.yaml(5)")
        }
        return mqtt
    }

    /// An ID that is derived from the machine ID, which must not become public (machine-id(5)).
    private static func machineID() throws(Failure) -> String {
        var application = sd_id128_t()
        withUnsafeMutableBytes(of: &application) { $0.copyBytes(from: applicationID) }
        var machine = sd_id128_t()
        let result = sd_id128_get_machine_app_specific(application, &machine)
        guard result >= 0 else {
            throw Failure(
                description: "cannot read /etc/machine-id: \(String(cString: strerror(-result))); see machine-id(5)",
                isConfiguration: false)
        }
        return withUnsafeBytes(of: &machine) { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    /// The ID of this application; it never changes.
    private static let applicationID: [UInt8] = [
        0x6d, 0x2f, 0x9b, 0x0e, 0x41, 0x7a, 0x4c, 0x58, 0xa1, 0x3d, 0x52, 0xc8, 0x90, 0x77, 0xe4, 0x1b,
    ]
}
