public struct InterfaceDescription: Sendable {
    public struct Method: Sendable { public let name: String }
    public let text: String
    public let name: String
    public let methods: [Method]
    public static let service = InterfaceDescription(text: "interface org.varlink.service\nmethod GetInfo() -> ()\nmethod GetInterfaceDescription() -> ()\n")
    init(text: String) {
        self.text = text
        var name = ""
        var methods: [Method] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("interface ") { name = String(line.dropFirst(10)) }
            if line.hasPrefix("method ") { methods.append(Method(name: String(line.dropFirst(7).prefix { $0 != "(" }))) }
        }
        self.name = name
        self.methods = methods
    }
    public init(parsing text: String) throws(JSONError) { self.init(text: text) }
}
