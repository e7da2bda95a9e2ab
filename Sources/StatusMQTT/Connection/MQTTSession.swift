// SPDX-License-Identifier: Apache-2.0

import CMosquitto
import EventLoopIO
import Glibc
import StatusConfiguration

/// One connection to a broker, from its first packet to its last, with a handle of libmosquitto of its own.
///
/// A handle that is used again would send what the last connection left, after newer messages. All of this runs on the
/// thread of the connection: libmosquitto never calls back from another one.
final class MQTTSession {
    private enum Phase { case connecting, greeting, up, ended }

    /// Brokers drop a client that is silent for one and a half of these times.
    ///
    /// Without a will, nobody waits for that. The answer to a ping may be behind all that the broker keeps.
    private static let keepAlives = (withWill: Int32(15), without: Int32(120))
    /// How long to wait for the answer to CONNECT; libmosquitto would wait for `keepAlive`.
    private static let greetingTime: UInt64 = 5_000_000_000
    /// How long to wait for the acknowledgement of the last message.
    private static let farewellTime: UInt64 = 500_000_000
    /// How often libmosquitto checks whether it must send a ping, in milliseconds.
    private static let checkTime: Int32 = 2500
    /// The broker leaves out longer packets (MQTT 5); libmosquitto would read them whole, up to 256 MiB.
    private static let longestPacket: UInt32 = 1024 * 1024
    /// How many packets are read before commands are carried out.
    private static let packetsPerTurn = 64

    let info: MQTTSessionInfo
    private let handle: OpaquePointer
    private let login: MQTTLogin
    private let post: (MQTTEvent) -> Void
    /// How often the broker wants to hear from this client, in seconds.
    private let keepAlive: Int32
    private var phase = Phase.connecting
    private var failure: ConnectionFailure?
    /// The messages about errors that libmosquitto has logged.
    private var errors: [String] = []
    /// The topics of unacknowledged messages, by their IDs.
    private var topics: [Int32: String] = [:]
    /// Whether a topic with a dot was sent since the last acknowledgement.
    private var isAtDot = false
    private var farewell: (message: Int32, deadline: UInt64)?
    /// When the broker had answered CONNECT.
    private var beginning: UInt64?

    /// How long the connection has been up; nil if it never was.
    var lasted: Duration? {
        beginning.map { .nanoseconds(Int64(clamping: nanoseconds(of: CLOCK_BOOTTIME) &- $0)) }
    }

