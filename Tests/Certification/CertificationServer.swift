// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Varlink

/// The service, which checks that the calls arrive in order and with the previous answer.
@EventLoop
final class CertificationServer: CertificationService {
    private static let words = "a lot of string"
    private static let map = ["foo": "Foo", "bar": "Bar"]
    private static let set: Set<String> = ["one", "two", "three"]
    private static let replies = (1...10).map { "Reply number \($0)" }
    private static let myType = CertificationInterface.MyType(
        object: JSONText(["method": "org.varlink.certification.Test09"]), enum: .two,
        struct: .init(first: 1, second: "2"),
        array: ["one", "two", "three"], dictionary: map, stringset: set,
        interface: CertificationInterface.Interface(
            foo: [nil, ["foo": .foo, "bar": .bar], nil, ["one": .foo, "two": .bar]], anon: .init(foo: true, bar: false))
    )

    /// The method that each client must call next, by the client's ID.
    private var next: [String: String] = [:]
    private var clients = 0

    func start(_ call: CertificationCall<StartReply>) {
        clients += 1
        next["client \(clients)"] = "Test01"
        call.reply(StartReply(clientId: "client \(clients)"))
    }

    func test01(_ parameters: Test01Parameters, _ call: CertificationCall<Test01Reply>) throws {
        try check(call, parameters.clientId, true, true, then: "Test02")
        call.reply(Test01Reply(bool: true))
    }

    func test02(_ parameters: Test02Parameters, _ call: CertificationCall<Test02Reply>) throws {
        try check(call, parameters.clientId, parameters.bool, true, then: "Test03")
        call.reply(Test02Reply(int: 1))
    }

    func test03(_ parameters: Test03Parameters, _ call: CertificationCall<Test03Reply>) throws {
        try check(call, parameters.clientId, parameters.int, 1, then: "Test04")
        call.reply(Test03Reply(float: 1))
    }

    func test04(_ parameters: Test04Parameters, _ call: CertificationCall<Test04Reply>) throws {
        try check(call, parameters.clientId, parameters.float, 1, then: "Test05")
        call.reply(Test04Reply(string: "ping"))
    }

    func test05(_ parameters: Test05Parameters, _ call: CertificationCall<Test05Reply>) throws {
        try check(call, parameters.clientId, parameters.string, "ping", then: "Test06")
        call.reply(Test05Reply(bool: false, int: 2, float: .pi, string: Self.words))
    }

    func test06(_ parameters: Test06Parameters, _ call: CertificationCall<Test06Reply>) throws {
        let wanted = Test06Parameters(
            clientId: parameters.clientId, bool: false, int: 2, float: .pi, string: Self.words)
        try check(call, parameters.clientId, parameters, wanted, then: "Test07")
        call.reply(Test06Reply(struct: .init(bool: false, int: 2, float: .pi, string: Self.words)))
    }

    func test07(_ parameters: Test07Parameters, _ call: CertificationCall<Test07Reply>) throws {
        let wanted = Test07Parameters.Struct(bool: false, int: 2, float: .pi, string: Self.words)
        try check(call, parameters.clientId, parameters.struct, wanted, then: "Test08")
        call.reply(Test07Reply(map: Self.map))
    }

    func test08(_ parameters: Test08Parameters, _ call: CertificationCall<Test08Reply>) throws {
        try check(call, parameters.clientId, parameters.map, Self.map, then: "Test09")
        call.reply(Test08Reply(set: Self.set))
    }

    func test09(_ parameters: Test09Parameters, _ call: CertificationCall<Test09Reply>) throws {
        try check(call, parameters.clientId, parameters.set, Self.set, then: "Test10")
        call.reply(Test09Reply(mytype: Self.myType))
    }

    func test10(_ parameters: Test10Parameters, _ call: CertificationCall<Test10Reply>) throws {
        guard call.wantsMore else { throw CertificationError.service(.expectedMore) }
        var type = parameters.mytype
        // Any text with the same value is accepted.
        guard try type.object.value([String: String].self) == ["method": "org.varlink.certification.Test09"] else {
            throw CertificationError.certificationError(wants: Self.myType.object, got: type.object)
        }
        type.object = Self.myType.object
        try check(call, parameters.clientId, type, Self.myType, then: "Test11")
        var left = Self.replies.dropLast()[...]
        call.stream { left.popFirst().map { Test10Reply(string: $0) } }.finish(Test10Reply(string: Self.replies[9]))
    }

    func test11(_ parameters: Test11Parameters, _ call: CertificationCall<NoMembers>) throws {
        guard call.isOneway else { throw CertificationError.clientIdError }
        try check(call, parameters.clientId, parameters.lastMoreReplies, Self.replies, then: "End")
        call.reply()
    }

    func end(_ parameters: EndParameters, _ call: CertificationCall<EndReply>) throws {
        try check(call, parameters.clientId, true, true, then: "Start")
        call.reply(EndReply(allOk: true))
    }

    /// Checks that the client must call this method next, and that its argument is the expected one.
    private func check<Value: Equatable & JSONWritable, Reply>(
        _ call: CertificationCall<Reply>, _ client: String, _ got: Value, _ wanted: Value, then method: String
    ) throws(CertificationError) {
        guard next[client] == call.untyped.method else { throw .clientIdError }
        guard got == wanted else { throw .certificationError(wants: JSONText(wanted), got: JSONText(got)) }
        next[client] = method
    }
}
