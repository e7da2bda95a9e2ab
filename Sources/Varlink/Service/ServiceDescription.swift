// SPDX-License-Identifier: Apache-2.0

// An implementation of an interface needs its description, too.
@_exported public import VarlinkDescription

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