    /// - Throws: a ``ConnectionFailure`` if the credentials cannot be used, or there is no memory.
    init(
        _ info: MQTTSessionInfo, client: String, login: MQTTLogin, will: OutgoingMessage?,
        post: @escaping (MQTTEvent) -> Void
    ) throws(ConnectionFailure) {
        guard let handle = mosquitto_new(client, true, nil) else {
            throw ConnectionFailure(.lost, "cannot create a client of MQTT: out of memory")
        }
        (self.info, self.handle, self.login, self.post) = (info, handle, login, post)
        keepAlive = will == nil ? Self.keepAlives.without : Self.keepAlives.withWill
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, info.version == .five ? 5 : 4)
        mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
        mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, 256)
        // Publishing then only queues, and this thread writes the packets together.
        mosquitto_threaded_set(handle, true)
        if let user = login.user { mosquitto_username_pw_set(handle, user, login.password) }
        if let will {
            isAtDot = will.topic.utf8.contains(UInt8(ascii: "."))
            will.payload.withUnsafeBytes { payload in
                _ = mosquitto_will_set(handle, will.topic, Int32(payload.count), payload.baseAddress, 1, true)
            }
        }
        setCallbacks(handle)
        if info.version == .five { limitPackets() }
        if info.broker.usesTLS { try setUpTLS() }
    }

    private func limitPackets() {
        var properties: OpaquePointer?
        mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), Self.longestPacket)
        // Only this function takes properties, and it blocks. Without a host, it keeps them for the other function.
        mosquitto_connect_bind_v5(handle, nil, 0, 0, nil, properties)
        mosquitto_property_free_all(&properties)
    }

    deinit { mosquitto_destroy(handle) }

    private func setUpTLS() throws(ConnectionFailure) {
        let path = login.authorities == nil ? MQTTLogin.hostAuthorities : nil
        let result = mosquitto_tls_set(
            handle, login.authorities, path, login.certificate, login.key, refusePassword)
        guard result == MOSQ_ERR_SUCCESS.rawValue else {
            throw ConnectionFailure(
                .credentials, "cannot use the credentials for TLS: \(String(cString: mosquitto_strerror(result)))")
        }
    }

    // MARK: The thread

    /// Runs until the connection has ended; returns why.
    func run(_ mailbox: MQTTMailbox) -> ConnectionFailure {
        errno = 0
        let result = mosquitto_connect_async(handle, info.broker.host, Int32(info.broker.port), keepAlive)
        if result != MOSQ_ERR_SUCCESS.rawValue { return startFailure(result, errno: errno) }
        let deadline = nanoseconds(of: CLOCK_MONOTONIC) + Self.greetingTime
        while phase != .ended {
            let orders = mailbox.takeOrders()
            if let stop = orders.stop, !leave(stop) { return .wanted }
            // Nothing may come after the last message.
            if phase == .up, orders.stop == nil { orders.commands.forEach(carryOut) }
            if phase != .up, nanoseconds(of: CLOCK_MONOTONIC) > deadline { return .noAnswer(info.broker) }
            if phase != .connecting, mosquitto_want_write(handle) { end(mosquitto_loop_write(handle, 1)) }
            if phase != .ended { wait(mailbox, mayRead: orders.mayRead) }
        }
        return failure ?? .closed(info.broker, info.version, hasAnswered: beginning != nil, isAtDot: isAtDot)
    }

    /// Waits for the socket and for orders, and reads and writes.
    private func wait(_ mailbox: MQTTMailbox, mayRead: Bool) {
        let socket = mosquitto_socket(handle)
        guard socket >= 0 else { return end(MOSQ_ERR_CONN_LOST.rawValue) }
        var events = phase != .up || mayRead ? Int16(POLLIN) : 0
        // A handshake of TLS has something to write all the time, and waits for input.
        if phase == .connecting || phase == .up && mosquitto_want_write(handle) { events |= Int16(POLLOUT) }
        var descriptors = [
            pollfd(fd: socket, events: events, revents: 0),
            pollfd(fd: mailbox.wakeUp.rawValue, events: Int16(POLLIN), revents: 0),
        ]
        let time = phase == .up && farewell == nil ? Self.checkTime : 100
        guard poll(&descriptors, 2, time) >= 0 || errno == EINTR else { return end(MOSQ_ERR_ERRNO.rawValue) }
        if descriptors[1].revents != 0 { mailbox.clearWakeUp() }
        if phase == .connecting, descriptors[0].revents != 0, !isConnected(socket) { return }
        let isReadable = Int32(descriptors[0].revents) & (POLLIN | POLLERR | POLLHUP) != 0
        if isReadable, phase != .up || mayRead { read(socket, mailbox) }
        if phase != .ended { end(mosquitto_loop_misc(handle)) }
    }

    /// Reads packets while there are some, and while the loop keeps up.
    private func read(_ socket: Int32, _ mailbox: MQTTMailbox) {
        for _ in 0..<Self.packetsPerTurn {
            end(mosquitto_loop_read(handle, 1))
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard phase == .up, mailbox.mayRead, poll(&descriptor, 1, 0) > 0 else { return }
        }
    }

    /// Lets the kernel notice within half a minute that the broker's host is gone (tcp(7)).
    private func noticeLoss(of socket: Int32) {
        let options = [(SOL_SOCKET, SO_KEEPALIVE, 1)] + Self.probes.map { (Int32(IPPROTO_TCP), $0, $1) }
        for (level, option, value) in options {
            var value = Int32(value)
            setsockopt(socket, level, option, &value, socklen_t(MemoryLayout.size(ofValue: value)))
        }
    }

    /// The kernel's probes, in seconds.
    private static let probes = [(TCP_KEEPIDLE, 10), (TCP_KEEPINTVL, 5), (TCP_KEEPCNT, 3)]

    /// The socket is ready for the first time: either it is connected, or it has an error.
    private func isConnected(_ socket: Int32) -> Bool {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout.size(ofValue: number))
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &length)
        guard number == 0 else {
            failure = .notConnected(info.broker, errno: number)
            phase = .ended
            return false
        }
        noticeLoss(of: socket)
        phase = .greeting
        end(mosquitto_loop_write(handle, 1))
        return phase != .ended
    }

    /// Ends the connection if a function of libmosquitto has failed.
    private func end(_ result: Int32) {
        guard result != MOSQ_ERR_SUCCESS.rawValue, phase != .ended else { return }
        if failure == nil { failure = reason(result) }
        phase = .ended
    }

    /// The failure for a result of libmosquitto; nil if the broker has just closed the connection.
    private func reason(_ result: Int32) -> ConnectionFailure? {
        // The library reports some failures of TLS as a lost connection.
        let failedHandshake = info.broker.usesTLS && beginning == nil && !errors.isEmpty
        switch mosq_err_t(result) {
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: return .tls(info.broker, errors)
        case MOSQ_ERR_CONN_LOST, MOSQ_ERR_ERRNO, MOSQ_ERR_NO_CONN:
            return failedHandshake ? .tls(info.broker, errors) : nil
        case MOSQ_ERR_KEEPALIVE: return .silent(info.broker)
        default:
            let text = String(cString: mosquitto_strerror(result))
            return ConnectionFailure(.lost, "\(info.broker.authority): \(text)")
        }
    }

    private func startFailure(_ result: Int32, errno number: Int32) -> ConnectionFailure {
        switch mosq_err_t(result) {
        case MOSQ_ERR_EAI: return .notFound(info.broker, String(cString: gai_strerror(number)))
        case MOSQ_ERR_ERRNO: return .notConnected(info.broker, errno: number)
        case MOSQ_ERR_TLS: return .tls(info.broker, errors)
        default: return reason(result) ?? .notConnected(info.broker, errno: ECONNREFUSED)
        }
    }

    // MARK: Orders

    private func carryOut(_ command: MQTTCommand) {
        switch command {
        case .publish(let message): publish(message)
        case .subscribe(let filters):
            withFilters(filters) { mosquitto_subscribe_multiple(handle, nil, $0, $1, 0, 0, nil) }
        case .unsubscribe(let filters):
            withFilters(filters) { mosquitto_unsubscribe_multiple(handle, nil, $0, $1, nil) }
        case .reconnect(let reason):
            failure = reason
            mosquitto_disconnect(handle)
        }
    }

    private func withFilters(
        _ filters: [String], _ body: (Int32, UnsafePointer<UnsafeMutablePointer<CChar>?>?) -> Int32
    ) {
        var copies = filters.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        end(copies.withUnsafeMutableBufferPointer { body(Int32($0.count), UnsafePointer($0.baseAddress)) })
    }

    @discardableResult
    private func publish(_ message: OutgoingMessage) -> Int32 {
        var id: Int32 = 0
        let result = message.payload.withUnsafeBytes { payload in
            mosquitto_publish(
                handle, &id, message.topic, Int32(payload.count), payload.baseAddress, 1, message.isRetained)
        }
        if result == MOSQ_ERR_SUCCESS.rawValue {
            topics[id] = message.topic
            if message.topic.utf8.contains(UInt8(ascii: ".")) { isAtDot = true }
        } else {
            // Such as a message that is larger than the broker takes.
            post(.published(topic: message.topic, refusal: String(cString: mosquitto_strerror(result))))
        }
        return id
    }

    /// Ends the connection, with a last message; returns false when it has ended.
    private func leave(_ stop: MQTTMailbox.Stop) -> Bool {
        guard phase == .up else { return false }
        let now = nanoseconds(of: CLOCK_MONOTONIC)
        if farewell == nil {
            failure = .wanted
            let id = stop.farewell.map(publish) ?? 0
            farewell = (id, now + Self.farewellTime)
        }
        guard let farewell, topics[farewell.message] == nil || now > farewell.deadline else { return true }
        // Only now: if unread input were left, closing would reset the connection, and the broker send the will.
        mosquitto_disconnect(handle)
        mosquitto_loop_write(handle, 1)
        return false
    }

    // MARK: Calls from libmosquitto

    func answered(_ code: Int32) {
        guard code == 0 else {
            failure = .refused(code, by: info.broker, info.version, login)
            phase = .ended
            return
        }
        beginning = nanoseconds(of: CLOCK_BOOTTIME)
        phase = .up
        post(.connected(info))
    }

    func disconnected(_ code: Int32) {
        if failure == nil, code >= 128 {
            failure = .disconnected(
                code, by: info.broker, reason: String(cString: mosquitto_reason_string(code)))
        }
        if failure == nil, code > 0 { failure = reason(code) }
        phase = .ended
    }

    func received(_ message: mosquitto_message) {
        guard let topic = message.topic.flatMap({ String(validatingCString: $0) }) else { return }
        let length = min(max(0, Int(message.payloadlen)), IncomingMessage.longestPayload)
        let payload = UnsafeRawBufferPointer(start: message.payload, count: length)
        post(.message(IncomingMessage(topic: topic, payload: Array(payload), isRetained: message.retain)))
    }

    func acknowledged(_ id: Int32, _ code: Int32) {
        isAtDot = false
        guard let topic = topics.removeValue(forKey: id) else { return }
        post(.published(topic: topic, refusal: code < 128 ? nil : String(cString: mosquitto_reason_string(code))))
    }

    func subscribed(_ codes: [Int32]) { post(.subscribed(codes.map { $0 < 128 })) }

    func logged(_ text: String) { if errors.count < 8 { errors.append(text) } }
}
