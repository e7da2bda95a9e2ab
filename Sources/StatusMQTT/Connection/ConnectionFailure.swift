// SPDX-License-Identifier: Apache-2.0

import Glibc
import StatusConfiguration
import StatusModel
import StatusSupport

/// Why a connection to a broker ended, or could not be made, as a sentence for people.
struct ConnectionFailure: Error, Sendable, Equatable, CustomStringConvertible {
    enum Code: Sendable, Equatable {
        /// The broker is not there, or does not answer.
        case unreachable
        /// The broker does not speak this version of the protocol.
        case version
        /// The broker closed the connection instead of answering.
        case closedAtOnce
        /// The broker does not know the user, or the password is wrong, or the user may not connect.
        case unauthorized
        /// The broker cannot prove that it is the right one.
        case untrusted
        /// Another connection has the same client ID.
        case takenOver
        /// The connection was lost.
        case lost
        /// The files for TLS cannot be used together.
        case credentials
        /// This program ended the connection.
        case wanted
    }

    let code: Code
    let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    static let wanted = Self(.wanted, "disconnected")

    /// No answer to CONNECT came.
    static func noAnswer(_ broker: MQTTBroker) -> Self {
        Self(.unreachable, "\(broker.authority) does not answer within 5 s")
    }

    static func notFound(_ broker: MQTTBroker, _ reason: String) -> Self {
        Self(.unreachable, "cannot find \(broker.host): \(reason)")
    }

    static func notConnected(_ broker: MQTTBroker, errno number: Int32) -> Self {
        // Its reason may be lost with the connection.
        if number == ECONNRESET, broker.usesTLS {
            return Self(.unreachable, "\(broker.authority) has reset the connection\(adviceWithTLS)")
        }
        let advice = number == ECONNREFUSED ? "; is there a broker, and is this its port?" : ""
        return Self(
            .unreachable, "cannot connect to \(broker.authority): \(String(cString: strerror(number)))\(advice)")
    }

    /// The broker has refused the connection, or closed it before a byte of TLS was sent.
    static func notTaken(_ broker: MQTTBroker) -> Self {
        Self(
            .unreachable,
            "\(broker.authority) does not take the connection; is there a broker, and is this its port? If that is one "
                + "without TLS, write mqtt://")
    }

    /// The broker has answered CONNECT with a code.
    static func refused(_ code: Int32, by broker: MQTTBroker, _ version: MQTTVersion, _ login: MQTTLogin) -> Self {
        let place = broker.authority
        let password = login.password == nil ? " without a password" : ""
        let who =
            login.user.map { "user “\(VisibleText.escape($0))”\(password)" } ?? "a connection without a user"
        switch (version, code) {
        case (.three, 1), (.five, 1), (.five, 132):
            return Self(.version, "\(place) does not speak \(version)")
        case (.three, 4), (.five, 134):
            return Self(
                .unauthorized,
                "\(place) refuses \(who): wrong user or password; see “user” in statusd.yaml(5), and the credential "
                    + "mqtt.password")
        // mosquitto also says this of a wrong password.
        case (.three, 5), (.five, 135):
            return Self(
                .unauthorized,
                "\(place) refuses \(who): not authorised; see “user” in statusd.yaml(5), the credential mqtt.password, "
                    + "and the broker's list of users")
        case (.three, 2), (.five, 133): return Self(.lost, "\(place) does not accept the client ID")
        case (.three, 3), (.five, 136), (.five, 137): return Self(.lost, "\(place) is not available now")
        case (.five, 138): return Self(.unauthorized, "\(place) has banned \(who)")
        default: return Self(.lost, "\(place) refuses the connection (code \(code))")
        }
    }

    /// The TLS handshake failed; `errors` are the messages of the library.
    static func tls(_ broker: MQTTBroker, _ errors: [String]) -> Self {
        let place = broker.authority
        if errors.contains(where: { $0.contains("host name verification failed") }) {
            return Self(
                .untrusted,
                "the certificate of \(place) is for another name; write the name that is in it into “broker”")
        }
        if errors.contains(where: { $0.contains("certificate verify failed") }) {
            return Self(
                .untrusted,
                "the certificate of \(place) is not trusted, or has expired; put the certificate of its authority "
                    + "into the credential mqtt.ca")
        }
        if errors.contains(where: { $0.contains("certificate required") }) {
            return Self(
                .unauthorized,
                "\(place) requires a client certificate; put it into the credentials mqtt.certificate and mqtt.key")
        }
        if errors.contains(where: { $0.contains("wrong version number") }) {
            return Self(.untrusted, "\(place) does not speak TLS there; use its port for TLS, or mqtt://")
        }
        if errors.isEmpty || errors.contains(where: { $0.contains("unexpected eof") }) {
            return Self(.lost, "\(place) has closed the connection; if this is its port without TLS, write mqtt://")
        }
        if errors.contains(where: { $0.contains("alert") && $0.contains("unknown ca") }) {
            return Self(
                .unauthorized,
                "\(place) does not trust the certificate of this host; put one that an authority of the broker has "
                    + "signed into the credentials mqtt.certificate and mqtt.key")
        }
        if errors.contains(where: { $0.contains("CA certificates") }) {
            return Self(.credentials, "cannot use the credential mqtt.ca, which must have certificates in PEM format")
        }
        if errors.contains(where: { $0.contains("lient certificate") || $0.contains("lient key") }) {
            return Self(
                .credentials,
                "cannot use the credentials mqtt.certificate and mqtt.key, which must be a certificate and its key "
                    + "without a passphrase, in PEM format")
        }
        let reason = errors.last.map { ": \(VisibleText.excerpt($0, bytes: 200))" } ?? ""
        return Self(.untrusted, "no TLS with \(place)\(reason)")
    }

    /// The broker has closed the connection.
    ///
    /// - Parameters:
    ///   - hasAnswered: whether it has answered CONNECT.
    ///   - isAtDot: whether it has acknowledged nothing since a topic with a dot, as nats-server 2.9.
    static func closed(_ broker: MQTTBroker, _ version: MQTTVersion, hasAnswered: Bool, isAtDot: Bool) -> Self {
        let place = broker.authority
        if isAtDot, version == .three {
            return Self(
                .lost,
                "\(place) closes the connection at a topic with a dot; if it is nats-server, it must be version 2.10 "
                    + "or newer"
            )
        }
        guard hasAnswered else {
            let advice = broker.usesTLS ? adviceWithTLS : "; if this is its port for TLS, write mqtts://"
            return Self(.closedAtOnce, "\(place) closes the connection without an answer to \(version)\(advice)")
        }
        return Self(.lost, "\(place) has closed the connection")
    }

    private static let adviceWithTLS =
        "; if this is its port without TLS, write mqtt://; if it requires a client certificate, put that into the "
        + "credentials mqtt.certificate and mqtt.key"

    /// The broker has said why it closes the connection (MQTT 5).
    static func disconnected(_ code: Int32, by broker: MQTTBroker, reason: String) -> Self {
        switch code {
        case 142:
            return Self(
                .takenOver,
                "another client has the same ID at \(broker.authority): is there a second statusd-mqtt with the same "
                    + "“host”, on this machine or on a copy of it?")
        case 139: return Self(.lost, "\(broker.authority) shuts down")
        case 135: return Self(.unauthorized, "\(broker.authority) does not permit what statusd-mqtt does there")
        default: return Self(.lost, "\(broker.authority) has closed the connection: \(reason)")
        }
    }

    static func silent(_ broker: MQTTBroker) -> Self {
        Self(.lost, "\(broker.authority) does not answer any more")
    }
}
