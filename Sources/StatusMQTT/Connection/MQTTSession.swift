// SPDX-License-Identifier: Apache-2.0

import CMosquitto
import EventLoopIO
import Glibc
import StatusConfiguration

/// One connection to a broker, from its first packet to its last, with a handle of libmosquitto of its own.
///
/// A handle that is used again would send what the last connection left, after newer messages. Events are taken with
/// ``takeEvents()`` after each call, because libmosquitto reports them in the middle of its work.
///
/// Unchecked, because it is used by one thread at a time: by the one that creates it, and then by the loop.
final class MQTTSession: @unchecked Sendable {
    private enum Phase { case connecting, greeting, up, ended }

    /// Brokers drop a client that is silent for one and a half of these times.
    ///
    /// Without a will, nobody waits for that. The answer to a ping may be behind all that the broker keeps.
    private static let keepAlives = (withWill: Int32(15), without: Int32(120))
    /// The broker leaves out longer packets (MQTT 5); libmosquitto would read them whole, up to 256 MiB.
    private static let longestPacket: UInt32 = 1024 * 1024

    let info: MQTTSessionInfo
    private let handle: OpaquePointer
    private let login: MQTTLogin
    /// How often the broker wants to hear from this client, in seconds.
    private let keepAlive: Int32
    private var phase = Phase.connecting
    private var reason: ConnectionFailure?
    private var events: [MQTTEvent] = []
    /// The messages about errors that libmosquitto has logged.
    private var errors: [String] = []
    /// The topics of unacknowledged messages, by their IDs.
    private var topics: [Int32: String] = [:]
    /// Whether a topic with a dot was sent since the last acknowledgement.
    private var isAtDot = false
    /// When the broker had answered CONNECT.
    private var beginning: UInt64?

    /// How long the connection has been up; nil if it never was.
    var lasted: Duration? {
        beginning.map { .nanoseconds(Int64(clamping: nanoseconds(of: CLOCK_BOOTTIME) &- $0)) }
    }

    var isUp: Bool { phase == .up }

    /// Why the connection has ended; nil if it has not.
    var failure: ConnectionFailure? {
        guard phase == .ended else { return nil }
        return reason ?? .closed(info.broker, info.version, hasAnswered: beginning != nil, isAtDot: isAtDot)
    }

