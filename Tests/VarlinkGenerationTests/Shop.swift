// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Glibc
import Logging
import Varlink

/// A type that exists independently of the description.
struct Cents: JSONStructure, Hashable {
    var cents: Int

    init(_ cents: Int) { self.cents = cents }

    init(from reader: inout JSONReader) throws(JSONError) {
        var cents = 0
        try reader.object { _, reader throws(JSONError) in cents = try reader.integer() }
        self.cents = cents
    }

    func writeMembers(to writer: inout JSONWriter) { writer.member("cents", cents) }
}

enum ThingName: String, JSONEnumeration { case chair, table }

typealias Receipt = Int

/// A typical implementation of the service `org.example.shop`.
@EventLoop
final class Shop: ShopService {
    private(set) var calls: [String] = []
    private var isClosed = false

    func find(_ parameters: FindParameters, _ call: ShopCall<FindReply>) throws {
        if parameters.name == "bug" { throw CancellationError() }
        if parameters.name == "own bug" { throw ShopError.cancelled }
        guard parameters.name == "chair" else { throw ShopError.notFound(name: parameters.name, similar: ["chair"]) }
        let leg = ShopInterface.Thing(name: "leg", parts: [], tags: [], notes: [:])
        call.reply(
            FindReply(
                thing: ShopInterface.Thing(
                    name: "chair", grade: .brandNew, parts: [leg], type: .init(kind: .made, weight: 1.5),
                    tags: ["b", "a"], notes: ["n": JSONText(["x": 1])], shape: [.init(x: 1, y: 2)])))
    }

    func clash(_ parameters: ClashParameters, _ call: ShopCall<ClashReply>) {
        calls.append("clash \(parameters.key) \(parameters.selfValue)")
        call.reply(ClashReply(key: parameters.reader + parameters.writer, call: parameters.limit))
    }

    func countDown(_ parameters: CountDownParameters, _ call: ShopCall<CountDownReply>) throws {
        guard call.wantsMore else { throw ShopError.service(.expectedMore) }
        guard parameters.from >= 0 else { throw ShopError.closed }
        var left = parameters.from
        let stream = call.stream {
            guard left > 0 else { return nil }
            defer { left -= 1 }
            return CountDownReply(left: left)
        }
        if parameters.from > 100 {
            stream.fail(.cancelledError(by: .shop))
        } else {
            stream.finish(CountDownReply(left: 0))
        }
    }

    func buy(_ parameters: BuyParameters, _ call: ShopCall<BuyReply>) throws {
        call.perform { call throws(ShopError) in
            await EventLoop.run {}
            guard parameters.price.cents > 0 else { throw .cancelledError(by: .customer) }
            call.reply(BuyReply(receiptNumber: parameters.price.cents))
        }
    }

    func close(_ call: ShopCall<NoMembers>) {
        isClosed = true
        call.reply()
    }

    func admit(_ call: VarlinkCall) throws {
        if isClosed, !call.onlyReads { throw ShopError.closed }
    }

    /// Runs the service during `body`, which gets a client.
    static func run(
        logger: Logger = Logger(label: "shop") { _ in SwiftLogNoOpLogHandler() },
        _ body: @EventLoop @Sendable (ShopClient, Shop) async throws -> Void
    ) async throws {
        let shop = Shop()
        let service = VarlinkService(
            info: .init(vendor: "Example", product: "shop", version: "1", url: "https://example.org/"),
            interfaces: [shop], listeners: [], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            try await body(try client(of: service), shop)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @EventLoop
    private static func client(of service: VarlinkService) throws -> ShopClient {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        precondition(socketpair(AF_UNIX, type, 0, &pair) == 0, "no sockets")
        service.add(OwnedDescriptor(adopting: pair[1]))
        return ShopClient(try VarlinkConnection(OwnedDescriptor(adopting: pair[0])))
    }
}
