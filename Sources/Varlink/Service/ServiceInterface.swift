// SPDX-License-Identifier: Apache-2.0

import EventLoopIO

/// `org.varlink.service`, which every service has: its name and its interfaces.
@EventLoop
final class ServiceInterface: VarlinkInterface {
    nonisolated let interfaceDescription = InterfaceDescription.service
    private let info: VarlinkService.Info
    private let descriptions: [InterfaceDescription]

    init(info: VarlinkService.Info, interfaces: [InterfaceDescription]) {
        self.info = info
        descriptions = [.service] + interfaces
    }

    nonisolated func onlyReads(_ method: String) -> Bool { true }

    func handle(_ call: VarlinkCall) {
        do throws(VarlinkError) {
            switch call.method {
            case "GetInfo": try getInfo(call)
            case "GetInterfaceDescription": try getInterfaceDescription(call)
            default: call.failNotImplemented()
            }
        } catch {
            call.fail(error)
        }
    }

    private func getInfo(_ call: VarlinkCall) throws(VarlinkError) {
        _ = try call.parameters(InfoParameters.self)
        call.reply { writer in
            writer.member("vendor", info.vendor)
            writer.member("product", info.product)
            writer.member("version", info.version)
            writer.member("url", info.url)
            writer.member("interfaces", descriptions.map(\.name).sorted())
        }
    }

    private func getInterfaceDescription(_ call: VarlinkCall) throws(VarlinkError) {
        // A name that is too long is not found, even without its end.
        let name = VarlinkError.shortened(try call.parameters(DescriptionParameters.self).interface)
        guard let description = descriptions.first(where: { $0.name == name }) else {
            throw .interfaceNotFound(name)
        }
        call.reply { $0.member("description", description.text) }
    }

    private struct InfoParameters: JSONReadable {
        init(from reader: inout JSONReader) throws(JSONError) {
            try reader.object { name, _ throws(JSONError) in throw .unknownMember(name) }
        }
    }

    private struct DescriptionParameters: JSONReadable {
        var interface: String

        init(from reader: inout JSONReader) throws(JSONError) {
            var interface: String?
            try reader.object { name, reader throws(JSONError) in
                guard name == "interface" else { throw .unknownMember(name) }
                interface = try reader.string()
            }
            guard let interface else { throw .missingMember("interface") }
            self.interface = interface
        }
    }
}
