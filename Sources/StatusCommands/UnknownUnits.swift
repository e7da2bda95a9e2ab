// SPDX-License-Identifier: Apache-2.0

/// The units that the system's service manager does not have.
enum UnknownUnits {
    /// The names for one command, whose length the kernel limits.
    private static let namesPerCommand = 200

    /// Those of the units that do not exist; none if no service manager answers.
    static func among(_ units: [String]) -> Set<String> {
        var unknown: Set<String> = []
        var rest = Set(units).sorted()[...]
        while !rest.isEmpty {
            let asked = rest.prefix(namesPerCommand)
            rest = rest.dropFirst(namesPerCommand)
            // The names of units have no quotation marks.
            let names = asked.map { "'\($0)'" }.joined(separator: " ")
            let states = states(in: ProgramOutput.systemctl("show -p LoadState -- \(names)"))
            guard states.count == asked.count else { return [] }
            unknown.formUnion(zip(asked, states).filter { $1 == "not-found" }.map(\.0))
        }
        return unknown
    }

    /// The states in the output of `systemctl show`, in the order of the names.
    private static func states(in output: String) -> [Substring] {
        output.split(separator: "\n").map { $0.drop { $0 != "=" }.dropFirst() }
    }
}
