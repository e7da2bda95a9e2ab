// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
// An implementation of an interface also needs its description.
@_exported public import VarlinkDescription

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
        // A name that is too long is not found, whether or not it is cut.
        let name = VarlinkError.shortened(try call.parameters(DescriptionParameters.self).interface)
        guard let description = descriptions.first(where: { $0.name == name }) else {
            throw .service(.interfaceNotFound(name))
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

extension InterfaceDescription {
    /// `org.varlink.service` as in the Varlink documentation, with the errors that were added later.
    static let service: InterfaceDescription = {
        do throws(InterfaceDescriptionError) {
            return try InterfaceDescription(parsing: serviceText)
        } catch {
            preconditionFailure("org.varlink.service: \(error)")
        }
    }()

    private static let serviceText = """
        # The Varlink Service Interface is provided by every varlink service. It
        # describes the service and the interfaces it implements.
        interface org.varlink.service

        # Get a list of all the interfaces a service provides and information
        # about the implementation.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Get the description of an interface that is implemented by this service.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The requested interface was not found.
        error InterfaceNotFound (interface: string)

        # The requested method was not found
        error MethodNotFound (method: string)

        # The interface defines the requested method, but the service does not
        # implement it.
        error MethodNotImplemented (method: string)

        # One of the passed parameters is invalid.
        error InvalidParameter (parameter: string)

        # Client is denied access
        error PermissionDenied ()

        # Method is expected to be called with 'more' set to true, but wasn't
        error ExpectedMore ()

        """
}
