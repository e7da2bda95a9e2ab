// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import SourceKinds
import StatusModel
import StatusSupport

/// Asks one question of the name servers of a request, one server after another, until one answers.
///
/// As in resolv.conf(5), the next server is asked if one fails or is silent, and all again until the timeout.
struct DNSClient {
    /// A server, with its name in messages; nil if the configuration has the address.
    private typealias Server = (address: InternetAddress, name: String?)

    /// A server, and the socket for datagrams that is connected to it.
    private struct Peer {
        let server: Server
        let socket: OwnedDescriptor
        /// Whether it was asked over TCP; more often than once would only cost this host.
        var hasTCP = false
        /// What makes the server useless for this question.
        var failure: DNSFailure?
    }

    let question: DNSQuestion
    private let began = ContinuousClock.now
    let wait: DNSWait
    private var peers: [Peer] = []
    /// Whether a message arrived that is no valid answer; anybody may send one.
    private var hasInvalid = false

    private static let longestPause = Duration.seconds(2)
    /// The maximum number of servers, as in glibc.
    private static let maximumServers = 3
    /// The size of datagrams without extensions (RFC 1035, section 4.2.1); some servers send more.
    private static let maximumDatagram = 4096

    static func perform(_ request: DNSRequest) -> DNSOutcome {
        do throws(DNSFailure) {
            var client = DNSClient(request)
            let reply = try client.ask(servers(of: request.settings))
            return reply.outcome(of: request.settings, after: ContinuousClock.now - client.began)
        } catch {
            switch error {
            case .server(let reason): return .unexpected(reason: reason)
            case .reply(let reply): return reply.outcome(of: request.settings, after: .zero)
            case .host(let reason): return .notAsked(reason: reason)
            }
        }
    }

    private init(_ request: DNSRequest) {
        question = DNSQuestion(request.settings)
        wait = DNSWait(request.timeout)
    }

    /// The servers of a request, by default those of this host.
    private static func servers(of settings: DNSSettings) throws(DNSFailure) -> [Server] {
        if let server = settings.server {
            guard let address = Resolver.numericAddress(server, port: settings.port) else {
                throw .host("cannot use the name server \(server); see whether its zone exists with “ip link”")
            }
            return [(address, nil)]
        }
        let file = DNSSettings.resolverFile
        guard let text = SystemFile.text(at: file) else { throw .host("cannot read \(file); set “server”") }
        let servers = text.split(separator: "\n").compactMap { line -> Server? in
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count > 1, words[0] == "nameserver" else { return nil }
            return Resolver.numericAddress(String(words[1]), port: 53).map { ($0, String(words[1])) }
        }
        if servers.isEmpty { throw .host("no name server in \(file); add one, or set “server”") }
        return Array(servers.prefix(maximumServers))
    }

    private mutating func ask(_ servers: [Server]) throws(DNSFailure) -> DNSReply {
        var failure: DNSFailure?
        for server in servers {
            do throws(DNSFailure) {
                peers.append(Peer(server: server, socket: try Self.connect(server.address)))
            } catch {
                if case .host = error { throw error }
                failure = failure ?? error.naming(server.name)
            }
        }
        let pause = min(Self.longestPause, wait.total / (3 * servers.count))
        while peers.contains(where: { $0.failure == nil }), !wait.isOver {
            for index in peers.indices where peers[index].failure == nil && !wait.isOver {
                if let reply = try round(index, until: min(wait.end, .now + pause)) { return reply }
            }
        }
        if peers.contains(where: { $0.failure == nil }) {
            throw .server("no \(hasInvalid ? "valid " : "")answer within \(TimeSpan.text(wait.total))")
        }
        throw peers.lazy.compactMap(\.failure).first ?? failure ?? .host("no name server")
    }

    /// Asks one server, and waits for an answer of any of them; nil if there is none yet.
    private mutating func round(
        _ current: Int, until end: ContinuousClock.Instant
    ) throws(DNSFailure) -> DNSReply? {
        let sent = send(peers[current].socket.rawValue, question.bytes, question.bytes.count, Int32(MSG_NOSIGNAL))
        if sent < 0 { peers[current].failure = try Self.failure(errno).naming(peers[current].server.name) }
        while peers[current].failure == nil, ContinuousClock.now < end {
            let open = peers.indices.filter { peers[$0].failure == nil }
            let ready = wait.ready(open.map { (peers[$0].socket, POLLIN) }, until: end)
            for (index, isReady) in zip(open, ready) where isReady {
                do throws(DNSFailure) {
                    if let reply = try receive(from: index) { return reply }
                } catch {
                    if case .host = error { throw error }
                    peers[index].failure = error.naming(peers[index].server.name)
                }
            }
        }
        return nil
    }

    /// Takes a datagram; nil if it is no answer.
    private mutating func receive(from index: Int) throws(DNSFailure) -> DNSReply? {
        var room = [UInt8](repeating: 0, count: Self.maximumDatagram)
        let count = recv(peers[index].socket.rawValue, &room, room.count, Int32(MSG_DONTWAIT))
        guard count >= 0 else {
            if errno == EAGAIN || errno == EINTR { return nil }
            throw try Self.failure(errno)
        }
        let message = Array(room.prefix(count))
        let isTruncated = question.isAnswered(by: message) && message[2] & 0x02 != 0
        let reply = isTruncated ? try askOverTCP(index) : DNSReply(message, to: question)
        guard let reply else {
            hasInvalid = true
            return nil
        }
        // Another server may know more.
        if ![0, 3].contains(reply.code) { throw .reply(reply) }
        return reply
    }

    private mutating func askOverTCP(_ index: Int) throws(DNSFailure) -> DNSReply? {
        if peers[index].hasTCP { return nil }
        peers[index].hasTCP = true
        let share = peers.count == 1 ? wait : DNSWait(of: wait, servers: peers.count)
        return try askOverTCP(peers[index].server.address, share)
    }

    private static func connect(_ address: InternetAddress) throws(DNSFailure) -> OwnedDescriptor {
        do throws(IOError) {
            let socket = try OwnedDescriptor.makeSocket(address.family, Int32(SOCK_DGRAM.rawValue))
            let number = address.connect(socket)
            guard number == 0 else { throw IOError(errno: number, "cannot ask") }
            return socket
        } catch {
            throw try failure(error.errno)
        }
    }

    /// The failure of a server by an errno.
    ///
    /// - Throws: the failure of this host, if it lacks a resource.
    static func failure(_ number: Int32) throws(DNSFailure) -> DNSFailure {
        let reason = String(cString: strerror(number)).asPhrase
        if [EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN].contains(number) { throw .host("cannot ask: \(reason)") }
        return .server(reason)
    }
}

/// The reason why a question has no answer.
enum DNSFailure: Error {
    /// The server cannot be reached, or does not speak DNS.
    case server(String)
    /// The server replied with an error.
    case reply(DNSReply)
    /// This host lacks something, so nothing is known of the server.
    case host(String)

    /// Adds the name of the server, unless the server itself has replied.
    func naming(_ server: String?) -> DNSFailure {
        guard let server, case .server(let reason) = self else { return self }
        return .server("\(server): \(reason)")
    }
}
