// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import TestSupport
import Testing
import Varlink

/// Tests of the code that was generated from `org.example.shop`.
@Suite("Generated code", .timeLimit(.minutes(5))) struct GeneratedCodeTests {
    @Test("types of every kind arrive unchanged")
    func types() async throws {
        try await Shop.run { client, _ in
            let thing = try await client.find(name: "chair", order: .init(by: .price)).thing
            #expect(thing.grade == .brandNew)
            #expect(thing.parts.map(\.name) == ["leg"])
            #expect(thing.parts.first?.type == nil)
            #expect(thing.type == ShopInterface.Thing.TypeValue(kind: .made, weight: 1.5))
            #expect(thing.tags == ["a", "b"])
            #expect(try thing.notes["n"]?.value([String: Int].self) == ["x": 1])
            #expect(thing.shape == [.init(x: 1, y: 2)])
            let clash = try await client.clash(
                key: "k", reader: "r", writer: "w", limit: 3, silence: 0, connection: "c", selfValue: true, struct: 1)
            #expect(clash == ShopInterface.ClashReply(key: "rw", call: 3))
            #expect(try await client.buy(name: .table, price: Cents(7)).receiptNumber == 7)
        }
    }

    @Test("errors of the interface and of Varlink arrive with their parameters")
    func errors() async throws {
        try await Shop.run { client, _ in
            await #expect(throws: ShopError.notFound(name: "door", similar: ["chair"])) {
                try await client.find(name: "door")
            }
            await #expect(throws: ShopError.cancelledError(by: .customer)) {
                try await client.buy(name: .chair, price: Cents(0))
            }
            await #expect(throws: ShopError.service(.expectedMore)) { try await client.countDown(from: 1) }
        }
    }

    @Test(
        "an error that is not in the interface, or that cannot be a reply, is logged and closes the connection",
        arguments: [
            ("bug", "cannot answer a call: CancellationError()"), ("own bug", "cannot answer a call: cancelled"),
        ])
    func foreignError(_ name: String, _ message: String) async throws {
        let recorder = LogRecorder()
        try await Shop.run(logger: recorder.logger) { client, _ in
            do throws(ShopError) {
                _ = try await client.find(name: name)
                Issue.record("there is a reply")
            } catch {
                guard case .connection(let lost) = error, lost.code == .closed else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
        #expect(recorder.entries.map(\.message) == [message])
        #expect(recorder.entries.map(\.metadata) == [["method": "org.example.shop.Find"]])
    }

    @Test("a type of a description does not replace a type of Swift with the same name")
    func swiftNames() async {
        let done = await Task { ShopInterface.Task(done: true) }.value
        #expect(done.done)
    }

    @Test("replies of a method called with more arrive one by one, and end with the last or an error")
    func streams() async throws {
        try await Shop.run { client, _ in
            var left: [Int] = []
            for try await reply in try client.countDownReplies(from: 3) { left.append(reply.left) }
            #expect(left == [3, 2, 1, 0])
            await #expect(throws: ShopError.cancelledError(by: .shop)) {
                for try await _ in try client.countDownReplies(from: 101) {}
            }
            await #expect(throws: ShopError.closed) {
                for try await _ in try client.countDownReplies(from: -1) {}
            }
        }
    }

    @Test("a oneway call is handled, and later calls are admitted or refused")
    func oneway() async throws {
        try await Shop.run { client, shop in
            try client.clashOneway(
                key: "k", reader: "", writer: "", limit: 0, silence: 0, connection: "", selfValue: false, struct: 2)
            _ = try await client.find(name: "chair")
            #expect(shop.calls == ["clash k false"])
            try client.closeOneway()
            await #expect(throws: ShopError.closed) { try await client.buy(name: .chair, price: Cents(1)) }
        }
    }

    @Test("the service knows which methods only read")
    func reads() async throws {
        try await Shop.run { client, shop in
            #expect(ShopInterface.description.methods.map(\.name).filter(shop.onlyReads) == ["Find", "CountDown"])
            try await client.close()
            #expect(try await client.find(name: "chair").thing.name == "chair")
        }
    }

    @Test("a service refuses an unknown parameter and names it; a client skips unknown members of a reply")
    func unknownMembers() async throws {
        try await Shop.run { client, _ in
            await #expect(throws: VarlinkError.service(.invalidParameter("price.tax"))) {
                let _: NoMembers = try await client.connection.call(ShopInterface.qualified("Buy")) { writer in
                    writer.member("name", "chair")
                    writer.member("price") { $0.member("tax", "none") }
                }
            }
            await #expect(throws: VarlinkError.service(.invalidParameter("strict"))) {
                let _: NoMembers = try await client.connection.call(ShopInterface.qualified("Find")) { writer in
                    writer.member("name", "chair")
                    writer.member("strict", "maybe")
                }
            }
            // The client knows none of the reply's members.
            let _: NoMembers = try await client.connection.call(ShopInterface.qualified("Find")) {
                $0.member("name", "chair")
            }
        }
    }

    @Test("the description is served word for word")
    func description() async throws {
        #expect(ShopInterface.description.text == ShopInterface.text)
        #expect(ShopInterface.text.hasPrefix("# Sells things.\ninterface org.example.shop\n"))
        #expect(ShopInterface.text.hasSuffix("error Cancelled (by: (shop, customer))\n"))
    }
}
