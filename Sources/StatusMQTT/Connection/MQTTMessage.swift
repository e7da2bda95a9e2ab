// SPDX-License-Identifier: Apache-2.0

import StatusConfiguration

/// A message for the broker, with QoS 1.
struct OutgoingMessage: Sendable, Equatable {
    var topic: String
    /// Empty to remove a retained message.
    var payload: [UInt8]
    var isRetained = true
}

/// A message from the broker, whose text nothing has checked.
struct IncomingMessage: Sendable {
    /// A longer payload is cut, which is too long for every reader.
    static let longestPayload = FollowReader.longestState + 1

    var topic: String
    var payload: [UInt8]
    /// Whether it was sent before the subscription, and kept by the broker.
    var isRetained: Bool
}

/// The version of the protocol.
enum MQTTVersion: Sendable, CustomStringConvertible {
    case five
    case three

    var description: String { self == .five ? "MQTT 5" : "MQTT 3.1.1" }
}

/// A connection between its CONNACK and its end.
struct MQTTSessionInfo: Sendable, Equatable {
    /// Counts the attempts to connect.
    let number: Int
    let broker: MQTTBroker
    let version: MQTTVersion
    /// The number of the connection in `$state` and in the will; nil for a connection without a will.
    let epoch: Int?
}

/// What a connection reports, in order.
enum MQTTEvent: Sendable {
    case connected(MQTTSessionInfo)
    case message(IncomingMessage)
    /// The broker has a message for this topic, or has dropped it for this reason.
    case published(topic: String, refusal: String?)
    /// The broker has answered a subscription; whether it granted each filter.
    case subscribed([Bool])
    /// A connection, or an attempt to make one, has ended.
    case ended(ConnectionFailure, wasUp: Bool)
}