    /// Begins to connect, which may block.
    ///
    /// - Throws: a ``ConnectionFailure`` if that fails at once.
    init(
        _ info: MQTTSessionInfo, client: String, login: MQTTLogin, will: OutgoingMessage?
    ) throws(ConnectionFailure) {
        guard let handle = mosquitto_new(client, true, nil) else {
            throw ConnectionFailure(.lost, "cannot create a client of MQTT: out of memory")
        }
        (self.info, self.handle, self.login) = (info, handle, login)
        keepAlive = will == nil ? Self.keepAlives.without : Self.keepAlives.withWill
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, info.version == .five ? 5 : 4)
        mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
        mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, 256)
        // Publishing then only queues, and write() writes the packets together.
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
        errno = 0
        let result = mosquitto_connect_async(handle, info.broker.host, Int32(info.broker.port), keepAlive)
        if result != MOSQ_ERR_SUCCESS.rawValue { throw startFailure(result, errno: errno) }
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

    // MARK: The loop

    /// The socket, for the loop to watch; libmosquitto closes its own.
    func copyOfSocket() throws(IOError) -> OwnedDescriptor {
        let descriptor = fcntl(mosquitto_socket(handle), F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw IOError(errno: errno, "cannot watch the connection") }
        return OwnedDescriptor(adopting: descriptor)
    }

    /// What to wait for at the socket.
    func wantedEvents(mayRead: Bool) -> IOSource.Events {
        switch phase {
        case .connecting: [.readable, .writable]
        // A handshake of TLS has something to write all the time, and waits for input.
        case .greeting, .ended: .readable
        // Nothing is read that must be answered while no answer can be written.
        case .up: mosquitto_want_write(handle) ? .writable : mayRead ? .readable : []
        }
    }

    /// Reads one packet, if there is one.
    func read() { end(mosquitto_loop_read(handle, 1)) }

    /// Writes what waits, as far as there is room.
    func write() {
        if phase != .connecting, phase != .ended, mosquitto_want_write(handle) { end(mosquitto_loop_write(handle, 1)) }
    }

    /// Sends a ping if it is time for one.
    func check() { end(mosquitto_loop_misc(handle)) }

    var hasInput: Bool {
        var descriptor = pollfd(fd: mosquitto_socket(handle), events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    func takeEvents() -> [MQTTEvent] {
        defer { events = [] }
        return events
    }

    /// The broker has closed the socket; libmosquitto does not notice that during the handshake of TLS.
    func hungUp() { if phase == .greeting { phase = .ended } }

    /// Ends the connection for this reason.
    func fail(_ reason: ConnectionFailure) {
        guard phase != .ended else { return }
        (self.reason, phase) = (reason, .ended)
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

    /// Whether the socket, which is ready, is connected; the first time, it may have an error instead.
    func isConnected() -> Bool {
        guard phase == .connecting else { return phase != .ended }
        let socket = mosquitto_socket(handle)
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout.size(ofValue: number))
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &length)
        var peer = sockaddr_storage()
        var peerLength = socklen_t(MemoryLayout.size(ofValue: peer))
        let hasPeer = withUnsafeMutableBytes(of: &peer) { bytes in
            getpeername(socket, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, &peerLength) == 0
        }
        guard number == 0, hasPeer else {
            // TLS has tried to write already, and has taken the error.
            fail(number == 0 ? .notTaken(info.broker) : .notConnected(info.broker, errno: number))
            return false
        }
        noticeLoss(of: socket)
        phase = .greeting
        write()
        return phase != .ended
    }

    /// Ends the connection if a function of libmosquitto has failed.
    private func end(_ result: Int32) {
        guard result != MOSQ_ERR_SUCCESS.rawValue, phase != .ended else { return }
        if reason == nil { reason = failure(for: result) }
        phase = .ended
    }

    /// The failure for a result of libmosquitto; nil if the broker has just closed the connection.
    private func failure(for result: Int32) -> ConnectionFailure? {
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
        default: return failure(for: result) ?? .notConnected(info.broker, errno: ECONNREFUSED)
        }
    }

    // MARK: Orders

    func subscribe(_ filters: [String]) {
        withFilters(filters) { mosquitto_subscribe_multiple(handle, nil, $0, $1, 0, 0, nil) }
    }

    func unsubscribe(_ filters: [String]) {
        withFilters(filters) { mosquitto_unsubscribe_multiple(handle, nil, $0, $1, nil) }
    }

    /// Disconnects without the will; the connection ends when that is written.
    func disconnect(_ reason: ConnectionFailure) {
        if self.reason == nil { self.reason = reason }
        mosquitto_disconnect(handle)
    }

    private func withFilters(
        _ filters: [String], _ body: (Int32, UnsafePointer<UnsafeMutablePointer<CChar>?>?) -> Int32
    ) {
        var copies = filters.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        end(copies.withUnsafeMutableBufferPointer { body(Int32($0.count), UnsafePointer($0.baseAddress)) })
    }

    /// Publishes a message; returns its ID.
    @discardableResult
    func publish(_ message: OutgoingMessage) -> Int32 {
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
            events.append(.published(topic: message.topic, refusal: String(cString: mosquitto_strerror(result))))
        }
        return id
    }

    /// Whether a message with this ID has been acknowledged, or could not be published.
    func isAcknowledged(_ id: Int32) -> Bool { topics[id] == nil }

    // MARK: Calls from libmosquitto

    func answered(_ code: Int32) {
        guard code == 0 else {
            reason = .refused(code, by: info.broker, info.version, login)
            phase = .ended
            return
        }
        beginning = nanoseconds(of: CLOCK_BOOTTIME)
        phase = .up
        events.append(.connected(info))
    }

    func disconnected(_ code: Int32) {
        if reason == nil, code >= 128 {
            reason = .disconnected(
                code, by: info.broker, reason: String(cString: mosquitto_reason_string(code)))
        }
        if reason == nil, code > 0 { reason = failure(for: code) }
        phase = .ended
    }

    func received(_ message: mosquitto_message) {
        guard let topic = message.topic.flatMap({ String(validatingCString: $0) }) else { return }
        let length = min(max(0, Int(message.payloadlen)), IncomingMessage.longestPayload)
        let payload = UnsafeRawBufferPointer(start: message.payload, count: length)
        events.append(.message(IncomingMessage(topic: topic, payload: Array(payload), isRetained: message.retain)))
    }

    func acknowledged(_ id: Int32, _ code: Int32) {
        isAtDot = false
        guard let topic = topics.removeValue(forKey: id) else { return }
        events.append(
            .published(topic: topic, refusal: code < 128 ? nil : String(cString: mosquitto_reason_string(code))))
    }

    func subscribed(_ codes: [Int32]) { events.append(.subscribed(codes.map { $0 < 128 })) }

    func logged(_ text: String) { if errors.count < 8 { errors.append(text) } }
}
